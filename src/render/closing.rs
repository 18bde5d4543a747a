//! The closing work of curves (a checkpoint, a flush, a server shut down) in words: its seconds, and its share of what load and closing took.

use super::show::curve_names;
use crate::analyse::Curve;
use crate::reading::input::Input;
use crate::units::human_seconds;

/// Closing work below this many seconds and below [`LEAST_SHARE`] is not worth a line.
const LEAST_SECONDS: f64 = 1.0;
/// The same, as a share of the total.
const LEAST_SHARE: f64 = 0.01;
/// Curves that are named one by one.
const NAMED: usize = 6;

/// The closing work of one curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closing {
    pub seconds: f64,
    /// Its share of load and closing together.
    pub share: f64,
}

impl Closing {
    /// Of a curve that has batches, where its closing work was timed.
    pub fn of(input: &Input, curve: &Curve) -> Option<Self> {
        let seconds = input.record_of(curve)?.closing_seconds.filter(|seconds| seconds.is_finite())?;
        let total = curve.load_seconds() + seconds;
        (!curve.samples.is_empty() && total > 0.0).then(|| Self { seconds, share: seconds / total })
    }

    fn is_worth_a_line(self) -> bool {
        self.seconds >= LEAST_SECONDS || self.share >= LEAST_SHARE
    }

    /// `7.00 s (39%)`.
    fn words(self) -> String {
        format!("{} ({})", human_seconds(self.seconds), percent(self.share))
    }

    /// `closing work: 7.00 s, 39% of load and closing together`.
    pub fn sentence(self) -> String {
        let (seconds, share) = (human_seconds(self.seconds), percent(self.share));
        format!("closing work: {seconds}, {share} of load and closing together")
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.1 => "below 0.1%".into(),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// What stands below a table of curves: those whose closing work took a while, the longest first where they are many.
pub fn sentence(input: &Input) -> Option<String> {
    let named = input.curves.iter().zip(curve_names(input));
    let mut found: Vec<(String, Closing)> = named
        .filter_map(|(curve, name)| Some((name, Closing::of(input, curve)?)))
        .filter(|(_, closing)| closing.is_worth_a_line())
        .collect();
    let left_out = found.len().saturating_sub(NAMED);
    if left_out > 0 {
        found.sort_by(|a, b| b.1.seconds.total_cmp(&a.1.seconds));
        found.truncate(NAMED);
    }
    let mut words: Vec<String> = found.iter().map(|(name, closing)| format!("{name} {}", closing.words())).collect();
    words.extend((left_out > 0).then(|| format!("{left_out} more took less")));
    let what = "closing work, not in the load time (share of both together)";
    (!words.is_empty()).then(|| format!("{what}: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::input::{LoadedRun, assemble};
    use crate::record::Sample;
    use crate::record::store::Samples;
    use crate::record::test_support::run_record;

    fn input(curves: &[(&str, Option<f64>)]) -> Input {
        let names: Vec<&str> = curves.iter().map(|curve| curve.0).collect();
        let mut record = run_record(&names);
        for (entry, (name, closing)) in record.curves.iter_mut().zip(curves) {
            (entry.key, entry.closing_seconds) = ((*name).into(), *closing);
        }
        let sample = |name: &&str| Sample {
            curve: (*name).into(),
            key: (*name).into(),
            batch: 1,
            rows: 10,
            table_rows: 10,
            seconds: 11.0,
            ..Sample::default()
        };
        let samples = Samples { samples: names.iter().map(sample).collect(), problems: vec![] };
        assemble([(LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) }, samples)], vec![])
    }

    #[test]
    fn closing_work_that_is_known_and_took_a_while_is_named_with_its_share() {
        let input = input(&[("a", Some(7.0)), ("b", None), ("c", Some(0.01)), ("d", Some(0.5))]);
        let expected = "closing work, not in the load time (share of both together): a 7.00 s (39%), d 0.500 s (4.3%)";
        assert_eq!(sentence(&input).unwrap(), expected);
        let summary = crate::render::show::summary(&input).replace('\n', " ");
        assert!(summary.contains("a 7.00 s (39%), d 0.500 s (4.3%)"), "{summary}");
        let all = Closing::of(&input, &input.curves[2]).unwrap();
        assert_eq!(all.sentence(), "closing work: 0.0100 s, below 0.1% of load and closing together");
        assert_eq!(Closing::of(&input, &input.curves[1]), None);
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known_and_many_curves_are_no_wall_of_words() {
        assert_eq!(sentence(&input(&[("a", None), ("b", Some(0.01))])), None);
        let names: Vec<String> = (0..9).map(|n| format!("k{n}")).collect();
        let many: Vec<(&str, Option<f64>)> = names.iter().map(|name| (name.as_str(), Some(2.0))).collect();
        assert!(sentence(&input(&many)).unwrap().ends_with("k5 2.00 s (15%), 3 more took less"));
    }
}
