//! What probes found, in sentences, and as a part of the report.

use super::{ProbeSeries, lines, probed, table};
use crate::analyse::cells;
use crate::analyse::probes::{fall, told_apart};
use crate::reading::input::Input;
use crate::reading::names::{Named, short_names};
use crate::render::report::Section;
use crate::render::show::curve_names;
use crate::units::{grouped, human_rate, human_rows, significant};

/// A probe that has this many times fewer operations per second at its largest table has fallen: as for curves.
const FALLEN: f64 = 1.5;
/// More falls, or probes that hold, are counted.
const NAMED: usize = 6;

/// The sentences, the most important first; nothing where there are no probes.
pub fn sentences(input: &Input) -> Vec<String> {
    let probed = probed(input);
    let cells = cells(&probed);
    let found = lines(input, &cells);
    let names = short_names(&cells.iter().map(Named::from).collect::<Vec<_>>());
    let spoken: Vec<String> = found.iter().map(|line| spoken(line, &found, &names)).collect();
    let mut changes: Vec<(f64, usize)> =
        found.iter().enumerate().filter_map(|(at, line)| Some((fall(&line.sizes)?.0, at))).collect();
    // Stable: what fell as far stays in the order of the runs.
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (slower, held): (Vec<_>, Vec<_>) = changes.iter().partition(|(factor, _)| *factor >= FALLEN);
    let is_apart =
        |&&(_, at): &&(f64, usize)| fall(&found[at].sizes).is_some_and(|(_, first, last)| told_apart(first, last));
    let (fallen, scattered): (Vec<&(f64, usize)>, Vec<_>) = slower.into_iter().partition(is_apart);
    let mut out: Vec<String> =
        fallen.iter().take(NAMED).filter_map(|(_, at)| falls(&found[*at], &spoken[*at])).collect();
    if fallen.len() > NAMED {
        out.push(format!("{} more fall; the table has them.", fallen.len() - NAMED));
    }
    let listed = |all: &[&(f64, usize)]| {
        let names: Vec<&str> = all.iter().take(NAMED).map(|(_, at)| spoken[*at].as_str()).collect();
        let more = if all.len() > NAMED { format!(" and {} more", all.len() - NAMED) } else { String::new() };
        format!("{}{more}", names.join(", "))
    };
    if !scattered.is_empty() {
        let names = listed(&scattered);
        out.push(format!("Slower at the largest table, but by less than iterations differ: {names}."));
    }
    if !held.is_empty() {
        let names = listed(&held);
        out.push(format!("Less than {FALLEN}x slower at the largest table than at the smallest: {names}."));
    }
    if changes.is_empty() {
        let may_win = |curve: &&crate::analyse::Curve| input.standing_of(curve).remark().is_none();
        let ranked = |line: &ProbeSeries| cells[line.cell].curves.iter().any(may_win);
        out.extend(fastest(&found, &spoken, &ranked));
    }
    let again: u64 = found.iter().flat_map(|line| &line.sizes).map(|one| one.errors).fold(0, u64::saturating_add);
    if again > 0 {
        out.push(format!("A deadlock or a lock wait ended {} transactions, which were done again.", grouped(again)));
    }
    out.extend(not_run(input));
    out
}

/// The probes that were asked for and could not be run, with the reason.
fn not_run(input: &Input) -> Vec<String> {
    let names = curve_names(input);
    let mut found: Vec<(&String, &String, Vec<&str>)> = Vec::new();
    for (curve, name) in input.curves.iter().zip(&names) {
        for (probe, why) in input.record_of(curve).iter().flat_map(|record| &record.probes_left_out) {
            match found.iter_mut().find(|(other, reason, _)| *other == probe && *reason == why) {
                Some((.., curves)) => curves.push(name),
                None => found.push((probe, why, vec![name])),
            }
        }
    }
    let place = |curves: &[&str]| match curves.len() {
        all if all == names.len() => String::new(),
        1..=NAMED => format!(" on {}", curves.join(", ")),
        more => format!(" on {more} curves"),
    };
    found.iter().map(|(probe, why, curves)| format!("Not run{}: {probe}: {why}.", place(curves))).collect()
}

/// `select-pk c8 on uuid4`, with what other lines differ in.
fn spoken(line: &ProbeSeries, all: &[ProbeSeries], tables: &[String]) -> String {
    let differ = |differs: fn(&ProbeSeries, &ProbeSeries) -> bool| all.iter().any(|other| differs(line, other));
    let mut words = line.load.probe.clone();
    if differ(|a, b| a.load.connections != b.load.connections) {
        words.push_str(&format!(" c{}", line.load.connections));
    }
    if differ(|a, b| a.load.ops != b.load.ops) {
        words.push_str(&line.load.ops.map_or_else(|| " timed".into(), |ops| format!(" of {} ops", human_rows(ops))));
    }
    if differ(|a, b| a.cell != b.cell) {
        words.push_str(&format!(" on {}", tables[line.cell]));
    }
    words
}

fn falls(line: &ProbeSeries, name: &str) -> Option<String> {
    let (factor, first, last) = fall(&line.sizes)?;
    Some(format!(
        "{name} falls {}x: from {}/s at {} rows to {}/s at {} rows.",
        significant(factor),
        human_rate(first.ops_per_sec()?),
        human_rows(first.table_rows),
        human_rate(last.ops_per_sec()?),
        human_rows(last.table_rows)
    ))
}

/// Where there is one size of the table only: the fastest and the slowest of tables that were loaded.
fn fastest(found: &[ProbeSeries], spoken: &[String], ranked: &dyn Fn(&ProbeSeries) -> bool) -> Option<String> {
    let lines = found.iter().enumerate().filter(|(_, line)| ranked(line));
    let mut rates: Vec<(f64, usize)> =
        lines.filter_map(|(at, line)| Some((line.sizes.last()?.ops_per_sec()?, at))).collect();
    rates.sort_by(|a, b| b.0.total_cmp(&a.0));
    let words = |&(rate, at): &(f64, usize)| {
        let rows = found[at].sizes.last().map_or(0, |one| one.table_rows);
        format!("{} with {}/s at {} rows", spoken[at], human_rate(rate), human_rows(rows))
    };
    match (rates.first(), rates.last()) {
        (Some(first), Some(last)) if rates.len() > 1 => {
            Some(format!("Fastest: {}; slowest: {}.", words(first), words(last)))
        }
        (Some(only), _) => Some(format!("{}.", words(only))),
        _ => None,
    }
}

/// The part of the report; `None` where there are no probes.
pub fn section(input: &Input) -> Option<Section> {
    let (people, left_out) = table::for_report(input);
    if people.rows.is_empty() {
        return None;
    }
    let several = people.header.iter().any(|(title, _)| *title == "iters");
    let mut notes = vec![format!("Short loads between batches. {}", table::meaning(several))];
    notes.extend(table::remarks(input));
    if left_out > 0 {
        notes.push("Some sizes of the table are left out here: rowcliff show --probes --all has every one.".into());
    }
    Some(Section {
        paragraphs: sentences(input),
        notes,
        header: people.header.iter().map(|(title, _)| (*title).to_owned()).collect(),
        places: people.header.iter().map(|(_, align)| *align).collect(),
        rows: people.rows,
    })
}

#[cfg(test)]
mod tests {
    use super::super::test_input::{input, line};
    use super::*;
    use crate::reading::input::LoadedRun;
    use crate::record::test_support::run_record;

    #[test]
    fn the_farthest_fall_comes_first_and_what_holds_is_named() {
        let mut all = Vec::new();
        for curve in ["autoinc", "uuid4"] {
            let slow = if curve == "uuid4" { 12.0 } else { 1.1 };
            for (at, factor) in [(1, 1.0), (5, slow / 2.0), (10, slow)] {
                all.push(line(curve, at, "select-pk", 8, 1, 0.02 * factor));
                all.push(line(curve, at, "update-pk", 8, 1, 0.1 * f64::min(factor, 2.0)));
            }
        }
        let found = sentences(&input(&["autoinc", "uuid4"], all.clone()));
        assert_eq!(
            found,
            [
                "select-pk on uuid4 falls 12.0x: from 50.0k/s at 100k rows to 4.17k/s at 1M rows.",
                "update-pk on uuid4 falls 2.00x: from 10.0k/s at 100k rows to 5.00k/s at 1M rows.",
                "Less than 1.5x slower at the largest table than at the smallest: select-pk on autoinc, update-pk on autoinc.",
            ]
        );
        all[0].errors = 3;
        let section = section(&input(&["autoinc", "uuid4"], all)).unwrap();
        assert_eq!(
            section.paragraphs.last().unwrap(),
            "A deadlock or a lock wait ended 3 transactions, which were done again."
        );
        assert_eq!(
            (section.header[0].as_str(), section.rows.len(), section.rows[0].len()),
            ("curve", 12, section.header.len())
        );
        assert_eq!(section.places.len(), section.header.len());
    }

    #[test]
    fn scatter_is_no_fall_and_what_could_not_run_has_its_reason() {
        let mut all = Vec::new();
        for (at, seconds) in [(1, [0.1, 0.5]), (10, [0.4, 0.9])] {
            all.extend((1..).zip(seconds).map(|(iteration, seconds)| line("a", at, "insert", 1, iteration, seconds)));
        }
        let mut record = run_record(&["a", "b"]);
        record.curves[0].probes_left_out.insert("handler-pk".into(), "SQLite has no HANDLER".into());
        let run = LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) };
        let input = Input { runs: vec![run], ..input(&["a", "b"], all) };
        assert_eq!(
            sentences(&input),
            [
                "Slower at the largest table, but by less than iterations differ: insert.",
                "Not run on a: handler-pk: SQLite has no HANDLER.",
            ]
        );
    }

    #[test]
    fn one_size_has_a_fastest_and_a_slowest_and_nothing_says_nothing() {
        let all = vec![line("a", 10, "select-pk", 1, 1, 0.02), line("a", 10, "oltp", 1, 1, 2.0)];
        let found = sentences(&input(&["a"], all.clone()));
        assert_eq!(found, ["Fastest: select-pk with 50.0k/s at 1M rows; slowest: oltp with 500/s at 1M rows."]);
        assert_eq!(sentences(&input(&["a"], all[..1].to_vec())), ["select-pk with 50.0k/s at 1M rows."]);
        assert!(sentences(&input(&["a"], vec![])).is_empty());
        assert!(section(&input(&["a"], vec![])).is_none());
    }

    #[test]
    fn many_falls_are_counted() {
        let mut all = Vec::new();
        for connections in 1..=9 {
            all.push(line("a", 1, "oltp", connections, 1, 0.1));
            all.push(line("a", 10, "oltp", connections, 1, 0.4));
        }
        let found = sentences(&input(&["a"], all));
        assert!(found[0].starts_with("oltp c1 falls 4.00x"), "{found:?}");
        assert_eq!((found.len(), found[6].as_str()), (7, "3 more fall; the table has them."));
    }
}
