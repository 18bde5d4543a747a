//! `plot` and `report` from outside: files, formats, odd data. The situations are C03, C48, C55, C57 and C59 of the collection.

use std::path::Path;

use quick_xml::events::Event;
use quick_xml::reader::Reader;
use rowcliff::error::exit;
use rowcliff::record::Sample;
use rowcliff::record::store::{BATCHES_FILE, CsvAppender};

use crate::support::{rowcliff, run, stderr, stdout, text};

fn write(home: &Path, curves: &[(&str, u64, u64, Vec<f64>)]) {
    let mut file = CsvAppender::open(&home.join(BATCHES_FILE)).unwrap();
    let mut samples = Vec::new();
    for (key, first, rows, seconds) in curves {
        for (batch, &seconds) in (*first..).zip(seconds) {
            let sample = Sample {
                curve: (*key).into(),
                engine: "innodb".into(),
                key: (*key).into(),
                batch,
                rows: *rows,
                table_rows: batch * rows,
                seconds,
                ..Sample::default()
            };
            samples.push(sample);
        }
    }
    file.append_all(&samples).unwrap();
}

fn good(home: &Path, words: &[&str]) -> String {
    let output = run(home, words);
    assert!(output.status.success(), "{words:?}: {}", text(&output));
    stdout(&output)
}

/// The names of a picture's curves; it is XML, or this fails.
fn names(path: &Path) -> (usize, Vec<String>) {
    let svg = std::fs::read_to_string(path).unwrap();
    let mut reader = Reader::from_str(&svg);
    reader.config_mut().check_end_names = true;
    let (mut curves, mut in_name, mut in_title, mut found) = (0, false, false, Vec::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Eof => return (curves, found),
            Event::Start(start) if start.name().as_ref() == "g" => {
                let class = start.attributes().map(|one| one.unwrap().value.into_owned()).next().unwrap_or_default();
                curves += usize::from(class == "curve");
                in_name = class == "name";
            }
            Event::Start(start) if start.name().as_ref() == "title" => in_title = true,
            Event::End(end) if end.name().as_ref() == "title" => in_title = false,
            Event::Text(text) if in_name && !in_title && !text.trim().is_empty() => found.push(text.trim().to_owned()),
            _ => {}
        }
    }
}

#[test]
fn both_formats_are_the_same_picture_without_any_font_of_the_system() {
    let home = tempfile::tempdir().unwrap();
    write(
        home.path(),
        &[("autoinc", 1, 100_000, vec![0.5; 20]), ("uuid4", 1, 100_000, (1..=20).map(f64::from).collect())],
    );
    let output = rowcliff(home.path())
        .env("FONTCONFIG_FILE", "/nonexistent")
        .env("PATH", "")
        .args(["plot", BATCHES_FILE, "-o", "p", "--format", "svg,png", "--size", "900x500", "--theme", "dark"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(stdout(&output).lines().count(), 4);
    let svg = std::fs::read_to_string(home.path().join("p/seconds-per-batch.svg")).unwrap();
    let png = std::fs::read(home.path().join("p/seconds-per-batch.png")).unwrap();
    let picture = tiny_skia::Pixmap::decode_png(&png).unwrap();
    assert_eq!((picture.width(), picture.height()), (900, 500));
    assert!(svg.contains("width=\"900\" height=\"500\""));
    // Each point of the falling line has its colour in the PNG, where the SVG says that it stands.
    let curve = svg.split("<g class=\"curve\"").nth(2).unwrap();
    let points = curve.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    let mut count = 0;
    for pair in points.split_whitespace() {
        let (x, y) = pair.split_once(',').unwrap();
        let at = |text: &str| (text.parse::<f64>().unwrap() / 10.0) as u32;
        let pixel = picture.pixel(at(x), at(y)).unwrap();
        assert!(pixel.red() > 200 && pixel.green() > 90 && pixel.blue() < 90, "{pair}: {pixel:?}");
        count += 1;
    }
    assert_eq!(count, 20);
}

#[test]
fn a_file_is_one_picture_and_its_name_says_the_format() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &[("autoinc", 1, 100_000, vec![0.5; 20])]);
    assert_eq!(good(home.path(), &["plot", BATCHES_FILE, "-o", "one.png"]), "one.png\n");
    assert!(std::fs::read(home.path().join("one.png")).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(good(home.path(), &["plot", BATCHES_FILE, "-o", "two.svg", "--what", "rate"]), "two.svg\n");
    assert!(std::fs::read_to_string(home.path().join("two.svg")).unwrap().contains("inserts per second"));
    let both = run(home.path(), &["plot", BATCHES_FILE, "-o", "x.png", "--what", "rate,heat"]);
    assert_eq!(both.status.code(), Some(i32::from(exit::USAGE)));
    assert!(stderr(&both).contains("--out") && stderr(&both).contains("--what"), "{}", text(&both));
    // Everything there are figures for: no counters, no latency, no size here.
    let all = good(home.path(), &["plot", BATCHES_FILE, "-o", "all", "--what", "all"]);
    let mut stems: Vec<&str> = all.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
    stems.sort_unstable();
    assert_eq!(stems, ["end-speeds.svg", "inserts-per-second.svg", "seconds-per-batch.svg"]);
    let none = run(home.path(), &["plot", BATCHES_FILE, "--against", "bytes"]);
    assert!(!none.status.success() && stderr(&none).contains("how large the table was"), "{}", text(&none));
}

#[test]
fn curves_are_chosen_by_pattern_and_facets_are_plots() {
    let home = tempfile::tempdir().unwrap();
    write(
        home.path(),
        &[("autoinc", 1, 1000, vec![0.5; 5]), ("uuid4", 1, 1000, vec![1.0; 5]), ("uuid7", 1, 1000, vec![0.6; 5])],
    );
    good(home.path(), &["plot", BATCHES_FILE, "--only", "UUID*", "-o", "a.svg"]);
    assert_eq!(names(&home.path().join("a.svg")), (2, vec!["uuid4".into(), "uuid7".into()]));
    let wrong = run(home.path(), &["plot", BATCHES_FILE, "--only", "rocksdb"]);
    assert!(stderr(&wrong).contains("--only") && stderr(&wrong).contains("autoinc"), "{}", text(&wrong));
    good(home.path(), &["plot", BATCHES_FILE, "--facet", "key", "-o", "f.svg"]);
    let svg = std::fs::read_to_string(home.path().join("f.svg")).unwrap();
    assert_eq!(svg.matches("<g class=\"panel\">").count(), 3);
    good(home.path(), &["plot", BATCHES_FILE, "--smooth", "3", "-o", "s.svg", "--against", "time"]);
    let svg = std::fs::read_to_string(home.path().join("s.svg")).unwrap();
    assert!(svg.contains("running medians of 3 batches") && svg.contains("time spent loading (seconds)"));
}

#[test]
fn thirty_four_billion_rows_have_their_axis() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &[("uuid4", 33_999, 1_000_000, vec![5.0, 5.2, 5.1, 5.3])]);
    good(home.path(), &["plot", BATCHES_FILE, "-o", "p.svg"]);
    let svg = std::fs::read_to_string(home.path().join("p.svg")).unwrap();
    assert!(svg.contains("rows in the table (billions)") && svg.contains("\n34.0000\n"), "{svg}");
    let report = good(home.path(), &["report", BATCHES_FILE]);
    assert!(std::fs::read_to_string(home.path().join(report.trim())).unwrap().contains(">34.002G<"));
}

#[test]
fn odd_figures_leave_gaps_and_are_said() {
    let home = tempfile::tempdir().unwrap();
    let seconds = vec![5.0, f64::NAN, 5.1, f64::INFINITY, 0.0, 5.2, 5.3, 5000.0, 5.1, 5.2, 5.0, 5.1];
    write(
        home.path(),
        &[("a<b>&\"c\" ключ", 1, 1000, seconds), ("single", 1, 1000, vec![3.0]), ("equal", 1, 1000, vec![2.0; 9])],
    );
    for (name, more) in [
        ("lin.svg", &[][..]),
        ("log.svg", &["--log"]),
        ("facet.svg", &["--facet", "key"]),
        ("dark.png", &["--theme", "dark"]),
    ] {
        let words = [&["plot", BATCHES_FILE, "-o", name][..], more].concat();
        let output = run(home.path(), &words);
        assert!(output.status.success(), "{words:?} {}", text(&output));
        assert!(stderr(&output).contains("batches.csv:3: seconds = NaN"), "{}", text(&output));
    }
    let (curves, found) = names(&home.path().join("lin.svg"));
    assert_eq!(curves, 3);
    assert!(found.iter().any(|name| name.contains("ключ")), "{found:?}");
    // The batch of a thousand times the others is clipped, and its value stands beside it.
    let svg = std::fs::read_to_string(home.path().join("lin.svg")).unwrap();
    assert!(svg.contains("\n1h23m\n") && svg.contains("Far beyond the axis"), "{svg}");
    good(home.path(), &["report", BATCHES_FILE]);
}

#[test]
fn nothing_is_a_message_and_no_file() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), &[("bad", 1, 1000, vec![f64::NAN; 3])]);
    let output = run(home.path(), &["plot", BATCHES_FILE, "-o", "p"]);
    assert_eq!(output.status.code(), Some(i32::from(exit::FAILED)));
    assert!(stderr(&output).contains("nothing to draw"), "{}", text(&output));
    assert!(!home.path().join("p").exists());
}

#[test]
fn work_does_not_grow_with_the_run_beyond_reading_it() {
    let home = tempfile::tempdir().unwrap();
    let long: String = "very long name ".repeat(20_000);
    let seconds: Vec<f64> = (0..60_000).map(|at| 1.0 + f64::from(at % 7)).collect();
    write(home.path(), &[(&long, 1, 1000, vec![1.0]), ("long", 1, 1000, seconds)]);
    good(home.path(), &["plot", BATCHES_FILE, "-o", "p.svg"]);
    let bytes = std::fs::metadata(home.path().join("p.svg")).unwrap().len();
    // Four points to a quarter of a pixel at most, whatever the number of batches.
    assert!(bytes < 1_000_000, "{bytes}");
}

#[test]
fn a_run_draws_its_plots_and_its_report_and_draws_while_it_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "4k", "--batch-rows", "1k", "--key", "autoinc", "--out", "r", "--plots-every", "1"];
    let out = good(home.path(), &words);
    assert!(out.contains("/report.html\n") && out.contains("/seconds-per-batch.svg\n"), "{out}");
    assert!(std::fs::read_to_string(home.path().join("r/report.html")).unwrap().ends_with("</html>\n"));
    // Nothing half written is left beside them.
    let odd: Vec<_> = std::fs::read_dir(home.path().join("r"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("tmp") || name.contains('~') || name.starts_with('.'))
        .collect();
    assert_eq!(odd, Vec::<String>::new());
}
