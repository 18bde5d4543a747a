//! The walls of the code: which folder may know which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What each folder (or file) right below `src/` may import. Those above know nothing of those below: a name may stand only in lists
/// that come after its own.
const MAY_KNOW: [(&str, &[&str]); 22] = [
    ("units", &[]),
    ("error", &[]),
    ("secret", &[]),
    ("hand_over", &["secret"]),
    ("key", &[]),
    ("schema", &["key"]),
    ("rows", &["key", "schema", "units"]),
    ("engine", &["error", "rows", "schema"]),
    ("record", &["units"]),
    ("analyse", &["record", "units"]),
    // A column of figures is put in order by its median.
    ("foreign", &["analyse", "record", "units"]),
    ("reading", &["analyse", "error", "foreign", "record", "units"]),
    ("cli", &["analyse", "foreign", "rows", "secret", "units"]),
    ("plan", &["cli", "engine", "error", "key", "record", "rows", "schema", "secret", "units"]),
    // How long a run will still take needs the sizes of its plan.
    ("render", &["analyse", "plan", "reading", "record", "schema", "units"]),
    // What a target says of itself is recorded.
    ("targets", &["engine", "error", "key", "plan", "record", "rows", "schema", "units"]),
    ("load", &["plan", "rows", "targets", "units"]),
    ("probe", &["engine", "key", "plan", "rows", "schema", "targets"]),
    ("observe", &["plan", "record", "targets", "units"]),
    // The stop rules and resume need the baseline of a curve.
    (
        "run",
        &[
            "analyse", "engine", "error", "key", "load", "observe", "plan", "probe", "record", "rows", "schema",
            "targets", "units",
        ],
    ),
    (
        "commands",
        &[
            "analyse", "cli", "engine", "error", "observe", "plan", "reading", "record", "render", "rows", "run",
            "schema", "targets", "units",
        ],
    ),
    ("main", &["cli", "commands", "error", "hand_over", "plan", "render", "units"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a file: no comments, no tests, which may use anything.
fn code(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    if name == "tests.rs" || name.ends_with("_tests.rs") || name == "test_support.rs" {
        return String::new();
    }
    let text = std::fs::read_to_string(path).unwrap();
    let until = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    let lines = text[..until].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// The names behind `crate::`, and in `main.rs` behind the name of the library.
fn imports(code: &str, is_main: bool) -> BTreeSet<String> {
    let before = if is_main { "rowcliff::" } else { "crate::" };
    let names = code.split(before).skip(1).flat_map(|rest| match rest.strip_prefix('{') {
        Some(list) => list.split('}').next().unwrap_or_default().split(',').map(str::trim).collect(),
        None => vec![rest],
    });
    let word = |text: &str| text.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect::<String>();
    names.map(word).filter(|word| !word.is_empty()).collect()
}

#[test]
fn folders_know_only_those_that_they_may_and_never_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let may: BTreeMap<&str, BTreeSet<&str>> =
        MAY_KNOW.iter().map(|(name, list)| (*name, list.iter().copied().collect())).collect();
    // The list itself has no circle: each name knows only earlier ones.
    for (at, (name, list)) in MAY_KNOW.iter().enumerate() {
        let earlier: BTreeSet<&str> = MAY_KNOW[..at].iter().map(|(name, _)| *name).collect();
        let late: Vec<&&str> = list.iter().filter(|known| !earlier.contains(**known)).collect();
        assert!(late.is_empty(), "{name} is allowed to know {late:?}, which do not stand above it in the list");
    }
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for path in sources(&root) {
        let below = path.strip_prefix(&root).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_str().unwrap();
        let folder = first.trim_end_matches(".rs").to_owned();
        if folder == "lib" {
            continue;
        }
        let Some(allowed) = may.get(folder.as_str()) else { panic!("{folder} has no place in the list of this test") };
        for known in imports(&code(&path), folder == "main") {
            if known == folder || !may.contains_key(known.as_str()) {
                continue;
            }
            if !allowed.contains(known.as_str()) {
                wrong.push(format!("{}: {folder} may not know {known}", below.display()));
            }
            used.entry(folder.clone()).or_default().insert(known);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What is allowed is also needed: the list says how it is.
    for (name, list) in may {
        let needed: BTreeSet<&str> = used.get(name).into_iter().flatten().map(String::as_str).collect();
        assert_eq!(list, needed, "what {name} knows");
    }
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "use crate::{plan, run::Clock};\nuse crate::units::grouped;\nlet a = crate::error::exit::OK;";
    assert_eq!(imports(text, false), ["error", "plan", "run", "units"].map(str::to_owned).into());
    assert_eq!(imports("use rowcliff::commands;", true), ["commands".to_owned()].into());
}
