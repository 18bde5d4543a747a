//! The directory of a run that never began: a typing error in the first command must not cost its name.

use std::io;
use std::path::Path;

use super::journal::JOURNAL_FILE;
use crate::plan::{Place, Plan};
use crate::record::detail::{COUNTERS_FILE, SECONDS_FILE};
use crate::record::probe::PROBES_FILE;
use crate::record::store::{self, BATCHES_FILE, LOST_FILE, RUN_FILE, SILENCE_FILE};
use crate::record::{RunRecord, RunState};
use crate::targets::mysql::globals::GLOBALS_FILE;
use crate::targets::scratch::FOLDER;

/// What a run that never began may have written, and nothing else.
const FILES: [&str; 8] =
    [RUN_FILE, BATCHES_FILE, JOURNAL_FILE, COUNTERS_FILE, SECONDS_FILE, PROBES_FILE, SILENCE_FILE, "report.html"];

/// What a run left in its directory that is not to be lost; `None` where it never began. The caller holds its lock.
pub fn holds(directory: &Path) -> Option<String> {
    if has_lines(&directory.join(BATCHES_FILE), 1) || directory.join(LOST_FILE).exists() {
        return Some("its run has batches".into());
    }
    if directory.join(GLOBALS_FILE).exists() {
        return Some("its run left settings of a server changed".into());
    }
    if has_lines(&directory.join(JOURNAL_FILE), 0) {
        return Some("its run opened sessions that load, and may have left a table".into());
    }
    if has_folders(&directory.join(FOLDER)) {
        return Some("it holds the data of a scratch server".into());
    }
    match store::read_run(directory) {
        Ok(record) => of_record(&record),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("{RUN_FILE} cannot be read ({error})")),
    }
}

fn of_record(record: &RunRecord) -> Option<String> {
    let side_table = |curve: &crate::record::CurveRecord| curve.control_batch.as_ref().and_then(|c| c.table.clone());
    let table = record.curves.iter().find_map(|curve| curve.table.clone().or_else(|| side_table(curve)));
    if let Some(table) = table {
        return Some(format!("its run left table {table}"));
    }
    // Killed while it tried its cells: nothing recorded the table of a trial.
    let is_on_server = serde_json::from_value::<Plan>(record.plan.clone())
        .is_ok_and(|plan| plan.targets.iter().any(|spec| matches!(spec.place, Place::Server(_))));
    (record.state == RunState::Running && is_on_server)
        .then(|| "its run was killed, and may have left the table of a trial on its server".into())
}

/// Removes what it wrote, so that another run begins in the directory.
///
/// # Errors
/// Whatever the file system says.
pub fn remove(directory: &Path) -> io::Result<()> {
    for name in FILES {
        match std::fs::remove_file(directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let logs = directory.join(FOLDER);
    for entry in std::fs::read_dir(&logs).into_iter().flatten().flatten() {
        // Error logs of servers that did not start.
        if entry.path().extension().is_some_and(|ending| ending == "err") {
            std::fs::remove_file(entry.path())?;
        }
    }
    let _ = std::fs::remove_dir(logs);
    Ok(())
}

fn has_lines(path: &Path, beyond: usize) -> bool {
    std::fs::read(path)
        .is_ok_and(|bytes| bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count() > beyond)
}

fn has_folders(path: &Path) -> bool {
    std::fs::read_dir(path).into_iter().flatten().flatten().any(|entry| entry.path().is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_of_which_nothing_is_lost_is_taken_again() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path();
        let write = |name: &str, text: &str| std::fs::write(path.join(name), text).unwrap();
        write(BATCHES_FILE, "");
        write(JOURNAL_FILE, "\n");
        write("notes.txt", "mine");
        std::fs::create_dir(path.join(FOLDER)).unwrap();
        std::fs::write(path.join(FOLDER).join("x.err"), "unknown variable").unwrap();
        assert_eq!(holds(path), None, "killed before its record was written");
        write(RUN_FILE, "not a record");
        assert!(holds(path).unwrap().contains(RUN_FILE));
        std::fs::remove_file(path.join(RUN_FILE)).unwrap();
        for (name, text) in [
            (BATCHES_FILE, "header\n1,2\n"),
            (LOST_FILE, ""),
            (GLOBALS_FILE, "{}"),
            (JOURNAL_FILE, "{\"what\":\"sessions\",\"curve\":1,\"server_started_at\":1,\"ids\":[7]}\n"),
        ] {
            write(name, text);
            assert!(holds(path).is_some(), "{name}");
            std::fs::remove_file(path.join(name)).unwrap();
        }
        std::fs::create_dir(path.join(FOLDER).join("rowcliff_1")).unwrap();
        assert!(holds(path).is_some());
        std::fs::remove_dir(path.join(FOLDER).join("rowcliff_1")).unwrap();
        write(BATCHES_FILE, "header\n");
        assert_eq!(holds(path), None);
        remove(path).unwrap();
        let left: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["notes.txt"]);
    }
}
