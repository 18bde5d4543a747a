//! The machine that rowcliff runs on, as far as it tells. What it does not tell is `None`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::cgroup;
use super::host::device_of;
use super::storage::{mount_of, probe_syncs, queue_of};
use crate::plan::{Place, Plan};
use crate::record::Environment;
use crate::record::run::TargetRecord;

/// Looks at the machine and at the file system below `directory`.
pub fn observe(directory: &Path) -> Environment {
    let uname = rustix::system::uname();
    let word = |text: &std::ffi::CStr| text.to_str().ok().map(str::to_owned);
    let kernel = match (word(uname.sysname()), word(uname.release())) {
        (Some(name), Some(release)) => Some(format!("{name} {release}")),
        _ => None,
    };
    let limits = cgroup::limits();
    let mut environment = Environment {
        host: host(),
        kernel,
        cpu_model: proc_value("/proc/cpuinfo", "model name"),
        cpu_cores: std::thread::available_parallelism().ok().map(|cores| cores.get() as u64),
        memory_bytes: proc_value("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)),
        cgroup_memory_bytes: limits.memory_bytes,
        cgroup_cpu_cores: limits.cpu_cores,
        virtualisation: virtualisation(),
        cpu_governor: governor(),
        load_average_1m: load_average(),
        ..Environment::default()
    };
    describe_storage(&mut environment, directory);
    environment
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

/// Fills in what `directory` lies on.
fn describe_storage(environment: &mut Environment, directory: &Path) {
    let mount = mount_of(directory);
    environment.free_bytes = free_bytes(directory);
    environment.device = mount.as_ref().map(|mount| mount.device.clone());
    environment.file_system = mount.as_ref().map(|mount| mount.file_system.clone());
    environment.mount_options = mount.map(|mount| mount.options);
    let queue = device_of(directory).map(queue_of);
    (environment.device_scheduler, environment.device_rotational) = queue.unwrap_or_default();
}

/// Completes what was observed, once the targets have said where their data is: a server on this machine has a file system of
/// its own to speak of. Measures the latency of syncs there, in `own`, rowcliff's own directory; no file is ever made in the
/// data directory of a server that is not ours.
pub fn survey(environment: &mut Environment, plan: &Plan, targets: &BTreeMap<String, TargetRecord>, own: &Path) {
    if *environment == Environment::default() {
        // Nobody looked at the machine: there is nothing to complete.
        return;
    }
    for target in &plan.targets {
        let Place::Server(place) = &target.place else { continue };
        let data = targets.get(&target.label).and_then(|facts| facts.variables.get("datadir"));
        if let Some(data) = data.filter(|data| place.socket.is_some() && Path::new(data).is_dir()) {
            environment.data_directories.insert(target.label.clone(), data.clone());
        }
    }
    let scratch = plan.scratch.directory.clone().filter(|directory| directory.is_dir());
    let own = scratch.as_deref().unwrap_or(own);
    let place = environment.data_directories.values().next().map(PathBuf::from);
    if let Some(place) = &place {
        describe_storage(environment, place);
    }
    let is_same = place.as_deref().is_none_or(
        |place| matches!((rustix::fs::stat(place), rustix::fs::stat(own)), (Ok(a), Ok(b)) if a.st_dev == b.st_dev),
    );
    environment.sync_probe = if is_same { probe_syncs(own) } else { None };
    if !is_same {
        environment.notes.push(
            "the latency of syncs was not measured: the data directory is on another file system than the run, and no \
             file is made in it"
                .into(),
        );
    }
    if cfg!(not(target_os = "linux")) {
        environment.notes.push("this system does not tell the figures of processes and devices: they are empty".into());
    }
}

fn virtualisation() -> Option<String> {
    let word =
        |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let mut words = Vec::new();
    words.extend(word("/run/systemd/container"));
    words.extend(Path::new("/.dockerenv").exists().then(|| "docker".to_owned()));
    words.extend(Path::new("/run/.containerenv").exists().then(|| "podman".to_owned()));
    words.dedup();
    let flags = proc_value("/proc/cpuinfo", "flags");
    let is_virtual = flags.as_ref().map(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    if is_virtual == Some(true) {
        let maker = word("/sys/class/dmi/id/sys_vendor").zip(word("/sys/class/dmi/id/product_name"));
        words.push(maker.map_or_else(|| "virtual machine".into(), |(vendor, name)| format!("{vendor} {name}")));
    }
    match (words.is_empty(), is_virtual) {
        (false, _) => Some(words.join(", ")),
        (true, Some(false)) => Some("none".into()),
        (true, _) => None,
    }
}

fn governor() -> Option<String> {
    Some(fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").ok()?.trim().to_owned())
}

fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
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
        assert!(environment.mount_options.is_some_and(|options| options.contains("rw")));
        assert!(environment.load_average_1m.is_some());
    }
}
