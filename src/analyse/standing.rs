//! What may be said of a curve beside its figures: what became of it, whether its rows were verified, and whether it may be ranked.
//!
//! A load that failed is often the fastest one: rows that are thrown away cost nothing.

use super::Curve;
use crate::record::run::KEEPS_NO_ROW;
use crate::record::{CurveRecord, Outcome};

/// Fewer batches are no measurement of an end.
const LEAST_BATCHES: usize = 3;
/// The engine that keeps no row, by name, for files that say nothing else of it.
const NULL_ENGINE: &str = "blackhole";

/// How far a curve can be trusted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Standing {
    /// What became of it, as in `run.json`; `None` where that is not recorded.
    pub outcome: Option<&'static str>,
    /// Whether its rows were counted and read back, and were what had been sent; `None` where nothing is recorded.
    pub verified: Option<bool>,
    /// Why it is not verified; `None` when it is.
    pub not_verified: Option<String>,
    /// Why its figures are those of no load at all: it failed, or its rows are not what was sent.
    pub fault: Option<String>,
    /// Whether its engine keeps no row.
    pub keeps_no_row: bool,
    /// Whether it was to be verified and has not come so far.
    is_open: bool,
    batches: usize,
}

impl Standing {
    /// Of a curve and its record, where there is one.
    pub fn of(curve: &Curve, record: Option<&CurveRecord>) -> Self {
        let batches = curve.samples.len();
        let named_null = curve.labels.engine.eq_ignore_ascii_case(NULL_ENGINE);
        let Some(record) = record else {
            let why = "nothing is recorded of what became of it";
            return Self { not_verified: Some(why.into()), keeps_no_row: named_null, batches, ..Self::default() };
        };
        let left_out = record.verification.as_ref().and_then(|found| found.left_out.as_deref());
        let keeps_no_row = named_null || record.keeps_rows == Some(false) || left_out == Some(KEEPS_NO_ROW);
        let fault = fault(record);
        let not_verified = not_verified(record, keeps_no_row);
        Self {
            outcome: Some(record.outcome.word()),
            verified: Some(not_verified.is_none()),
            is_open: not_verified.is_some() && is_open(record),
            not_verified,
            fault,
            keeps_no_row,
            batches,
        }
    }

    /// Why it can be neither the fastest nor the slowest of several; `None` when it can.
    pub fn unranked(&self) -> Option<String> {
        if let Some(fault) = &self.fault {
            return Some(fault.clone());
        }
        if self.keeps_no_row {
            return Some("its engine keeps no row".into());
        }
        match self.batches {
            0 => Some("no batch".into()),
            1 => Some("only 1 batch".into()),
            few if few < LEAST_BATCHES => Some(format!("only {few} batches")),
            _ if self.is_open => self.not_verified.clone(),
            _ => None,
        }
    }
}

impl Standing {
    /// The same in a word or two, for a picture.
    pub fn unranked_word(&self) -> Option<&'static str> {
        self.unranked()?;
        Some(match (&self.fault, self.outcome) {
            (Some(_), Some("failed")) => "failed",
            (Some(_), _) => "wrong rows",
            (None, _) if self.keeps_no_row => "keeps no row",
            (None, _) if self.batches < LEAST_BATCHES => "too short",
            (None, _) => "not verified",
        })
    }

    /// What a table of figures has to say below itself of a curve that is not ranked and whose outcome does not show it.
    pub fn remark(&self) -> Option<String> {
        if self.fault.is_some() {
            return self.fault.clone();
        }
        self.keeps_no_row.then(|| {
            "its engine keeps no row: its speed is that of the client, the connection and the parser of the server"
                .into()
        })
    }
}

fn fault(record: &CurveRecord) -> Option<String> {
    if let Outcome::Failed { message, .. } = &record.outcome {
        return Some(format!("failed: {message}"));
    }
    let difference = record.verification.as_ref()?.difference()?;
    Some(format!("its verification found a difference: {difference}"))
}

/// Whether a verification was due that has not been finished.
fn is_open(record: &CurveRecord) -> bool {
    match record.outcome {
        Outcome::NotStarted | Outcome::Running | Outcome::Interrupted => true,
        _ => record.verification.as_ref().is_some_and(|found| found.counted_rows.is_none() && found.left_out.is_none()),
    }
}

fn not_verified(record: &CurveRecord, keeps_no_row: bool) -> Option<String> {
    let why = match (&record.outcome, &record.verification) {
        (Outcome::Failed { .. }, _) => "failed",
        (Outcome::Interrupted, _) => "interrupted before its verification ended",
        (Outcome::Running, _) => "not ended",
        (Outcome::NotStarted, _) => "not started",
        (Outcome::Skipped { .. }, _) => "skipped",
        _ if keeps_no_row => "its engine keeps no row",
        (_, Some(found)) if found.is_right() => return None,
        (_, Some(found)) if found.difference().is_some() => "its verification found a difference",
        (_, Some(found)) => found.left_out.as_deref().unwrap_or("its verification did not finish"),
        (Outcome::Full { .. }, None) => "the table was full",
        (_, None) if record.partial.is_some() => "a batch was in flight when it ended",
        (_, None) => "no verification is recorded (--no-verify)",
    };
    Some(why.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::Labels;
    use crate::record::{Sample, Verification};

    fn curve(engine: &str, batches: usize) -> Curve {
        Curve {
            name: "c".into(),
            run: "r".into(),
            labels: Labels { engine: engine.into(), ..Labels::default() },
            repeat: 1,
            samples: vec![Sample::default(); batches],
        }
    }

    fn record(outcome: Outcome, verification: Option<Verification>) -> CurveRecord {
        CurveRecord { outcome, verification, ..CurveRecord::default() }
    }

    fn right() -> Verification {
        Verification { expected_rows: 9, counted_rows: Some(9), compared_rows: 3, ..Verification::default() }
    }

    fn of(record: &CurveRecord) -> Standing {
        Standing::of(&curve("innodb", 5), Some(record))
    }

    #[test]
    fn a_completed_and_verified_curve_is_ranked_and_a_failed_or_wrong_one_is_not() {
        let good = of(&record(Outcome::Completed, Some(right())));
        assert_eq!(
            (good.outcome, good.verified, good.unranked(), good.fault.clone()),
            (Some("completed"), Some(true), None, None)
        );
        let failed = of(&record(Outcome::Failed { code: None, message: "no".into() }, Some(right())));
        assert_eq!((failed.verified, failed.unranked()), (Some(false), Some("failed: no".into())));
        for wrong in [Verification { counted_rows: Some(0), ..right() }, Verification { wrong_rows: 2, ..right() }] {
            let wrong = of(&record(Outcome::Completed, Some(wrong)));
            assert!(wrong.fault.is_some() && wrong.unranked() == wrong.fault, "{wrong:?}");
            assert_eq!(wrong.verified, Some(false));
        }
        let unfinished = Verification { expected_rows: 9, ..Verification::default() };
        let unfinished = of(&record(Outcome::Completed, Some(unfinished)));
        assert_eq!((unfinished.fault.clone(), unfinished.unranked().is_some()), (None, true));
    }

    #[test]
    fn what_was_not_to_be_verified_is_ranked_and_what_has_not_come_so_far_is_not() {
        let no_verify = of(&record(Outcome::Completed, None));
        assert_eq!((no_verify.verified, no_verify.unranked()), (Some(false), None));
        assert!(no_verify.not_verified.unwrap().contains("--no-verify"));
        let stopped = Outcome::Stopped { rule: "--max-duration 1m".into(), figures: String::new() };
        assert_eq!(of(&record(stopped, None)).unranked(), None);
        for open in [Outcome::Interrupted, Outcome::Running] {
            // What an earlier end had verified says nothing of a curve that was gone on with.
            let open = of(&record(open, Some(right())));
            assert_eq!((open.verified, open.fault.clone(), open.unranked().is_some()), (Some(false), None, true));
        }
    }

    #[test]
    fn an_engine_that_keeps_no_row_and_two_batches_are_in_no_ranking() {
        let left_out = Verification { left_out: Some(KEEPS_NO_ROW.into()), ..Verification::default() };
        let by_record = of(&record(Outcome::Completed, Some(left_out)));
        let by_flag = of(&CurveRecord { keeps_rows: Some(false), ..record(Outcome::Completed, None) });
        let by_name = Standing::of(&curve("BLACKHOLE", 5), None);
        for found in [&by_record, &by_flag, &by_name] {
            assert!(found.keeps_no_row && found.unranked().unwrap().contains("keeps no row"), "{found:?}");
        }
        assert_eq!(by_record.verified, Some(false));
        let short = Standing::of(&curve("innodb", 2), Some(&record(Outcome::Completed, Some(right()))));
        assert_eq!(short.unranked(), Some("only 2 batches".into()));
    }

    #[test]
    fn where_nothing_is_recorded_nothing_is_known() {
        let found = Standing::of(&curve("", 5), None);
        assert_eq!((found.outcome, found.verified, found.unranked()), (None, None, None));
        assert!(found.not_verified.is_some());
    }
}
