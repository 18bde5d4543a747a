//! A password that is typed, rightly or wrongly: it is in no output and in no file.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};

use crate::support::{rowcliff, text};

/// What every password here holds, and nothing else.
const SECRET: &str = "QZQSESAME";

/// Files below a directory that hold the secret, in their name or within.
fn holding(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(holding(&path));
        } else if std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(SECRET)) {
            found.push(name.clone());
        }
        if name.contains(SECRET) {
            found.push(name);
        }
    }
    found
}

/// How a target with a password is written, and how it is mistyped. Nothing listens at the port.
fn target() -> impl Strategy<Value = String> {
    let start = select(vec![
        "mysql://",
        "mariadb://",
        "mysql//",
        "mysql:",
        "mysql:/",
        "MYSQL://",
        "",
        "sqlite:mysql://",
        "scratch:mysql://",
        "postgres://",
        "mysql:///",
        "oracle://",
    ]);
    let odd = || "[A-Z#?/@:%,!&=.]{0,3}";
    let end = select(vec![
        "127.0.0.1:1/db",
        "127.0.0.1:1",
        "127.0.0.1:1/",
        "127.0.0.1:1/a/b",
        "127.0.0.1:x/db",
        "[::1]:1/db",
        "127.0.0.1:1,127.0.0.1:2/db",
        "localhost/db?socket=/nowhere/s",
        "localhost/db?tls=1",
    ]);
    (start, odd(), odd(), end)
        .prop_map(|(start, before, after, end)| format!("{start}user:{before}{SECRET}{after}@{end}"))
}

/// A whole command line.
fn words() -> impl Strategy<Value = Vec<String>> {
    let command = select(vec![
        "run", "check", "engines", "restore", "clean", "resume", "show", "status", "report", "compare", "cliffs",
    ]);
    let more = vec![
        vec!["--rows", "1k"],
        vec!["--key", "uuid4"],
        vec!["--out", "r"],
        vec!["--quiet"],
        vec!["--no-such-flag"],
        vec!["--engine", "innodb"],
        vec!["--connections", "none"],
        vec!["--print-plan"],
        vec!["--json"],
        vec!["--scale", "0.1"],
    ];
    let most = more.len();
    let place = select(vec!["option", "equals", "alone", "password", "password-equals", "short", "plan"]);
    (command, target(), subsequence(more, 0..=most), place).prop_map(|(command, target, more, place)| {
        let mut words = vec![command.to_owned()];
        words.extend(match place {
            "option" => vec!["--target".to_owned(), target],
            "equals" => vec![format!("--target={target}")],
            "alone" => vec![target],
            "password" => vec!["--password".to_owned(), SECRET.to_owned()],
            "password-equals" => vec![format!("--password={SECRET}")],
            "short" => vec![format!("-p{SECRET}")],
            _ => vec!["--plan".to_owned(), "plan.toml".to_owned(), "--target".to_owned(), target],
        });
        words.extend(more.into_iter().flatten().map(str::to_owned));
        words
    })
}

#[test]
fn a_typed_password_is_in_no_output_and_no_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("plan.toml"), "rows = \"1k\"\nbatch-rows = \"1k\"\n").unwrap();
    let mut runner = TestRunner::new(Config { cases: 150, failure_persistence: None, ..Config::default() });
    runner
        .run(&words(), |words| {
            let output = rowcliff(home.path()).args(&words).stdin(std::process::Stdio::null()).output().unwrap();
            let said = text(&output);
            prop_assert!(!said.contains(SECRET), "{:?}: {}", words, said);
            prop_assert!(output.status.code().is_some_and(|code| code != 101), "{:?}: {}", words, said);
            let found = holding(home.path());
            prop_assert!(found.is_empty(), "{:?}: {:?}", words, found);
            let _ = std::fs::remove_dir_all(home.path().join("r"));
            let _ = std::fs::remove_dir_all(home.path().join("rowcliff-runs"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_password_from_the_environment_or_a_file_is_in_no_output_and_no_file() {
    let home = tempfile::tempdir().unwrap();
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("key");
    std::fs::write(&file, format!("{SECRET}\n")).unwrap();
    let server = ["--target", "mysql://me@127.0.0.1:1/db", "--rows", "1k", "--out", "r"];
    for words in [vec!["run"], vec!["check"], vec!["run", "--password-file", file.to_str().unwrap()]] {
        let output = rowcliff(home.path()).args(&words).args(server).env("ROWCLIFF_PASSWORD", SECRET).output().unwrap();
        assert!(!text(&output).contains(SECRET), "{}", text(&output));
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert_eq!(holding(home.path()), Vec::<String>::new());
    }
    assert!(home.path().join("r/run.json").exists());
}
