//! Pictures compared with golden files, letter by letter: what nobody meant to change has not changed.
//!
//! After a change that is meant, look at the new pictures and renew the files: `ROWCLIFF_RENEW=1 cargo test --test it golden`, then
//! `git diff --stat tests/data/golden`.

use std::path::{Path, PathBuf};

use rowcliff::record::probe::PROBES_FILE;
use rowcliff::record::store::{BATCHES_FILE, CsvAppender};
use rowcliff::record::{ProbeLine, Sample};

use crate::support::{run, text};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden").join(name)
}

/// Two curves of twelve batches, of which one falls, with probes of two kinds over two numbers of connections.
fn write(home: &Path) {
    let mut batches = CsvAppender::open(&home.join(BATCHES_FILE)).unwrap();
    let mut probes = CsvAppender::open(&home.join(PROBES_FILE)).unwrap();
    for (key, fall) in [("autoinc", 1.0), ("uuid4:binary16", 6.0)] {
        for batch in 1..=12_u64 {
            let slow = if batch <= 5 { 1.0 } else { fall };
            let sample = Sample {
                curve: format!("innodb {key}"),
                target: "db".into(),
                engine: "innodb".into(),
                key: key.into(),
                flush: "1".into(),
                method: "insert".into(),
                connections: 8,
                repeat: 1,
                batch,
                rows: 1_000_000,
                table_rows: batch * 1_000_000,
                // Not quite straight, and the same on every machine.
                seconds: slow * (1.0 + (batch % 3) as f64 * 0.0625),
                p50_us: Some(800),
                p99_us: Some(2000 * slow as u64 + 16 * batch),
                max_us: Some(30_000),
                data_bytes: Some(batch * 64_000_000),
                ..Sample::default()
            };
            batches.append(&sample).unwrap();
            if batch % 3 != 0 {
                continue;
            }
            for (probe, seconds) in [("select-pk", 0.03125), ("oltp", 2.0)] {
                for (connections, iteration) in [(1, 1), (1, 2), (8, 1), (8, 2)] {
                    let seconds = seconds * slow * (1.0 + f64::from(iteration) * 0.125) / f64::from(connections).sqrt();
                    let line = ProbeLine {
                        curve: sample.curve.clone(),
                        batch,
                        table_rows: sample.table_rows,
                        probe: probe.into(),
                        connections,
                        iteration,
                        ops: 1000,
                        seconds,
                        ops_per_sec: Some(1000.0 / seconds),
                        ..ProbeLine::default()
                    };
                    probes.append(&line).unwrap();
                }
            }
        }
    }
}

/// Where two texts begin to differ, and what stands there.
fn difference(old: &str, new: &str) -> String {
    let at = old.lines().zip(new.lines()).position(|(old, new)| old != new);
    let line = at.unwrap_or_else(|| old.lines().count().min(new.lines().count()));
    let of = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    format!("line {}\n  golden: {}\n  now:    {}", line + 1, of(old), of(new))
}

#[test]
fn pictures_are_what_they_were() {
    let home = tempfile::tempdir().unwrap();
    write(home.path());
    let renews = std::env::var_os("ROWCLIFF_RENEW").is_some();
    let mut changed = Vec::new();
    for (name, words) in [
        ("seconds.svg", &["--what", "seconds"][..]),
        ("rate-log-dark.svg", &["--what", "rate", "--log", "--theme", "dark", "--against", "bytes"]),
        ("latency-by-key.svg", &["--what", "latency", "--facet", "key", "--size", "900x500"]),
        ("end-speeds.svg", &["--what", "heat"]),
        ("probes.svg", &["--what", "probes"]),
    ] {
        let output = run(home.path(), &[&["plot", ".", "-o", name][..], words].concat());
        assert!(output.status.success(), "{words:?}: {}", text(&output));
        let new = std::fs::read_to_string(home.path().join(name)).unwrap();
        let path = golden(name);
        if renews {
            std::fs::create_dir_all(golden("")).unwrap();
            std::fs::write(&path, &new).unwrap();
        }
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if old != new {
            let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::write(&kept, &new).unwrap();
            changed.push(format!("{name} ({}): {}", kept.display(), difference(&old, &new)));
        }
    }
    assert!(changed.is_empty(), "{}\nmeant? the words at the top of tests/it/golden.rs renew them", changed.join("\n"));
}
