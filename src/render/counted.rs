//! The counters of a run, from its `counters.csv`, where it has one.

use std::collections::HashMap;
use std::path::Path;

use crate::analyse::evidence::Counted;

/// Name of the file of counters in a run directory: `curve,batch,counter,delta`, a line each.
pub const COUNTERS_FILE: &str = "counters.csv";

/// Reads the counters of every curve. Nothing where there is no such file; a line that makes no sense (the last one may be cut) is
/// passed over, since counters are context and no figure of the run depends on them.
///
/// # Errors
/// The file is there and cannot be read.
pub fn counters(directory: &Path) -> std::io::Result<HashMap<String, Counted>> {
    let text = match std::fs::read_to_string(directory.join(COUNTERS_FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let mut found: HashMap<String, Counted> = HashMap::new();
    for (curve, batch, counter, delta) in reader.deserialize::<(String, u64, String, f64)>().flatten() {
        found.entry(curve).or_default().entry(counter).or_default().insert(batch, delta);
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
        std::fs::write(directory.path().join(COUNTERS_FILE), text).unwrap();
        let found = counters(directory.path()).unwrap();
        assert_eq!(found["u"]["Innodb_buffer_pool_reads"], [(1, 3.0), (2, 80000.5)].into());
        assert_eq!(found["u"].len(), 1);
    }
}
