//! A process of this machine: the CPU time it has used, and what it read from and wrote to its devices.

use std::time::Duration;

#[cfg(target_os = "linux")]
use procfs::process::Process;

/// A process that can be looked at. It stays the same process: when it has ended, nothing is known of it, whoever gets
/// its number next.
#[derive(Debug)]
pub struct Watched {
    #[cfg(target_os = "linux")]
    process: Process,
}

#[cfg(target_os = "linux")]
impl Watched {
    /// The process with this id.
    pub fn of(id: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(id).ok()?).ok()?;
        process.is_alive().then_some(Self { process })
    }

    /// rowcliff itself.
    pub fn own() -> Option<Self> {
        Some(Self { process: Process::myself().ok()? })
    }

    /// CPU time so far, of all its threads, in ticks of the system (10 ms as a rule).
    pub fn cpu(&self) -> Option<Duration> {
        let stat = self.process.stat().ok()?;
        let per_second = procfs::ticks_per_second();
        let ticks = stat.utime.checked_add(stat.stime)?;
        (per_second > 0).then(|| Duration::from_secs_f64(ticks as f64 / per_second as f64))
    }

    /// Bytes read from and written to devices so far. Only its own user and root may know.
    pub fn device_bytes(&self) -> Option<(u64, u64)> {
        let io = self.process.io().ok()?;
        Some((io.read_bytes, io.write_bytes))
    }

    /// The cores that it may run on.
    pub fn cores(&self) -> Option<Vec<u32>> {
        let status = self.process.status().ok()?;
        let ranges = status.cpus_allowed_list?;
        Some(ranges.into_iter().flat_map(|(from, to)| from..=to).collect())
    }

    /// Whether it shares its control groups, and with them their limits, with rowcliff.
    pub fn shares_limits(&self) -> bool {
        let groups = |process: &Process| {
            process.cgroups().ok().map(|groups| groups.into_iter().map(|group| group.pathname).collect::<Vec<_>>())
        };
        let own = Process::myself().ok().and_then(|own| groups(&own));
        own.is_some() && own == groups(&self.process)
    }
}

#[cfg(not(target_os = "linux"))]
impl Watched {
    /// Only Linux tells.
    pub fn of(_: u32) -> Option<Self> {
        None
    }

    /// Only Linux tells.
    pub fn own() -> Option<Self> {
        None
    }

    /// Not known.
    pub fn cpu(&self) -> Option<Duration> {
        None
    }

    /// Not known.
    pub fn device_bytes(&self) -> Option<(u64, u64)> {
        None
    }

    /// Not known.
    pub fn cores(&self) -> Option<Vec<u32>> {
        None
    }

    /// Not known.
    pub fn shares_limits(&self) -> bool {
        false
    }
}

/// How many cores the client and the server may use together: those that either may run on, no more than `limit` where a
/// control group limits both.
pub fn cores_together(client: &Watched, server: Option<&Watched>, limit: Option<f64>) -> Option<f64> {
    let mut cores = client.cores()?;
    if let Some(server) = server {
        cores.extend(server.cores()?);
    }
    cores.sort_unstable();
    cores.dedup();
    let count = cores.len() as f64;
    let both_limited = server.is_none_or(Watched::shares_limits);
    Some(limit.filter(|_| both_limited).map_or(count, |limit| limit.min(count)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_used_cpu_time_and_writes() {
        let own = Watched::own().unwrap();
        let before = own.cpu().unwrap();
        let started = std::time::Instant::now();
        let mut sum = 0_u64;
        while started.elapsed() < Duration::from_millis(300) {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        assert!(own.cpu().unwrap() > before, "{sum}");
        assert!(own.device_bytes().is_some());
        let cores = cores_together(&own, Some(&own), None).unwrap();
        assert_eq!(cores, own.cores().unwrap().len() as f64);
        assert_eq!(cores_together(&own, Some(&own), Some(0.5)), Some(0.5));
    }

    #[test]
    fn a_process_that_is_gone_is_not_known() {
        let mut child = std::process::Command::new("/bin/sleep").arg("60").spawn().unwrap();
        let watched = Watched::of(child.id()).unwrap();
        assert!(watched.cpu().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((watched.cpu(), watched.device_bytes()), (None, None));
        assert!(Watched::of(child.id()).is_none());
    }
}
