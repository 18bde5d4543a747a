//! Where a server sits: its process, and the files of a table, when they are on this machine.

use std::path::Path;
use std::time::{Duration, Instant};

use super::control::{Control, Flavour, escape};
use crate::targets::reading::{ServerProcess, TableSize};

/// How long going through InnoDB's list of tables may take.
const LIST_LIMIT: Duration = Duration::from_millis(10);

/// Words that the program of a server of this family starts with.
const PROGRAMS: [&str; 3] = ["mysqld", "mariadbd", "mariadb-"];

/// The process of the server behind the control connection.
///
/// On a Unix socket the kernel names it. Over TCP to this machine it is the one in the server's pid file. Either is taken
/// only when it looks like a server: behind a socket may sit a proxy, or the init process that opened it.
pub fn process(control: &mut Control) -> ServerProcess {
    let found = match control.peer_process() {
        Some(id) => Some(id),
        None => from_pid_file(control),
    };
    found.filter(|&id| is_server(id)).map_or(ServerProcess::Unknown, ServerProcess::Local)
}

fn from_pid_file(control: &mut Control) -> Option<u32> {
    let place = &control.access().place;
    let is_here = place.socket.is_some() || matches!(place.host.as_str(), "localhost" | "127.0.0.1" | "::1");
    if !is_here {
        return None;
    }
    let file = control.variable("pid_file").ok()??;
    let data = control.variable("datadir").ok()??;
    // A relative name is meant from the data directory.
    let text = std::fs::read_to_string(Path::new(&data).join(file)).ok()?;
    text.trim().parse().ok()
}

#[cfg(target_os = "linux")]
fn is_server(id: u32) -> bool {
    let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    // The first words: a server may be started by the loader of another C library.
    line.split(|&byte| byte == 0).take(5).any(|word| {
        let word = String::from_utf8_lossy(word);
        let name = Path::new(word.as_ref()).file_name().unwrap_or_default().to_string_lossy();
        PROGRAMS.iter().any(|program| name.starts_with(program))
    })
}

#[cfg(not(target_os = "linux"))]
fn is_server(_: u32) -> bool {
    false
}

/// The size of a table: of its files when they can be read, otherwise what information_schema says.
///
/// InnoDB keeps data and index in one file, and then all of it stands as data: information_schema knows them apart, from
/// statistics that lag behind. Engines with a file of its own for the index (MyISAM, Aria) know their sizes exactly, and what
/// still stands in their cache is in no file: there the larger figure counts.
pub fn size(control: &mut Control, data: Option<&Path>, table: &str, ask: &mut AskTablespaces) -> TableSize {
    let database = control.access().place.database.clone();
    let folder = data.and_then(|data| Some(data.join(folder_name(control, &database)?)));
    let files = folder.and_then(|folder| of_files(&folder, table));
    if let Some(size) = files.filter(|size| size.index_bytes.is_none()) {
        return size;
    }
    if let Some(bytes) = ask.file_bytes(control, &database, table) {
        return TableSize { data_bytes: Some(bytes), index_bytes: None };
    }
    let said = as_said(control, &database, table);
    TableSize {
        data_bytes: said.data_bytes.max(files.and_then(|size| size.data_bytes)),
        index_bytes: said.index_bytes.max(files.and_then(|size| size.index_bytes)),
    }
}

/// What a server calls the folder of a database: characters beyond letters, digits and `_` have a spelling of their own there,
/// which the server is asked for. `None` where it does not tell.
fn folder_name(control: &mut Control, database: &str) -> Option<String> {
    if database.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Some(database.to_owned());
    }
    let sql = format!("SELECT CONVERT(CONVERT('{}' USING filename) USING utf8)", escape(database));
    control.first::<String>(&sql).ok().flatten()
}

fn as_said(control: &mut Control, database: &str, table: &str) -> TableSize {
    // MySQL keeps these figures for a day unless the session says otherwise, which it does (see the control connection);
    // MariaDB always asks the engine.
    let sql = format!(
        "SELECT DATA_LENGTH, INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' AND TABLE_NAME = '{}'",
        escape(database),
        escape(table)
    );
    let rows: Vec<(Option<u64>, Option<u64>)> = control.rows(&sql).unwrap_or_default();
    let Some(&(data_bytes, index_bytes)) = rows.first() else { return TableSize::default() };
    // No bytes for a table that was just loaded: the engine does not know yet (MyRocks before its first flush).
    let data_bytes = data_bytes.filter(|&bytes| bytes > 0);
    TableSize { data_bytes, index_bytes: index_bytes.filter(|_| data_bytes.is_some()) }
}

/// Whether InnoDB is asked for the size of a table's file, which it knows exactly while its statistics lag behind. Its list
/// holds every table of the server: where going through it takes long, or is not allowed, it is not asked again.
#[derive(Debug)]
pub struct AskTablespaces(bool);

impl AskTablespaces {
    /// It is asked of tables of InnoDB.
    pub fn of(engine: &str) -> Self {
        Self(engine.eq_ignore_ascii_case("innodb"))
    }

    fn file_bytes(&mut self, control: &mut Control, database: &str, table: &str) -> Option<u64> {
        if !self.0 {
            return None;
        }
        // MariaDB lists a tablespace by the path of its file, MySQL by the names of database and table.
        let (list, folder) = match control.flavour {
            Flavour::MariaDb => ("INNODB_SYS_TABLESPACES", folder_name(control, database)?),
            Flavour::MySql => ("INNODB_TABLESPACES", database.to_owned()),
        };
        let asked = Instant::now();
        let sql = format!(
            "SELECT FILE_SIZE FROM information_schema.{list} WHERE NAME = '{}/{}'",
            escape(&folder),
            escape(table)
        );
        let bytes = control.first::<u64>(&sql).ok().flatten().filter(|&bytes| bytes > 0);
        self.0 = bytes.is_some() && asked.elapsed() < LIST_LIMIT;
        bytes
    }
}

/// Files that bear the name of a table: `t.ibd`, `t.MYD`, `t#P#p0.ibd`. `None` where there is none that holds rows: engines
/// that keep all tables in files of their own (MyRocks).
fn of_files(directory: &Path, table: &str) -> Option<TableSize> {
    let mut size = TableSize::default();
    for entry in std::fs::read_dir(directory).ok()?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(table) else { continue };
        if !rest.starts_with(['.', '#']) {
            continue;
        }
        let ending = rest.rsplit_once('.').map_or("", |(_, ending)| ending);
        let place = match ending {
            "ibd" | "MYD" | "MAD" | "ARZ" | "CSV" => &mut size.data_bytes,
            "MYI" | "MAI" => &mut size.index_bytes,
            _ => continue,
        };
        *place = Some(place.unwrap_or(0) + entry.metadata().ok()?.len());
    }
    size.data_bytes.is_some().then_some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_table_are_told_from_those_of_its_neighbours() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: usize| std::fs::write(directory.path().join(name), vec![0_u8; bytes]).unwrap();
        assert_eq!(of_files(directory.path(), "t_1"), None);
        write("t_1.frm", 1000);
        assert_eq!(of_files(directory.path(), "t_1"), None);
        write("t_12.ibd", 7);
        write("t_1.ibd", 30);
        write("t_1#P#p0.ibd", 12);
        assert_eq!(of_files(directory.path(), "t_1"), Some(TableSize { data_bytes: Some(42), index_bytes: None }));
        write("m.MYD", 5);
        write("m.MYI", 6);
        assert_eq!(of_files(directory.path(), "m"), Some(TableSize { data_bytes: Some(5), index_bytes: Some(6) }));
        assert_eq!(of_files(&directory.path().join("nowhere"), "m"), None);
    }
}
