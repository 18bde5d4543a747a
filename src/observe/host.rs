//! The machine while a load goes on: the device of a directory, and memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Counters of the machine since it was started; what is not known is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostFigures {
    /// Bytes read from the device.
    pub device_read_bytes: Option<u64>,
    /// Bytes written to the device.
    pub device_written_bytes: Option<u64>,
    /// Time in which the device had something to do.
    pub device_busy: Option<Duration>,
    /// Times that the device was told to make safe what it had taken.
    pub device_flushes: Option<u64>,
    /// CPU time that all processes of the machine used together.
    pub cpu_busy: Option<Duration>,
    /// Time in which its CPUs wanted to work and the host of this virtual machine ran something else (steal).
    pub cpu_stolen: Option<Duration>,
    /// Memory that could be given to somebody without swapping.
    pub memory_available_bytes: Option<u64>,
}

/// The device below a directory, as the kernel numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    pub major: u32,
    pub minor: u32,
}

/// The device below `directory`. Some file systems (overlay, tmpfs, btrfs) have none of their own.
pub fn device_of(directory: &Path) -> Option<Device> {
    let stat = rustix::fs::stat(directory).ok()?;
    let (major, minor) = (rustix::fs::major(stat.st_dev), rustix::fs::minor(stat.st_dev));
    (major != 0).then_some(Device { major, minor })
}

/// Bytes of a sector in the kernel's statistics, whatever the device's own are.
#[cfg(target_os = "linux")]
const SECTOR_BYTES: u64 = 512;

#[cfg(target_os = "linux")]
pub fn figures(device: Option<Device>) -> HostFigures {
    use procfs::{Current, CurrentSI, KernelStats, Meminfo};
    let stats = device.and_then(|device| {
        let is_it = |stat: &procfs::DiskStat| {
            u32::try_from(stat.major) == Ok(device.major) && u32::try_from(stat.minor) == Ok(device.minor)
        };
        procfs::diskstats().ok()?.into_iter().find(is_it)
    });
    let cpus = KernelStats::current().ok().map(|stat| stat.total);
    let of_ticks = |ticks: u64| Duration::from_secs_f64(ticks as f64 / procfs::ticks_per_second().max(1) as f64);
    let busy = cpus.as_ref().map(|total| {
        of_ticks(total.user + total.nice + total.system + total.irq.unwrap_or(0) + total.softirq.unwrap_or(0))
    });
    HostFigures {
        device_read_bytes: stats.as_ref().and_then(|stat| stat.sectors_read.checked_mul(SECTOR_BYTES)),
        device_written_bytes: stats.as_ref().and_then(|stat| stat.sectors_written.checked_mul(SECTOR_BYTES)),
        device_busy: stats.as_ref().map(|stat| Duration::from_millis(stat.time_in_progress)),
        device_flushes: stats.as_ref().and_then(|stat| stat.flushes),
        cpu_busy: busy,
        cpu_stolen: cpus.and_then(|total| total.steal).map(of_ticks),
        memory_available_bytes: Meminfo::current().ok().and_then(|memory| memory.mem_available),
    }
}

#[cfg(not(target_os = "linux"))]
pub fn figures(_: Option<Device>) -> HostFigures {
    HostFigures::default()
}

/// What moved between two readings that lie `apart`, by the name it has in `counters.csv`. Levels end with `@end`.
pub fn moved(before: &HostFigures, after: &HostFigures, apart: Duration) -> BTreeMap<String, Option<f64>> {
    let mut out = BTreeMap::new();
    let mut count = |name: &str, before: Option<f64>, after: Option<f64>| {
        if let Some((before, after)) = before.zip(after) {
            out.insert(format!("host.{name}"), crate::targets::reading::moved(before, after));
        }
    };
    let number = |figure: Option<u64>| figure.map(|figure| figure as f64);
    let seconds = |figure: Option<Duration>| figure.map(|figure| figure.as_secs_f64());
    count("device_read_bytes", number(before.device_read_bytes), number(after.device_read_bytes));
    count("device_written_bytes", number(before.device_written_bytes), number(after.device_written_bytes));
    count("device_flushes", number(before.device_flushes), number(after.device_flushes));
    count("cpu_seconds", seconds(before.cpu_busy), seconds(after.cpu_busy));
    count("stolen_cpu_seconds", seconds(before.cpu_stolen), seconds(after.cpu_stolen));
    if let (Some(before), Some(after)) = (before.device_busy, after.device_busy) {
        let busy = after.checked_sub(before).map(|busy| busy.as_secs_f64());
        // The kernel counts in its own ticks: a share a little above 1 is a full one.
        let share = busy.filter(|_| !apart.is_zero()).map(|busy| (busy / apart.as_secs_f64()).min(1.0));
        out.insert("host.device_busy_share".into(), share.map(|share| (share * 1e4).round() / 1e4));
    }
    if let Some(bytes) = after.memory_available_bytes {
        out.insert(format!("host.memory_available_bytes{}", crate::record::detail::AT_END), Some(bytes as f64));
    }
    out.values_mut().for_each(|figure| *figure = figure.map(|figure| (figure * 1e6).round() / 1e6));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_counts_are_of_the_time_between() {
        let before = HostFigures {
            device_read_bytes: Some(1000),
            device_written_bytes: Some(9000),
            device_busy: Some(Duration::from_secs(5)),
            ..HostFigures::default()
        };
        let after = HostFigures {
            device_read_bytes: Some(5000),
            device_written_bytes: Some(100),
            device_busy: Some(Duration::from_secs(6)),
            memory_available_bytes: Some(77),
            ..before
        };
        let moved = moved(&before, &after, Duration::from_secs(4));
        assert_eq!(moved["host.device_read_bytes"], Some(4000.0));
        // Backwards: not known, and never a huge number.
        assert_eq!(moved["host.device_written_bytes"], None);
        assert_eq!(moved["host.device_busy_share"], Some(0.25));
        assert_eq!(moved["host.memory_available_bytes@end"], Some(77.0));
        // Never known: not there at all.
        assert!(!moved.contains_key("host.cpu_seconds"));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_tells_its_memory_and_cpu_time() {
        let figures = figures(device_of(Path::new("/tmp")));
        assert!(figures.memory_available_bytes.unwrap() > 1 << 20);
        assert!(figures.cpu_busy.unwrap() > Duration::ZERO);
    }
}
