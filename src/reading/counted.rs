//! The counters of a run, from its `counters.csv`, where it has one.

use super::input::Input;
use crate::record::{CounterLine, detail};

/// Figures that `counters.csv` has of a batch, by what they stand for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moved {
    /// Pages that had to be read because no cache held them.
    pub reads: Option<f64>,
    pub syncs: Option<f64>,
}

/// Adds what the counters of a run say. A run without counters has none, a line that makes no sense (the last one may be cut) is
/// passed over, and a file that cannot be read is a problem of the input: counters are context, and no figure of the run depends on
/// them.
pub fn add(input: &mut Input, index: usize) {
    let run = &input.runs[index];
    if !run.path.is_dir() {
        return;
    }
    let lines = match detail::read_counters(&run.path) {
        Ok(lines) => lines,
        Err(error) => {
            let path = run.path.join(detail::COUNTERS_FILE);
            input.problems.push(format!("{}: {error}; no counter is evidence", path.display()));
            return;
        }
    };
    let roles = run.record.iter().flat_map(|record| &record.curves);
    let roles: std::collections::HashMap<&str, _> =
        roles.map(|curve| (curve.curve.as_str(), &curve.counter_roles)).collect();
    for line in lines.lines {
        let is_in = |role: &str| {
            let of_role = roles.get(line.curve.as_str()).and_then(|roles| roles.get(role));
            of_role.is_some_and(|names| names.contains(&line.counter))
        };
        let (reads, syncs) = (is_in("reads"), is_in("syncs"));
        let CounterLine { curve, batch, counter, delta } = line;
        if roles.contains_key(curve.as_str()) {
            let moved = input.moved.entry((run.label.clone(), curve.clone(), batch)).or_default();
            *moved = Moved {
                reads: if reads { delta } else { moved.reads },
                syncs: if syncs { delta } else { moved.syncs },
            };
        }
        if let Some(delta) = delta {
            let counted = input.counted.entry((run.label.clone(), curve)).or_default();
            counted.entry(counter).or_default().insert(batch, delta);
        }
    }
    input.problems.extend(lines.problems.iter().map(ToString::to_string));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::input::LoadedRun;

    #[test]
    fn counters_are_read_as_far_as_they_go() {
        let directory = tempfile::tempdir().unwrap();
        let run = LoadedRun { label: "r".into(), path: directory.path().into(), record: None };
        let mut input = Input { runs: vec![run], ..Input::default() };
        add(&mut input, 0);
        assert!(input.counted.is_empty() && input.problems.is_empty());
        let text = "curve,batch,counter,delta\nu,1,Innodb_buffer_pool_reads,3\nu,2,Innodb_buffer_pool_reads,80000.5\nu,2,host.disk_busy";
        std::fs::write(directory.path().join(detail::COUNTERS_FILE), text).unwrap();
        add(&mut input, 0);
        let found = &input.counted[&("r".to_owned(), "u".to_owned())];
        assert_eq!(found["Innodb_buffer_pool_reads"], [(1, 3.0), (2, 80000.5)].into());
        assert_eq!(found.len(), 1);
    }
}
