//! Published figures beside what a run measured of the same thing.

use super::probe_rates::ProbeRate;
use super::{Curve, median};
use crate::record::{PublishedLine, Sample};
use crate::units;

/// A curve of the run, with what its probes measured.
#[derive(Debug, Clone, Copy)]
pub struct Measured<'a> {
    /// What it is called.
    pub name: &'a str,
    pub curve: &'a Curve,
    pub probes: &'a [ProbeRate],
}

/// A published figure beside one of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// The published line, by its place in the file.
    pub published: usize,
    pub curve: String,
    /// Rows in the table.
    pub table_rows: u64,
    /// Operations of an iteration; `None` for a load, and where time ended them.
    pub ops: Option<u64>,
    /// Mean seconds of an iteration; `None` for a load.
    pub seconds_avg: Option<f64>,
    /// Operations, or rows inserted, per second.
    pub per_second: f64,
    /// `per_second` as a multiple of the published one, where there is one.
    pub ratio: Option<f64>,
}

/// Sets every published line beside the curves of the run. `scale` is what the operations of the run's plan were multiplied by.
///
/// A line is compared with the curves of its own engine, or with all of them where the run has none of it. A probe is of the same
/// thing when load, connections and operations are the same (the latter as scaled), and is taken at the largest table that it ran at. A load
/// is compared by its key, at the median of its batches.
pub fn beside(lines: &[PublishedLine], run: &[Measured<'_>], scale: Option<f64>) -> Vec<Beside> {
    let mut out = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let found: Vec<(&Measured<'_>, Beside)> = run
            .iter()
            .filter_map(|measured| {
                let beside =
                    if line.is_load() { load(place, line, measured) } else { probe(place, line, measured, scale) };
                Some((measured, beside?))
            })
            .collect();
        let is_own = |measured: &Measured<'_>| measured.curve.labels.engine.eq_ignore_ascii_case(&line.engine);
        let has_own = found.iter().any(|(measured, _)| is_own(measured));
        out.extend(found.into_iter().filter(|(measured, _)| !has_own || is_own(measured)).map(|(_, beside)| beside));
    }
    out
}

fn load(place: usize, line: &PublishedLine, measured: &Measured<'_>) -> Option<Beside> {
    if measured.curve.labels.key != line.key {
        return None;
    }
    let costs: Vec<f64> = measured
        .curve
        .samples
        .iter()
        .filter(|sample| sample.counts_for_baseline())
        .filter_map(Sample::seconds_per_million)
        .filter(|cost| cost.is_finite() && *cost > 0.0)
        .collect();
    let per_second = 1e6 / median(&costs)?;
    Some(Beside {
        published: place,
        curve: measured.name.to_owned(),
        table_rows: measured.curve.table_rows(),
        ops: None,
        seconds_avg: None,
        per_second,
        ratio: ratio(line, per_second),
    })
}

fn probe(place: usize, line: &PublishedLine, measured: &Measured<'_>, scale: Option<f64>) -> Option<Beside> {
    let scaled = |ops: u64| scale.map_or(ops, |factor| units::times(ops, factor));
    let is_same = |rate: &&ProbeRate| {
        rate.probe == line.probe
            && line.connections.is_none_or(|connections| connections == rate.connections)
            && line.ops.is_none_or(|ops| rate.ops.is_none_or(|own| own == scaled(ops)))
    };
    let rate = measured.probes.iter().filter(is_same).max_by_key(|rate| rate.table_rows)?;
    Some(Beside {
        published: place,
        curve: measured.name.to_owned(),
        table_rows: rate.table_rows,
        ops: rate.ops,
        seconds_avg: Some(rate.seconds_avg),
        per_second: rate.ops_per_sec,
        ratio: ratio(line, rate.ops_per_sec),
    })
}

fn ratio(line: &PublishedLine, per_second: f64) -> Option<f64> {
    line.rate().filter(|rate| *rate > 0.0).map(|rate| per_second / rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::Labels;

    fn curve(engine: &str, key: &str, seconds: &[f64]) -> Curve {
        let samples = seconds
            .iter()
            .zip(1..)
            .map(|(&seconds, batch)| Sample {
                batch,
                rows: 1000,
                table_rows: 1000 * batch,
                seconds,
                ..Sample::default()
            })
            .collect();
        let labels = Labels { engine: engine.into(), key: key.into(), ..Labels::default() };
        Curve { name: engine.into(), run: "r".into(), labels, repeat: 1, samples }
    }

    fn rate(connections: u32, ops: u64, table_rows: u64, per_second: f64) -> ProbeRate {
        ProbeRate {
            probe: "mixed".into(),
            table_rows,
            connections,
            ops: Some(ops),
            iterations: 2,
            seconds_avg: ops as f64 / per_second,
            ops_per_sec: per_second,
            least_per_sec: per_second,
            most_per_sec: per_second,
        }
    }

    fn published(engine: &str, connections: u32, ops: u64, seconds: f64) -> PublishedLine {
        PublishedLine {
            engine: engine.into(),
            probe: "mixed".into(),
            connections: Some(connections),
            ops: Some(ops),
            seconds_avg: Some(seconds),
            ..PublishedLine::default()
        }
    }

    #[test]
    fn probes_are_matched_by_load_connections_and_scaled_operations() {
        let (inno, my) = (curve("innodb", "autoinc", &[1.0]), curve("myisam", "autoinc", &[1.0]));
        let rates = [rate(1, 10, 5, 90.0), rate(1, 10, 50, 100.0), rate(25, 10, 50, 300.0), rate(1, 100, 50, 7.0)];
        let run = [
            Measured { name: "i", curve: &inno, probes: &rates },
            Measured { name: "m", curve: &my, probes: &rates[..1] },
        ];
        let lines =
            [published("soliddb", 1, 1000, 0.5), published("InnoDB", 25, 1000, 0.5), published("x", 7, 1000, 1.0)];
        let found = beside(&lines, &run, Some(0.01));
        let short: Vec<(usize, &str, u64, f64)> =
            found.iter().map(|one| (one.published, one.curve.as_str(), one.table_rows, one.per_second)).collect();
        assert_eq!(short, [(0, "i", 50, 100.0), (0, "m", 5, 90.0), (1, "i", 50, 300.0)]);
        // 1000 in half a second are 2000 a second.
        assert_eq!(found[0].ratio, Some(0.05));
        assert_eq!(beside(&lines, &run, None), []);
        // One engine of its own leaves the others out.
        let both = [Measured { probes: &rates, ..run[0] }, Measured { probes: &rates, ..run[1] }];
        let own = beside(&lines[1..2], &both, Some(0.01));
        assert_eq!(own.iter().map(|one| one.curve.as_str()).collect::<Vec<_>>(), ["i"]);
    }

    #[test]
    fn loads_are_matched_by_key_at_their_median() {
        let (auto, uuid) = (curve("innodb", "autoinc", &[0.1, 0.2, 0.4]), curve("innodb", "uuid4:char32", &[1.0]));
        let run = [("a", &auto), ("u", &uuid)].map(|(name, curve)| Measured { name, curve, probes: &[] });
        let line = |rate| PublishedLine {
            engine: "pbxt".into(),
            key: "autoinc".into(),
            inserts_per_sec: rate,
            ..PublishedLine::default()
        };
        let found = beside(&[line(Some(16_000.0)), line(None)], &run, None);
        assert_eq!(found.len(), 2);
        assert!((found[0].per_second - 5000.0).abs() < 1e-6 && found[0].table_rows == 3000);
        assert_eq!((found[0].ratio.map(|ratio| (ratio * 1e4).round()), found[1].ratio), (Some(3125.0), None));
    }
}
