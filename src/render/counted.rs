//! The counters of a run, from its `counters.csv`, where it has one.

use std::collections::HashMap;
use std::path::Path;

use crate::analyse::evidence::Counted;
use crate::record::detail;

/// Reads the counters of every curve. Nothing where there is no such file; a line that makes no sense (the last one may be cut) is
/// passed over, since counters are context and no figure of the run depends on them.
///
/// # Errors
/// The file is there and cannot be read.
pub fn counters(directory: &Path) -> std::io::Result<HashMap<String, Counted>> {
    let mut found: HashMap<String, Counted> = HashMap::new();
    for line in detail::read_counters(directory)?.lines {
        if let Some(delta) = line.delta {
            found.entry(line.curve).or_default().entry(line.counter).or_default().insert(line.batch, delta);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_as_far_as_they_go() {
        let directory = tempfile::tempdir().unwrap();
        assert!(counters(directory.path()).unwrap().is_empty());
        let text = "curve,batch,counter,delta\nu,1,Innodb_buffer_pool_reads,3\nu,2,Innodb_buffer_pool_reads,80000.5\nu,2,host.disk_busy";
        std::fs::write(directory.path().join(detail::COUNTERS_FILE), text).unwrap();
        let found = counters(directory.path()).unwrap();
        assert_eq!(found["u"]["Innodb_buffer_pool_reads"], [(1, 3.0), (2, 80000.5)].into());
        assert_eq!(found["u"].len(), 1);
    }
}
