//! How fast rows went in within batches: `seconds.csv` as points of curves.

use std::collections::HashMap;

use super::plot::Point;
use crate::analyse::Curve;
use crate::reading::figures::Across;
use crate::reading::figures::{BatchFigures, place_at};
use crate::reading::input::Input;
use crate::record::detail::{self, SecondLine};

/// Points of a curve in a picture: more would be several to a pixel.
const POINTS: usize = 1500;
/// A batch of so many seconds has an inside.
const SEVERAL: f64 = 3.0;
/// The last second of a batch is a part of one; a shorter part says nothing, unless it is all of the batch.
const SHORTEST_PART: f64 = 0.2;

/// The seconds of all curves, by run and curve.
pub type Seconds = HashMap<(String, String), Vec<SecondLine>>;

/// Reads the seconds of the runs. What cannot be read is said.
pub fn load(input: &Input, problems: &mut Vec<String>) -> Seconds {
    let mut out = Seconds::new();
    for run in input.runs.iter().filter(|run| run.path.is_dir()) {
        match detail::read_seconds(&run.path) {
            Ok(found) => {
                problems.extend(found.problems.iter().map(ToString::to_string));
                for line in found.lines {
                    out.entry((run.label.clone(), line.curve.clone())).or_default().push(line);
                }
            }
            Err(error) => problems.push(format!("{}: {error}", run.path.join(detail::SECONDS_FILE).display())),
        }
    }
    out
}

/// Whether a batch of a curve that is shown lasted for several seconds: otherwise the seconds of batches say what the batches say.
pub fn has_seconds(input: &Input) -> bool {
    input.curves.iter().flat_map(|curve| &curve.samples).any(|sample| sample.seconds >= SEVERAL)
}

/// Rows per second, second by second, where the table then stood on the horizontal axis. Of a long curve the slowest and the fastest second
/// of each stretch.
pub fn points(curve: &Curve, figures: &[BatchFigures], across: Across, lines: &[SecondLine]) -> Vec<Point> {
    let mut by_batch: HashMap<u64, Vec<&SecondLine>> = HashMap::new();
    for line in lines {
        by_batch.entry(line.batch).or_default().push(line);
    }
    let mut points = Vec::new();
    for sample in &curve.samples {
        let Some(lines) = by_batch.get_mut(&sample.batch) else { continue };
        lines.sort_by_key(|line| line.second);
        let mut rows = sample.table_rows.saturating_sub(sample.rows);
        for line in lines {
            rows += line.rows;
            let long = (sample.seconds - (line.second as f64 - 1.0)).clamp(0.0, 1.0);
            if (long >= SHORTEST_PART || line.second == 1)
                && let Some(x) = place_at(figures, across, rows as f64)
            {
                points.push(Point { batch: sample.batch, x, y: line.rows as f64 / long });
            }
        }
    }
    thinned(points)
}

fn thinned(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= POINTS {
        return points;
    }
    let stretch = (points.len() * 2).div_ceil(POINTS);
    points
        .chunks(stretch)
        .flat_map(|chunk| {
            let lowest = chunk.iter().min_by(|a, b| a.y.total_cmp(&b.y));
            let highest = chunk.iter().max_by(|a, b| a.y.total_cmp(&b.y));
            let mut ends: Vec<Point> = lowest.into_iter().chain(highest).copied().collect();
            ends.sort_by(|a, b| a.x.total_cmp(&b.x));
            ends.dedup();
            ends
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::reading::figures::figures;
    use crate::record::Sample;

    #[test]
    fn seconds_are_rates_at_the_rows_that_were_in_then() {
        let sample = |batch, seconds| Sample {
            curve: "c".into(),
            batch,
            rows: 100,
            table_rows: batch * 100,
            seconds,
            ..Sample::default()
        };
        let samples = vec![sample(1, 2.5), sample(2, 1.1)];
        let curve = group(&[RunSamples { run: "r".into(), samples }]).curves.remove(0);
        let line = |batch, second, rows| SecondLine { curve: "c".into(), batch, second, rows };
        let lines = [line(1, 2, 50), line(1, 1, 40), line(1, 3, 10), line(2, 1, 95), line(2, 2, 5)];
        let known = figures(&Input::default(), &[&curve]);
        let found: Vec<(f64, f64)> =
            points(&curve, &known, Across::Rows, &lines).iter().map(|point| (point.x, point.y)).collect();
        // The last tenth of a second of batch 2 says nothing.
        assert_eq!(found, [(40.0, 40.0), (90.0, 50.0), (100.0, 20.0), (195.0, 95.0)]);
    }

    #[test]
    fn a_long_curve_keeps_its_slowest_and_fastest_seconds() {
        let mut all: Vec<Point> = (0..100_000).map(|at| Point { batch: at, x: at as f64, y: 10.0 }).collect();
        (all[777].y, all[55_555].y) = (0.0, 99.0);
        let found = thinned(all);
        assert!(found.len() <= POINTS, "{}", found.len());
        assert!(found.iter().any(|point| point.y == 0.0) && found.iter().any(|point| point.y == 99.0));
        assert!(found.windows(2).all(|pair| pair[0].x <= pair[1].x));
    }
}
