//! The control batch: when a curve has ended, one batch into a fresh side table under the same settings.
//!
//! Table size, time since the start and bytes written all grow together. A fresh table has the age and the server of the curve and
//! none of its rows: if it is slow too, the environment or the state of the server is; if it is fast, the size of the table was it.

use std::time::Duration;

use super::batch::{self, Batch, Cut};
use super::curve::{GRACE, prepare};
use super::warden::How;
use super::workers::Watch;
use super::{Event, Runner, mark, table_name};
use crate::error::Error;
use crate::record::run::ControlBatch;
use crate::record::{Outcome, RunRecord};
use crate::targets::{Failure, FailureKind, Purpose, Table, TableOrder};
use crate::units::{human_rows, human_seconds};

/// The name of the side table of a curve's table.
pub fn side_name(table: &str) -> String {
    format!("{table}_control")
}

/// Loads the control batch of the curve at `index`, whose table is still open and whose loading connections are closed, when the plan
/// asks for it and the curve was completed or stopped. What goes wrong with it is said in its record and changes no outcome.
///
/// # Errors
/// The record cannot be saved.
pub fn run(runner: &mut Runner<'_>, record: &mut RunRecord, index: usize, table: &mut dyn Table) -> Result<(), Error> {
    let entry = &record.curves[index];
    let is_over = matches!(entry.outcome, Outcome::Completed | Outcome::Stopped { .. });
    if !runner.plan.control_batch || !is_over || runner.warden.over().is_some() {
        return Ok(());
    }
    let plan = &runner.plan.curves[index];
    let side = side_name(&table_name(&runner.run_id, plan.number));
    let curve = entry.curve.clone();
    let control =
        ControlBatch { table: Some(side.clone()), started_at: runner.clock.wall(), ..ControlBatch::default() };
    record.curves[index].control_batch = Some(control.clone());
    // Known before it is there, so that `clean` finds it whatever happens.
    runner.directory.save(record)?;
    runner.reporter.report(&Event::Note(&format!(
        "{curve}: control batch: {} rows into a fresh table",
        human_rows(plan.sizes.batch_rows)
    )));
    let control = match load(runner, index, &side, table, control.clone()) {
        Ok(loaded) => loaded,
        Err(failure) => {
            // A side table that was never made is not there to be dropped.
            ControlBatch { table: None, problem: Some(failure.to_string()), ..control }
        }
    };
    let words = match (&control.problem, control.seconds) {
        (Some(problem), _) => problem.clone(),
        (None, seconds) => format!("{} rows in {}", human_rows(control.rows), human_seconds(seconds.unwrap_or(0.0))),
    };
    runner.reporter.report(&Event::Note(&format!("{curve}: control batch: {words}")));
    record.curves[index].control_batch = Some(control);
    runner.directory.save(record)
}

fn load(
    runner: &mut Runner<'_>,
    index: usize,
    side: &str,
    table: &mut dyn Table,
    mut control: ControlBatch,
) -> Result<ControlBatch, Failure> {
    let plan = &runner.plan.curves[index];
    let (mark, directory) = (mark(&runner.run_id, plan.number), runner.directory.path().to_owned());
    let order = TableOrder {
        curve: plan,
        table: side,
        mark: &mark,
        schema: runner.plan.schema_text(plan.cell.target),
        directory: &directory,
        purpose: Purpose::Load,
    };
    let opening = ("making the side table", How::Work);
    let mut side = runner.warden.on_table(runner.reporter, table, opening, |table| table.side(&order))?;
    let sent = send(runner, index, side.as_mut(), &mut control);
    // One that does not answer is asked for nothing that could wait.
    let keep = runner.warden.is_silent();
    let close = ("dropping the side table", How::Closing);
    let closed = runner.warden.on_table(runner.reporter, side.as_mut(), close, |side| side.close(keep));
    if closed.is_ok() && !keep {
        control.table = None;
    }
    control.problem = sent.and(closed).err().map(|failure| failure.to_string());
    Ok(control)
}

fn send(
    runner: &mut Runner<'_>,
    index: usize,
    side: &mut dyn Table,
    control: &mut ControlBatch,
) -> Result<(), Failure> {
    let plan = &runner.plan.curves[index];
    let (ready, line) = prepare(runner, plan, side, plan.cell.connections)?;
    runner.directory.note(&line).map_err(|error| Failure::fatal(error.to_string()))?;
    let rules = &runner.plan.stop;
    let limit = rules.max_batch_seconds.map(Duration::from_secs_f64);
    let batch = Batch {
        rows: 0..plan.sizes.batch_rows,
        cut: Cut {
            statement_rows: ready.fitted.statement_rows,
            commit_rows: ready.fitted.commit_rows,
            window_rows: ready.fitted.window_rows,
            connections: u64::from(plan.cell.connections),
        },
        crew: &ready.crew,
        encoder: &ready.encoder,
        clock: &runner.clock,
        server_cpu: &|| None,
        last_end: None,
        grace: GRACE,
    };
    let (mut seen, mut since) = (0, Duration::ZERO);
    let stall = Duration::from_secs_f64(rules.stall_timeout_seconds);
    let warden = &mut runner.warden;
    let measured = batch::load(batch, &mut |spent, acknowledged| {
        if acknowledged != seen {
            (seen, since) = (acknowledged, spent);
        }
        if spent.saturating_sub(since) > stall {
            // One that answers is waited for on.
            since = spent;
            warden.ask_for_life("the control batch");
        }
        let too_long = limit.is_some_and(|limit| spent > limit);
        if too_long || warden.is_silent() || warden.over().is_some() { Watch::Cancel } else { Watch::Wait }
    });
    ready.crew.dismiss(GRACE);
    control.started_at.clone_from(&measured.started_at);
    control.rows = measured.rows;
    let seconds = measured.sending.as_secs_f64();
    if let Some(failure) = measured.failure {
        return Err(failure);
    }
    if measured.cancelled {
        let message = format!("ended after {} with {} rows", human_seconds(seconds), human_rows(measured.rows));
        return Err(Failure { kind: FailureKind::Cancelled, code: None, message });
    }
    control.seconds = Some(seconds);
    Ok(())
}
