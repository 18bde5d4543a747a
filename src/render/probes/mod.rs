//! What probes found, for people and for other programs.
//!
//! - [`table`]: the summaries as tables, CSV and JSON; [`slap`]: as lines of mysqlslap.
//! - [`picture`]: operations per second over the size of the table and over connections.
//! - [`section`]: in sentences, and as a part of the report; [`data`]: the lines of its pictures.
//!
//! Here: the lines that pictures and sentences are about, one for each cell and load, with their names and looks.

pub mod data;
pub mod picture;
pub mod section;
pub mod slap;
pub mod table;

use super::palette::{Look, indexes, looks_by};
use crate::analyse::probes::summaries;
use crate::analyse::{Cell, Curve, ProbeLoad, ProbeSummary};
use crate::reading::input::Input;
use crate::reading::names::{Named, short_names};
use crate::record::ProbeLine;
use crate::units::human_rows;

/// One load of one cell, from table size to table size.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeSeries {
    /// Index of the cell.
    pub cell: usize,
    pub load: ProbeLoad,
    /// Its name among the others.
    pub name: String,
    /// How it is drawn.
    pub look: Look,
    /// What was found, by size of the table; of a cell with repeats all their iterations together.
    pub sizes: Vec<ProbeSummary>,
}

/// The curves that have probes.
pub fn probed(input: &Input) -> Vec<Curve> {
    input.curves.iter().filter(|curve| !input.probes_of(curve).is_empty()).cloned().collect()
}

/// The lines of these cells: cells in their order, in each the loads in the order in which they first ran.
pub fn lines(input: &Input, cells: &[Cell<'_>]) -> Vec<ProbeSeries> {
    let mut found: Vec<(usize, ProbeLoad, Vec<ProbeSummary>)> = Vec::new();
    for (cell, of_cell) in cells.iter().enumerate() {
        let name = of_cell.curves.first().map(|curve| curve.name.clone()).unwrap_or_default();
        let pooled: Vec<ProbeLine> = of_cell
            .curves
            .iter()
            .flat_map(|curve| input.probes_of(curve))
            .map(|line| ProbeLine { curve: name.clone(), ..line.clone() })
            .collect();
        for summary in summaries(&pooled) {
            match found.iter_mut().find(|(at, load, _)| *at == cell && *load == summary.load) {
                Some((.., sizes)) => sizes.push(summary),
                None => found.push((cell, summary.load.clone(), vec![summary])),
            }
        }
    }
    let named: Vec<Named<'_>> = cells.iter().map(Named::from).collect();
    let keys: Vec<(usize, ProbeLoad)> = found.iter().map(|(cell, load, _)| (*cell, load.clone())).collect();
    found
        .into_iter()
        .zip(styled(&named, &keys))
        .map(|((cell, load, sizes), (name, look))| ProbeSeries { cell, load, name, look, sizes })
        .collect()
}

/// Names and looks of lines, made of what differs: the table (one of `named`), the probe, its connections, its operations.
///
/// So with several tables colour means the table and dash the probe; with one table colour means the probe and dash the connections.
pub fn styled(named: &[Named<'_>], keys: &[(usize, ProbeLoad)]) -> Vec<(String, Look)> {
    let tables = short_names(named);
    let columns = [
        indexes(keys, |key| key.0),
        indexes(keys, |key| key.1.probe.clone()),
        indexes(keys, |key| key.1.connections),
        indexes(keys, |key| key.1.ops),
    ];
    let [by_table, by_probe, by_connections, by_ops] =
        [0, 1, 2, 3].map(|column: usize| columns[column].iter().any(|&index| index > 0));
    let name = |(table, load): &(usize, ProbeLoad)| {
        let mut words = Vec::new();
        if by_table {
            words.push(tables[*table].trim().to_owned());
        }
        if by_probe || !(by_table || by_connections || by_ops) {
            words.push(load.probe.clone());
        }
        if by_connections {
            words.push(format!("c{}", load.connections));
        }
        if by_ops {
            words.push(load.ops.map_or_else(|| "timed".into(), |ops| format!("{} ops", human_rows(ops))));
        }
        words.join(" ")
    };
    let mut told: Vec<Vec<usize>> =
        columns.iter().filter(|column| column.iter().any(|&index| index > 0)).cloned().collect();
    if let [_, second] = told.as_slice() {
        // Where the marker is free it repeats the dash: lines of five dashes are hard to tell apart.
        told.push(second.clone());
    }
    keys.iter().map(name).zip(looks_by(keys.len(), told)).collect()
}

#[cfg(test)]
pub(crate) mod test_input {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::record::Sample;

    /// An iteration of a thousand operations at so many hundred thousand rows.
    pub fn line(curve: &str, at: u64, probe: &str, connections: u32, iteration: u32, seconds: f64) -> ProbeLine {
        ProbeLine {
            curve: curve.into(),
            batch: at,
            table_rows: at * 100_000,
            probe: probe.into(),
            connections,
            iteration,
            ops: 1000,
            seconds,
            ops_per_sec: (seconds > 0.0).then(|| 1000.0 / seconds),
            p50_us: Some(120),
            p99_us: Some(1310),
            max_us: Some(24_000),
            ..ProbeLine::default()
        }
    }

    /// Curves of ten batches of 100,000 rows, each in a second, with these probes.
    pub fn input(curves: &[&str], lines: Vec<ProbeLine>) -> Input {
        let samples = curves.iter().flat_map(|curve| {
            (1..=10).map(|batch| Sample {
                curve: (*curve).into(),
                engine: "innodb".into(),
                key: (*curve).into(),
                method: "insert".into(),
                connections: 8,
                repeat: 1,
                batch,
                rows: 100_000,
                table_rows: batch * 100_000,
                seconds: 1.0,
                data_bytes: Some(batch * 9_000_000),
                ..Sample::default()
            })
        });
        let curves = group(&[RunSamples { run: "r".into(), samples: samples.collect() }]).curves;
        let mut input = Input { curves, ..Input::default() };
        for line in lines {
            input.probes.entry(("r".into(), line.curve.clone())).or_default().push(line);
        }
        input
    }
}

#[cfg(test)]
mod tests {
    use super::test_input::{input, line};
    use super::*;
    use crate::analyse::cells;

    fn found(curves: &[&str], probes: &[&str], connections: &[u32]) -> Vec<ProbeSeries> {
        let mut all = Vec::new();
        for curve in curves {
            for at in [1, 5, 10] {
                for probe in probes {
                    all.extend(connections.iter().map(|&count| line(curve, at, probe, count, 1, 0.1)));
                }
            }
        }
        let input = input(curves, all);
        let probed = probed(&input);
        lines(&input, &cells(&probed))
    }

    fn names(lines: &[ProbeSeries]) -> Vec<&str> {
        lines.iter().map(|line| line.name.as_str()).collect()
    }

    #[test]
    fn with_one_table_colour_is_the_probe() {
        let lines = found(&["autoinc"], &["select-pk", "range-pk", "oltp"], &[8]);
        assert_eq!(names(&lines), ["select-pk", "range-pk", "oltp"]);
        assert_eq!(lines.iter().map(|line| line.look.family).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(lines.iter().all(|line| line.look.dash == 0 && line.sizes.len() == 3));
        let lines = found(&["autoinc"], &["mixed"], &[1, 25]);
        assert_eq!(names(&lines), ["c1", "c25"]);
        assert_ne!(lines[0].look.family, lines[1].look.family);
        assert_eq!(names(&found(&["autoinc"], &["mixed"], &[1])), ["mixed"]);
    }

    #[test]
    fn with_several_tables_colour_is_the_table_and_dash_the_probe() {
        let lines = found(&["autoinc", "uuid4"], &["select-pk", "update-pk"], &[8]);
        assert_eq!(names(&lines), ["autoinc select-pk", "autoinc update-pk", "uuid4 select-pk", "uuid4 update-pk"]);
        let looks: Vec<(usize, usize)> = lines.iter().map(|line| (line.look.family, line.look.dash)).collect();
        assert_eq!(looks, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert!(lines.iter().all(|line| line.look.marker == line.look.dash));
    }

    #[test]
    fn repeats_are_one_line_of_all_their_iterations() {
        let mut input = input(&["a", "b"], vec![line("a", 1, "oltp", 1, 1, 0.1), line("b", 1, "oltp", 1, 1, 0.3)]);
        for (repeat, curve) in (1..).zip(&mut input.curves) {
            (curve.repeat, curve.labels.key) = (repeat, "uuid4".into());
        }
        let probed = probed(&input);
        let lines = lines(&input, &cells(&probed));
        assert_eq!((lines.len(), lines[0].sizes.len(), lines[0].sizes[0].iterations), (1, 1, 2));
        assert_eq!(lines[0].sizes[0].rates, Some((1000.0 / 0.3, 10_000.0)));
    }
}
