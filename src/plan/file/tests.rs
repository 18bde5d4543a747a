use super::*;
use crate::plan::{of_args, print};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What `rowcliff run` makes of words.
fn parsed(words: &[&str]) -> Result<Box<RunArgs>, Error> {
    let words: Vec<OsString> = ["rowcliff", "run"].iter().chain(words).map(OsString::from).collect();
    let cli = Cli::try_parse_from(&words).unwrap_or_else(|error| panic!("{error}"));
    match complete(cli, &words)?.command {
        Command::Run(args) => Ok(args),
        _ => unreachable!(),
    }
}

/// What a file and words give, as the plan in JSON.
pub(super) fn planned(words: &[&str]) -> Result<serde_json::Value, String> {
    let args = parsed(words).map_err(|error| error.to_string())?;
    let resolved = of_args(&args, None).map_err(|error| error.to_string())?;
    Ok(serde_json::to_value(&resolved.plan).unwrap())
}

/// The plan of a file, with typed words behind it.
fn with_file(text: &str, words: &[&str]) -> Result<serde_json::Value, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    let mut all = vec!["--plan", path.to_str().unwrap()];
    all.extend_from_slice(words);
    planned(&all)
}

/// The plan file that a command line gives.
fn printed(words: &[&str]) -> print::Printed {
    print::plan_file(&parsed(words).unwrap().said).unwrap()
}

#[test]
fn every_option_of_run_is_a_key_or_belongs_to_one_invocation() {
    let command = run_command();
    let flags: BTreeSet<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
    assert!(flags.len() > 30, "{flags:?}");
    for name in NOT_IN_A_PLAN {
        assert!(flags.contains(name), "{name} is no option any more");
    }
    // Each flag, given in a file, is either taken, or refused because of its value, or named as no part of a plan.
    for flag in &flags {
        let error = with_file(&format!("{flag} = [[1]]"), &[]).unwrap_err();
        let of_plan = plan_options().iter().any(|option| option.get_long() == Some(flag));
        assert_eq!(of_plan, !NOT_IN_A_PLAN.contains(flag));
        assert_eq!(error.contains("not part of a plan"), !of_plan, "{flag}: {error}");
        assert!(!error.contains("is not known"), "{flag}: {error}");
        assert!(error.contains("plan.toml:1"), "{flag}: {error}");
    }
    // And no flag is left out of both for want of a long name.
    assert!(command.get_arguments().all(|option| option.get_long().is_some()));
}

#[test]
fn a_file_says_what_the_command_line_says() {
    let text = r#"
        target = ["sqlite:/tmp/rowcliff-plan-test.db", "scratch"]
        engine = "innodb,myisam"
        key = ["autoinc", "uuid7:binary16"]
        flush = [0, 1, "as-is"]
        connections = [1, 4]
        rows = "3M"
        batch-rows = 100_000
        repeat = 2
        max-slowdown = 2.5
        min-rate = 5000
        max-duration = "2h"
        on-stop = "run"
        vary = "tmp_table_size=1M,2M"
        server-option = ["innodb-log-file-size=1G", "sync_binlog=0"]
        index-order = "random"
        keep = true
        strict = false
        seed = 7
    "#;
    let words = [
        "--target=sqlite:/tmp/rowcliff-plan-test.db",
        "--target",
        "scratch",
        "--engine",
        "innodb,myisam",
        "--key",
        "autoinc,uuid7:binary16",
        "--flush",
        "0,1,as-is",
        "--connections",
        "1,4",
        "--rows",
        "3M",
        "--batch-rows",
        "100000",
        "--repeat",
        "2",
        "--max-slowdown",
        "2.5",
        "--min-rate",
        "5k",
        "--max-duration",
        "2h",
        "--on-stop",
        "run",
        "--vary",
        "tmp_table_size=1M,2M",
        "--server-option",
        "innodb-log-file-size=1G",
        "--server-option",
        "sync_binlog=0",
        "--index-order",
        "random",
        "--keep",
        "--seed",
        "7",
    ];
    assert_eq!(with_file(text, &[]).unwrap(), planned(&words).unwrap());
    assert_eq!(with_file("", &[]).unwrap(), planned(&[]).unwrap());
}

#[test]
fn the_command_line_comes_before_the_file_option_by_option() {
    let text = "target = [\"sqlite\"]\nkey = [\"uuid1\", \"uuid4\"]\nrows = \"2M\"\nkeep = true\nstrict = true\n\
        max-slowdown = 3.5\nindex-order = \"random\"\nsettle = \"1m\"\nvary = \"cache_size=-1000,-2000\"\n";
    let from_file = with_file(text, &[]).unwrap();
    assert_eq!(from_file["curves"].as_array().unwrap().len(), 4);
    let cases: &[(&[&str], &str, serde_json::Value)] = &[
        (&["--rows", "1M"], "/curves/0/sizes/rows", 1_000_000.into()),
        (&["--keep=false"], "/keep", false.into()),
        (&["--strict=false"], "/strict", false.into()),
        (&["--max-slowdown", "9"], "/stop/max_slowdown", 9.0.into()),
        (&["--index-order", "ascending"], "/index_order", "ascending".into()),
        (&["--settle", "0"], "/settle_seconds", 0.0.into()),
        (&["--key", "autoinc"], "/curves/1/cell/key", "autoinc".into()),
        (&["--vary", "cache_size=-3000"], "/curves/1/cell/settings/0/1", "-3000".into()),
        (&["--target", "scratch"], "/targets/0/label", "scratch".into()),
        // What the file says stays where nothing was typed.
        (&["--rows", "1M"], "/keep", true.into()),
        (&["--keep"], "/keep", true.into()),
    ];
    for (words, pointer, expected) in cases {
        let plan = with_file(text, words).unwrap();
        assert_eq!(plan.pointer(pointer), Some(expected), "{words:?}");
    }
    assert_eq!(with_file(text, &["--key", "autoinc"]).unwrap()["curves"].as_array().unwrap().len(), 2);
    // A list is replaced, not continued.
    assert_eq!(with_file(text, &["--target", "scratch"]).unwrap()["targets"].as_array().unwrap().len(), 1);
}

#[test]
fn a_typed_option_takes_away_what_cannot_stand_beside_it() {
    let plan = with_file("allow-replication = true\n", &["--skip-binlog"]).unwrap();
    assert_eq!(plan["care"], serde_json::json!({ "allow_replication": false, "skip_binlog": true }));
    let error = with_file("rows = 5\nallow-replication = true\n\nskip-binlog = true\n", &[]).unwrap_err();
    assert!(error.contains("plan.toml:4") && error.contains("allow-replication (line 2)"), "{error}");
    let plan = with_file("allow-replication = true\nskip-binlog = false\n", &[]).unwrap();
    assert_eq!(plan["care"]["allow_replication"], true);
}

#[test]
fn what_makes_no_sense_is_named_with_its_line() {
    let cases: &[(&str, usize, &[&str])] = &[
        ("rows = 5\n\nbogus = 1\n", 3, &["\"bogus\" is not known"]),
        ("batch_rows = 5\n", 1, &["it is written batch-rows"]),
        ("\n[stop]\nmin-rate = 5\n", 2, &["\"stop\" is not known"]),
        ("rows = 5\nrows = 6\n", 2, &["not TOML", "duplicate"]),
        ("rows = \n", 1, &["not TOML"]),
        ("rows = 5\n# x\nrows 6\n", 3, &["not TOML"]),
        ("\nrows = 0\n", 2, &["rows: ", "at least 1"]),
        ("rows = -5\n", 1, &["negative"]),
        ("rows = true\n", 1, &["not true or false"]),
        ("rows = [1]\n", 1, &["one value"]),
        ("rows = 1979-05-27\n", 1, &["date"]),
        ("rows = { a = 1 }\n", 1, &["table"]),
        ("key = []\n", 1, &["empty"]),
        ("key = [\n  \"autoinc\",\n  [1],\n]\n", 1, &["list in a list"]),
        ("keep = \"yes\"\n", 1, &["true or false"]),
        ("index-order = \"up\"\n", 1, &["index-order", "ascending"]),
        ("max-slowdown = inf\n", 1, &["more than 0"]),
        ("seed = -1\n", 1, &["seed"]),
        ("out = \"x\"\n", 1, &["--out", "not part of a plan"]),
        ("plan = \"x\"\n", 1, &["not part of a plan"]),
        ("password-file = \"x\"\n", 1, &["not part of a plan"]),
        ("target = \"mysql://me:secret@h/d\"\n", 1, &["no password"]),
        // What the definition of the command line takes, and the plan does not.
        ("rows = 5\nkey = [\"uuid5\"]\n", 2, &["--key", "uuid5"]),
        ("rows = 5\n\ntarget = \"oracle\"\n", 3, &["--target", "oracle"]),
        ("flush = 3\n", 1, &["--flush"]),
        ("target = \"scratch\"\nrows = 5\nvary = \"a\"\n", 3, &["--vary"]),
        ("target = \"scratch\"\nrows = 5\n\nserver-option = \"datadir=/x\"\n", 4, &["--server-option", "datadir"]),
        ("schema = \"/nowhere/t.sql\"\n", 1, &["/nowhere/t.sql"]),
        ("engine-file = \"/nowhere/e.toml\"\n", 1, &["/nowhere/e.toml"]),
    ];
    for (text, line, expected) in cases {
        let error = with_file(text, &[]).unwrap_err();
        assert!(error.contains(&format!("plan.toml:{line}")), "{text:?}: {error}");
        for word in *expected {
            assert!(error.contains(word), "{text:?} does not say {word:?}: {error}");
        }
        assert!(!error.contains("secret"), "{error}");
    }
    // An option that was typed is no fault of the file's.
    let error = with_file("key = \"autoinc\"\n", &["--key", "uuid5"]).unwrap_err();
    assert!(!error.contains("plan.toml"), "{error}");
    let error = planned(&["--plan", "/nowhere/plan.toml"]).unwrap_err();
    assert!(error.contains("/nowhere/plan.toml") && error.contains("--plan"), "{error}");
}

/// Options that can all stand beside each other.
const PARTS: &[&[&str]] = &[
    &["--target", "scratch", "--engine", "innodb,rocksdb", "--engine", "myisam"],
    &["--target", "mysql://me@localhost/test?socket=/run/my.sock"],
    &["--target", "sqlite:/tmp/a \"b\" \\c\n.db"],
    &["--key", "autoinc,uuid4:binary16"],
    &["--key", "uuid1", "--flush", "0,1,2"],
    &["--flush", "sync_binlog=0+innodb_flush_log_at_trx_commit=2,as-is"],
    &["--method", "insert,prepared", "--connections", "1,8,16"],
    &["--cache", "1G", "--vary", "tmp_table_size=64M,1G", "--vary", "join_buffer_size=1M"],
    &["--batch-rows", "100k", "--statement-rows", "1_000", "--commit-rows", "5k"],
    &["--repeat", "3", "--seed", "18446744073709551615", "--uuid-rate", "007"],
    &["--index-order", "random", "--verify-rows", "0", "--no-verify", "--keep=false"],
    &["--window-bytes", "1.5G", "--keep", "--strict", "--payload-bytes", "100"],
    &["--min-rate", "2.5k", "--max-slowdown", "3.5", "--stop-after", "5", "--on-stop", "run"],
    &["--max-batch-seconds", "10", "--max-duration", "0.5h", "--max-run-duration", "2d", "--stall-timeout", "90s"],
    &["--max-table-bytes", "10G", "--min-free-disk", "1G", "--settle", "0"],
    &["--allow-replication", "--ssl-mode", "required"],
    &["--skip-binlog=true"],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_printed_file_gives_the_same_plan(parts in proptest::sample::subsequence(PARTS, 0..PARTS.len())) {
        let mut words = vec!["--rows", "3M"];
        let mut said = BTreeSet::new();
        for part in parts {
            let flags: Vec<&str> = part.iter().filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap_or(word)).collect();
            let lists = ["--target", "--key", "--flush", "--engine"];
            let again = flags.iter().any(|flag| said.contains(flag) && !lists.contains(flag));
            let contradiction = flags.contains(&"--skip-binlog") && said.contains("--allow-replication");
            if !again && !contradiction {
                said.extend(flags);
                words.extend_from_slice(part);
            }
        }
        let file = printed(&words).toml;
        // A line of words that is refused is refused for the same reason in a file.
        match planned(&words) {
            Ok(plan) => prop_assert_eq!(with_file(&file, &[]).unwrap(), plan, "{}", file),
            Err(error) => {
                let cause = error.split_once(": ").map_or("", |(_, cause)| cause).lines().next().unwrap_or_default().to_owned();
                let again = with_file(&file, &[]).unwrap_err();
                prop_assert!(again.contains(&cause), "{}: {}", error, again);
            }
        }
        // And it is the same file when it is printed again.
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.toml");
        std::fs::write(&path, &file).unwrap();
        prop_assert_eq!(printed(&["--plan", path.to_str().unwrap()]).toml, file);
    }
}

#[test]
fn a_printed_file_is_made_for_readers_and_holds_no_secret() {
    let printed = printed(&[
        "--target",
        "mysql://me:s3cret@h/d",
        "--rows",
        "300M",
        "--connections",
        "1,8",
        "--password-file",
        "pw",
        "--out",
        "x",
        "--keep",
        "--quiet",
        "--shard",
        "1/2",
    ]);
    let toml = &printed.toml;
    for line in [
        "target = [\"mysql://me@h/d\"]",
        "rows = \"300M\"",
        "connections = [1, 8]",
        "keep = true",
        "# repeat = 1",
        "# key = [\"autoinc\", \"uuid4\"]",
    ] {
        assert!(toml.lines().any(|other| other == line), "no {line}: {toml}");
    }
    for absent in ["out = ", "password-file = ", "quiet = ", "shard = "] {
        assert!(!toml.lines().any(|line| line.trim_start_matches("# ").starts_with(absent)), "{absent}: {toml}");
    }
    assert!(!toml.contains("s3cret") && !toml.contains("***"), "{toml}");
    assert!(printed.notes.len() == 1 && printed.notes[0].contains("password"), "{:?}", printed.notes);
    // Without its comment signs, what was left at its default says the same.
    let spelled: String = toml
        .lines()
        .skip(2)
        .filter(|line| !line.ends_with(':'))
        .map(|line| format!("{}\n", line.trim_start_matches("# ")))
        .collect();
    assert_eq!(with_file(&spelled, &[]).unwrap(), with_file(toml, &[]).unwrap(), "{spelled}");
}

#[test]
fn the_example_plans_are_plans() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/plans");
    let mut cells = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let plan = planned(&["--plan", path.to_str().unwrap()]).unwrap();
        let curves = plan["curves"].as_array().unwrap();
        assert!(curves.iter().any(|curve| curve["unable"].is_null()), "{}", path.display());
        cells.push((path.file_name().unwrap().to_string_lossy().into_owned(), curves.len()));
    }
    cells.sort();
    let expected = [
        ("flush-settings.toml", 12),
        ("innodb-plugin-oltp.toml", 2),
        ("innodb-pool.toml", 6),
        ("kvs-reads.toml", 6),
        ("pbxt-autoinc.toml", 4),
        ("pbxt-uuid.toml", 6),
        ("soliddb-slap.toml", 2),
        ("sqlite.toml", 2),
    ];
    assert_eq!(cells, expected.map(|(name, count)| (name.to_owned(), count)));
    // The one in README.md too.
    let readme = include_str!("../../../README.md");
    let shown = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(with_file(shown, &[]).unwrap()["curves"].as_array().unwrap().len(), 12);
    // The first is what `rowcliff run` does by itself.
    let path = folder.join("sqlite.toml");
    assert_eq!(planned(&["--plan", path.to_str().unwrap()]).unwrap(), planned(&[]).unwrap());
}

#[test]
fn an_option_may_want_another_one_that_stands_elsewhere() {
    let plan = with_file("probe-every = 3\nprobe = \"select-pk\"\n", &[]).unwrap();
    assert_eq!(plan["probe"]["when"]["every"], 3);
    let plan = with_file("probe-every = 3\n", &["--probe", "insert"]).unwrap();
    assert_eq!(plan["probe"]["probes"][0], "insert");
    let error = with_file("probe-every = 3\n", &[]).unwrap_err();
    assert!(
        error.contains("plan.toml:1") && error.contains("--probe-every") && error.contains("--probe select-pk"),
        "{error}"
    );
}

#[test]
fn what_is_typed_of_probes_goes_with_those_of_the_file() {
    let file = "probe = [\"select-pk\"]\nrows = \"40k\"\nbatch-rows = \"10k\"\n";
    for (words, place, value) in [
        (["--probe-seconds", "2s"], "seconds", serde_json::json!(2.0)),
        (["--probe-connections", "3"], "connections", serde_json::json!([3])),
        (["--probe-ops", "70"], "ops", serde_json::json!([70])),
        (["--probe-every", "2"], "when", serde_json::json!({ "every": 2 })),
        (["--probe-at", "20k"], "when", serde_json::json!({ "at": [20_000] })),
    ] {
        let plan = with_file(file, &words).unwrap();
        assert_eq!(plan["probe"]["probes"], serde_json::json!(["select-pk"]));
        assert_eq!(plan["probe"][place], value, "{words:?}");
        let error = planned(&words).unwrap_err();
        assert!(error.contains(words[0]) && error.contains("name probes with --probe"), "{error}");
    }
}

#[test]
fn what_a_plan_says_of_its_own_servers_gives_way_to_typed_targets_and_any_option_can_be_left_out() {
    let file = "target = \"scratch\"\nkey = \"autoinc\"\nrows = \"1M\"\ncache = \"64M\"\nserver-option = [\"a=1\", \"b=2\"]\nscratch-dir = \"/tmp\"\n";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    std::fs::write(&path, file).unwrap();
    let path = path.to_str().unwrap();
    let resolved = |words: &[&str]| {
        let args = parsed(&[&["--plan", path], words].concat()).map_err(|error| error.to_string())?;
        of_args(&args, None).map_err(|error| error.to_string())
    };
    let own = resolved(&[]).unwrap();
    assert_eq!(own.plan.scratch.options.len(), 2);
    assert!(own.notes.iter().all(|note| !note.contains("passed over")), "{:?}", own.notes);
    let server = resolved(&["--target", "mysql://me@h/d"]).unwrap();
    assert_eq!(server.plan.scratch, crate::plan::ScratchPlan::default());
    assert_eq!(server.plan.curves[0].cell.cache_bytes, Some(64 << 20));
    for name in [":5: server-option is passed over", ":6: scratch-dir is passed over"] {
        assert!(server.notes.iter().any(|note| note.contains(name)), "{:?}", server.notes);
    }
    let both = resolved(&["--target", "scratch", "--target", "mysql://me@h/d"]).unwrap();
    assert_eq!(both.plan.scratch.options.len(), 2);
    let without = resolved(&["--without", "cache,server-option"]).unwrap();
    assert_eq!((without.plan.curves[0].cell.cache_bytes, without.plan.scratch.options.len()), (None, 0));
    let error = resolved(&["--without", "cash"]).unwrap_err();
    assert!(error.contains("--without") && error.contains("cash"), "{error}");
    // Typed for a server that is not started, it is a mistake.
    let error = resolved(&["--target", "mysql://me@h/d", "--server-option", "c=3"]).unwrap_err();
    assert!(error.contains("there is no server to start"), "{error}");
}
