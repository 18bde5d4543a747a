//! The machine that rowcliff runs on, as far as it tells. What it does not tell is `None`.

use std::fs;
use std::path::Path;

use super::cgroup;
use crate::record::Environment;

/// Looks at the machine and at the file system below `directory`.
pub fn observe(directory: &Path) -> Environment {
    let uname = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_str().ok().map(str::to_owned);
    let kernel = match (word(uname.sysname()), word(uname.release())) {
        (Some(name), Some(release)) => Some(format!("{name} {release}")),
        _ => None,
    };
    let mount = mount_of(directory);
    let limits = cgroup::limits();
    Environment {
        host: host(),
        kernel,
        cpu_model: proc_value("/proc/cpuinfo", "model name"),
        cpu_cores: std::thread::available_parallelism().ok().map(|cores| cores.get() as u64),
        memory_bytes: proc_value("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)),
        cgroup_memory_bytes: limits.memory_bytes,
        cgroup_cpu_cores: limits.cpu_cores,
        encode_threads: None,
        file_system: mount.as_ref().map(|mount| mount.1.clone()),
        device: mount.map(|mount| mount.0),
        free_bytes: free_bytes(directory),
    }
}

/// The name of this machine.
pub fn host() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// Bytes that an ordinary user can still write below `directory`.
pub fn free_bytes(directory: &Path) -> Option<u64> {
    Some(disk_space(directory)?.0)
}

/// Free and whole space of the file system below `directory`.
pub fn disk_space(directory: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    Some((stat.f_bavail.checked_mul(stat.f_frsize)?, stat.f_blocks.checked_mul(stat.f_frsize)?))
}

fn proc_value(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (_, value) = text.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == key)?;
    Some(value.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<u64> {
    text.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Device and file system type of the mount that holds `directory`: the longest mount point above it.
fn mount_of(directory: &Path) -> Option<(String, String)> {
    let path = fs::canonicalize(directory).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (device, point, kind) = (words.next()?, words.next()?, words.next()?);
            // Spaces in a mount point stand as octal escapes there.
            let point = point.replace("\\040", " ");
            path.starts_with(&point).then(|| (point.len(), (device.to_owned(), kind.to_owned())))
        })
        .max_by_key(|(length, _)| *length)
        .map(|(_, mount)| mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(kibibytes("24576 kB"), Some(24 << 20));
        assert_eq!(kibibytes("24576"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_has_a_kernel_memory_and_room() {
        let environment = observe(Path::new("/tmp"));
        assert!(environment.kernel.unwrap().starts_with("Linux "));
        assert!(environment.memory_bytes.unwrap() > 1 << 20);
        assert!(environment.free_bytes.is_some());
    }
}
