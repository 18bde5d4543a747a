//! Summaries of probes as the lines that `mysqlslap --csv` writes, so that what reads those reads these.

use std::collections::BTreeSet;

use crate::analyse::probes::summaries;
use crate::analyse::{Curve, ProbeSummary};
use crate::plan::probe_kind::ProbeKind;
use crate::reading::input::Input;
use crate::render::show::curve_names;
use crate::units::human_rows;

/// The lines, and what they do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlapLines {
    /// `engine,load,average,minimum,maximum,clients,queries per client`, without a header.
    pub lines: String,
    /// What was left out and what cannot be told apart, for people.
    pub notes: Vec<String>,
}

/// A line for each load at one size of the table: the first that reaches `at`, or the last one.
///
/// mysqlslap knows no size of a table and no curve, so its lines cannot hold several sizes; two curves of one engine stand one after the
/// other.
pub fn lines(input: &Input, at: Option<u64>) -> SlapLines {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut notes = Vec::new();
    let (mut shown, mut left_out): (BTreeSet<u64>, BTreeSet<u64>) = (BTreeSet::new(), BTreeSet::new());
    let mut written: Vec<(&Curve, String)> = Vec::new();
    for (curve, name) in input.curves.iter().zip(curve_names(input)) {
        let found = summaries(input.probes_of(curve));
        let sizes: BTreeSet<u64> = found.iter().map(|one| one.table_rows).collect();
        let size = match at {
            Some(rows) => sizes.iter().copied().find(|size| *size >= rows),
            None => sizes.last().copied(),
        };
        let Some(size) = size else {
            if let (Some(rows), false) = (at, found.is_empty()) {
                notes.push(format!("{name}: no probe ran at {} rows or more; left out", human_rows(rows)));
            }
            continue;
        };
        shown.insert(size);
        left_out.extend(sizes.into_iter().filter(|other| *other != size));
        for one in found.iter().filter(|one| one.table_rows == size) {
            // Writing to memory does not fail.
            let _ = writer.write_record(fields(curve, one));
        }
        written.push((curve, name));
    }
    if !left_out.is_empty() {
        notes.push(format!(
            "a line of mysqlslap has no size of the table: these are of {}, without {} (--probe-at ROWS chooses, show --probes has all)",
            listed(&shown),
            listed(&left_out)
        ));
    }
    let engines: BTreeSet<&str> = written.iter().map(|(curve, _)| curve.labels.engine.as_str()).collect();
    if engines.len() < written.len() {
        let names: Vec<&str> = written.iter().map(|(_, name)| name.as_str()).collect();
        notes.push(format!(
            "a line of mysqlslap names the engine only: these are, in this order, of {}",
            names.join("; ")
        ));
    }
    let lines = String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default();
    SlapLines { lines, notes }
}

fn fields(curve: &Curve, one: &ProbeSummary) -> [String; 7] {
    let probe = one.load.probe.as_str();
    let word = probe.parse().map_or(probe, |known: ProbeKind| known.slap_word());
    let clients = u64::from(one.load.connections);
    [
        curve.labels.engine.clone(),
        word.to_owned(),
        format!("{:.3}", one.average_seconds()),
        format!("{:.3}", one.min_seconds),
        format!("{:.3}", one.max_seconds),
        clients.to_string(),
        (one.ops_each() / clients.max(1)).to_string(),
    ]
}

/// `100k, 500k and 1M rows`; many sizes are counted.
fn listed(sizes: &BTreeSet<u64>) -> String {
    let words: Vec<String> = sizes.iter().map(|rows| human_rows(*rows)).collect();
    match words.as_slice() {
        [.., last] if words.len() > 8 => format!("{} sizes from {} to {last} rows", words.len(), words[0]),
        [before @ .., last] if !before.is_empty() => format!("{} and {last} rows", before.join(", ")),
        _ => format!("{} rows", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_input::{input, line};
    use super::*;

    fn with_ops(mut line: crate::record::ProbeLine, ops: u64) -> crate::record::ProbeLine {
        line.ops = ops;
        line
    }

    #[test]
    fn a_line_is_that_of_mysqlslap_at_the_last_size() {
        let mut all = Vec::new();
        for at in [1, 10] {
            for (connections, seconds) in
                [(1, [0.371, 0.247, 0.451]), (25, [0.381, 0.337, 0.462]), (200, [0.7034, 0.634, 0.804])]
            {
                let slower = if at == 1 { 0.0 } else { 1.0 };
                all.extend(
                    (1..).zip(seconds).map(|(iteration, s)| line("a", at, "mixed", connections, iteration, s + slower)),
                );
            }
        }
        all.push(with_ops(line("a", 10, "select-pk", 3, 1, 0.0126), 1000));
        all.push(line("a", 10, "handler-pk", 1, 1, 0.5));
        let found = lines(&input(&["a"], all), None);
        assert_eq!(
            found.lines,
            "innodb,mixed,1.356,1.247,1.451,1,1000\ninnodb,mixed,1.393,1.337,1.462,25,40\ninnodb,mixed,1.714,1.634,1.804,200,5\n\
             innodb,key,0.013,0.013,0.013,3,333\ninnodb,handler-pk,0.500,0.500,0.500,1,1000\n"
        );
        assert_eq!(found.notes.len(), 1);
        assert!(found.notes[0].contains("of 1M rows, without 100k rows (--probe-at"), "{:?}", found.notes);
    }

    #[test]
    fn a_size_can_be_chosen_and_curves_of_one_engine_are_named() {
        let all = vec![
            line("a", 1, "insert", 1, 1, 0.1),
            line("a", 4, "insert", 1, 1, 0.2),
            line("a", 9, "insert", 1, 1, 0.3),
            line("b", 1, "insert", 1, 1, 0.4),
        ];
        let found = lines(&input(&["a", "b"], all.clone()), Some(350_000));
        assert_eq!(found.lines, "innodb,write,0.200,0.200,0.200,1,1000\n");
        assert!(found.notes[0].contains("b: no probe ran at 350k rows or more"), "{:?}", found.notes);
        assert!(found.notes[1].contains("of 400k rows, without 100k and 900k rows"), "{:?}", found.notes);
        let last = lines(&input(&["a", "b"], all.clone()), None);
        assert_eq!(last.lines.lines().count(), 2);
        assert!(last.notes[1].ends_with("in this order, of a; b"), "{:?}", last.notes);
        assert_eq!(lines(&input(&["a"], all), Some(5_000_000)).lines, "");
    }
}
