//! Every setting of a curve under a name, and which of them differ between two curves.

use std::collections::BTreeMap;

use super::Curve;
use crate::record::{CurveRecord, RunRecord};

/// Variables that tell where a server keeps its files and how it is called, not how it works.
const PLACES: [&str; 14] = [
    "datadir",
    "tmpdir",
    "socket",
    "pid_file",
    "port",
    "hostname",
    "server_id",
    "server_uuid",
    "log_error",
    "general_log_file",
    "slow_query_log_file",
    "plugin_dir",
    "basedir",
    "secure_file_priv",
];

/// A setting that is not the same on both sides. A side that does not tell is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub name: String,
    /// Its value in BASE.
    pub base: String,
    /// Its value in NEW.
    pub new: String,
}

/// All that is known of how a curve was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// From a curve's labels and batches, and from the records, where there are some.
    pub fn of(curve: &Curve, run: Option<&RunRecord>, record: Option<&CurveRecord>) -> Self {
        let mut out = Self::default();
        out.add_labels(curve);
        if let Some(record) = record {
            record.variables.iter().for_each(|(name, value)| out.add_variable(name, value));
        }
        if let Some(run) = run {
            out.add_run(run, &curve.labels.target);
        }
        out
    }

    /// Whether anything is recorded of how the curve was made: a file of another program has figures only.
    pub fn are_recorded(&self) -> bool {
        self.0.contains_key("method")
    }

    fn add(&mut self, name: &str, value: impl ToString) {
        let value = value.to_string();
        if !value.is_empty() {
            self.0.entry(name.to_owned()).or_insert(value);
        }
    }

    fn add_some<T: ToString>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn add_variable(&mut self, name: &str, value: &str) {
        if !PLACES.contains(&name) && !value.starts_with('/') {
            self.add(name, value);
        }
    }

    fn add_labels(&mut self, curve: &Curve) {
        let labels = &curve.labels;
        // What was set stands under the name of its variable, once, wherever it is recorded.
        for word in labels.flush_in_force.split_whitespace().chain(labels.settings.split_whitespace()) {
            if let Some((name, value)) = word.split_once('=') {
                self.add_variable(name, value);
            }
        }
        if labels.flush_in_force.is_empty() {
            self.add("flush", &labels.flush);
        }
        for (name, value) in
            [("target", &labels.target), ("engine", &labels.engine), ("key", &labels.key), ("method", &labels.method)]
        {
            self.add(name, value);
        }
        let counts = [
            ("connections", u64::from(labels.connections)),
            ("statement rows", labels.statement_rows),
            ("commit rows", labels.commit_rows),
            ("batch rows", curve.samples.first().map_or(0, |sample| sample.rows)),
        ];
        for (name, count) in counts {
            self.add_some(name, Some(count).filter(|count| *count > 0));
        }
    }

    fn add_run(&mut self, run: &RunRecord, target: &str) {
        if let Some(target) = run.targets.get(target) {
            self.add("server version", format!("{} {}", target.flavour, target.version).trim());
            target.variables.iter().for_each(|(name, value)| self.add_variable(name, value));
        }
        self.add("rowcliff version", &run.program_version);
        self.add("rowcliff build", &run.build_profile);
        let machine = &run.environment;
        self.add_some("host", machine.host.as_ref());
        self.add_some("kernel", machine.kernel.as_ref());
        self.add_some("CPU", machine.cpu_model.as_ref());
        self.add_some("CPU cores", machine.cpu_cores);
        self.add_some("memory bytes", machine.memory_bytes);
        self.add_some("memory limit bytes", machine.cgroup_memory_bytes);
        self.add_some("CPU limit", machine.cgroup_cpu_cores);
        self.add_some("encode threads", machine.encode_threads);
        self.add_some("file system", machine.file_system.as_ref());
        self.add_some("device", machine.device.as_ref());
        let plain = |value: &serde_json::Value| match value {
            serde_json::Value::Null | serde_json::Value::Object(_) | serde_json::Value::Array(_) => None,
            serde_json::Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        for name in ["seed", "index_order", "payload_bytes", "uuid_rate", "scale"] {
            self.add_some(&name.replace('_', " "), plain(&run.plan[name]));
        }
        for (column, wish) in run.plan["fill"].as_object().into_iter().flatten() {
            self.add_some(&format!("fill {column}"), wish.as_str());
        }
        self.add_some("skip binlog", plain(&run.plan["care"]["skip_binlog"]));
        self.add_some(
            "schema",
            plain(&run.plan["schema"]["text"])
                .map(|text| format!("{} characters, {:08x}", text.len(), checksum(&text))),
        );
    }
}

/// FNV-1a: tells two texts apart without printing them.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// What differs, by name. Where engines or servers differ, a variable that only one of them has is no setting of the other.
pub fn differences(base: &Settings, new: &Settings) -> Vec<Difference> {
    let value = |side: &Settings, name: &str| side.0.get(name).cloned().unwrap_or_default();
    let same = |name: &str| value(base, name) == value(new, name);
    let one_kind = same("engine") && same("server version");
    // One side that is a file of another program tells nothing: then nothing is said of it.
    let told = |side: &Settings| side.0.contains_key("rowcliff version");
    let names: std::collections::BTreeSet<&String> = base.0.keys().chain(new.0.keys()).collect();
    names
        .into_iter()
        .filter(|name| !same(name))
        .filter(|name| {
            let both = base.0.contains_key(*name) && new.0.contains_key(*name);
            both || (one_kind && told(base) && told(new))
        })
        .map(|name| Difference { name: name.clone(), base: value(base, name), new: value(new, name) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::Labels;

    fn settings(flush: &str, settings: &str, variables: &[(&str, &str)]) -> Settings {
        let labels = Labels {
            engine: "innodb".into(),
            flush: flush.into(),
            flush_in_force: format!("innodb_flush_log_at_trx_commit={flush}"),
            settings: settings.into(),
            ..Labels::default()
        };
        let curve = Curve { name: "c".into(), run: "r".into(), labels, repeat: 1, samples: Vec::new() };
        let mut all: Vec<(&str, &str)> = variables.to_vec();
        all.push(("innodb_flush_log_at_trx_commit", flush));
        let variables = all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::of(&curve, None, Some(&CurveRecord { variables, ..CurveRecord::default() }))
    }

    #[test]
    fn c20_every_setting_that_differs_is_named_once() {
        let base = settings("1", "", &[("innodb_doublewrite", "ON"), ("datadir", "/a"), ("innodb_page_size", "16384")]);
        let new = settings("0", "", &[("innodb_doublewrite", "OFF"), ("datadir", "/b"), ("innodb_page_size", "16384")]);
        let found = differences(&base, &new);
        let names: Vec<&str> = found.iter().map(|difference| difference.name.as_str()).collect();
        assert_eq!(names, ["innodb_doublewrite", "innodb_flush_log_at_trx_commit"]);
        assert_eq!((found[1].base.as_str(), found[1].new.as_str()), ("1", "0"));
        assert_eq!(differences(&base, &base), []);
    }
}
