//! Plan files, parts of a plan, and progress for machines: the binary driven from outside, without any server.

use std::path::Path;
use std::process::{Output, Stdio};

use rowcliff::error::exit;
use serde_json::Value;

use crate::support::{record, rowcliff, run, samples, stderr, stdout, text};

/// Four small cells.
const FOUR: &str =
    "key = [\"autoinc\", \"uuid1\", \"uuid4\", \"uuid7\"]\nrows = \"2k\"\nbatch-rows = 1000\nrepeat = 2\n";

fn code(output: &Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

fn home_with(plan: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("plan.toml"), plan).unwrap();
    home
}

#[test]
fn a_plan_file_is_run_and_the_command_line_comes_before_it() {
    let home = home_with("key = \"uuid7\"\nrows = \"3k\"\nbatch-rows = \"1k\"\nkeep = true\n");
    let output = run(home.path(), &["run", "--plan", "plan.toml", "--rows", "2k", "--out", "r"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let run_directory = home.path().join("r");
    let lines = samples(&run_directory);
    assert_eq!(lines.iter().map(|line| line.table_rows).collect::<Vec<_>>(), [1000, 2000]);
    assert!(lines.iter().all(|line| line.key == "uuid7:binary16"));
    assert!(run_directory.join("curve-1.sqlite").exists(), "keep");
    assert_eq!(record(&run_directory).plan["shard"], Value::Null);
    let output = run(home.path(), &["run", "--plan", "plan.toml", "--keep=false", "--out", "s"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    assert!(!home.path().join("s/curve-1.sqlite").exists());
    let checked = run(home.path(), &["check", "--plan", "plan.toml"]);
    assert!(stdout(&checked).contains("3 x 1k") && stdout(&checked).contains("1 of 1 curves"), "{}", text(&checked));
}

#[test]
fn what_is_wrong_with_a_plan_file_is_named_with_file_and_line() {
    let home = home_with("rows = \"3k\"\n\nbogus = 1\n");
    for command in ["run", "check"] {
        let output = run(home.path(), &[command, "--plan", "plan.toml"]);
        assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
        assert!(stderr(&output).contains("plan.toml:3: \"bogus\" is not known"), "{}", text(&output));
        assert_eq!(stdout(&output), "");
    }
    std::fs::write(home.path().join("plan.toml"), "rows = \"3k\"\nkey = \"uuid5\"\n").unwrap();
    let output = run(home.path(), &["run", "--plan", "plan.toml"]);
    assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
    assert!(stderr(&output).contains("plan.toml:2: --key"), "{}", text(&output));
    let missing = run(home.path(), &["run", "--plan", "nowhere.toml"]);
    assert_eq!(code(&missing), exit::FAILED, "{}", text(&missing));
    assert!(stderr(&missing).contains("nowhere.toml") && stderr(&missing).contains("--plan"), "{}", text(&missing));
    let twice = run(home.path(), &["run", "--plan", "plan.toml", "--plan", "plan.toml"]);
    assert_eq!(code(&twice), exit::USAGE, "{}", text(&twice));
    assert!(stderr(&twice).contains("--plan") && stderr(&twice).contains("multiple times"), "{}", text(&twice));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1, "a refused run leaves nothing behind");
}

#[test]
fn a_printed_plan_repeats_its_command_line() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["--key", "uuid7,autoinc", "--rows", "2500", "--batch-rows", "1k", "--repeat", "2", "--max-slowdown", "50"];
    let printed = run(home.path(), &[&["check", "--print-plan"][..], &words].concat());
    assert_eq!(code(&printed), exit::OK, "{}", text(&printed));
    assert_eq!(stderr(&printed), "");
    assert!(std::fs::read_dir(home.path()).unwrap().next().is_none());
    std::fs::write(home.path().join("p.toml"), stdout(&printed)).unwrap();
    let typed = run(home.path(), &[&["run", "--out", "typed"][..], &words].concat());
    let from_file = run(home.path(), &["run", "--plan", "p.toml", "--out", "file"]);
    assert_eq!((code(&typed), code(&from_file)), (exit::OK, exit::OK), "{}", text(&from_file));
    assert_eq!(record(&home.path().join("typed")).plan, record(&home.path().join("file")).plan);
    // A plan that makes no sense is not printed.
    let refused = run(home.path(), &["check", "--print-plan", "--key", "uuid5"]);
    assert_eq!(code(&refused), exit::USAGE, "{}", text(&refused));
    assert_eq!(stdout(&refused), "");
    // A password is not printed either, and the server is not asked.
    let target = "mysql://me:s3cret@127.0.0.1:1/test";
    let words = ["check", "--print-plan", "--target", target, "--rows", "1M", "--ask-password"];
    let server = run(home.path(), &words);
    assert_eq!(code(&server), exit::OK, "{}", text(&server));
    assert!(
        stdout(&server).contains("mysql://me@127.0.0.1:1/test") && !text(&server).contains("s3cret"),
        "{}",
        text(&server)
    );
    assert!(stderr(&server).contains("--password-file"), "{}", text(&server));
}

#[test]
fn a_shard_that_does_not_exist_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for (word, expected) in
        [("0/4", "from 1"), ("5/4", "no part 5 of 4"), ("x", "1/4"), ("1/0", "1/1"), ("-1/4", "1/4")]
    {
        let output = run(home.path(), &["run", &format!("--shard={word}")]);
        assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
        assert!(stderr(&output).contains("--shard") && stderr(&output).contains(expected), "{}", text(&output));
    }
    let output = rowcliff(home.path())
        .args(["run", "--shard", "slurm"])
        .env("SLURM_ARRAY_TASK_ID", "2")
        .env_remove("SLURM_ARRAY_TASK_MIN")
        .output()
        .unwrap();
    assert_eq!(code(&output), exit::USAGE, "{}", text(&output));
    assert!(stderr(&output).contains("SLURM_ARRAY_TASK_MIN is not set"), "{}", text(&output));
    assert!(std::fs::read_dir(home.path()).unwrap().next().is_none());
}

#[test]
fn the_shards_of_a_plan_are_the_plan() {
    let home = home_with(FOUR);
    let mut seen = Vec::new();
    for number in 1..=3 {
        let out = format!("shard-{number}");
        let output = run(
            home.path(),
            &["run", "--plan", "plan.toml", "--shard", &format!("{number}/3"), "--quiet", "--out", &out],
        );
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
        let record = record(&home.path().join(&out));
        let shard = serde_json::json!({ "number": number, "parts": 3, "plan_cells": 4, "plan_curves": 8 });
        assert_eq!(record.plan["shard"], shard);
        for curve in record.plan["curves"].as_array().unwrap() {
            seen.push((curve["number"].as_u64().unwrap(), curve["name"].as_str().unwrap().to_owned()));
        }
    }
    seen.sort();
    let whole = run(home.path(), &["run", "--plan", "plan.toml", "--quiet", "--out", "whole"]);
    assert_eq!(code(&whole), exit::OK, "{}", text(&whole));
    let all = record(&home.path().join("whole")).plan;
    let all: Vec<(u64, String)> = all["curves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|curve| (curve["number"].as_u64().unwrap(), curve["name"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(seen, all);
    // Together they are shown as the whole would be: one label for each curve.
    let directories = ["shard-1", "shard-2", "shard-3"];
    let shown = run(home.path(), &[&["show"][..], &directories].concat());
    assert_eq!(code(&shown), exit::OK, "{}", text(&shown));
    let plotted = run(home.path(), &[&["plot", "--out", "p"][..], &directories].concat());
    assert_eq!(code(&plotted), exit::OK, "{}", text(&plotted));
    for key in ["autoinc", "uuid1", "uuid4", "uuid7"] {
        for file in ["seconds-per-batch.svg", "inserts-per-second.svg"] {
            let labels = svg_texts(&home.path().join("p").join(file));
            let of_key = labels.iter().filter(|label| label.split(' ').next() == Some(key)).count();
            assert_eq!(of_key, 1, "{key} in {file}: {labels:?}");
        }
        assert!(stdout(&shown).contains(key), "{}", text(&shown));
    }
}

/// The texts of a picture.
fn svg_texts(path: &Path) -> Vec<String> {
    let svg = std::fs::read_to_string(path).unwrap();
    let mut reader = quick_xml::Reader::from_str(&svg);
    let (mut texts, mut inside) = (Vec::new(), false);
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(tag) => inside = tag.name().as_ref() == "text",
            quick_xml::events::Event::Text(words) if inside => {
                texts.push(words.trim().to_owned());
            }
            quick_xml::events::Event::End(_) => inside = false,
            quick_xml::events::Event::Eof => return texts,
            _ => {}
        }
    }
}

#[test]
fn a_shard_with_nothing_to_do_says_so_and_is_no_failure() {
    let home = home_with(FOUR);
    for command in ["run", "check"] {
        let output = run(home.path(), &[command, "--plan", "plan.toml", "--shard", "5/5"]);
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
        assert!(stdout(&output).contains("shard 5/5 has nothing to do"), "{}", text(&output));
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
    let part = run(home.path(), &["check", "--plan", "plan.toml", "--shard", "2/3"]);
    let out = stdout(&part);
    assert!(out.contains("shard 2/3: 2 of the 8 curves") && out.contains("2 of 2 curves would run"), "{out}");
}

#[test]
fn a_task_of_an_array_runs_its_shard_into_a_directory_of_its_own() {
    let home = home_with(FOUR);
    let task = |id: &str| {
        let output = rowcliff(home.path())
            .args(["run", "--plan", "plan.toml", "--shard", "slurm", "--quiet"])
            .envs([("SLURM_ARRAY_TASK_ID", id), ("SLURM_ARRAY_TASK_MIN", "10"), ("SLURM_ARRAY_TASK_COUNT", "2")])
            .env("SLURM_ARRAY_TASK_STEP", "5")
            .output()
            .unwrap();
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
    };
    task("10");
    task("15");
    let mut names: Vec<String> = std::fs::read_dir(home.path().join("rowcliff-runs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_by_key(|name| name.split_once("-shard-").map(|(_, part)| part.to_owned()));
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[0].ends_with("-shard-1-of-2") && names[1].ends_with("-shard-2-of-2"), "{names:?}");
}

/// A database file that is named belongs to one curve, in whatever shard.
#[test]
fn shards_do_not_meet_in_one_file() {
    let home = tempfile::tempdir().unwrap();
    for part in ["1/2", "2/2"] {
        let out = format!("r{}", &part[..1]);
        let words = [
            "run",
            "--target",
            "sqlite:t.db",
            "--rows",
            "1k",
            "--batch-rows",
            "1k",
            "--keep",
            "--shard",
            part,
            "--out",
        ];
        let output = run(home.path(), &[&words[..], &[&out]].concat());
        assert_eq!(code(&output), exit::OK, "{}", text(&output));
    }
    assert!(home.path().join("t-1.db").exists() && home.path().join("t-2.db").exists());
}

/// Every line of stderr as JSON, with its version.
fn events(output: &Output) -> Vec<Value> {
    let lines: Vec<Value> = stderr(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        assert!(line["v"] == 1 && line["event"].is_string(), "{line}");
        assert!(line["at"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    lines
}

fn words_of(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["event"].as_str().unwrap()).filter(|word| *word != "note").collect()
}

#[test]
fn progress_for_machines_is_one_object_for_each_event_and_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["run", "--rows", "1900", "--batch-rows", "1k", "--connections", "1,2", "--progress", "json", "--out", "r"];
    let output = run(home.path(), &words);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let lines = events(&output);
    let one = ["curve-started", "batch", "batch", "curve-finished"];
    let expected: Vec<&str> =
        [&["run-started", "skipped", "skipped"][..], &one, &one, &["run-finished", "exit"]].concat();
    assert_eq!(words_of(&lines), expected, "{}", text(&output));
    // Also what is said before the run starts.
    assert!(lines[0]["event"] == "note" && lines[0]["text"].as_str().unwrap().contains("rounded up"), "{}", lines[0]);
    let of = |word: &str| lines.iter().filter(|line| line["event"] == word).collect::<Vec<_>>();
    assert_eq!(of("run-started")[0]["curves"], 2);
    assert_eq!(of("run-started")[0]["shard"], Value::Null);
    assert_eq!(of("exit")[0]["code"], 0);
    assert_eq!(of("run-finished")[0]["outcomes"], serde_json::json!({ "completed": 2, "skipped": 2 }));
    // A batch is the line of the file, by column.
    for (line, sample) in of("batch").iter().zip(samples(&home.path().join("r"))) {
        assert_eq!(line["sample"], serde_json::to_value(&sample).unwrap());
        assert_eq!(line["curve"], sample.curve.as_str());
        assert!(line["sample"]["server_cpu_seconds"].is_null(), "not known is null: {line}");
    }
}

#[test]
fn a_stop_and_an_error_are_events_too() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["run", "--rows", "100k", "--batch-rows", "1k", "--key", "autoinc", "--min-rate", "1G", "--progress", "json"];
    let output = run(home.path(), &[&words[..], &["--out", "r"]].concat());
    assert_eq!(code(&output), exit::STOPPED, "{}", text(&output));
    let lines = events(&output);
    let stop = lines.iter().find(|line| line["event"] == "stop").expect("a stop");
    assert!(stop["rule"].as_str().unwrap().starts_with("--min-rate"), "{stop}");
    assert_eq!(lines.last().unwrap()["code"], exit::STOPPED);
    let again = run(home.path(), &[&words[..], &["--out", "r"]].concat());
    let lines = events(&again);
    assert_eq!(words_of(&lines), ["error", "exit"]);
    assert!(lines.iter().any(|line| line["text"].as_str().is_some_and(|text| text.contains("--out r"))));
    assert_eq!(lines.last().unwrap()["code"], exit::USAGE);
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_load() {
    for how in ["json", "plain", "bar"] {
        let home = tempfile::tempdir().unwrap();
        let mut child = rowcliff(home.path())
            .args(["run", "--rows", "4k", "--batch-rows", "1k", "--progress", how, "--out", "r"])
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(i32::from(exit::OK)), "{how}");
        assert_eq!(samples(&home.path().join("r")).len(), 8);
    }
}

#[test]
fn the_kinds_of_progress_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "2k", "--batch-rows", "1k", "--key", "autoinc"];
    for how in ["auto", "plain", "bar"] {
        let output = run(home.path(), &[&words[..], &["--progress", how, "--out", how]].concat());
        assert_eq!(stderr(&output).matches("\nbatch ").count(), 2, "{how}: {}", text(&output));
        assert!(!stderr(&output).contains('\x1b'), "{how}");
    }
    let silent = run(home.path(), &[&words[..], &["--progress", "none", "--out", "none"]].concat());
    assert_eq!((code(&silent), stderr(&silent)), (exit::OK, String::new()));
    let both = run(home.path(), &[&words[..], &["--progress", "json", "--quiet"]].concat());
    assert_eq!(code(&both), exit::USAGE, "{}", text(&both));
}

#[test]
fn the_record_says_how_many_threads_made_rows() {
    let home = tempfile::tempdir().unwrap();
    let output = run(home.path(), &["run", "--rows", "1k", "--batch-rows", "1k", "--key", "autoinc", "--out", "r"]);
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
    let environment = record(&home.path().join("r")).environment;
    let threads = environment.encode_threads.unwrap();
    assert!((1..=environment.cpu_cores.unwrap()).contains(&threads));
    if let Some(limit) = environment.cgroup_cpu_cores {
        assert!(threads <= limit.ceil() as u64);
    }
}
