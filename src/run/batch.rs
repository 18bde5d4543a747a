//! One batch: cut into transactions and windows, encoded outside the clock, sent inside it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::clock::Clock;
use super::seconds::{self, Section, Silence};
use super::workers::{Crew, Piece, Watch, Window, new_histogram};
use crate::load::Encode;
use crate::rows::{parallel_map, split_range};
use crate::targets::Failure;
use crate::targets::body::Statement;

/// How a batch is cut. All figures are what is really used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Rows of one statement.
    pub statement_rows: u64,
    /// Rows of one transaction.
    pub commit_rows: u64,
    /// Rows whose encoded form fits into the memory for it.
    pub window_rows: u64,
    pub connections: u64,
}

/// What was measured of a batch.
#[derive(Debug)]
pub struct Measured {
    pub sending: Duration,
    pub encoding: Duration,
    /// From the end of the last timed section of the batch before to the start of the first of this one.
    pub gap: Option<Duration>,
    /// End of the last timed section.
    pub ended: Duration,
    /// Wall clock at the start.
    pub started_at: String,
    /// Rows accepted.
    pub rows: u64,
    /// Statements that carried rows.
    pub statements: u64,
    /// Transactions sent again.
    pub retries: u64,
    /// Statement latency, microseconds.
    pub latency: Histogram<u64>,
    pub longest: Duration,
    /// CPU time of this process inside the timed sections.
    pub client_cpu: Option<Duration>,
    /// CPU time of the target's process inside the timed sections.
    pub server_cpu: Option<Duration>,
    /// Time the connections spent inside calls to the target, all connections together.
    pub waited: Duration,
    /// CPU time of the threads that sent, all connections together.
    pub worked: Option<Duration>,
    /// Time from the start of the timed sections until each connection had nothing left to send, all together.
    pub offered: Duration,
    /// Rows acknowledged in each second of the timed sections, from 1.
    pub seconds: BTreeMap<u64, u64>,
    /// When no connection got an answer.
    pub silences: Vec<Silence>,
    /// The first Note of the server.
    pub note: Option<String>,
    /// Why the batch is not whole.
    pub failure: Option<Failure>,
    /// Whether somebody outside ended it.
    pub cancelled: bool,
}

impl Measured {
    /// Nothing has been sent yet.
    pub fn nothing(now: Duration) -> Self {
        Self {
            sending: Duration::ZERO,
            encoding: Duration::ZERO,
            gap: None,
            ended: now,
            started_at: String::new(),
            rows: 0,
            statements: 0,
            retries: 0,
            latency: new_histogram(),
            longest: Duration::ZERO,
            client_cpu: Some(Duration::ZERO),
            server_cpu: Some(Duration::ZERO),
            waited: Duration::ZERO,
            worked: Some(Duration::ZERO),
            offered: Duration::ZERO,
            seconds: BTreeMap::new(),
            silences: Vec::new(),
            note: None,
            failure: None,
            cancelled: false,
        }
    }
}

/// One planned piece: everything but the encoded bytes.
struct Outline {
    worker: Option<usize>,
    rows: Range<u64>,
    transaction: Range<u64>,
}

/// A batch, and what it is sent with.
pub struct Batch<'a> {
    /// Its rows.
    pub rows: Range<u64>,
    /// How it is cut.
    pub cut: Cut,
    pub crew: &'a Crew,
    pub encoder: &'a Arc<dyn Encode>,
    pub clock: &'a Arc<dyn Clock>,
    /// CPU time of the target's process so far.
    pub server_cpu: &'a dyn Fn() -> Option<Duration>,
    /// End of the last timed section of the batch before.
    pub last_end: Option<Duration>,
    /// How long cancelled statements may take to come back.
    pub grace: Duration,
}

/// Sends the rows of one batch.
///
/// `watch` is given the time that the batch has been in its timed sections and the statements acknowledged so far, and
/// decides whether it goes on.
pub fn load(batch: Batch<'_>, watch: &mut dyn FnMut(Duration, u64) -> Watch) -> Measured {
    let Batch { rows, cut, crew, encoder, clock, server_cpu, last_end, grace } = batch;
    let mut measured = Measured::nothing(clock.now());
    let expected = rows.end - rows.start;
    for outlines in windows(rows, cut) {
        let encode_started = clock.now();
        let window = encode(outlines, cut, encoder);
        measured.encoding += clock.now().saturating_sub(encode_started);
        if measured.started_at.is_empty() {
            measured.started_at = clock.wall();
            measured.gap = last_end.map(|end| clock.now().saturating_sub(end));
        }
        let server_before = server_cpu();
        let cpu_before = clock.cpu();
        let started = clock.now();
        let already = measured.sending;
        let window = window.at(Section { started, already });
        let mut cancelled = false;
        let shares = crew.send(window, grace, &mut |acknowledged| {
            let decision = watch(already + clock.now().saturating_sub(started), acknowledged);
            cancelled |= decision == Watch::Cancel;
            decision
        });
        let ended = shares.iter().map(|share| share.finished).max().unwrap_or_else(|| clock.now()).max(started);
        add_moved(&mut measured.client_cpu, cpu_before, clock.cpu());
        add_moved(&mut measured.server_cpu, server_before, server_cpu());
        measured.sending += ended - started;
        measured.ended = ended;
        let silences: Vec<Vec<Silence>> = shares.iter().map(|share| share.acknowledged.silences(ended)).collect();
        seconds::extend(&mut measured.silences, seconds::common(&silences));
        measured.cancelled |= cancelled;
        let answered = shares.len();
        for share in shares {
            measured.rows += share.rows;
            measured.statements += share.statements;
            measured.retries += share.retries;
            measured.waited += share.waited;
            measured.offered += share.finished.saturating_sub(started);
            add_moved(&mut measured.worked, Some(Duration::ZERO), share.worked);
            for (second, rows) in share.acknowledged.seconds() {
                *measured.seconds.entry(*second).or_default() += rows;
            }
            measured.longest = measured.longest.max(share.longest);
            // Both histograms grow as needed, so that adding cannot fail.
            let _ = measured.latency.add(&share.latency);
            measured.note = measured.note.take().or(share.note);
            measured.failure = worst(measured.failure.take(), share.failure);
        }
        if answered < crew.loaders() && measured.failure.is_none() {
            measured.failure =
                Some(Failure::fatal(format!("{} connections did not come back", crew.loaders() - answered)));
        }
        if measured.failure.is_some() || measured.cancelled {
            break;
        }
    }
    if measured.failure.is_none() && !measured.cancelled && measured.rows != expected {
        measured.failure =
            Some(Failure::fatal(format!("the batch has {expected} rows and the target accepted {}", measured.rows)));
    }
    measured
}

/// Adds what a count of time moved by. Where a part of a sum is not known, the sum is not known.
fn add_moved(sum: &mut Option<Duration>, before: Option<Duration>, after: Option<Duration>) {
    let moved = before.zip(after).and_then(|(before, after)| after.checked_sub(before));
    *sum = sum.zip(moved).map(|(sum, moved)| sum + moved);
}

/// A worker that was only told to stop says less than the one that met the error.
fn worst(first: Option<Failure>, second: Option<Failure>) -> Option<Failure> {
    use crate::targets::FailureKind::Cancelled;
    match (first, second) {
        (Some(first), Some(second)) if first.kind == Cancelled => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

/// Cuts a batch into windows of pieces.
///
/// Where whole transactions fit into a window, idle workers take them as they come. A transaction that does not fit is
/// cut itself: each worker holds one open, and the windows carry the next part of each.
fn windows(rows: Range<u64>, cut: Cut) -> Vec<Vec<Outline>> {
    let transactions: Vec<Range<u64>> = split_range(rows, cut.commit_rows);
    let at_once = (cut.window_rows / cut.commit_rows).max(1);
    let wanted = cut.connections.min(transactions.len() as u64);
    if at_once >= wanted && cut.window_rows >= cut.commit_rows {
        return transactions
            .chunks(usize::try_from(at_once).unwrap_or(usize::MAX))
            .map(|group| {
                group.iter().map(|t| Outline { worker: None, rows: t.clone(), transaction: t.clone() }).collect()
            })
            .collect();
    }
    let statements_at_once = (cut.window_rows / wanted.max(1) / cut.statement_rows).max(1);
    let part_rows = statements_at_once * cut.statement_rows;
    let mut all = Vec::new();
    for wave in transactions.chunks(usize::try_from(cut.connections).unwrap_or(usize::MAX).max(1)) {
        let parts: Vec<Vec<Range<u64>>> = wave.iter().map(|t| split_range(t.clone(), part_rows)).collect();
        for part in 0..parts.iter().map(Vec::len).max().unwrap_or(0) {
            all.push(
                wave.iter()
                    .enumerate()
                    .filter_map(|(worker, transaction)| {
                        let rows = parts[worker].get(part)?.clone();
                        Some(Outline { worker: Some(worker), rows, transaction: transaction.clone() })
                    })
                    .collect(),
            );
        }
    }
    all
}

fn encode(outlines: Vec<Outline>, cut: Cut, encoder: &Arc<dyn Encode>) -> Window {
    let ranges: Vec<Vec<Range<u64>>> =
        outlines.iter().map(|outline| split_range(outline.rows.clone(), cut.statement_rows)).collect();
    let flat: Vec<Range<u64>> = ranges.iter().flatten().cloned().collect();
    let mut bodies =
        parallel_map(flat, |rows| Statement { rows: rows.clone(), body: encoder.encode(rows) }).into_iter();
    let pieces = outlines
        .into_iter()
        .zip(ranges)
        .map(|(outline, ranges)| {
            let single = outline.rows == outline.transaction && ranges.len() == 1;
            Piece {
                worker: outline.worker,
                autocommit: single,
                begin: !single && outline.rows.start == outline.transaction.start,
                commit: !single && outline.rows.end == outline.transaction.end,
                transaction_start: outline.transaction.start,
                statements: bodies.by_ref().take(ranges.len()).collect(),
            }
        })
        .collect();
    Window::new(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(rows: Range<u64>, cut: Cut) -> Vec<Vec<(Option<usize>, Range<u64>)>> {
        windows(rows, cut).into_iter().map(|w| w.into_iter().map(|o| (o.worker, o.rows)).collect()).collect()
    }

    #[test]
    fn transactions_that_fit_are_taken_by_whoever_is_idle() {
        let cut = Cut { statement_rows: 10, commit_rows: 20, window_rows: 40, connections: 2 };
        assert_eq!(
            shape(100..170, cut),
            [vec![(None, 100..120), (None, 120..140)], vec![(None, 140..160), (None, 160..170)]]
        );
    }

    #[test]
    fn a_transaction_larger_than_a_window_is_carried_in_parts() {
        let cut = Cut { statement_rows: 10, commit_rows: 100, window_rows: 40, connections: 2 };
        let windows = shape(0..150, cut);
        assert_eq!(windows[0], [(Some(0), 0..20), (Some(1), 100..120)]);
        assert_eq!(windows[4], [(Some(0), 80..100)]);
        assert_eq!(windows.len(), 5);
    }

    #[test]
    fn every_row_is_in_exactly_one_piece_whatever_the_sizes() {
        for (statement, commit, window, connections) in
            [(1, 1, 1, 1), (3, 7, 2, 4), (10, 1000, 5, 3), (1000, 1000, 10, 8), (7, 50, 1000, 2), (5, 5, 12, 8)]
        {
            let cut = Cut { statement_rows: statement, commit_rows: commit, window_rows: window, connections };
            let mut pieces: Vec<Range<u64>> = windows(13..113, cut).into_iter().flatten().map(|o| o.rows).collect();
            pieces.sort_by_key(|rows| rows.start);
            let mut next = 13;
            for rows in pieces {
                assert_eq!(rows.start, next, "{cut:?}");
                next = rows.end;
            }
            assert_eq!(next, 113, "{cut:?}");
        }
    }
}
