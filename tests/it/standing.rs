//! What a failed load is worth, from outside: it wins no comparison and no ranking, and what was never verified says so. And what
//! a comparison could not have seen.

use std::path::Path;

use rowcliff::error::exit;
use serde_json::{Value, json};

use crate::support::{run, stderr, stdout, text};

fn code(output: &std::process::Output) -> u8 {
    u8::try_from(output.status.code().expect("ended by itself")).unwrap()
}

/// Twelve batches of a thousand rows on SQLite.
fn load(home: &Path, name: &str, more: &[&str]) {
    let words = ["run", "--key", "uuid4", "--rows", "12k", "--batch-rows", "1k", "--quiet", "--out", name];
    let output = run(home, &[&words[..], more].concat());
    assert_eq!(code(&output), exit::OK, "{}", text(&output));
}

/// The run `from` once more as `to`, with its record altered, and every batch of it taking `share` of its time.
fn altered(home: &Path, from: &str, to: &str, share: f64, alter: impl Fn(&mut Value)) {
    let (from, to) = (home.join(from), home.join(to));
    std::fs::create_dir(&to).unwrap();
    let mut record: Value = serde_json::from_str(&std::fs::read_to_string(from.join("run.json")).unwrap()).unwrap();
    alter(&mut record);
    std::fs::write(to.join("run.json"), record.to_string()).unwrap();
    let mut reader = csv::Reader::from_path(from.join("batches.csv")).unwrap();
    let mut writer = csv::Writer::from_path(to.join("batches.csv")).unwrap();
    let header = reader.headers().unwrap().clone();
    writer.write_record(&header).unwrap();
    for line in reader.records() {
        let line = line.unwrap();
        let fields = header.iter().zip(&line).map(|(name, field)| match name {
            "seconds" => (field.parse::<f64>().unwrap() * share).to_string(),
            _ => field.to_owned(),
        });
        writer.write_record(fields).unwrap();
    }
    writer.flush().unwrap();
}

fn outcome(record: &mut Value, outcome: Value) {
    record["curves"][0]["outcome"] = outcome;
}

fn failed(record: &mut Value) {
    outcome(record, json!({"state": "failed", "code": 1030, "message": "out of luck"}));
}

fn wrong(record: &mut Value) {
    record["curves"][0]["verification"]["counted_rows"] = json!(0);
}

fn compared(home: &Path, words: &[&str]) -> (u8, Value, String) {
    let output = run(home, &[&["compare"], words, &["--json", "--tolerance", "99%"]].concat());
    let json = serde_json::from_str(&stdout(&output)).unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    (code(&output), json, stderr(&output))
}

#[test]
fn a_load_that_failed_or_was_verified_wrongly_is_left_out_on_either_side_and_that_is_exit_1() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    load(home, "fine", &[]);
    altered(home, "fine", "failed", 0.1, failed);
    altered(home, "fine", "wrong", 0.1, wrong);
    altered(home, "fine", "before", 1.0, failed);
    // It failed before its first batch was whole.
    std::fs::write(home.join("before/batches.csv"), "").unwrap();
    for (name, why, outcome) in [
        ("failed", "out of luck", "failed"),
        ("wrong", "0 were counted", "completed"),
        ("before", "out of luck", "failed"),
    ] {
        for words in [["fine", name], [name, "fine"], [name, name]] {
            let (code, json, stderr) = compared(home, &words);
            assert_eq!(code, exit::FAILED, "{words:?} {json}");
            assert!(stderr.contains("error:") && stderr.contains(why), "{stderr}");
            let cell = &json["cells"][0];
            assert!(cell["not_compared"].as_str().unwrap().contains(why), "{cell}");
            assert_eq!((&cell["speed_ratio"], &json["regressions"]), (&Value::Null, &json!(0)));
            let side = if words[1] == name { "new" } else { "base" };
            assert_eq!((&cell[side]["outcome"], &cell[side]["verified"]), (&json!(outcome), &json!(false)), "{cell}");
            assert_eq!(cell[side]["curves"][0]["outcome"], outcome);
            let text = stdout(&run(home, &[&["compare"], &words[..]].concat()));
            assert!(text.contains("not compared") && text.contains("no load could be compared"), "{text}");
            assert!(!text.contains("times as fast"), "{text}");
        }
    }
}

#[test]
fn a_repeat_that_failed_is_left_out_and_the_others_are_compared() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    load(home, "fine", &["--repeat", "3"]);
    altered(home, "fine", "one", 1.0, failed);
    let (code, json, _) = compared(home, &["fine", "one"]);
    let cell = &json["cells"][0];
    assert_eq!((code, &cell["base"]["repeats"], &cell["new"]["repeats"]), (exit::OK, &json!(3), &json!(2)), "{json}");
    assert_eq!((&cell["new"]["outcome"], &cell["new"]["verified"]), (&json!("completed"), &json!(true)));
    assert_eq!((&json["left_out"][0]["side"], &json["left_out"][0]["outcome"]), (&json!("NEW"), &json!("failed")));
    let out = stdout(&run(home, &["compare", "fine", "one", "--tolerance", "99%"]));
    assert!(out.contains("left out: repeat 1 of NEW, failed: out of luck"), "{out}");
}

#[test]
fn a_partner_that_failed_comes_before_a_regression_elsewhere() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    load(home, "fine", &["--key", "autoinc,uuid4", "--repeat", "1"]);
    altered(home, "fine", "slow", 9.0, |_| {});
    altered(home, "fine", "both", 9.0, failed);
    let words = |new: &'static str| ["compare", "fine", new, "--fail-if-inconclusive"];
    let slow = run(home, &words("slow"));
    assert_eq!(code(&slow), exit::REGRESSION, "{}", text(&slow));
    let both = run(home, &words("both"));
    assert_eq!(code(&both), exit::FAILED, "{}", text(&both));
    let out = stdout(&both);
    assert!(out.contains("REGRESSION in 1 of 1") && out.contains("only a partner that is left out"), "{out}");
}

#[test]
fn what_was_never_verified_is_compared_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    load(home, "fine", &[]);
    load(home, "no-verify", &["--no-verify"]);
    altered(home, "fine", "interrupted", 1.0, |record| outcome(record, json!({"state": "interrupted"})));
    altered(home, "fine", "running", 1.0, |record| outcome(record, json!({"state": "running"})));
    altered(home, "fine", "without", 1.0, |record| {
        record["curves"][0].as_object_mut().unwrap().remove("outcome");
    });
    let known = |word: &str| (json!(word), json!(false));
    for (new, expected) in [
        ("fine", (json!("completed"), json!(true))),
        ("no-verify", known("completed")),
        ("interrupted", known("interrupted")),
        ("running", known("running")),
        ("without", (Value::Null, Value::Null)),
        ("fine/batches.csv", (Value::Null, Value::Null)),
    ] {
        let (code, json, _) = compared(home, &["fine", new]);
        let side = &json["cells"][0]["new"];
        assert_eq!((code, &side["outcome"], &side["verified"]), (exit::OK, &expected.0, &expected.1), "{new}: {json}");
        assert!(json["cells"][0]["speed_ratio"].is_f64(), "{json}");
        assert_eq!(json["left_out"], json!([]));
        let out = stdout(&run(home, &["compare", "fine", new, "--tolerance", "99%"]));
        assert_eq!(out.contains("not verified: NEW ("), new != "fine", "{out}");
    }
    // A file of another program: nothing is known of it.
    // Faster than any load here, so that the exit code does not depend on the machine.
    let rows: String = (1..=12).map(|batch| format!("{},0.00001\n", batch * 1000)).collect();
    std::fs::write(home.join("other.csv"), format!("rows_total,batch_seconds\n{rows}")).unwrap();
    let (code, json, _) = compared(home, &["fine", "other.csv"]);
    assert_eq!((code, &json["cells"][0]["new"]["verified"]), (exit::OK, &Value::Null), "{json}");
    let both = stdout(&run(home, &["compare", "other.csv", "other.csv"]));
    assert!(both.contains("not verified: BASE and NEW ("), "{both}");
}

#[test]
fn curves_that_keep_no_row_are_compared_with_each_other_only() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    load(home, "fine", &[]);
    let null = |record: &mut Value| {
        record["curves"][0]["keeps_rows"] = json!(false);
        record["curves"][0]["verification"] = json!({
            "expected_rows": 12000, "counted_rows": null, "compared_rows": 0, "wrong_rows": 0,
            "first_difference": null, "left_out": "this engine keeps no row"
        });
    };
    altered(home, "fine", "null", 0.5, null);
    altered(home, "fine", "other", 0.5, null);
    let (code, json, _) = compared(home, &["null", "other"]);
    let cell = &json["cells"][0];
    assert_eq!(
        (code, &cell["keep_no_row"], &cell["new"]["verified"]),
        (exit::OK, &json!(true), &json!(false)),
        "{json}"
    );
    assert!(cell["speed_ratio"].is_f64(), "{json}");
    let out = stdout(&run(home, &["compare", "null", "other", "--tolerance", "99%"]));
    assert!(out.contains("both keep no row") && out.contains("no storage engine"), "{out}");
    for words in [["fine", "null"], ["null", "fine"]] {
        let (code, json, stderr) = compared(home, &words);
        assert_eq!((code, &json["cells"][0]["speed_ratio"]), (exit::FAILED, &Value::Null), "{json}");
        assert!(stderr.contains("keeps no row"), "{stderr}");
    }
}

/// A file of 100,000 rows a batch, in seconds of each.
fn file(home: &Path, name: &str, seconds: &[f64]) {
    let lines = (1..).zip(seconds).map(|(batch, seconds)| format!("{},{seconds}\n", batch * 100_000));
    std::fs::write(home.join(name), format!("rows_total,batch_seconds\n{}", lines.collect::<String>())).unwrap();
}

/// The exit codes without and with `--fail-if-inconclusive`, and what was said.
fn both_ways(home: &Path, words: &[&str]) -> (u8, u8, Value, String) {
    let plain = run(home, &[&["compare"], words].concat());
    let strict = run(home, &[&["compare"], words, &["--fail-if-inconclusive"]].concat());
    let json = run(home, &[&["compare"], words, &["--json"]].concat());
    assert_eq!((stdout(&plain), code(&plain)), (stdout(&strict), code(&json)), "the flag changes the exit code alone");
    (code(&plain), code(&strict), serde_json::from_str(&stdout(&json)).unwrap(), stdout(&plain))
}

#[test]
fn a_noisy_short_pair_is_inconclusive_and_what_it_would_take_is_estimated() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    file(home, "a.csv", &[5.0, 8.0, 4.0, 7.0, 5.5, 9.0]);
    file(home, "b.csv", &[7.5, 4.5, 8.5, 5.0, 6.5, 5.0]);
    let (plain, strict, json, out) = both_ways(home, &["a.csv", "b.csv"]);
    assert_eq!((plain, strict), (exit::OK, exit::INCONCLUSIVE), "{out}");
    let cell = &json["cells"][0];
    assert_eq!((&cell["is_inconclusive"], &json["inconclusive"]), (&json!(true), &json!(1)), "{json}");
    let figure = |name: &str| cell[name].as_f64().unwrap();
    let expected = 0.9 * figure("speed_ratio") / figure("speed_ratio_high");
    assert!((figure("smallest_found_ratio") - expected).abs() < 1e-12 && expected < 0.81, "{cell}");
    assert!(
        cell["batches_needed_estimate"].as_u64().unwrap() > 6 && cell["repeats_needed_estimate"].is_null(),
        "{cell}"
    );
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["INCONCLUSIVE: a slowdown beyond the tolerance of 10%", "an estimate", "INCONCLUSIVE in 1 of 1"] {
        assert!(flat.contains(words), "no {words:?} in {out}");
    }
    assert!(!flat.contains("no regression in"), "{out}");
    // A quiet pair is not, and what is slower for certain stays that.
    let quiet: Vec<f64> = (0..30).map(|batch| 5.0 + f64::from(batch * 7 % 5) / 50.0).collect();
    file(home, "quiet.csv", &quiet);
    let (plain, strict, json, _) = both_ways(home, &["quiet.csv", "quiet.csv"]);
    assert_eq!((plain, strict, &json["inconclusive"]), (exit::OK, exit::OK, &json!(0)), "{json}");
    let slow: Vec<f64> = quiet.iter().map(|seconds| seconds * 2.0).collect();
    file(home, "slow.csv", &slow);
    let (plain, strict, json, _) = both_ways(home, &["quiet.csv", "slow.csv"]);
    assert_eq!((plain, strict, &json["inconclusive"]), (exit::REGRESSION, exit::REGRESSION, &json!(0)), "{json}");
}

#[test]
fn below_three_common_sizes_both_figures_stand_and_no_verdict() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    file(home, "long.csv", &[5.0; 12]);
    for batches in [1, 2] {
        file(home, "short.csv", &vec![10.0; batches]);
        for words in [["long.csv", "short.csv"], ["short.csv", "long.csv"]] {
            let (plain, strict, json, out) = both_ways(home, &words);
            assert_eq!((plain, strict), (exit::OK, exit::INCONCLUSIVE), "{out}");
            assert!(out.contains("too short") && out.contains("20.0k") && out.contains("10.0k"), "{out}");
            assert!(!out.contains("REGRESSION") && !out.contains("times as fast"), "{out}");
            let cell = &json["cells"][0];
            assert_eq!((&cell["too_short"], &cell["sizes"]), (&json!(true), &json!(batches)), "{cell}");
            let side = if words[0] == "long.csv" { "base" } else { "new" };
            assert!((cell[side]["inserts_per_sec"].as_f64().unwrap() - 20_000.0).abs() < 1e-6, "{cell}");
            assert_eq!(cell["speed_ratio"], Value::Null);
        }
    }
}

/// Over pairs of every width and ratio: the flag turns a 0 into a 6 and leaves a 4 alone.
#[test]
fn the_flag_never_hides_a_regression() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let mut seen = std::collections::BTreeSet::new();
    for (scatter, factor) in
        [0.0, 0.05, 0.2, 0.6].into_iter().flat_map(|one| [0.8, 1.0, 1.1, 1.3, 3.0].map(|other| (one, other)))
    {
        let noise = |batch: u64, salt: u64| 1.0 + scatter * ((batch * 7919 + salt * 104_729) % 101) as f64 / 101.0;
        let of = |salt: u64, factor: f64| (1..=9).map(|batch| factor * noise(batch, salt)).collect::<Vec<f64>>();
        file(home, "a.csv", &of(3, 5.0));
        file(home, "b.csv", &of(8, 5.0 * factor));
        let (plain, strict, json, out) = both_ways(home, &["a.csv", "b.csv"]);
        match plain {
            exit::REGRESSION => assert_eq!(strict, exit::REGRESSION, "{out}"),
            plain => {
                let open = json["cells"][0]["is_inconclusive"] == json!(true);
                assert_eq!((plain, strict), (exit::OK, if open { exit::INCONCLUSIVE } else { exit::OK }), "{out}");
            }
        }
        seen.insert((plain, strict));
    }
    let every = [(exit::OK, exit::OK), (exit::OK, exit::INCONCLUSIVE), (exit::REGRESSION, exit::REGRESSION)];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), every, "every kind was met");
}
