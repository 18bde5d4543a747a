//! Reading curves: golden series, families with a known truth, and the command `cliffs`.

use std::path::{Path, PathBuf};

use rowcliff::analyse::cliffs::{CLIFF_FACTOR, glance, read};
use rowcliff::analyse::{Cliff, Confidence, Reading, Shape, sentences};
use rowcliff::error::exit;
use rowcliff::record::Sample;
use rowcliff::record::store::{BATCHES_FILE, CsvAppender, read_batches};

use crate::support::families::{FAMILIES, Family, NOISES, Numbers, copy, is_near, series, truth};
use crate::support::{record, run, stderr, stdout, text};

fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file)
}

/// The cells of a CSV file below its header.
fn cells(file: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(data(file)).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.trim().to_owned()).collect()).collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

/// Samples of (rows in the table, rows of the batch, seconds).
fn samples(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Vec<Sample> {
    (1..)
        .zip(points)
        .map(|(batch, (table_rows, rows, seconds))| Sample {
            curve: "golden".into(),
            batch,
            table_rows: table_rows as u64,
            rows: rows as u64,
            seconds,
            ..Sample::default()
        })
        .collect()
}

fn reading(points: impl IntoIterator<Item = (f64, f64, f64)>) -> Reading {
    read(&samples(points), CLIFF_FACTOR)
}

fn engine(series: &str) -> Reading {
    let lines: Vec<(f64, f64)> = cells("real_engines.csv")
        .iter()
        .filter(|cells| cells[0] == series)
        .map(|cells| (number(&cells[1]), number(&cells[2])))
        .collect();
    let batch = lines[0].0;
    reading(lines.into_iter().map(|(rows, seconds)| (rows, batch, seconds)))
}

fn no_cliff(reading: &Reading, shape: Shape) {
    assert_eq!((reading.shape, reading.cliffs.len()), (shape, 0), "{reading:#?}");
}

/// The one cliff, whose onset lies within the two table sizes.
fn cliff(reading: &Reading, from: u64, to: u64) -> Cliff {
    let [cliff] = reading.cliffs.as_slice() else { panic!("{reading:#?}") };
    let (least, most) = (from.min(cliff.onset_from_rows), to.max(cliff.onset_to_rows));
    assert!((least, most) == (from, to), "not within {from} and {to}: {cliff:#?}");
    cliff.clone()
}

fn remark(reading: &Reading, words: &str) {
    assert!(reading.remarks.iter().any(|remark| remark.contains(words)), "{words}: {reading:#?}");
}

/// C01, serial keys: a level line, the worst batch 1.19 times the baseline.
///
/// ```text
/// 5.7|                     .
/// 4.8|.............................
/// ```
#[test]
fn c01_serial_keys_are_flat() {
    let lines = cells("c01_pg_serial_v4_ms_per_million.csv");
    let found = reading(lines.iter().map(|cells| (number(&cells[0]), 1e6, number(&cells[1]) / 1e3)));
    no_cliff(&found, Shape::Flat);
    assert_eq!(found.remarks, [""; 0]);
}

/// C01, UUIDv4 keys: five times up in thirty batches, none more than 1.3 times its neighbour.
///
/// ```text
/// 33|                         .::
/// 20|                  ..::'''
///  6|....::::'''''''''
/// ```
#[test]
fn c01_random_keys_are_gradual_without_a_jump() {
    let lines = cells("c01_pg_serial_v4_ms_per_million.csv");
    let found = reading(lines.iter().map(|cells| (number(&cells[0]), 1e6, number(&cells[2]) / 1e3)));
    no_cliff(&found, Shape::Gradual);
    let slowdown = found.slowdown().unwrap();
    assert!((4.5..5.5).contains(&slowdown), "{slowdown}");
}

/// C03: a plateau of 441,000 rows/s up to 21.9M rows, a knee, and falling on to 0.39 times. The batches last as long as each
/// other, so that they hold ever fewer rows: their place is their table size and not their number.
///
/// ```text
/// 440k|.....
/// 300k|     '.
/// 171k|       '':::::....
///     +--|--------------|
///       22M            48M
/// ```
#[test]
fn c03_is_a_knee_between_22_and_29_million_rows() {
    let mut before = 0.0;
    let points: Vec<(f64, f64, f64)> = cells("c03_tsbs_load_10s.csv")
        .iter()
        .map(|cells| {
            let total = number(&cells[5]);
            let rows = total - before;
            before = total;
            (total, rows, rows / number(&cells[4]))
        })
        .collect();
    let found = reading(points);
    let cliff = cliff(&found, 21_900_000, 29_000_000);
    assert!(cliff.still_falling && !cliff.early, "{cliff:#?}");
    let (before, after) = (1e6 / cliff.before_seconds_per_million, 1e6 / cliff.after_seconds_per_million);
    assert!((435e3..445e3).contains(&before) && (165e3..180e3).contains(&after), "{before} {after}");
}

/// C06: 1.7 times slower in 28 batches, by little each time.
///
/// ```text
/// 2.3|                         .::
/// 1.8|               :.::::::'
/// 1.4|......:::.:::'
/// ```
#[test]
fn c06_is_a_slow_creep_and_no_cliff() {
    let lines = cells("c06_creep.csv");
    let found = reading(lines.iter().map(|cells| (number(&cells[0]) * 2000.0, 2000.0, number(&cells[1]))));
    no_cliff(&found, Shape::Gradual);
}

/// C08: slower from the very first batch, and one point far to the right of the others.
///
/// ```text
/// 37|                                           .
///  4|     ..
///  1|.::''
///    +----|-------------------------------------|
///       100k                                  500k
/// ```
#[test]
fn c08_grows_from_the_first_batch_on() {
    let lines = cells("c08_sqlite_linear.csv");
    let found = reading(lines.iter().map(|cells| (number(&cells[0]) + 10_000.0, 10_000.0, number(&cells[1]) / 1e3)));
    no_cliff(&found, Shape::Gradual);
}

/// C13: six level batches, one of them 13% up.
#[test]
fn c13_has_no_finding_and_says_how_little_six_batches_prove() {
    let found = reading(cells("c13_flat.csv").iter().map(|cells| (number(&cells[0]), 1e5, number(&cells[1]))));
    no_cliff(&found, Shape::TooShort);
    assert!(found.spikes.is_empty());
    remark(&found, "6 batches within 1.14 times of each other: they prove little");
}

/// C15: fresh tables of ever more rows. As a cost per row it is level, with a disturbance that passes.
///
/// ```text
/// 2.1|       .  .   .
/// 1.7|......'.''.''' '......
/// ```
#[test]
fn c15_is_level_as_a_cost_per_row() {
    let lines = cells("c15_cumulative.csv");
    let found = reading(lines.iter().map(|cells| (number(&cells[0]), number(&cells[0]), number(&cells[1]))));
    no_cliff(&found, Shape::Flat);
}

/// T02: slumps that come back are no cliff, before, in and after the second one.
///
/// ```text
/// rows/s  ----__-------__     and once more with one batch back
/// ```
#[test]
fn t02_slumps_that_come_back_are_named_and_are_no_cliff() {
    let mut before = 0.0;
    let all: Vec<(f64, f64, f64)> = cells("t02_parallel_copy.csv")
        .iter()
        .map(|cells| {
            let rows = number(&cells[0]) - before;
            before = number(&cells[0]);
            (before, rows, rows / number(&cells[1]))
        })
        .collect();
    let words: Vec<Shape> = (39..=53)
        .map(|count| {
            let found = reading(all[..count].iter().copied());
            assert!(!found.has_cliff(), "{count}: {found:#?}");
            assert_eq!((found.slumps[0].from_rows, found.slumps[0].to_rows), (26_640_000, 30_400_000), "{count}");
            found.shape
        })
        .collect();
    assert!(words.windows(2).filter(|pair| pair[0] != pair[1]).count() <= 2, "{words:?}");
    let whole = reading(all);
    assert!(whole.last_is_back && whole.slumps.len() == 2 && whole.confidence() == Confidence::Low, "{whole:#?}");
    let said = sentences::in_short(&whole);
    assert!(said.contains("the last batch is back at the level"), "{said}");
    let open = two_slumps(9, 0);
    assert!(sentences::in_short(&open).contains("as at 18M-27M rows"), "{open:#?}");
}

fn two_slumps(first: usize, back: usize) -> Reading {
    let pieces = [(1e5, 18), (3e4, first), (1e5, 14), (3e4, 9), (1e5, back)];
    let rates = pieces.into_iter().flat_map(|(rate, count)| std::iter::repeat_n(rate, count));
    reading(rates.enumerate().map(|(at, rate)| ((at + 1) as f64 * 1e6, 1e6, 1e6 / rate)))
}

#[test]
fn two_slumps_are_both_named_however_long_the_first_was() {
    for first in [2, 3, 6, 9, 12, 18] {
        for back in [0, 1, 2] {
            let found = two_slumps(first, back);
            let said = sentences::in_short(&found);
            assert!(!found.has_cliff() && !said.contains("level within"), "{first} {back}: {said}");
            assert_eq!(found.slumps.len() + usize::from(found.slow_again.is_some()), 2, "{first} {back}: {said}");
            assert_eq!(found.slow_again.is_some(), back == 0, "{first} {back}: {said}");
            assert_eq!(found.last_is_back, back == 1, "{first} {back}: {said}");
            assert!(back == 2 || found.confidence() == Confidence::Low, "{first} {back}: {said}");
        }
    }
}

/// InnoDB with random keys and a pool of 64 MiB: three level batches, ten times up within six.
///
/// ```text
/// 4.1|        ..::::::
/// 2.6|     ..:
/// 0.4|...:
/// ```
#[test]
fn innodb_random_keys_fall_in_the_first_batches() {
    for series in ["mariadb-innodb uuid f=1", "mariadb-innodb uuid f=2"] {
        let found = engine(series);
        let cliff = cliff(&found, 200_000, 500_000);
        assert!(cliff.early && (9.0..13.0).contains(&cliff.factor()), "{cliff:#?}");
        remark(&found, "the fall began in the first batches");
    }
}

#[test]
fn other_engines_with_random_keys_fall_where_they_fell() {
    let found = engine("innodb-plugin uuid i=1");
    assert!(cliff(&found, 500_000, 600_000).factor() > 10.0);
    for series in ["pbxt uuid p=1", "pbxt uuid p=2"] {
        let found = cliff(&engine(series), 400_000, 800_000);
        assert!((6.0..9.0).contains(&found.factor()), "{found:#?}");
    }
}

/// RocksDB with random keys: three times up over 2.5 million rows.
#[test]
fn rocksdb_is_gradual() {
    for series in ["mariadb-rocksdb uuid f=1", "mariadb-rocksdb uuid f=0"] {
        no_cliff(&engine(series), Shape::Gradual);
    }
}

#[test]
fn ascending_keys_are_flat_and_restlessness_is_a_finding() {
    for series in ["mariadb-innodb autoinc f=0", "innodb-plugin autoinc i=2"] {
        no_cliff(&engine(series), Shape::Flat);
    }
    let restless = engine("pbxt autoinc p=0");
    no_cliff(&restless, Shape::Flat);
    assert!(restless.scatter.unwrap() > 0.12, "{restless:#?}");
}

/// A late bend, of which one batch is more than 1.5 times slower: nothing to be sure of.
#[test]
fn too_little_after_a_bend_is_said() {
    let found = engine("innodb-plugin autoinc-random-index i=2");
    no_cliff(&found, Shape::Bend);
    remark(&found, "too few to be sure that it lasts");
}

/// A run of rowcliff itself: InnoDB of MariaDB with a pool of 32 MiB, random keys against ascending ones. See the README there.
#[test]
fn a_run_of_our_own_on_a_small_pool_falls_and_its_ascending_keys_do_not() {
    let all = read_batches(&data("innodb_small_pool.csv")).unwrap().samples;
    let of = |key: &str| -> Vec<Sample> { all.iter().filter(|sample| sample.key.starts_with(key)).cloned().collect() };
    let random = read(&of("uuid4"), CLIFF_FACTOR);
    let [cliff] = random.cliffs.as_slice() else { panic!("{random:#?}") };
    assert!((6.0..9.0).contains(&cliff.factor()), "{cliff:#?}");
    assert!(cliff.onset_from_rows >= 80_000 && cliff.onset_to_rows <= 150_000, "{cliff:#?}");
    let ascending = read(&of("autoinc"), CLIFF_FACTOR);
    no_cliff(&ascending, Shape::Flat);
    assert!(ascending.scatter.unwrap() > 0.12, "{ascending:#?}");
}

/// Our own runs on what has no cliff: SQLite's UUID table costs more with nearly every batch, 141k rows/s at first and 40k at
/// its end, without a place where that begins; tables of MEMORY cost the same at any size but for the scatter of the machine.
///
/// ```text
/// uuid4 on SQLite, cost   __..--''""      MEMORY, cost   -_-.-_.-~-_
/// ```
#[test]
fn real_runs_without_a_cliff_have_none() {
    let all = |file: &str| read_batches(&data(file)).unwrap().samples;
    let of = |samples: &[Sample], key: &str| -> Vec<Sample> {
        samples.iter().filter(|sample| sample.key.starts_with(key)).cloned().collect()
    };
    let sqlite = all("sqlite_default.csv");
    no_cliff(&read(&of(&sqlite, "autoinc"), CLIFF_FACTOR), Shape::Flat);
    let random = read(&of(&sqlite, "uuid4"), CLIFF_FACTOR);
    no_cliff(&random, Shape::Gradual);
    let grown = random.slowdown().unwrap();
    assert!((3.0..4.0).contains(&grown), "{random:#?}");
    let memory = all("memory.csv");
    no_cliff(&read(&of(&memory, "uuid4"), CLIFF_FACTOR), Shape::Flat);
    // One step of 1.18 times, when other work began on the machine: seen, and no cliff.
    no_cliff(&read(&of(&memory, "autoinc"), CLIFF_FACTOR), Shape::Step);
}

#[test]
fn every_word_has_a_series() {
    let of = |costs: &[f64]| reading(costs.iter().enumerate().map(|(at, &cost)| ((at + 1) as f64 * 1e5, 1e5, cost)));
    let level = |count: usize, cost: f64| -> Vec<f64> {
        (0..count).map(|at| cost * (1.0 + 0.02 * (at as f64 * 1.7).sin())).collect()
    };
    no_cliff(&of(&level(30, 0.5)), Shape::Flat);
    let line: Vec<f64> = (0..30).map(|at| 0.5 + 0.03 * f64::from(at)).collect();
    no_cliff(&of(&line), Shape::Gradual);
    let bend: Vec<f64> = (0..30).map(|at| 0.5 + 0.08 * f64::from((at - 12).max(0))).collect();
    let found = of(&bend);
    assert_eq!((found.shape, found.cliffs.len()), (Shape::Bend, 1), "{found:#?}");
    let step = [level(14, 0.5), level(14, 1.6)].concat();
    let found = of(&step);
    assert_eq!(found.shape, Shape::Step);
    assert_eq!((found.cliffs[0].onset_from_rows, found.cliffs[0].onset_to_rows), (1_400_000, 1_500_000));
    assert_eq!(found.cliffs[0].confidence, Confidence::High);
    let teeth: Vec<f64> = (0..40).map(|at| 0.5 * (1.0 + f64::from(at % 8) / 4.0)).collect();
    no_cliff(&of(&teeth), Shape::Sawtooth);
    let mut spike = level(30, 0.5);
    spike[11] = 3.0;
    let found = of(&spike);
    no_cliff(&found, Shape::Spike);
    assert_eq!(found.spikes.iter().map(|spike| spike.batch).collect::<Vec<_>>(), [12]);
    let recovered = [level(10, 0.5), level(6, 1.5), level(14, 0.5)].concat();
    no_cliff(&of(&recovered), Shape::Recovered);
    no_cliff(&of(&level(5, 0.5)), Shape::TooShort);
    // One fast batch is no plateau, and is not passed over in silence.
    remark(&of(&[vec![0.1], level(19, 0.5)].concat()), "batch 1 was 5.0 times as fast");
    // Short, and a fall of more than three times all the same.
    let steep = [level(5, 0.5), level(4, 4.0)].concat();
    assert_eq!(of(&steep).cliffs.len(), 1, "{:#?}", of(&steep));
    // A staircase is one cliff, from its first step to its last level.
    let stairs = [level(10, 0.5), level(6, 1.0), level(6, 2.0), level(8, 3.0)].concat();
    let found = of(&stairs);
    assert_eq!(found.cliffs.len(), 1);
    assert!((5.5..6.5).contains(&found.cliffs[0].factor()), "{found:#?}");
    assert!(found.cliffs[0].onset_from_rows <= 1_000_000, "{found:#?}");
}

#[test]
fn every_word_is_defined_in_the_readme_as_in_the_program() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for shape in Shape::ALL {
        assert!(readme.contains(&format!("| {shape} | {} |\n", shape.definition())), "{shape}");
    }
}

#[test]
fn odd_input_is_read_without_a_panic() {
    assert_eq!(reading([]).shape, Shape::TooShort);
    for costs in
        [vec![1.0], vec![0.0; 20], vec![1e-12; 20], vec![f64::NAN; 20], vec![1.0, f64::INFINITY, 1.0, 1.0, 1.0]]
    {
        let found = reading(costs.iter().enumerate().map(|(at, &cost)| ((at + 1) as f64, 1.0, cost)));
        assert!(found.cliffs.is_empty());
    }
    // All at one table size, and at none.
    for x in [0.0, 1e9] {
        let found = reading((0..30).map(|at| (x, 1e5, if at < 15 { 1.0 } else { 4.0 })));
        assert!(found.cliffs.len() <= 1);
    }
}

#[test]
fn resumed_and_retried_batches_stay_out() {
    let mut all = samples((0..30).map(|at| (f64::from(at + 1) * 1e5, 1e5, 0.5)));
    for at in [10, 11, 12, 27, 28, 29] {
        all[at].seconds = 9.0;
        all[at].notes = if at % 2 == 0 { "resumed".into() } else { "retried client-bound".into() };
    }
    let found = read(&all, CLIFF_FACTOR);
    no_cliff(&found, Shape::Flat);
    assert_eq!((found.batches, found.left_out), (24, 6));
}

/// The bounds of the table that `cargo bench --bench cliffs` prints, at a noise of 5% and 40 batches or more.
#[test]
fn the_bounds_hold_for_series_with_a_known_truth() {
    const NOISE: f64 = 0.05;
    const SERIES: usize = 200;
    const COUNTS: [usize; 4] = [40, 60, 100, 200];
    for noise in NOISES {
        let mut numbers = Numbers(11);
        let calm = [Family::Flat, Family::Slope, Family::Spiky];
        let mut false_cliffs = 0;
        for index in 0..SERIES {
            let known = series(&mut numbers, calm[index % 3], COUNTS[index % 4], noise, NOISE);
            false_cliffs += usize::from(!glance(&known.samples, CLIFF_FACTOR).cliffs.is_empty());
        }
        assert!(false_cliffs <= 1, "{noise:?}: {false_cliffs} false cliffs");
        for family in [Family::Step(2.0), Family::Bend(2.0), Family::Saturating] {
            let near = (0..SERIES)
                .filter(|index| {
                    let known = series(&mut numbers, family, COUNTS[index % 4], noise, NOISE);
                    let reading = glance(&known.samples, CLIFF_FACTOR);
                    reading
                        .cliffs
                        .first()
                        .is_some_and(|cliff| is_near(family, &known, cliff.onset_from_rows, cliff.onset_to_rows))
                })
                .count();
            assert!(near * 100 >= SERIES * 95, "{noise:?} {family:?}: {near} of {SERIES} found where they are");
        }
    }
}

/// The bounds of the second table of `cargo bench --bench cliffs`: how often a truth that is measured anew is read as the same shape,
/// with the same exit code, by the confidence of the first reading. The seeds are not those that the procedure was tuned on.
#[test]
fn what_is_read_with_confidence_is_read_alike_when_it_is_measured_anew() {
    let mut tally = [(0_usize, 0_usize); 3];
    let (mut low_falls, mut falls) = (0, 0);
    for (level, count) in [(0.05, 20), (0.05, 40), (0.10, 20), (0.10, 40)] {
        let mut numbers = Numbers(30_071 + count as u64);
        for (noise, family) in NOISES.into_iter().flat_map(|noise| FAMILIES.map(|family| (noise, family))) {
            let truth = truth(&mut numbers, family, count);
            let readings: Vec<Reading> =
                (0..3).map(|_| read(&copy(&mut numbers, &truth, noise, level), CLIFF_FACTOR)).collect();
            let answer = |reading: &Reading| (reading.shape, reading.has_cliff());
            for (at, one) in readings.iter().enumerate() {
                let others = readings.iter().enumerate().filter(|(other, _)| *other != at);
                let alike = others.filter(|(_, other)| answer(other) == answer(one)).count();
                let cell = &mut tally[one.confidence() as usize];
                *cell = (cell.0 + 2, cell.1 + alike);
                if level < 0.06 && count == 40 && matches!(family, Family::Step(_) | Family::Bend(_)) {
                    falls += 1;
                    low_falls += usize::from(one.confidence() == Confidence::Low);
                }
            }
        }
    }
    let share = |confidence: Confidence| {
        let (all, alike) = tally[confidence as usize];
        assert!(all >= 20, "{confidence:?}: {tally:?}");
        alike as f64 / all as f64
    };
    assert!(share(Confidence::High) >= 0.95, "{tally:?}");
    assert!(share(Confidence::Medium) >= 0.80, "{tally:?}");
    assert!(low_falls * 5 <= falls, "{low_falls} of {falls} steps and bends are read with low confidence");
}

/// A run directory with samples only: ascending keys level, random keys falling.
fn written(home: &Path) -> PathBuf {
    let directory = home.join("r");
    std::fs::create_dir_all(&directory).unwrap();
    let mut file = CsvAppender::open(&directory.join(BATCHES_FILE)).unwrap();
    for (curve, key, cost) in [("a", "autoinc", 0.4), ("u", "uuid4:binary16", 1.6)] {
        for batch in 1..=24_u64 {
            let seconds = if batch <= 10 { 0.4 } else { cost } + 0.002 * (batch % 3) as f64;
            let sample = Sample {
                curve: curve.into(),
                engine: "innodb".into(),
                key: key.into(),
                method: "insert".into(),
                connections: 8,
                repeat: 1,
                batch,
                rows: 100_000,
                table_rows: batch * 100_000,
                seconds,
                ..Sample::default()
            };
            file.append(&sample).unwrap();
        }
    }
    directory
}

#[test]
fn the_command_says_it_in_words_and_by_its_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let directory = written(home.path());
    let csv = directory.join(BATCHES_FILE);
    let found = run(home.path(), &["cliffs", "r"]);
    assert_eq!(found.status.code(), Some(0), "{}", text(&found));
    let words = stdout(&found);
    for expected in [
        "autoinc\n  As fast at 2.4M rows as its baseline; flat, no cliff.",
        "uuid4\n  4.0 times slower at 2.4M rows than its baseline; step, cliff between 1M and 1.1M rows, from 249k to 62.4k rows/s.",
        "Confidence high: 100% of the copies",
        "run --control-batch",
    ] {
        assert!(words.replace("\n    ", " ").contains(expected), "{expected}: {words}");
    }
    let failing = run(home.path(), &["cliffs", csv.to_str().unwrap(), "--fail-on-cliff"]);
    assert_eq!(failing.status.code(), Some(i32::from(exit::CLIFF)), "{}", text(&failing));
    let lenient = run(home.path(), &["cliffs", "r", "--fail-on-cliff", "--cliff-factor", "5"]);
    assert_eq!(lenient.status.code(), Some(0), "{}", text(&lenient));
    assert!(stdout(&lenient).replace("\n    ", " ").contains("less than the 5 times of a cliff"), "{}", text(&lenient));
    let wrong = run(home.path(), &["cliffs", "r", "--cliff-factor", "1"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("at least 1.15"), "{}", text(&wrong));
    std::fs::create_dir(home.path().join("empty")).unwrap();
    assert_eq!(run(home.path(), &["cliffs", "empty"]).status.code(), Some(1));
}

#[test]
fn the_json_is_versioned_and_unknown_figures_are_null() {
    let home = tempfile::tempdir().unwrap();
    written(home.path());
    let counters = "curve,batch,counter,delta\n".to_owned()
        + &(1..=24)
            .map(|batch| format!("u,{batch},Innodb_buffer_pool_reads,{}\n", if batch <= 10 { 0 } else { 80_000 }))
            .collect::<String>();
    std::fs::write(home.path().join("r/counters.csv"), counters).unwrap();
    let output = run(home.path(), &["cliffs", "r", "--json"]);
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&found["format_version"], &found["any_cliff"]), (&2.into(), &true.into()));
    let [flat, fallen] = found["curves"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(flat["shape"], "flat");
    assert_eq!(flat["cliffs"], serde_json::json!([]));
    assert!(flat["control_batch"].is_null() && flat["not_told_apart"].is_null());
    let cliff = &fallen["cliffs"][0];
    assert_eq!((&cliff["onset_from_rows"], &cliff["onset_to_rows"]), (&1_000_000.into(), &1_100_000.into()));
    assert_eq!(cliff["moved_with_it"][0]["what"], "reads-per-row");
    assert_eq!(cliff["moved_with_it"][0]["after"], 0.8);
}

#[test]
fn the_same_lines_stand_in_show_and_on_the_picture() {
    let home = tempfile::tempdir().unwrap();
    written(home.path());
    let shown = stdout(&run(home.path(), &["show", "r", "--all"]));
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("---- cliff between 1M and 1.1M rows")).unwrap();
    assert!(lines[at - 1].trim_start().starts_with("10 "), "{shown}");
    assert!(
        shown.contains("uuid4: 4.0 times slower at 2.4M rows than its baseline; step, cliff between 1M"),
        "{shown}"
    );
    assert!(shown.contains("autoinc: as fast at 2.4M rows as its baseline; flat, no cliff"), "{shown}");
    let drawn = run(home.path(), &["plot", "r"]);
    assert_eq!(drawn.status.code(), Some(0), "{}", text(&drawn));
    let svg = std::fs::read_to_string(home.path().join("r/seconds-per-batch.svg")).unwrap();
    assert!(svg.contains("cliff from 1M to 1.1M rows on"), "{svg}");
}

#[test]
fn a_control_batch_is_recorded_said_and_gone() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "20k", "--batch-rows", "5k", "--key", "uuid4", "--control-batch", "--out", "c"];
    let output = run(home.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let directory = home.path().join("c");
    let curve = record(&directory).curves.remove(0);
    let control = curve.control_batch.unwrap();
    assert_eq!((control.rows, control.table, control.problem), (5000, None, None));
    assert!(control.seconds.unwrap() > 0.0);
    // It is in no curve, and its file is gone.
    assert_eq!((crate::support::samples(&directory).len(), curve.table_rows), (4, 20_000));
    let left: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("sqlite")), "{left:?}");
    assert!(stdout(&output).contains("control batch: 5k rows into a fresh table in "), "{}", text(&output));
    let said = stdout(&run(home.path(), &["cliffs", "c", "--json"]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["curves"][0]["control_batch"]["rows"], 5000);
    assert!(said["curves"][0]["control_batch"]["speaks_for"].is_string(), "{said}");
}

#[test]
fn clean_finds_the_side_table_of_a_run_that_was_killed() {
    let home = tempfile::tempdir().unwrap();
    let words =
        ["run", "--rows", "2k", "--batch-rows", "1k", "--key", "uuid4", "--control-batch", "--keep", "--out", "c"];
    assert_eq!(run(home.path(), &words).status.code(), Some(0));
    let directory = home.path().join("c");
    // As a kill in the middle of the control batch leaves it.
    let mut left = record(&directory);
    left.curves[0].control_batch.as_mut().unwrap().table = Some("rowcliff_x_control".into());
    rowcliff::record::store::write_run(&directory, &left).unwrap();
    std::fs::write(directory.join("curve-1.sqlite-control"), "left").unwrap();
    let output = run(home.path(), &["clean", "c"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(!directory.join("curve-1.sqlite-control").exists(), "{}", text(&output));
    assert_eq!(record(&directory).curves[0].control_batch.as_ref().unwrap().table, None);
}

#[test]
fn a_run_ends_with_the_reading_and_may_fail_on_a_cliff() {
    let home = tempfile::tempdir().unwrap();
    let words = ["run", "--rows", "60k", "--batch-rows", "2k", "--key", "autoinc", "--fail-on-cliff", "--out", "c"];
    let output = run(home.path(), &words);
    // What the machine does to such small batches is its own affair; the exit code and the words have to agree.
    let said = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_sure = !said.contains("confidence low");
    let has_cliff = is_sure && said.contains(", cliff between");
    let expected = if has_cliff { exit::CLIFF } else { exit::OK };
    assert_eq!(output.status.code(), Some(i32::from(expected)), "{}", text(&output));
    assert!(has_cliff || !is_sure || said.contains("no cliff"), "{}", text(&output));
}
