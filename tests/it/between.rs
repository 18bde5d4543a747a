//! What happens between batches: a server that stops answering at any point ends the run in time, and what was cut while it was idle
//! spoils no batch.

use std::fmt;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::proxy::Proxy;
use crate::support::servers::{Family, OwnServer, binary};
use crate::support::{record, rowcliff, run, samples, text};

/// After which a run that has not ended counts as hung: far beyond what is allowed, on a machine that does other things too.
const HUNG: Duration = Duration::from_secs(60);
/// Cells that are tried side by side: they mostly wait.
const AT_ONCE: usize = 14;

/// What is to end a run whose server has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// `--max-run-duration`.
    Run,
    /// `--max-duration`.
    Curve,
    /// `--stall-timeout`.
    Stall,
    /// SIGINT, one second after the stop.
    Signal,
    /// The same, and a second one at once.
    Twice,
}

/// One cell of the matrix: the server is stopped when its log has the pattern for the given time.
struct Cell {
    name: &'static str,
    engine: &'static str,
    scratch: bool,
    /// What stands in the general log; empty: the server is stopped from the start.
    pattern: &'static str,
    nth: usize,
    by: By,
    more: &'static [&'static str],
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.scratch { "scratch" } else { "external" };
        write!(f, "{:<14} {:<7} {place:<8} {:<7}", self.name, self.engine, format!("{:?}", self.by))
    }
}

/// What came of it.
struct Ended {
    /// Since it was to end.
    late: Duration,
    code: Option<i32>,
    /// Whether the server was stopped at all.
    stopped: bool,
    output: String,
}

fn signal(id: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(i32::try_from(id).unwrap()).unwrap(), signal);
}

/// Servers that run on data below `directory`.
fn servers_below(directory: &Path) -> Vec<u32> {
    let needle = format!("--datadir={}", directory.display());
    let is_server = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|word| word.starts_with(&needle))
    };
    let ids = fs::read_dir("/proc").unwrap().flatten();
    ids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_server).collect()
}

/// Waits for the end of a child; `None` when it hangs, and is killed.
fn ended(child: &mut Child, since: Instant) -> Option<i32> {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if since.elapsed() > HUNG {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Cell {
    fn limit(&self) -> Duration {
        Duration::from_secs(if self.scratch { 12 } else { 8 })
    }

    fn words(&self, target: &str, log: &Path) -> Vec<String> {
        let mut words: Vec<String> = ["run", "--target", target, "--out", "r", "--engine", self.engine]
            .iter()
            .map(|&word| word.to_owned())
            .collect();
        if !self.more.contains(&"--key") {
            words.extend(["--key".to_owned(), "autoinc".to_owned()]);
        }
        let rest = ["--rows", "4k", "--batch-rows", "2k", "--statement-rows", "100"];
        words.extend(rest.iter().chain(&["--connections", "2"]).map(|&word| word.to_owned()));
        let seconds = format!("{}s", self.limit().as_secs());
        match self.by {
            By::Run => words.extend(["--max-run-duration".to_owned(), seconds]),
            By::Curve => words.extend(["--max-duration".to_owned(), seconds]),
            By::Stall => words.extend(["--stall-timeout".to_owned(), "3s".to_owned()]),
            By::Signal | By::Twice => {}
        }
        if self.scratch {
            for option in ["general_log=1".to_owned(), format!("general_log_file={}", log.display())] {
                words.extend(["--server-option".to_owned(), option]);
            }
        }
        words.extend(self.more.iter().map(|&word| word.to_owned()));
        words
    }

    fn run(&self) -> Option<Ended> {
        let home = tempfile::tempdir().unwrap();
        let log = home.path().join("general.log");
        let option = format!("--general-log-file={}", log.display());
        let server = match self.scratch {
            true => None,
            false => Some(OwnServer::start(Family::MariaDb, &["--general-log=1", &option])?),
        };
        let target = match &server {
            Some(server) => server.target(),
            None => format!("scratch:{}", binary(Family::MariaDb)?.display()),
        };
        let ids = || server.as_ref().map_or_else(|| servers_below(home.path()), |server| vec![server.id()]);
        let out = home.path().join("out");
        if self.pattern.is_empty() {
            ids().into_iter().for_each(|id| signal(id, Signal::STOP));
        }
        let mut words = self.words(&target, &log);
        if self.name == "resuming" {
            leave_one(home.path(), &words);
            words = ["resume", "r"].map(str::to_owned).to_vec();
        }
        let started = Instant::now();
        let mut child = rowcliff(home.path())
            .args(&words)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&out).unwrap())
            .spawn()
            .unwrap();
        let mut stopped = self.pattern.is_empty();
        let mut taken_back = false;
        while !stopped && started.elapsed() < HUNG && child.try_wait().unwrap().is_none() {
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if self.name == "taking-back" && !taken_back && lines(home.path()) > 1 {
                taken_back = cut_one(server.as_ref()?);
            }
            if text.matches(self.pattern).count() >= self.nth {
                ids().into_iter().for_each(|id| signal(id, Signal::STOP));
                stopped = true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let frozen = Instant::now();
        let due = match self.by {
            By::Run | By::Curve => (started + self.limit()).max(frozen),
            By::Stall => frozen + Duration::from_secs(3),
            By::Signal | By::Twice => {
                std::thread::sleep(Duration::from_secs(1));
                signal(child.id(), Signal::INT);
                if self.by == By::Twice {
                    std::thread::sleep(Duration::from_millis(300));
                    signal(child.id(), Signal::INT);
                }
                Instant::now()
            }
        };
        let code = ended(&mut child, frozen);
        let late = Instant::now().saturating_duration_since(due);
        let said = fs::read_to_string(&out).unwrap_or_default();
        let left = self.clean(home.path(), server.as_ref());
        Some(Ended { late, code, stopped, output: format!("{said}{left}") })
    }

    /// The server goes on, and `clean` finds what is left. Gives what is wrong.
    fn clean(&self, home: &Path, server: Option<&OwnServer>) -> String {
        let Some(server) = server else {
            // Ended by rowcliff itself; a hung one is what the test has found.
            let left = servers_below(home);
            left.iter().for_each(|&id| signal(id, Signal::KILL));
            return if left.is_empty() { String::new() } else { format!("LEFT: servers {left:?}") };
        };
        signal(server.id(), Signal::CONT);
        if !home.join("r/run.json").exists() {
            return String::new();
        }
        let cleaned = run(home, &["clean", "r"]);
        let tables: Vec<String> = server.connect().query("SHOW TABLES LIKE 'rowcliff%'").unwrap();
        if tables.is_empty() && cleaned.status.code() == Some(0) {
            return String::new();
        }
        format!("LEFT: {tables:?}, {}", text(&cleaned))
    }
}

fn lines(home: &Path) -> usize {
    fs::read_to_string(home.join("r/batches.csv")).unwrap_or_default().lines().count()
}

/// A run that was interrupted after its first batches.
fn leave_one(home: &Path, words: &[String]) {
    let (rows, of) = (words.iter().position(|word| word == "--rows").unwrap() + 1, words.len());
    let mut words = words[..of].to_vec();
    words[rows] = "1G".into();
    words.push("--no-disk-check".into());
    let mut child = rowcliff(home).args(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while lines(home) < 3 && started.elapsed() < HUNG {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(child.id(), Signal::INT);
    assert_eq!(ended(&mut child, started), Some(130));
}

/// Ends one loading connection in the middle of a statement.
fn cut_one(server: &OwnServer) -> bool {
    let mut conn = server.connect();
    let sql = "SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'INSERT INTO `rowcliff%' LIMIT 1";
    let Some(id) = conn.query_first::<u64, _>(sql).unwrap() else { return false };
    conn.query_drop(format!("KILL {id}")).is_ok()
}

const CONTROL: &[&str] = &["--control-batch"];
const PROBE: &[&str] = &["--probe", "update-pk", "--probe-every", "1", "--probe-ops", "500"];
const FLUSH: &[&str] = &["--flush", "2"];
const TWO: &[&str] = &["--key", "autoinc,uuid4"];

/// What stands in the log, and for which time.
type Mark = (&'static str, usize);

/// The points, with what stands in the log there: a pattern of the server, one of a server of rowcliff's own, and other words.
#[rustfmt::skip]
const POINTS: [(&str, Mark, Mark, &[&str]); 14] = [
    ("log-in",       ("", 0),                              ("Connect\t", 1),                         &[]),
    ("reaching",     ("SHOW GLOBAL VARIABLES", 1),         ("EXISTS rowcliff", 1),                   &[]),
    ("trial-create", ("Query\tCREATE TABLE", 1),           ("Query\tCREATE TABLE `rowcliff", 1),     &[]),
    ("trial",        ("INSERT INTO", 1),                   ("INSERT INTO `rowcliff", 1),             &[]),
    ("trial-drop",   ("DROP TABLE", 1),                    ("DROP TABLE `rowcliff", 1),              &[]),
    ("creation",     ("Query\tCREATE TABLE", 2),           ("Query\tCREATE TABLE `rowcliff", 2),     &[]),
    ("settling",     ("trx_rseg_history_len", 1),          ("", 0),                                  TWO),
    ("boundary",     ("SELECT MAX(", 2),                   ("SELECT MAX(", 2),                       &[]),
    ("probe",        ("Execute\tUPDATE", 3),               ("Execute\tUPDATE", 3),                   PROBE),
    ("control",      ("_control` (", 2),                   ("_control` (", 2),                       CONTROL),
    ("closing",      ("FLUSH TABLES", 1),                  ("max_dirty_pages_pct=0", 1),             &[]),
    ("verification", ("SELECT COUNT(*)", 2),               ("SELECT COUNT(*)", 2),                   &[]),
    ("drop",         ("DROP TABLE", 2),                    ("", 0),                                  &[]),
    ("restore",      ("SET GLOBAL innodb_flush_log", 2),   ("", 0),                                  FLUSH),
];

fn matrix() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, external, own, more) in POINTS {
        let mut cell = |engine, scratch, by| {
            let (pattern, nth) = if scratch { own } else { external };
            cells.push(Cell { name, engine, scratch, pattern, nth, by, more });
        };
        cell("innodb", false, By::Run);
        cell("innodb", false, By::Signal);
        if !matches!(name, "log-in" | "reaching" | "settling") {
            cell("innodb", false, By::Twice);
        }
        if !matches!(name, "settling" | "restore" | "control") {
            cell("aria", false, By::Stall);
        }
        if matches!(name, "trial" | "boundary" | "verification") {
            cell("aria", false, By::Curve);
        }
        if !own.0.is_empty() {
            cell("innodb", true, if name == "closing" { By::Run } else { By::Signal });
        }
        if matches!(name, "trial" | "creation" | "probe" | "verification") {
            cell("aria", true, By::Run);
        }
    }
    let back = |engine, by| Cell {
        name: "taking-back",
        engine,
        scratch: false,
        pattern: "DELETE FROM",
        nth: 1,
        by,
        more: &[],
    };
    let resuming = |by| Cell { name: "resuming", pattern: "FROM (SELECT 1", nth: 1, ..back("innodb", by) };
    cells.extend([back("innodb", By::Run), back("aria", By::Signal), resuming(By::Run), resuming(By::Signal)]);
    cells
}

#[test]
fn a_server_that_stops_at_any_point_ends_the_run_in_time() {
    if binary(Family::MariaDb).is_none() {
        return;
    }
    let cells = matrix();
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<String>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::SeqCst)) {
                    // What was over before the server stopped tells nothing: it is tried again.
                    let tells = |ended: &Option<Ended>| ended.as_ref().is_none_or(|e| e.stopped && e.code != Some(0));
                    let tries = std::iter::repeat_with(|| cell.run()).take(4);
                    let mut last = None;
                    for ended in tries {
                        last = Some(ended);
                        if last.as_ref().is_some_and(&tells) {
                            break;
                        }
                    }
                    let Some(Some(ended)) = last else { continue };
                    eprintln!("{cell} ended {:>4.1} s after that, exit {:?}", ended.late.as_secs_f64(), ended.code);
                    let is_right = ended.stopped
                        && !ended.output.contains("LEFT: ")
                        && match cell.by {
                            By::Signal | By::Twice => ended.code == Some(130),
                            _ => matches!(ended.code, Some(1 | 3)),
                        };
                    if !is_right {
                        let problem = format!("{cell} stopped: {}, {:?}\n{}", ended.stopped, ended.code, ended.output);
                        found.lock().unwrap().push(problem);
                    }
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A server behind a proxy that cuts what was idle for a second, and the target that goes through it.
fn behind_proxy() -> Option<(OwnServer, Proxy, String)> {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let options = [format!("--port={port}"), "--bind-address=127.0.0.1".to_owned()];
    let server = OwnServer::start(Family::MariaDb, &[&options[0], &options[1]])?;
    let proxy = Proxy::start(port, Duration::from_secs(1));
    let sql = "CREATE USER me@'127.0.0.1'; GRANT ALL ON *.* TO me@'127.0.0.1'";
    let mut conn = server.connect();
    sql.split(';').for_each(|sql| conn.query_drop(sql).unwrap());
    let target = format!("mysql://me@127.0.0.1:{}/test", proxy.port);
    Some((server, proxy, target))
}

/// A probe of three seconds over one of three connections: the others, and the control connection, are idle meanwhile.
const IDLE: [&str; 16] = [
    "--ssl-mode",
    "disabled",
    "--key",
    "uuid4",
    "--rows",
    "6k",
    "--batch-rows",
    "2k",
    "--connections",
    "3",
    "--probe",
    "select-pk",
    "--probe-every",
    "1",
    "--probe-connections",
    "1",
];

#[test]
fn connections_that_a_balancer_cuts_while_they_are_idle_spoil_no_batch() {
    let Some((_server, proxy, target)) = behind_proxy() else { return };
    for method in ["insert", "prepared"] {
        let home = tempfile::tempdir().unwrap();
        let before = proxy.cut();
        let mut words = vec!["run", "--target", target.as_str(), "--out", "r", "--method", method];
        words.extend(IDLE);
        words.extend(["--probe-seconds", "3", "--statement-rows", "100"]);
        let output = run(home.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        // Two loading connections in each of three probes, at least.
        assert!(proxy.cut() - before >= 6, "{} cut", proxy.cut() - before);
        let found = samples(&home.path().join("r"));
        let spoilt: Vec<&str> =
            found.iter().map(|sample| sample.notes.as_str()).filter(|n| n.contains("retried")).collect();
        assert_eq!((found.len(), spoilt), (3, vec![]));
        assert!(found.iter().all(|sample| sample.data_bytes.is_some()), "the control connection was open in time");
        assert!(!text(&output).contains("error log"), "{}", text(&output));
        // What was opened anew is in the journal before it loads.
        let journal = fs::read_to_string(home.path().join("r/journal")).unwrap();
        let opened = journal.lines().filter(|line| line.contains("\"sessions\"")).count();
        assert!(opened >= 4, "{journal}");
    }
}

#[test]
fn a_run_whose_lock_another_one_took_while_its_connection_was_cut_ends_with_that_reason() {
    let Some((server, _proxy, target)) = behind_proxy() else { return };
    let home = tempfile::tempdir().unwrap();
    let child = rowcliff(home.path())
        .args(["run", "--target", &target, "--out", "r", "--flush", "2", "--probe-seconds", "6"])
        .args(IDLE)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while lines(home.path()) < 2 && started.elapsed() < HUNG {
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut other = server.connect();
    let got: Option<i64> = other.query_first("SELECT GET_LOCK('rowcliff.globals', 20)").unwrap();
    assert_eq!(got, Some(1), "the lock goes with the connection that was cut");
    let output = child.wait_with_output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another rowcliff run has it now"), "{said}");
    assert!(lines(home.path()) < 4, "it goes on under settings that another run may change: {said}");
    // The other run's now; put back once that has ended.
    drop(other);
    let restored = run(home.path(), &["restore", "--all"]);
    assert_eq!(restored.status.code(), Some(0), "{}", text(&restored));
}

/// A file system of 64 MiB, unmounted when it is dropped. `None`, which is said, where it cannot be mounted.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(place.path()).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        let _ = writeln!(std::io::stderr(), "left out: no tmpfs can be mounted here, so no disk of a server was full");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// The disk of a server is full: the run ends, the table that cannot be dropped is reported, and `clean` drops it once there is room. A server
/// that refuses the drop until it is restarted is named with that.
fn full_disk(engine: &str) {
    if binary(Family::MariaDb).is_none() {
        return;
    }
    let Some(small) = Small::mount() else { return };
    let options = [
        "--loose-innodb-log-file-size=4M",
        "--aria-log-file-size=8M",
        // InnoDB ends its server where it cannot write.
        "--skip-innodb",
        "--default-storage-engine=aria",
    ];
    let server = OwnServer::start_in(Family::MariaDb, small.0.path(), &options).unwrap();
    let ballast = small.0.path().join("ballast");
    fs::write(&ballast, vec![0; 8 << 20]).unwrap();
    let home = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let words = ["--engine", engine, "--key", "uuid4", "--rows", "2M", "--batch-rows", "100k", "--connections", "2"];
    let mut child = rowcliff(home.path())
        .args([
            "run",
            "--target",
            &server.target(),
            "--out",
            "r",
            "--max-batch-seconds",
            "10",
            "--min-free-disk",
            "1",
            "--no-disk-check",
        ])
        .args(words)
        .stdout(Stdio::null())
        .stderr(fs::File::create(home.path().join("out")).unwrap())
        .spawn()
        .unwrap();
    let code = ended(&mut child, started);
    let said = fs::read_to_string(home.path().join("out")).unwrap();
    assert!(matches!(code, Some(1 | 3)), "{engine}: {code:?} {said}");
    assert!(!said.contains("end that session"), "{engine}: {said}");
    let kept = record(&home.path().join("r")).curves[0].table.clone();
    assert_eq!(kept.is_some(), said.contains("is kept"), "{engine}: {said}");
    fs::remove_file(&ballast).unwrap();
    let cleaned = run(home.path(), &["clean", "r"]);
    assert!(!text(&cleaned).contains("end that session"), "{}", text(&cleaned));
    let is_cleaned = cleaned.status.code() == Some(0);
    let server = server.restart(&options);
    if !is_cleaned {
        // Aria refuses until it is started again; MyISAM takes its server down.
        let why = ["until the server is restarted", "the connection to the server was lost"];
        assert!(why.iter().any(|why| text(&cleaned).contains(why)), "{engine}: {}", text(&cleaned));
        let again = run(home.path(), &["clean", "r"]);
        assert_eq!(again.status.code(), Some(0), "{engine}: {}", text(&again));
    }
    let mut conn = server.connect();
    assert_eq!(conn.query::<String, _>("SHOW TABLES LIKE 'rowcliff%'").unwrap(), Vec::<String>::new(), "{engine}");
}

#[test]
fn a_full_disk_under_aria_ends_the_run_and_clean_drops_the_table_later() {
    full_disk("aria");
}

#[test]
fn a_full_disk_under_myisam_ends_the_run_and_clean_drops_the_table_later() {
    full_disk("myisam");
}
