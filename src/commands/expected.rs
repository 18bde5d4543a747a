//! What `check` can say of how long a run will take: from an earlier run, or from the limits that were set.

use std::path::Path;

use crate::analyse::{Left, as_before};
use crate::error::Error;
use crate::plan::stop::StopRules;
use crate::plan::{CurvePlan, Plan};
use crate::reading::input::{self, Input};
use crate::record::CurveRecord;
use crate::record::run::values_note;
use crate::render::left;
use crate::units::{grouped, human_rows, human_seconds};

/// An earlier run that the curves of a plan are likened to.
#[derive(Debug)]
pub struct Like<'a> {
    path: &'a Path,
    input: Input,
}

impl<'a> Like<'a> {
    /// Reads it.
    ///
    /// # Errors
    /// There is no run that can be read.
    pub fn read(path: &'a Path) -> Result<Self, Error> {
        let input = input::load(&[path.to_owned()])?;
        if input.other_x.is_some() || input.runs.iter().all(|run| run.record.is_none()) {
            return Err(Error::file(
                path,
                "no record of a run is here",
                "give --like a directory that `rowcliff run` wrote",
            ));
        }
        Ok(Self { path, input })
    }

    /// What a curve will take, in seconds, and in words.
    fn of(&self, curve: &CurvePlan, planned: &CurveRecord) -> (Option<(f64, f64)>, String) {
        let same = |record: &CurveRecord| cell(record) == cell(planned);
        let earlier: Vec<_> = self
            .input
            .curves
            .iter()
            .filter(|earlier| !earlier.samples.is_empty() && self.input.record_of(earlier).is_some_and(same))
            .collect();
        let Some(longest) = earlier.iter().max_by_key(|earlier| earlier.table_rows()) else {
            return (None, format!("unknown: {} has no batch of such a curve", self.path.display()));
        };
        let rows = curve.sizes.rows;
        let found: Vec<(f64, f64)> = earlier.iter().filter_map(|one| as_before(&one.samples, rows).ok()).collect();
        let Some(range) = found.iter().copied().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
            let why = as_before(&longest.samples, rows).err().map_or_else(String::new, |why| format!(" ({why})"));
            let end = human_rows(longest.table_rows());
            return (None, format!("unknown: it had {end} rows then, and what follows cannot be forecast{why}"));
        };
        let known = human_rows(longest.table_rows().min(rows));
        let how = match longest.table_rows() >= rows {
            true => format!("as measured up to {known} rows"),
            false => format!("measured up to {known} rows, forecast from there on"),
        };
        let (then, now) = ((longest.labels.statement_rows, longest.labels.commit_rows), curve.sizes);
        let other = match then == (now.statement_rows, now.commit_rows) {
            true => String::new(),
            false => format!("; then with {} rows a statement and {} a commit", grouped(then.0), grouped(then.1)),
        };
        (Some(range), format!("{}, {how}{other}", left::words(as_left(range, false))))
    }

    /// What the columns held then, where it is not what they will hold now: random values in an index cost more than ascending ones.
    fn other_values(&self, plan: &Plan) -> Option<String> {
        let words = |note: Option<String>| note.unwrap_or_else(|| "as they are without options".into());
        let now = words(values_note(&serde_json::to_value(plan).unwrap_or_default()));
        let records = self.input.runs.iter().filter_map(|run| run.record.as_ref());
        let then = records.map(|record| words(record.values_note())).find(|then| *then != now)?;
        Some(format!("  the columns held other values then, which may take more or less time: {then}; now {now}"))
    }

    /// A line for each curve, and one for all.
    fn lines(&self, plan: &Plan, curves: &[(&CurvePlan, &CurveRecord, &str)]) -> Vec<String> {
        let mut lines = vec![format!("time to load, as in {}:", self.path.display())];
        lines.extend(self.other_values(plan));
        let (mut all, mut is_open) = ((0.0, 0.0), false);
        for (curve, planned, name) in curves {
            let (range, words) = self.of(curve, planned);
            let (low, high) = range.unwrap_or_default();
            (all, is_open) = ((all.0 + low, all.1 + high), is_open || range.is_none());
            lines.push(format!("  {name}: {words}"));
        }
        if curves.len() > 1 {
            lines.push(format!("  all {}: {}", curves.len(), left::words(as_left(all, is_open))));
        }
        lines
    }
}

fn as_left((low, high): (f64, f64), open: bool) -> Left {
    Left { low, high, open }
}

/// The labels by which a curve is found in another run; a repeat is as good as another.
fn cell(record: &CurveRecord) -> [String; 7] {
    let connections = record.connections.to_string();
    let labels = [&record.target, &record.engine, &record.key, &record.flush, &record.settings, &record.method];
    let [target, engine, key, flush, settings, method] = labels.map(Clone::clone);
    [target, engine, key, flush, settings, method, connections]
}

/// What the limits of a plan allow.
fn bound(stop: &StopRules, curves: usize) -> Option<String> {
    let each = stop.max_duration_seconds.map(|seconds| (seconds, seconds * curves as f64));
    let together = stop.max_run_duration_seconds;
    let by_curves = |(one, all): (f64, f64)| match curves {
        1 => format!("{} (--max-duration)", human_seconds(all)),
        _ => format!("{} (--max-duration {} x {curves} curves)", human_seconds(all), human_seconds(one)),
    };
    match (each, together) {
        (Some(each), Some(run)) if each.1 < run => Some(by_curves(each)),
        (_, Some(run)) => Some(format!("{} (--max-run-duration)", human_seconds(run))),
        (Some(each), None) => Some(by_curves(each)),
        (None, None) => None,
    }
}

/// What is known of how long the curves that can run will take, a line each.
pub fn lines(like: Option<&Like<'_>>, plan: &Plan, curves: &[(&CurvePlan, &CurveRecord, &str)]) -> Vec<String> {
    if curves.is_empty() {
        return Vec::new();
    }
    let mut lines = like.map_or_else(Vec::new, |like| like.lines(plan, curves));
    match bound(&plan.stop, curves.len()) {
        Some(bound) => lines.push(format!("at most {bound} of loading; closing work and verification come on top")),
        None if lines.is_empty() => lines.push(
            "how long it takes cannot be known before it is measured: --like RUN_DIR goes by an earlier run, --max-duration and \
             --max-run-duration set a bound"
                .into(),
        ),
        None => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_limit_is_the_bound() {
        let stop =
            |each, run| StopRules { max_duration_seconds: each, max_run_duration_seconds: run, ..StopRules::default() };
        assert_eq!(bound(&stop(None, None), 2), None);
        assert_eq!(bound(&stop(Some(90.0), None), 2).unwrap(), "3m00s (--max-duration 1m30s x 2 curves)");
        assert_eq!(bound(&stop(Some(90.0), Some(100.0)), 2).unwrap(), "1m40s (--max-run-duration)");
        assert_eq!(bound(&stop(Some(30.0), Some(100.0)), 1).unwrap(), "30.0 s (--max-duration)");
    }
}
