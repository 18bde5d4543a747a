//! The report in a real browser: nothing is asked from a network, nothing is complained about, and what can be touched works.

use std::path::{Path, PathBuf};

use rowcliff::record::probe::PROBES_FILE;
use rowcliff::record::store::{BATCHES_FILE, CsvAppender};
use rowcliff::record::{ProbeLine, Sample};

use crate::support::webdriver::Browser;
use crate::support::{run, text};

const ODD: &str = "a=<b>&\"'";

/// Seconds of the falling curve.
fn falling(batch: u64) -> f64 {
    if batch <= 10 { 1.0 } else { 4.0 + batch as f64 * 0.25 }
}

/// Three curves of 30 batches whose figures are known.
fn written_report(home: &Path) -> PathBuf {
    let mut file = CsvAppender::open(&home.join(BATCHES_FILE)).unwrap();
    for (key, settings) in [("autoinc", ""), ("uuid4:binary16", ""), ("uuid7:binary16", ODD)] {
        for batch in 1..=30 {
            let seconds = if key.starts_with("uuid4") { falling(batch) } else { 0.8 };
            let sample = Sample {
                curve: format!("{key} {settings}"),
                engine: "innodb".into(),
                key: key.into(),
                settings: settings.into(),
                method: "insert".into(),
                connections: 8,
                batch,
                rows: 100_000,
                table_rows: batch * 100_000,
                seconds,
                p50_us: Some(900),
                p99_us: Some((seconds * 5000.0) as u64),
                max_us: Some(90_000),
                data_bytes: Some(batch * 9_000_000),
                ..Sample::default()
            };
            file.append(&sample).unwrap();
        }
    }
    let output = run(home, &["report", BATCHES_FILE, "--title", "Tom & <Jerry>", "-o", "out.html"]);
    assert!(output.status.success(), "{}", text(&output));
    home.join("out.html")
}

fn shown(browser: &Browser) -> String {
    browser.script("return [...document.querySelectorAll('.tip')].filter((t) => !t.hidden).map((t) => t.textContent).join('|')")
        .as_str()
        .unwrap()
        .to_owned()
}

fn number(browser: &Browser, script: &str) -> f64 {
    browser.script(script).as_f64().unwrap_or_else(|| panic!("{script} gives no number"))
}

#[test]
fn a_reader_can_hover_switch_and_sort_and_nothing_is_asked_from_a_network() {
    let home = tempfile::tempdir().unwrap();
    let report = written_report(home.path());
    let Some(browser) = Browser::open(1200, 900, false) else { return };
    browser.go(&format!("file://{}", report.display()));

    assert_eq!(browser.script("return document.querySelector('h1').textContent"), "Tom & <Jerry>");
    let curves = "return document.querySelectorAll('figure:first-of-type .curve').length";
    assert_eq!(number(&browser, curves), 3.0);
    // Words of users are words: the odd setting stands in the legend as it is, and made no element.
    let legend = browser.script("return document.getElementById('legend').textContent");
    assert!(legend.as_str().unwrap().contains(ODD), "{legend}");
    assert_eq!(
        number(
            &browser,
            "return document.querySelectorAll('main b').length - document.querySelectorAll('figcaption b').length"
        ),
        0.0
    );

    // The mouse over the twelfth batch of the falling curve in the picture of seconds per batch.
    let place = browser.script(
        "const svg = document.querySelectorAll('figure svg.chart')[1];
         svg.scrollIntoView({block: 'center'});
         const path = svg.querySelector('.curve[data-name^=uuid4] path').getAttribute('d').split(/[ML]/).filter((p) => p);
         const [x, y] = path[11].split(',').map(Number), box = svg.getBoundingClientRect();
         const scale = box.width / svg.viewBox.baseVal.width;
         return [box.left + x * scale, box.top + y * scale];",
    );
    browser.point_at(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
    let tip = shown(&browser);
    assert!(tip.contains("uuid4") && tip.contains("batch 12: 7.00 s") && tip.contains("1,200,000 rows"), "{tip}");

    // The same by keyboard.
    browser.script("document.querySelectorAll('figure svg.chart')[0].focus()");
    for _ in 0..3 {
        browser.press('\u{E014}');
    }
    let tip = shown(&browser);
    assert!(tip.contains("autoinc") && tip.contains("batch 3: 125k rows/s"), "{tip}");
    browser.press('\u{E015}');
    assert!(shown(&browser).contains("uuid4batch 3: 100k rows/s"), "{}", shown(&browser));

    // Switching a curve off and on again.
    let button = "document.querySelectorAll('#legend button')[1]";
    browser.script(&format!("{button}.click()"));
    assert_eq!(number(&browser, curves), 2.0);
    assert_eq!(browser.script(&format!("return {button}.getAttribute('aria-pressed')")), "false");
    assert_eq!(number(&browser, "return document.querySelectorAll('.curve[data-name^=uuid4]').length"), 0.0);
    browser.script(&format!("{button}.click()"));
    assert_eq!(number(&browser, curves), 3.0);

    // Sorting: by slowdown down, up, and by name.
    let first = "return document.querySelector('table.sortable tbody tr th').textContent";
    let sort = |column: u32| {
        browser.script(&format!("document.querySelectorAll('table.sortable thead button')[{column}].click()"))
    };
    sort(4);
    sort(4);
    assert!(browser.script(first).as_str().unwrap().starts_with("uuid4"), "{}", browser.script(first));
    let order = browser.script("return document.querySelectorAll('table.sortable th')[4].getAttribute('aria-sort')");
    assert_eq!(order, "descending");
    sort(0);
    assert!(browser.script(first).as_str().unwrap().starts_with("autoinc"));

    // Other axes draw other ticks.
    let title = "return document.querySelector('svg.chart .label').textContent";
    browser.script(
        "const a = document.getElementById('against'); a.value = 'bytes'; a.dispatchEvent(new Event('change'))",
    );
    assert_eq!(browser.script(title), "size of the table (MiB)");
    browser.script("document.getElementById('log').click()");
    assert_eq!(number(&browser, curves), 3.0);

    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
    let requests = browser.requests();
    // The browser's own empty page comes before the report.
    let own = ["file://", "data:", "chrome://"];
    assert!(requests.iter().all(|url| own.iter().any(|start| url.starts_with(start))), "{requests:?}");
    assert_eq!(requests.iter().filter(|url| url.ends_with("out.html")).count(), 1, "{requests:?}");
}

#[test]
fn probes_are_hovered_as_batches_are_and_go_with_their_curve() {
    let home = tempfile::tempdir().unwrap();
    written_report(home.path());
    let mut file = CsvAppender::open(&home.path().join(PROBES_FILE)).unwrap();
    for key in ["autoinc", "uuid4:binary16"] {
        for (batch, seconds) in [(10, 0.02), (20, 0.04), (30, 0.08)] {
            for (connections, iteration) in [(1, 1), (1, 2), (8, 1), (8, 2)] {
                let line = ProbeLine {
                    curve: format!("{key} "),
                    batch,
                    table_rows: batch * 100_000,
                    probe: "select-pk".into(),
                    connections,
                    iteration,
                    ops: 1000,
                    seconds: seconds * f64::from(iteration) / f64::from(connections),
                    ..ProbeLine::default()
                };
                file.append(&line).unwrap();
            }
        }
    }
    // Probes belong to a run, which is a directory.
    let output = run(home.path(), &["report", ".", "-o", "out.html"]);
    assert!(output.status.success(), "{}", text(&output));
    let Some(browser) = Browser::open(1200, 900, false) else { return };
    browser.go(&format!("file://{}", home.path().join("out.html").display()));
    let probes = "[...document.querySelectorAll('section[aria-labelledby=probes] svg.chart')]";
    let count = |chart: u32| number(&browser, &format!("return {probes}[{chart}].querySelectorAll('.curve').length"));
    assert_eq!((count(0), count(1)), (4.0, 2.0));

    // By keyboard: the third size of the first line, then the second number of connections.
    browser.script(&format!("{probes}[0].focus()"));
    for _ in 0..3 {
        browser.press('\u{E014}');
    }
    let tip = shown(&browser);
    assert!(tip.contains("autoinc c1"), "{tip}");
    assert!(tip.contains("8.33k ops/s (6.25k to 12.5k in 2 iterations), 3,000,000 rows in the table"), "{tip}");
    browser.script(&format!("{probes}[1].focus()"));
    for _ in 0..2 {
        browser.press('\u{E014}');
    }
    let tip = shown(&browser);
    assert!(tip.contains("8 connections: 66.7k ops/s") && tip.contains("3,000,000 rows"), "{tip}");
    let title = format!("return {probes}[1].querySelector('.label').textContent");
    assert_eq!(browser.script(&title), "connections, logarithmic");

    // A curve that is switched off takes its probes along.
    browser.script("document.querySelectorAll('#legend button')[1].click()");
    assert_eq!((count(0), count(1)), (2.0, 1.0));
    browser.script("document.getElementById('log').click()");
    assert_eq!(count(0), 2.0);
    let complaints = browser.complaints();
    assert!(complaints.is_empty(), "{complaints:?}");
}

#[test]
fn it_is_readable_on_a_phone_and_on_a_desk_by_day_and_by_night() {
    let home = tempfile::tempdir().unwrap();
    let report = written_report(home.path());
    let mut grounds = Vec::new();
    for (name, width, height, phone) in [("desk", 1280, 900, false), ("phone", 390, 844, true)] {
        let Some(browser) = Browser::open(width, height, phone) else { return };
        browser.go(&format!("file://{}", report.display()));
        let wide = number(&browser, "return document.documentElement.scrollWidth - innerWidth");
        assert!(wide <= 0.0, "{name}: {wide} pixels stand out at the right");
        let smallest = number(
            &browser,
            "return Math.min(...[...document.querySelectorAll('svg.chart')].map((s) => s.getBoundingClientRect().width / s.viewBox.baseVal.width))",
        );
        assert!(smallest > 0.95, "{name}: pictures are shrunk by {smallest}");
        for theme in ["day", "night"] {
            if theme == "night" {
                browser.script("document.getElementById('theme').click()");
            }
            grounds.push(browser.script("return getComputedStyle(document.body).backgroundColor").to_string());
            for (part, scroll) in [("top", "h1"), ("table", "#curves")] {
                browser.script(&format!("document.querySelector('{scroll}').scrollIntoView()"));
                let png = browser.screenshot();
                let picture = tiny_skia::Pixmap::decode_png(&png).unwrap();
                let first = picture.pixels()[0];
                assert!(picture.pixels().iter().any(|pixel| *pixel != first), "{name} {theme}: an empty page");
                std::fs::write(
                    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}-{theme}-{part}.png")),
                    png,
                )
                .unwrap();
            }
        }
    }
    assert_eq!(grounds[0], grounds[2]);
    assert_ne!(grounds[0], grounds[1], "{grounds:?}");
}
