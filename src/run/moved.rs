//! What is known of a batch beside its time, put together: the observer's figures, the seconds, and what they say of the
//! client.

use std::time::Duration;

use super::batch::Measured;
use super::seconds::stall;
use crate::observe::Observer;
use crate::record::{CounterLine, Sample, SecondLine};
use crate::targets::Table;

/// Connections that waited for the target less than this share of their time were not what the target was slow for.
const CLIENT_BOUND: f64 = 0.5;
/// Share of the cores from which on more of them would have been needed.
const CPU_FULL: f64 = 0.9;

/// CPU time of a process comes in ticks of 10 ms: in sections shorter than this the mark would be chance.
const CPU_FULL_FROM: Duration = Duration::from_millis(200);

/// What goes beside the line of a batch.
#[derive(Debug, Default)]
pub struct Detail {
    /// For `counters.csv`.
    pub counters: Vec<CounterLine>,
    /// For `seconds.csv`.
    pub seconds: Vec<SecondLine>,
}

/// Fills what a sample lacks. `before` is the sample of the batch before, `now` the time of the run's clock.
pub fn complete(
    sample: &mut Sample,
    measured: &Measured,
    before: Option<&Sample>,
    observer: &mut Observer,
    table: &mut dyn Table,
    core_limit: Option<f64>,
    now: Duration,
) -> Detail {
    let usual = before.and_then(|sample| sample.p50_us).map(Duration::from_micros);
    sample.stall_seconds = stall(&measured.silences, usual).map(|stall| stall.as_secs_f64());
    sample.server_cpu_seconds = measured.server_cpu.map(|cpu| cpu.as_secs_f64());
    // In an embedded database the connections' own threads do the work of the target.
    if !observer.is_embedded() && is_client_bound(measured) {
        add_note(sample, "client-bound");
    }
    if let Some(cores) = observer.cores()
        && is_cpu_full(measured, observer.is_embedded(), cores)
    {
        add_note(sample, "cpu-full");
    }
    let counters = observer.boundary(table, core_limit, now, sample);
    Detail { counters, seconds: seconds(sample, measured) }
}

fn add_note(sample: &mut Sample, word: &str) {
    if !sample.notes.is_empty() {
        sample.notes.push(' ');
    }
    sample.notes.push_str(word);
}

/// Every second of the timed section, those without a row too: that nothing came is known.
fn seconds(sample: &Sample, measured: &Measured) -> Vec<SecondLine> {
    let last = super::seconds::second_of(measured.sending).max(measured.seconds.keys().copied().max().unwrap_or(1));
    (1..=last)
        .map(|second| SecondLine {
            curve: sample.curve.clone(),
            batch: sample.batch,
            second,
            rows: measured.seconds.get(&second).copied().unwrap_or(0),
        })
        .collect()
}

/// Whether the connections spent under half of their time waiting for the target. What a call to the driver takes is waiting
/// but for the CPU time that this process's own thread used in it (packing values, copying to the socket).
fn is_client_bound(measured: &Measured) -> bool {
    let waiting = measured.waited.saturating_sub(measured.worked.unwrap_or(Duration::ZERO));
    waiting.as_secs_f64() < CLIENT_BOUND * measured.offered.as_secs_f64()
}

/// Whether client and target together used the cores they may use. Not known of a target whose CPU time is not known.
fn is_cpu_full(measured: &Measured, is_embedded: bool, cores: f64) -> bool {
    let server = if is_embedded { Some(Duration::ZERO) } else { measured.server_cpu };
    let Some((client, server)) = measured.client_cpu.zip(server) else { return false };
    measured.sending >= CPU_FULL_FROM
        && (client + server).as_secs_f64() > CPU_FULL * cores * measured.sending.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        Measured {
            sending: Duration::from_secs(10),
            offered: Duration::from_secs(80),
            waited: Duration::from_secs(70),
            worked: Some(Duration::from_secs(5)),
            client_cpu: Some(Duration::from_secs(6)),
            server_cpu: Some(Duration::from_secs(9)),
            rows: 30,
            seconds: [(1, 10), (4, 20)].into(),
            ..Measured::nothing(Duration::ZERO)
        }
    }

    #[test]
    fn waiting_is_what_the_calls_took_but_for_the_own_work() {
        assert!(!is_client_bound(&measured()));
        assert!(is_client_bound(&Measured { worked: Some(Duration::from_secs(31)), ..measured() }));
        assert!(is_client_bound(&Measured { waited: Duration::from_secs(39), worked: None, ..measured() }));
        assert!(!is_client_bound(&Measured { waited: Duration::from_secs(40), worked: None, ..measured() }));
    }

    #[test]
    fn cores_are_full_beyond_nine_tenths() {
        assert!(!is_cpu_full(&measured(), false, 2.0));
        assert!(is_cpu_full(&measured(), false, 1.6));
        assert!(!is_cpu_full(&measured(), true, 1.6));
        // A server on another machine: nobody knows.
        assert!(!is_cpu_full(&Measured { server_cpu: None, ..measured() }, false, 0.1));
    }

    #[test]
    fn seconds_without_a_row_are_lines_too_and_all_add_up() {
        let sample = Sample { curve: "c".into(), batch: 3, rows: 30, ..Sample::default() };
        let lines = seconds(&sample, &measured());
        assert_eq!(lines.iter().map(|line| line.rows).collect::<Vec<_>>(), [10, 0, 0, 20, 0, 0, 0, 0, 0, 0]);
        assert_eq!((lines[3].second, lines[3].batch), (4, 3));
    }
}
