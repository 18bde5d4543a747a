//! Limits of this process's control group: what a container, a batch system or a service manager lets it use.
//!
//! A group is also bound by the limits of the groups above it, so that the least on the way up counts. In a container the
//! path of the group may be the one outside, which is not there inside: then what can be seen at the top counts.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// What the control group allows. What is not limited is `None`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    pub memory_bytes: Option<u64>,
    /// CPU time, in cores.
    pub cpu_cores: Option<f64>,
}

/// The limits of this process.
pub fn limits() -> Limits {
    fs::read_to_string("/proc/self/cgroup").map(|own| limits_in(&own, Path::new("/sys/fs/cgroup"))).unwrap_or_default()
}

/// The limits of the groups named in `own`, the text of `/proc/self/cgroup`, below the mount point `root`.
fn limits_in(own: &str, root: &Path) -> Limits {
    let mut limits = Limits::default();
    for line in own.lines() {
        let mut words = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) = (words.next(), words.next(), words.next()) else { continue };
        if controllers.is_empty() {
            // Version 2, which on some systems is mounted beside version 1.
            for mount in [root.to_owned(), root.join("unified")] {
                limits.lower(least(&mount, group, memory_v2), least(&mount, group, cpu_v2));
            }
            continue;
        }
        let mount = root.join(controllers);
        for controller in controllers.split(',') {
            // Mounted under the whole name, with a link for each part; the link is missing on some systems.
            let mount = if mount.is_dir() { mount.clone() } else { root.join(controller) };
            match controller {
                "memory" => limits.lower(least(&mount, group, memory_v1), None),
                "cpu" => limits.lower(None, least(&mount, group, cpu_v1)),
                _ => {}
            }
        }
    }
    limits
}

impl Limits {
    fn lower(&mut self, memory_bytes: Option<u64>, cpu_cores: Option<f64>) {
        self.memory_bytes = self.memory_bytes.into_iter().chain(memory_bytes).min();
        self.cpu_cores = self.cpu_cores.into_iter().chain(cpu_cores).reduce(f64::min);
    }
}

/// The least of what `read` finds in a group and in those above it.
fn least<T: PartialOrd>(mount: &Path, group: &str, read: impl Fn(&Path) -> Option<T>) -> Option<T> {
    // A group outside of what this process may see is written with `..`: its own top is all there is.
    let names = Path::new(group).components();
    let inside = !names.clone().any(|name| name == Component::ParentDir);
    let below: PathBuf = names.filter(|name| inside && matches!(name, Component::Normal(_))).collect();
    let found = below.ancestors().filter_map(|group| read(&mount.join(group)));
    found.reduce(|least, other| if other < least { other } else { least })
}

fn memory_v2(group: &Path) -> Option<u64> {
    word(group, "memory.max")?.parse().ok()
}

/// `QUOTA PERIOD` in microseconds; `max` means no limit.
fn cpu_v2(group: &Path) -> Option<f64> {
    let text = word(group, "cpu.max")?;
    let (quota, period) = text.split_once(' ')?;
    cores(quota.parse().ok()?, period.parse().ok()?)
}

/// Version 1 writes "no limit" as the largest number of whole pages.
fn memory_v1(group: &Path) -> Option<u64> {
    word(group, "memory.limit_in_bytes")?.parse().ok().filter(|&bytes: &u64| bytes < 1 << 62)
}

/// A quota of -1 means no limit.
fn cpu_v1(group: &Path) -> Option<f64> {
    cores(word(group, "cpu.cfs_quota_us")?.parse().ok()?, word(group, "cpu.cfs_period_us")?.parse().ok()?)
}

fn cores(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

fn word(group: &Path, file: &str) -> Option<String> {
    Some(fs::read_to_string(group.join(file)).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of groups: files by path with their text.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_least_limit_on_the_way_up_counts() {
        let root = tree(&[
            ("job/memory.max", "1073741824\n"),
            ("job/cpu.max", "150000 100000\n"),
            ("job/step/memory.max", "max\n"),
            ("job/step/cpu.max", "max 100000\n"),
            ("job/step/task/memory.max", "4294967296\n"),
            ("other/memory.max", "1\n"),
        ]);
        let limits = limits_in("0::/job/step/task\n", root.path());
        assert_eq!(limits, Limits { memory_bytes: Some(1 << 30), cpu_cores: Some(1.5) });
        assert_eq!(limits_in("0::/other/deeper\n", root.path()).memory_bytes, Some(1));
        assert_eq!(limits_in("0::/\n", root.path()), Limits::default());
    }

    #[test]
    fn version_1_has_a_tree_for_each_controller() {
        let root = tree(&[
            ("memory/docker/memory.limit_in_bytes", "2147483648"),
            ("memory/docker/x/memory.limit_in_bytes", "9223372036854771712"),
            ("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "250000"),
            ("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000"),
            ("cpu,cpuacct/docker/cpu.cfs_quota_us", "-1"),
            ("cpu,cpuacct/docker/cpu.cfs_period_us", "100000"),
        ]);
        let own = "4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/docker/x\n0::/\n";
        assert_eq!(limits_in(own, root.path()), Limits { memory_bytes: Some(2 << 30), cpu_cores: Some(2.5) });
    }

    #[test]
    fn a_group_that_is_not_there_leaves_the_top() {
        let root =
            tree(&[("memory.max", "1024"), ("cpu.max", "50000 100000"), ("memory/memory.limit_in_bytes", "512")]);
        let expected = Limits { memory_bytes: Some(1024), cpu_cores: Some(0.5) };
        assert_eq!(limits_in("0::/outside/of/this\n", root.path()), expected);
        assert_eq!(limits_in("0::/../../up\n", root.path()), expected);
        assert_eq!(limits_in("2:memory:/outside\n", root.path()).memory_bytes, Some(512));
        for text in ["", "nonsense", "0::", "a:b"] {
            let _ = limits_in(text, root.path());
        }
    }
}
