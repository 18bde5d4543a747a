//! What lies below a directory: mount, device, and how long it takes to make a page safe there.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::host::Device;
use crate::record::run::SyncProbe;

/// Writes of the probe, unless its time is up before.
const SYNCS: usize = 100;
/// The most that the probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(1);
/// What each write of the probe writes: a page of a database.
const PAGE_BYTES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub device: String,
    pub file_system: String,
    pub options: String,
}

/// The mount that holds `directory`: the longest mount point above it; of two on one point the later, which hides the other.
pub fn mount_of(directory: &Path) -> Option<Mount> {
    let path = fs::canonicalize(directory).ok()?;
    find_mount(&fs::read_to_string("/proc/self/mounts").ok()?, &path)
}

fn find_mount(mounts: &str, path: &Path) -> Option<Mount> {
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (device, point, file_system, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
            // Spaces in a mount point stand as octal escapes there.
            let point = point.replace("\\040", " ");
            let mount = Mount { device: device.into(), file_system: file_system.into(), options: options.into() };
            path.starts_with(&point).then_some((point.len(), mount))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, mount)| mount)
}

/// The scheduler of a device, and whether it rotates, as its queue says. A partition has the queue of its disk.
pub fn queue_of(device: Device) -> (Option<String>, Option<bool>) {
    let own = PathBuf::from(format!("/sys/dev/block/{}:{}", device.major, device.minor));
    let Ok(own) = fs::canonicalize(own) else { return (None, None) };
    let queue = [own.join("queue"), own.join("../queue")].into_iter().find(|queue| queue.is_dir());
    let Some(queue) = queue else { return (None, None) };
    let word = |name: &str| fs::read_to_string(queue.join(name)).ok().map(|text| text.trim().to_owned());
    (word("scheduler").map(|text| chosen(&text)), word("rotational").map(|text| text == "1"))
}

/// `mq-deadline` of `none [mq-deadline] kyber`.
fn chosen(list: &str) -> String {
    let inside = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or_else(|| list.to_owned(), |(word, _)| word.to_owned())
}

/// Measures how long a page takes that is written over and synced, in a file of its own in `directory`, which is removed again.
/// `None` where no file can be made.
pub fn probe_syncs(directory: &Path) -> Option<SyncProbe> {
    let path = directory.join(format!("rowcliff-sync-probe-{}", std::process::id()));
    let probed = probe(&path);
    // Whatever happened, nothing stays.
    let _ = fs::remove_file(&path);
    probed
}

fn probe(path: &Path) -> Option<SyncProbe> {
    let mut file = fs::File::options().write(true).create_new(true).open(path).ok()?;
    let page = [0x5A; PAGE_BYTES];
    // Pages that are there already, as in the log of a database: making a file longer costs more than that.
    for _ in 0..16 {
        file.write_all(&page).ok()?;
    }
    file.sync_all().ok()?;
    let started = Instant::now();
    let mut taken = Vec::with_capacity(SYNCS);
    while taken.len() < SYNCS && started.elapsed() < PROBE_LIMIT {
        let before = Instant::now();
        file.write_all_at(&page, (taken.len() % 16 * PAGE_BYTES) as u64).ok()?;
        file.sync_data().ok()?;
        taken.push(u64::try_from(before.elapsed().as_micros()).unwrap_or(u64::MAX));
    }
    summary(taken)
}

/// Median and 99th percentile: the smallest value that 99 of 100 do not exceed.
fn summary(mut taken: Vec<u64>) -> Option<SyncProbe> {
    taken.sort_unstable();
    let at = |share: f64| {
        let place = (share * taken.len() as f64).ceil() as usize;
        taken.get(place.saturating_sub(1)).copied()
    };
    Some(SyncProbe { median_us: at(0.5)?, p99_us: at(0.99)?, syncs: taken.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_and_latest_mount_holds_a_path() {
        let mounts = "/dev/a / ext4 rw,relatime 0 0\n/dev/b /data xfs rw,noatime 0 0\n/dev/c /my\\040data btrfs ro 0 0\n\
                      tmpfs /data tmpfs rw 0 0\n";
        let of = |path: &str| find_mount(mounts, Path::new(path)).unwrap();
        assert_eq!(of("/data2/x").device, "/dev/a");
        assert_eq!((of("/data/x").file_system.as_str(), of("/data/x").options.as_str()), ("tmpfs", "rw"));
        assert_eq!(of("/my data/x").file_system, "btrfs");
    }

    #[test]
    fn the_scheduler_in_brackets_is_the_one_in_use() {
        assert_eq!(chosen("none [mq-deadline] kyber"), "mq-deadline");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn syncs_are_summed_up_and_leave_nothing_behind() {
        assert_eq!(summary((1..=100).rev().collect()), Some(SyncProbe { median_us: 50, p99_us: 99, syncs: 100 }));
        assert_eq!(summary(vec![7]), Some(SyncProbe { median_us: 7, p99_us: 7, syncs: 1 }));
        assert_eq!(summary(Vec::new()), None);
        let directory = tempfile::tempdir().unwrap();
        let probe = probe_syncs(directory.path()).unwrap();
        assert!(probe.syncs > 0 && probe.p99_us >= probe.median_us, "{probe:?}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(probe_syncs(&directory.path().join("nowhere")), None);
    }
}
