//! The binary driven from outside, without any server: words, errors, files, pipes, signals.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rowcliff::error::exit;
use rowcliff::record::Outcome;

use crate::support::{record, rowcliff, rowcliff_by, run, samples, stderr, stdout, text};

/// A run that is over in well under a second.
const SMALL: [&str; 7] = ["run", "--rows", "4k", "--batch-rows", "1k", "--out", "r"];

fn code(output: &std::process::Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

#[test]
fn wrong_words_are_refused_with_the_flag_and_the_next_step() {
    let home = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "--rows", "0"], &["--rows", "at least 1"]),
        (&["run", "--rows", "-5"], &["--rows", "negative"]),
        (&["run", "--batch-rows", "0"], &["--batch-rows"]),
        (&["run", "--statement-rows", "x"], &["--statement-rows", "50k"]),
        (&["run", "--connections", "0"], &["--connections"]),
        (&["run", "--repeat", "0"], &["--repeat"]),
        (&["run", "--key", "uuid5"], &["--key", "uuid5", "uuid7"]),
        (&["run", "--key", "uuid4:text"], &["--key", "text", "binary16"]),
        (&["run", "--flush", "3"], &["--flush", "as-is"]),
        (&["run", "--method", "copy"], &["--method", "load-data"]),
        (&["run", "--target", "oracle"], &["--target", "oracle", "sqlite"]),
        (&["run", "--target", "mysql://u@h"], &["--target", "database"]),
        (&["run", "--engine", "innodb"], &["--engine", "SQLite"]),
        (&["run", "--target", "mysql://u@localhost/d?socket=/nowhere"], &["--rows", "300M"]),
        (&["run", "--rows", "20000000000G"], &["--rows", "too large"]),
        (&["run", "--index-order", "up"], &["--index-order", "ascending"]),
        (&["run", "--bogus"], &["--bogus"]),
        (&["bogus"], &["bogus"]),
    ];
    for (words, expected) in cases {
        let output = run(home.path(), words);
        assert_eq!(code(&output), exit::USAGE, "{words:?}: {}", text(&output));
        for word in *expected {
            assert!(stderr(&output).contains(word), "{words:?} does not say {word:?}: {}", text(&output));
        }
        assert_eq!(stdout(&output), "", "{words:?}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "a refused run leaves nothing behind");
}

#[test]
fn a_password_in_a_mistyped_word_is_in_no_output_and_no_file() {
    const SECRET: &str = "zQx7secret";
    let home = tempfile::tempdir().unwrap();
    let targets = [
        "mysql//u:{}@h/db",
        "mysql:/u:{}@h/db",
        "mysql:u:{}@h/db",
        "u:{}@h/db",
        "mysql://u:{}",
        "mysql://u:{}@localhost:1/db",
        "mysql://u:{}#x@h/db",
        "mysql://u:12/{}@h/db",
        "sqlite:mysql://u:{}@h/x",
        "scratch:mysql://u:{}@h/x",
        "postgres://u:{}@h/x",
        "mysql://u:{}@h:port/db",
    ]
    .map(|form| form.replace("{}", SECRET));
    for target in &targets {
        let joined = format!("--target={target}");
        let commands: [&[&str]; 14] = [
            &["run", "--target", target, "--rows", "2k", "--batch-rows", "1k"],
            &["run", &joined, "--rows", "2k", "--batch-rows", "1k"],
            &["run", target],
            &["run", "--rows", target],
            &["run", "--rows", "2k", "--batch-rows", "1k", "--key", "autoinc", "--title", target],
            &["run", "--rows", "2k", "--batch-rows", "1k", "--key", "autoinc", "--out", target],
            &["check", "--target", target, "--rows", "2k"],
            &["check", "--print-plan", "--target", target, "--rows", "2k"],
            &["run", "--plan", target],
            &["show", target],
            &["compare", target, target],
            &["clean", target],
            &["restore", "--target", target],
            &[target],
        ];
        for words in commands {
            let output = run(home.path(), words);
            assert!(!text(&output).contains(SECRET), "{words:?}: {}", text(&output));
        }
    }
    for words in [&["run", "--password=zQx7secret"][..], &["run", "-pzQx7secret"], &["run", "--password", SECRET]] {
        let output = run(home.path(), words);
        assert_eq!(code(&output), exit::USAGE, "{words:?}: {}", text(&output));
        assert!(!text(&output).contains(SECRET), "{words:?}: {}", text(&output));
    }
    let mut left = vec![home.path().to_owned()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            let holds = bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
            assert!(!holds, "{}", path.display());
        }
    }
}

#[test]
fn help_and_version_work_before_anything_that_can_fail() {
    let home = tempfile::tempdir().unwrap();
    for words in [&["--help"][..], &["run", "--help"], &["--version"], &["show", "--help"]] {
        let output = run(home.path(), words);
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
        assert!(!stdout(&output).is_empty());
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = tempfile::tempdir().unwrap();
    for (target, expected) in [
        ("mysql://me@127.0.0.1:1/test", "127.0.0.1:1"),
        ("mysql://me@localhost/test?socket=/nowhere/my.sock", "/nowhere/my.sock"),
    ] {
        for command in ["run", "check"] {
            let output = run(home.path(), &[command, "--target", target, "--rows", "1M", "--out", "r"]);
            assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
            assert!(
                stderr(&output).contains(expected) && stderr(&output).contains("check that it runs"),
                "{}",
                text(&output)
            );
        }
    }
}

#[test]
fn a_start_that_failed_leaves_its_directory_to_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let nowhere = ["run", "--target", "mysql://me@127.0.0.1:1/test", "--rows", "1k", "--out", "r"];
    for _ in 0..2 {
        let output = run(home.path(), &nowhere);
        assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
        assert!(stderr(&output).contains("127.0.0.1:1"), "{}", text(&output));
    }
    std::fs::write(home.path().join("r/journal"), "{\"what\":\"back-to\",\"curve\":1,\"batch\":0}\n").unwrap();
    let output = run(home.path(), &SMALL);
    assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
    for word in ["rowcliff clean r", "--continue", "--out"] {
        assert!(stderr(&output).contains(word), "{word}: {}", text(&output));
    }
    std::fs::write(home.path().join("r/journal"), "").unwrap();
    let lock = std::fs::File::options().write(true).open(home.path().join("r/lock")).unwrap();
    lock.lock().unwrap();
    let output = run(home.path(), &SMALL);
    assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
    assert!(stderr(&output).contains("is writing this run"), "{}", text(&output));
    drop(lock);
    let output = run(home.path(), &SMALL);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let (lines, curves) = (samples(&home.path().join("r")), record(&home.path().join("r")).curves);
    assert_eq!(lines.len() as u64, curves.iter().map(|curve| curve.batches).sum::<u64>());
}

#[test]
fn out_is_never_a_directory_with_something_in_it() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(home.path(), &SMALL)), exit::OK);
    let before = std::fs::read(home.path().join("r/batches.csv")).unwrap();
    let output = run(home.path(), &SMALL);
    assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
    assert!(stderr(&output).contains("--out r") && stderr(&output).contains("not empty"), "{}", text(&output));
    assert_eq!(std::fs::read(home.path().join("r/batches.csv")).unwrap(), before);
}

#[test]
fn a_place_that_cannot_be_written_fails_before_anything_is_measured() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("file"), "x").unwrap();
    for out in ["file", "file/below", "/proc/rowcliff"] {
        let output = run(home.path(), &["run", "--rows", "1M", "--out", out]);
        assert_eq!(code(&output), exit::FAILED, "{}", text(&output));
        assert!(stderr(&output).contains(out) && stderr(&output).contains("--out"), "{}", text(&output));
    }
}

#[test]
fn progress_is_plain_lines_on_stderr_and_results_are_on_stdout() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &SMALL);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(!out.contains('\x1b') && !err.contains('\x1b') && !err.contains('\r'), "{}", text(&output));
    assert_eq!(err.matches("\nbatch ").count(), 8, "{err}");
    assert!(out.contains("autoinc") && out.contains("uuid4") && out.contains("completed"), "{out}");
    for file in ["seconds-per-batch.svg", "inserts-per-second.svg", "batches.csv", "run.json"] {
        assert!(out.contains(file), "{out}");
        assert!(home.path().join("r").join(file).is_file());
    }
    let quiet = run(home.path(), &["run", "--rows", "2k", "--batch-rows", "1k", "--quiet", "--out", "q"]);
    assert_eq!(stderr(&quiet), "");
    assert!(stdout(&quiet).contains("completed"));
}

#[test]
fn a_stderr_that_closes_does_not_end_the_load_and_a_stdout_that_closes_is_no_failure() {
    let home = tempfile::tempdir().unwrap();
    let mut child = rowcliff(home.path()).args(SMALL).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::OK)));
    assert_eq!(samples(&home.path().join("r")).len(), 8);
}

#[test]
fn results_that_cannot_be_printed_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = rowcliff(home.path()).args(SMALL).stdout(full).output().unwrap();
    assert_eq!(code(&output), exit::FAILED);
    assert!(stderr(&output).contains("could not be printed"), "{}", text(&output));
}

#[test]
fn show_and_plot_need_nothing_but_the_files() {
    let home = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(home.path(), &SMALL)), exit::OK);
    let shown = run(home.path(), &["show", "r"]);
    assert_eq!(code(&shown), exit::OK, "{}", text(&shown));
    assert!(stdout(&shown).contains("rows in table") && stdout(&shown).contains("4k"), "{}", text(&shown));
    let plotted = run(home.path(), &["plot", "r", "--log", "--out", "pictures"]);
    assert_eq!(code(&plotted), exit::OK, "{}", text(&plotted));
    for file in ["seconds-per-batch.svg", "inserts-per-second.svg"] {
        let svg = std::fs::read_to_string(home.path().join("pictures").join(file)).unwrap();
        let mut reader = quick_xml::Reader::from_str(&svg);
        loop {
            match reader.read_event().unwrap() {
                quick_xml::events::Event::Eof => break,
                _ => continue,
            }
        }
        assert!(svg.contains("autoinc") && svg.contains("uuid4"));
    }
    // Several runs in one picture.
    let second = run(home.path(), &["run", "--rows", "4k", "--batch-rows", "1k", "--seed", "2", "--out", "s"]);
    assert_eq!(code(&second), exit::OK);
    assert_eq!(code(&run(home.path(), &["plot", "r", "s", "--out", "both"])), exit::OK);
    let nothing = run(home.path(), &["show", "nowhere"]);
    assert_eq!(code(&nothing), exit::FAILED);
    assert!(stderr(&nothing).contains("nowhere"));
}

#[test]
fn check_prints_the_plan_and_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let output = run(
        home.path(),
        &["check", "--rows", "34000000000", "--no-disk-check", "--batch-rows", "1M", "--connections", "1,8"],
    );
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let out = stdout(&output);
    for expected in ["34,000 x 1M", "34G", "2 of 4 curves would run", "skipped: ", "one writer"] {
        assert!(out.contains(expected), "no {expected:?}: {out}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn rows_are_rounded_up_to_whole_batches_and_it_is_said() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["run", "--rows", "2500", "--batch-rows", "1k", "--key", "autoinc", "--out", "r"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert!(stderr(&output).contains("2,500 is rounded up to 3,000"), "{}", text(&output));
    assert_eq!(samples(&home.path().join("r")).last().unwrap().table_rows, 3000);
}

/// Waits until the run has recorded a batch, and gives the child.
fn started(home: &std::path::Path, words: &[&str]) -> std::process::Child {
    let child = rowcliff(home).args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let file = home.join("r/batches.csv");
    while std::fs::read_to_string(&file).is_ok_and(|text| text.lines().count() < 3) || !file.exists() {
        assert!(Instant::now() < deadline, "no batch within 30 s");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &std::process::Child, name: &str) {
    let status =
        std::process::Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_signal_ends_the_run_in_good_order_within_ten_seconds() {
    for name in ["INT", "TERM", "HUP"] {
        let home = tempfile::tempdir().unwrap();
        let mut child = started(
            home.path(),
            &["run", "--rows", "1G", "--no-disk-check", "--batch-rows", "20k", "--key", "uuid4", "--out", "r"],
        );
        let asked = Instant::now();
        signal(&child, name);
        let status = child.wait().unwrap();
        assert!(asked.elapsed() < Duration::from_secs(10));
        assert_eq!(status.code(), Some(i32::from(exit::INTERRUPTED)), "{name}");
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(
            err.contains("interrupted") && err.contains("rowcliff clean r") || err.contains("rowcliff clean /"),
            "{err}"
        );
        let run_directory = home.path().join("r");
        let lines = samples(&run_directory);
        let curve = &record(&run_directory).curves[0];
        assert_eq!(lines.len() as u64, curve.batches);
        assert_eq!(lines.last().unwrap().table_rows, curve.table_rows);
        // What is left behind goes with `clean`, once.
        assert!(run_directory.join("curve-1.sqlite").exists());
        let cleaned = run(home.path(), &["clean", "r"]);
        assert_eq!(code(&cleaned), exit::OK, "{}", text(&cleaned));
        assert!(!run_directory.join("curve-1.sqlite").exists());
        assert!(stdout(&run(home.path(), &["clean", "r"])).contains("no table"));
        assert_eq!(code(&run(home.path(), &["show", "r"])), exit::OK);
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let trap = ["sh", "-c", "trap '' HUP; exec \"$0\" \"$@\""];
    let background = ["env", "--ignore-signal=INT"];
    for (by, ignored, ends) in [(&["nohup"][..], "HUP", "INT"), (&trap, "HUP", "TERM"), (&background, "INT", "HUP")] {
        let home = tempfile::tempdir().unwrap();
        let words = ["run", "--rows", "1G", "--batch-rows", "5k", "--key", "autoinc", "--no-disk-check", "--out", "r"];
        let mut child = rowcliff_by(by, home.path())
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        recorded(home.path(), 2);
        for _ in 0..3 {
            signal(&child, ignored);
        }
        // Loading goes on, and another signal still ends it.
        recorded(home.path(), samples(&home.path().join("r")).len() + 3);
        signal(&child, ends);
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)), "{by:?}");
        assert_eq!(record(&home.path().join("r")).curves[0].outcome, Outcome::Interrupted, "{by:?}");
    }
}

/// Waits until so many batches are recorded.
fn recorded(home: &std::path::Path, batches: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::read_to_string(home.join("r/batches.csv")).map_or(0, |text| text.lines().count()) <= batches {
        assert!(Instant::now() < deadline, "no {batches} batches within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_second_signal_leaves_at_once() {
    let home = tempfile::tempdir().unwrap();
    // One statement that takes seconds, so that the orderly end cannot be over before the second signal.
    let words = [
        "run",
        "--rows",
        "1G",
        "--no-disk-check",
        "--batch-rows",
        "200k",
        "--statement-rows",
        "200k",
        "--key",
        "uuid4",
        "--out",
        "r",
    ];
    let mut child = started(home.path(), &words);
    signal(&child, "INT");
    signal(&child, "INT");
    let asked = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::INTERRUPTED)));
    assert!(asked.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_run_that_is_going_on_can_be_shown_and_not_cleaned() {
    let home = tempfile::tempdir().unwrap();
    let mut child = started(
        home.path(),
        &["run", "--rows", "1G", "--no-disk-check", "--batch-rows", "20k", "--key", "uuid4", "--out", "r"],
    );
    let shown = run(home.path(), &["show", "r"]);
    let plotted = run(home.path(), &["plot", "r", "--out", "p"]);
    let cleaned = run(home.path(), &["clean", "r"]);
    signal(&child, "INT");
    let _ = child.wait();
    assert_eq!(code(&shown), exit::OK, "{}", text(&shown));
    assert_eq!(code(&plotted), exit::OK, "{}", text(&plotted));
    assert_eq!(code(&cleaned), exit::FAILED, "{}", text(&cleaned));
    assert!(stderr(&cleaned).contains("is writing this run"));
}

#[test]
fn figures_do_not_depend_on_the_locale() {
    let home = tempfile::tempdir().unwrap();
    let output = rowcliff(home.path()).args(SMALL).env("LC_ALL", "de_DE.UTF-8").output().unwrap();
    assert_eq!(code(&output), exit::OK);
    assert_eq!(samples(&home.path().join("r")).len(), 8);
}
