//! Records that tests share.

use std::collections::BTreeMap;

use super::{CurveRecord, Environment, Outcome, RunRecord, RunState};

/// A record of a run whose curves have completed.
pub fn run_record(curves: &[&str]) -> RunRecord {
    RunRecord {
        format_version: 1,
        program_version: "0.1.0".into(),
        build_profile: "release".into(),
        run_id: "r".into(),
        command_line: vec!["rowcliff".into(), "run".into()],
        started_at: "2026-11-30T00:00:00Z".into(),
        finished_at: None,
        state: RunState::Finished,
        process_id: None,
        resumed_by: Vec::new(),
        plan: serde_json::Value::Null,
        environment: Environment::default(),
        targets: BTreeMap::new(),
        curves: curves
            .iter()
            .map(|curve| CurveRecord { curve: (*curve).into(), outcome: Outcome::Completed, ..CurveRecord::default() })
            .collect(),
    }
}
