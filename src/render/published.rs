//! Published figures beside those of a run: a table, and the same as JSON.

use serde::Serialize;

use super::show::paragraph;
use super::table::{Align, Table};
use crate::analyse::published::Beside;
use crate::record::PublishedLine;
use crate::units::{human_rate, human_rows, human_seconds, significant};

/// Version of the shape of `compare --json` with a file of published figures.
const SHAPE: u32 = 1;
/// What a load is called where probes have their words.
const LOAD: &str = "load";

/// A file of published figures beside a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PublishedComparison {
    pub file: String,
    /// What the run is called.
    pub run: String,
    pub lines: Vec<PublishedLine>,
    /// What the run has beside them.
    pub beside: Vec<Beside>,
    /// Machine of the run.
    pub machine: String,
    /// Servers of the run, with their versions.
    pub servers: Vec<String>,
    /// How the plan of the run was scaled, if it was.
    pub scaled: Option<String>,
}

impl PublishedComparison {
    /// What has to be said wherever such figures are shown together.
    pub fn warning(&self) -> String {
        let distinct = |figure: &dyn Fn(&PublishedLine) -> String| {
            let mut words: Vec<String> = self.lines.iter().map(figure).filter(|word| !word.is_empty()).collect();
            words.dedup();
            words.join(", ")
        };
        let or = |words: String, unknown: &str| if words.is_empty() { unknown.to_owned() } else { words };
        let machine = or(distinct(&|line| line.machine.clone()), "a machine that is not named");
        let version = or(distinct(&|line| line.server_version.clone()), "a server of unknown version");
        let mut warning = format!(
            "machine, server and version differ: published of {version} on {machine}; the run is of {} on {}: the ratios say how far \
             the figures lie apart, not why",
            or(self.servers.join(", "), "an unknown server"),
            or(self.machine.clone(), "an unknown machine"),
        );
        if let Some(scaled) = &self.scaled {
            warning.push_str(&format!("; and the run is {scaled}"));
        }
        warning
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = format!("PUBLISHED  {}\n", self.file);
        let mut sources: Vec<&str> = self.lines.iter().map(|line| line.source.as_str()).collect();
        sources.dedup();
        out.extend(sources.iter().map(|source| paragraph(source, "           ")));
        out.push_str(&format!("RUN        {}\n\n", self.run));
        let mut table = Table::new(&[
            ("what", Align::Left),
            ("conns", Align::Right),
            ("ops", Align::Right),
            ("published", Align::Left),
            ("/s", Align::Right),
            ("avg", Align::Right),
            ("run", Align::Left),
            ("table rows", Align::Right),
            ("/s", Align::Right),
            ("avg", Align::Right),
            ("ratio", Align::Right),
        ]);
        for beside in &self.beside {
            let line = &self.lines[beside.published];
            let count = |count: Option<u64>| count.map_or_else(String::new, human_rows);
            let seconds = |seconds: Option<f64>| seconds.map_or_else(String::new, human_seconds);
            table.row(vec![
                what(line).to_owned(),
                count(line.connections.map(u64::from)),
                count(line.ops),
                self.name(line),
                line.rate().map_or_else(|| "-".into(), human_rate),
                seconds(line.seconds_avg),
                beside.curve.clone(),
                human_rows(beside.table_rows),
                human_rate(beside.per_second),
                seconds(beside.seconds_avg),
                beside.ratio.map_or_else(|| "-".into(), significant),
            ]);
        }
        out.push_str(&table.render());
        out.push('\n');
        for note in self.notes() {
            out.push_str(&paragraph(&note, ""));
        }
        if let Some(missing) = self.missing() {
            out.push_str(&paragraph(&missing, ""));
        }
        out.push_str(&paragraph(
            "/s: operations (transactions, rows inserted by a load) per second, for published seconds their operations divided by them; \
             avg: mean seconds of an iteration, which compares where the operations are the same; a load of the run is at its median batch; ratio: the run's /s as a multiple of the published.",
            "",
        ));
        out.push_str(&paragraph(&format!("WARNING: {}", self.warning()), ""));
        out
    }

    /// Engine, its key where keys are compared, and those words of its settings that tell it from other lines of the same.
    fn name(&self, line: &PublishedLine) -> String {
        let key = |line: &PublishedLine| if line.is_load() { line.key.clone() } else { String::new() };
        let own_key = key(line);
        let alike = |other: &&PublishedLine| other.engine == line.engine && key(other) == own_key;
        let in_all = |word: &str| {
            self.lines.iter().filter(alike).all(|other| other.settings.split(' ').any(|known| known == word))
        };
        let prefix = format!("{}_", line.engine);
        let words = line.settings.split(' ').filter(|word| !in_all(word));
        let words = words.map(|word| word.strip_prefix(&prefix).unwrap_or(word));
        let all = [line.engine.as_str(), &own_key].into_iter().chain(words);
        all.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// How the shown figures are to be read, each note once.
    fn notes(&self) -> Vec<String> {
        let mut out: Vec<String> = Vec::new();
        for beside in &self.beside {
            let line = &self.lines[beside.published];
            let note = format!("published {}: {}", self.name(line), line.notes);
            if !line.notes.is_empty() && !out.contains(&note) {
                out.push(note);
            }
        }
        out
    }

    /// Published lines that have nothing of the run beside them.
    fn missing(&self) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        for (place, line) in self.lines.iter().enumerate() {
            if self.beside.iter().all(|beside| beside.published != place) {
                let connections = line.connections.map_or_else(String::new, |count| format!(" c{count}"));
                let ops = line.ops.map_or_else(String::new, |ops| format!(" {} ops", human_rows(ops)));
                let word = format!("{}{connections}{ops} ({})", what(line), self.name(line));
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        (!words.is_empty()).then(|| format!("the run has nothing beside: {}", words.join("; ")))
    }

    /// One JSON object, with a line end.
    pub fn json(&self) -> String {
        let pairs = self.beside.iter().map(|beside| {
            let line = &self.lines[beside.published];
            JsonPair {
                published: line,
                published_per_sec: line.rate(),
                run_curve: &beside.curve,
                run_table_rows: beside.table_rows,
                run_ops: beside.ops,
                run_seconds_avg: beside.seconds_avg,
                run_per_sec: beside.per_second,
                ratio: beside.ratio,
            }
        });
        let shape = Json {
            v: SHAPE,
            published: &self.file,
            run: &self.run,
            warning: self.warning(),
            pairs: pairs.collect(),
            only_published: (0..self.lines.len())
                .filter(|place| self.beside.iter().all(|beside| beside.published != *place))
                .map(|place| &self.lines[place])
                .collect(),
        };
        let mut text = serde_json::to_string_pretty(&shape).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn what(line: &PublishedLine) -> &str {
    if line.is_load() { LOAD } else { &line.probe }
}

#[derive(Serialize)]
struct Json<'a> {
    v: u32,
    published: &'a str,
    run: &'a str,
    warning: String,
    pairs: Vec<JsonPair<'a>>,
    only_published: Vec<&'a PublishedLine>,
}

#[derive(Serialize)]
struct JsonPair<'a> {
    published: &'a PublishedLine,
    published_per_sec: Option<f64>,
    run_curve: &'a str,
    run_table_rows: u64,
    run_ops: Option<u64>,
    run_seconds_avg: Option<f64>,
    run_per_sec: f64,
    ratio: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison() -> PublishedComparison {
        let line = |connections, settings: &str| PublishedLine {
            source: "a post".into(),
            engine: "soliddb".into(),
            settings: settings.into(),
            server_version: "5.0.51".into(),
            probe: "mixed".into(),
            connections: Some(connections),
            ops: Some(1000),
            seconds_avg: Some(0.5),
            notes: "mysqlslap".into(),
            ..PublishedLine::default()
        };
        PublishedComparison {
            file: "p.csv".into(),
            run: "slap".into(),
            lines: vec![line(1, "soliddb_cache_size=256M level=3"), line(25, "level=3 warm")],
            beside: vec![Beside {
                published: 0,
                curve: "innodb autoinc".into(),
                table_rows: 100,
                ops: Some(1000),
                seconds_avg: Some(0.25),
                per_second: 4000.0,
                ratio: Some(2.0),
            }],
            machine: "box".into(),
            servers: vec!["10.11.6-MariaDB".into()],
            scaled: None,
        }
    }

    #[test]
    fn figures_stand_side_by_side_with_the_warning_below() {
        let text = comparison().text();
        let row = text.lines().find(|line| line.starts_with("mixed")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = "mixed 1 1k soliddb cache_size=256M 2.00k 0.500 s innodb autoinc 100 4.00k 0.250 s 2.00";
        assert_eq!(words.join(" "), expected);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "WARNING: machine, server and version differ: published of 5.0.51 on a machine that is not named; the run is of 10.11.6-MariaDB on box",
            "the run has nothing beside: mixed c25 1k ops (soliddb warm)",
            "published soliddb cache_size=256M: mysqlslap",
        ] {
            assert!(flat.contains(part), "no {part:?} in {text}");
        }
        let scaled = PublishedComparison { scaled: Some("scaled by 0.01".into()), ..comparison() };
        assert!(scaled.warning().ends_with("; and the run is scaled by 0.01"));
    }

    #[test]
    fn json_has_what_the_table_has() {
        let value: serde_json::Value = serde_json::from_str(&comparison().json()).unwrap();
        assert_eq!((&value["v"], &value["pairs"][0]["ratio"]), (&1.into(), &2.0.into()));
        assert_eq!(
            (&value["pairs"][0]["published_per_sec"], &value["pairs"][0]["run_per_sec"]),
            (&2000.0.into(), &4000.0.into())
        );
        assert_eq!(value["only_published"][0]["connections"], 25);
        assert_eq!(value["pairs"][0]["published"]["table_rows"], serde_json::Value::Null);
    }
}
