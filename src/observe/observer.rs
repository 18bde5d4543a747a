//! What else moved while a batch was loaded: counters of the server, its process, the machine, the size of the table.
//!
//! Everything is read between batches, after the clock of one has stopped and before that of the next one starts, so that
//! it costs a part of the gap and nothing of the batch. What is recorded of a batch is what moved from the end of the one
//! before to its own end: what a server goes on writing during a gap belongs to the batch that brought it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::host::{self, Device, HostFigures};
use super::process::{Watched, cores_together};
use crate::plan::counters::CounterChoice;
use crate::record::detail::AT_END;
use crate::record::{CounterLine, Sample};
use crate::targets::reading::moved;
use crate::targets::{Figure, Reading, ServerProcess, Table};

/// Watches the target of one curve.
#[derive(Debug)]
pub struct Observer {
    choice: CounterChoice,
    device: Option<Device>,
    client: Option<Watched>,
    process: ServerProcess,
    /// The process whose reads and writes are the target's; its CPU time is known apart unless it is our own.
    server: Option<Watched>,
    cores: Option<f64>,
    before: Readings,
}

/// One reading of everything.
#[derive(Debug, Default)]
struct Readings {
    at: Duration,
    counters: Reading,
    host: HostFigures,
    device_bytes: Option<(u64, u64)>,
}

impl Observer {
    /// Looks at everything once before the first batch. `now` is the time of the run's clock, `core_limit` what a control
    /// group leaves this process of its cores, and `data` where the target keeps its files, when that is on this machine.
    pub fn start(
        table: &mut dyn Table,
        choice: CounterChoice,
        data: Option<PathBuf>,
        core_limit: Option<f64>,
        now: Duration,
    ) -> Self {
        let mut observer = Self {
            choice,
            device: data.as_deref().and_then(host::device_of),
            client: Watched::own(),
            process: ServerProcess::Unknown,
            server: None,
            cores: None,
            before: Readings::default(),
        };
        observer.find_server(table, core_limit);
        observer.before = observer.read(table, now);
        observer
    }

    fn find_server(&mut self, table: &mut dyn Table, core_limit: Option<f64>) {
        self.process = table.server_process();
        self.server = match self.process {
            ServerProcess::Local(id) => Watched::of(id),
            ServerProcess::Embedded => Watched::own(),
            ServerProcess::Unknown | ServerProcess::Several => None,
        };
        let other = self.server.as_ref().filter(|_| self.process != ServerProcess::Embedded);
        self.cores = self.client.as_ref().and_then(|client| cores_together(client, other, core_limit));
    }

    /// CPU time of the target's process so far, where it is another than our own.
    pub fn server_cpu(&self) -> Option<Duration> {
        self.server.as_ref().filter(|_| !self.is_embedded())?.cpu()
    }

    /// What a reader should know of figures that are not known.
    pub fn note(&self) -> Option<String> {
        if self.process == ServerProcess::Several {
            let text = "several servers are not watched: their CPU time, what they read and write, and figures of their machines are empty";
            return Some(text.into());
        }
        let missing = match &self.server {
            None => "its CPU time, what it reads and writes, and figures of its machine are empty",
            Some(server) if server.device_bytes().is_none() => {
                "what it reads and writes is empty: only its own user and root may know"
            }
            Some(_) => return None,
        };
        let whose = if self.server.is_none() {
            "the process of the server was not found on this machine"
        } else {
            "the process of the server is another user's"
        };
        Some(format!("{whose}: {missing}"))
    }

    /// Whether the target does its work in our own process.
    pub fn is_embedded(&self) -> bool {
        self.process == ServerProcess::Embedded
    }

    /// How many cores client and target may use together, where the whole of both is known.
    pub fn cores(&self) -> Option<f64> {
        self.cores.filter(|_| self.server.is_some())
    }

    fn read(&self, table: &mut dyn Table, now: Duration) -> Readings {
        Readings {
            at: now,
            counters: table.counters(self.choice),
            // Of a server on another machine these would be the figures of a stranger.
            host: match (self.choice, self.process) {
                (CounterChoice::None, _) | (_, ServerProcess::Unknown | ServerProcess::Several) => {
                    HostFigures::default()
                }
                _ => host::figures(self.device),
            },
            device_bytes: self.server.as_ref().and_then(Watched::device_bytes),
        }
    }

    /// What moved until now belongs to no batch: a probe did it.
    pub fn pass_over(&mut self, table: &mut dyn Table, now: Duration) {
        self.before = self.read(table, now);
    }

    /// Reads everything after a batch: fills the sample's columns and gives the lines for `counters.csv`.
    pub fn boundary(
        &mut self,
        table: &mut dyn Table,
        core_limit: Option<f64>,
        now: Duration,
        sample: &mut Sample,
    ) -> Vec<CounterLine> {
        let after = self.read(table, now);
        if let (Some(before), Some(after)) = (self.before.device_bytes, after.device_bytes) {
            sample.read_bytes = after.0.checked_sub(before.0);
            sample.written_bytes = after.1.checked_sub(before.1);
        }
        let size = table.size();
        (sample.data_bytes, sample.index_bytes) = (size.data_bytes, size.index_bytes);
        let mut lines = counters_moved(&self.before.counters, &after.counters);
        lines.extend(host::moved(&self.before.host, &after.host, after.at.saturating_sub(self.before.at)));
        self.before = after;
        if self.process != ServerProcess::Embedded && self.before.device_bytes.is_none() && self.server_cpu().is_none()
        {
            // The server was started anew, or was not to be found before: from here on it is known.
            self.find_server(table, core_limit);
            self.before.device_bytes = self.server.as_ref().and_then(Watched::device_bytes);
        }
        let line = |(counter, delta)| CounterLine { curve: sample.curve.clone(), batch: sample.batch, counter, delta };
        lines.into_iter().map(line).collect()
    }
}

/// How far every counter moved; levels as they are. One that was not there before has moved by an unknown figure.
fn counters_moved(before: &Reading, after: &Reading) -> BTreeMap<String, Option<f64>> {
    after
        .iter()
        .map(|(name, figure)| match figure {
            Figure::Level(value) => (format!("{name}{AT_END}"), Some(*value)),
            Figure::Total(value) => {
                let delta = match before.get(name) {
                    Some(Figure::Total(before)) => moved(*before, *value),
                    _ => None,
                };
                (name.clone(), delta)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_differences_and_levels_are_not() {
        let reading =
            |pairs: &[(&str, Figure)]| pairs.iter().map(|&(name, figure)| (name.to_owned(), figure)).collect();
        let before: Reading =
            reading(&[("reads", Figure::Total(10.0)), ("reset", Figure::Total(10.0)), ("dirty", Figure::Level(10.0))]);
        let after: Reading = reading(&[
            ("reads", Figure::Total(25.0)),
            ("reset", Figure::Total(3.0)),
            ("dirty", Figure::Level(3.0)),
            ("new", Figure::Total(3.0)),
        ]);
        let moved = counters_moved(&before, &after);
        assert_eq!(moved["reads"], Some(15.0));
        assert_eq!(moved["reset"], None);
        assert_eq!(moved["dirty@end"], Some(3.0));
        assert_eq!(moved["new"], None);
        assert_eq!(moved.len(), 4);
    }
}
