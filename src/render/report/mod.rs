//! The report people hand on: one HTML file with everything in it, which asks for nothing from anywhere.
//!
//! - [`data`]: what its pictures are drawn from, as JSON.
//! - [`answer`]: what came out, in sentences: which curve holds, which falls, where and how far.
//! - [`still`]: pictures as `plot` draws them.
//! - `style.css` and `report.js` go into the file as they are; the script draws the pictures and sorts the table.

pub mod answer;
pub mod data;
pub mod still;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::closing;
use super::columns::factor;
use super::pictures::PictureKind;
use super::probes;
use super::show::{curve_names, outcome_word, reason, version};
use super::table::Align;
use super::tables;
use crate::analyse::Curve;
use crate::reading::input::{Input, LoadedRun};
use crate::record::{Environment, Outcome, RunRecord, RunState};
use crate::units::{grouped, human_bytes, human_rate, human_rows, human_seconds};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("report.js");

/// What a report has beside what is in the runs.
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// Title; without one, what was compared.
    pub title: Option<String>,
    /// What came out, a sentence each.
    pub answer: Vec<String>,
    /// Cliffs with onset, factor and evidence; no such part of the report where nobody looked for them.
    pub cliffs: Option<Section>,
    /// What probes have found; no such part where there are none.
    pub probes: Option<Section>,
}

/// A part of the report that is made elsewhere: plain words, which are escaped here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// Sentences, a paragraph each.
    pub paragraphs: Vec<String>,
    /// What explains the table, in small letters before it.
    pub notes: Vec<String>,
    /// Titles of the columns of a table; no table when empty.
    pub header: Vec<String>,
    /// Where the cells of each column stand; all are words when empty.
    pub places: Vec<Align>,
    pub rows: Vec<Vec<String>>,
}

/// The report as a file.
pub fn report(input: &Input, options: &ReportOptions) -> String {
    let title = options.title.clone().unwrap_or_else(|| default_title(input));
    let measured = input.curves.iter().any(|curve| !curve.samples.is_empty());
    let mut body = String::new();
    head(&mut body, input, &title);
    list_answer(&mut body, &options.answer);
    if measured {
        pictures(&mut body, input);
    }
    curve_table(&mut body, input);
    if let Some(section) = &options.cliffs {
        part(&mut body, "cliffs", "Cliffs", section, "");
    }
    if let Some(section) = &options.probes {
        let charts = if measured { probe_charts(input) } else { String::new() };
        part(&mut body, "probes", "Probes", section, &charts);
    }
    incomplete(&mut body, input);
    settings(&mut body, input);
    environment(&mut body, input);
    repeat(&mut body, input);
    problems(&mut body, input);
    let json = if measured { data::json(input) } else { String::new() };
    let script = match measured {
        // A slash in a script's text may end it, and "<!--" may begin a comment: as JSON, < is written otherwise.
        true => format!(
            "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{SCRIPT}</script>\n",
            json.replace('<', "\\u003c")
        ),
        false => String::new(),
    };
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#curves\">To the table of curves</a>\n\
         <main>\n{body}</main>\n{script}</body>\n</html>\n",
        escaped(&title),
        if body.contains("class=\"still\"") { still::style() } else { String::new() }
    )
}

/// Text as text of HTML, in attributes too.
pub fn escaped(text: &str) -> String {
    super::text::printable(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn records(input: &Input) -> impl Iterator<Item = &RunRecord> {
    input.runs.iter().filter_map(|run| run.record.as_ref())
}

fn default_title(input: &Input) -> String {
    let distinct = |of: fn(&Curve) -> &String| {
        let mut found: Vec<&String> = Vec::new();
        for curve in &input.curves {
            if !found.contains(&of(curve)) && !of(curve).is_empty() {
                found.push(of(curve));
            }
        }
        found
    };
    let words = |found: Vec<&String>, many: &str| match found.len() {
        0 => String::new(),
        1..=4 => found.into_iter().map(String::as_str).collect::<Vec<_>>().join(", "),
        more => format!("{more} {many}"),
    };
    let engines = words(distinct(|curve| &curve.labels.engine), "engines");
    // The storage that goes without saying is not said.
    let keys = words(distinct(|curve| &curve.labels.key), "keys").replace(":binary16", "");
    format!("Bulk inserts as the table grows: {engines} with {keys}")
}

fn head(out: &mut String, input: &Input, title: &str) {
    let mut versions: BTreeSet<String> = BTreeSet::new();
    let mut hosts: BTreeSet<String> = BTreeSet::new();
    for record in records(input) {
        versions.extend(record.targets.values().map(|target| version(&target.flavour, &target.version)));
        hosts.extend(record.environment.host.clone());
    }
    let joined = |set: BTreeSet<String>| set.into_iter().collect::<Vec<_>>().join(", ");
    let measured = input.curves.iter().filter(|curve| !curve.samples.is_empty()).count();
    let batches: usize = input.curves.iter().map(|curve| curve.samples.len()).sum();
    let mut parts = vec![joined(versions)];
    let hosts = joined(hosts);
    if !hosts.is_empty() {
        parts.push(format!("on {hosts}"));
    }
    parts.push(format!("{measured} curves, {} batches", grouped(batches as u64)));
    parts.extend(records(input).next().map(|record| record.started_at.chars().take(10).collect::<String>()));
    parts.retain(|part| !part.is_empty());
    let _ = writeln!(
        out,
        "<header><div><h1>{}</h1><p class=\"sub\">{}</p></div><button type=\"button\" id=\"theme\">Light or dark</button></header>",
        escaped(title),
        escaped(&parts.join(" · "))
    );
    let mut warn = |text: &str| {
        let _ = writeln!(out, "<p class=\"warn\">{}</p>", escaped(text));
    };
    if records(input).any(|record| record.build_profile == "debug") {
        warn("Made with a debug build: these figures are not to be published.");
    }
    for run in &input.runs {
        if let Some(note) = run.record.as_ref().and_then(RunRecord::scale_note) {
            warn(&format!("{}: {note}.", run.label));
        }
        if let Some(note) = run.record.as_ref().and_then(RunRecord::values_note) {
            warn(&format!("{}: values: {note}.", run.label));
        }
        match run.record.as_ref().map(|record| record.state) {
            Some(RunState::Running) => warn(&format!("{}: the run has not ended, or could not say so.", run.label)),
            Some(RunState::Interrupted) => warn(&format!("{}: the run was interrupted.", run.label)),
            Some(RunState::Failed) => warn(&format!("{}: the run failed.", run.label)),
            Some(RunState::Finished) | None => {}
        }
    }
}

fn list_answer(out: &mut String, answer: &[String]) {
    if answer.is_empty() {
        return;
    }
    out.push_str("<section class=\"answer\" aria-labelledby=\"answer\">\n<h2 id=\"answer\" style=\"margin-top:0\">What came out</h2>\n<ul>\n");
    for sentence in answer {
        let _ = writeln!(out, "<li>{}</li>", escaped(sentence));
    }
    out.push_str("</ul>\n</section>\n");
}

fn pictures(out: &mut String, input: &Input) {
    out.push_str(
        "<section aria-labelledby=\"pictures\">\n<h2 id=\"pictures\">Pictures</h2>\n\
         <div class=\"controls\"><label>Against <select id=\"against\"><option value=\"rows\">rows in the table</option>\
         <option value=\"bytes\">size of the table</option><option value=\"time\">time spent loading</option></select></label>\
         <label><input type=\"checkbox\" id=\"log\"> logarithmic</label>\
         <button type=\"button\" id=\"all\">All curves on or off</button></div>\n\
         <ul class=\"legend\" id=\"legend\" aria-label=\"Curves, to switch on and off\"></ul>\n",
    );
    for (index, (kind, unit)) in data::kinds(input).into_iter().enumerate() {
        figure(out, index, kind, &unit);
    }
    for kind in PictureKind::USUAL {
        still::without_scripts(out, input, kind);
    }
    still::pictures(out, input);
    out.push_str("</section>\n");
}

/// A place for a picture that the script draws.
fn figure(out: &mut String, index: usize, kind: PictureKind, caption: &str) {
    let _ = writeln!(
        out,
        "<figure data-kind=\"{index}\"><figcaption><b>{}</b>{}</figcaption></figure>",
        escaped(kind.title(true)),
        escaped(caption)
    );
}

/// A cell of a table for people, with its value for sorting.
fn cell(out: &mut String, text: &str, value: Option<f64>) {
    let value = value.map_or_else(String::new, |value| value.to_string());
    let _ = write!(out, "<td class=\"n\" data-v=\"{value}\">{}</td>", escaped(text));
}

fn curve_table(out: &mut String, input: &Input) {
    out.push_str(
        "<section aria-labelledby=\"curves\">\n<h2 id=\"curves\">Curves</h2>\n\
         <p class=\"note\" id=\"columns\">start rows/s: rows per second while the table was small (the baseline); end rows/s: of the last three \
         batches; slowdown: last against first. A dash: not known.<span class=\"screen\"> The titles sort.</span></p>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"curves\">\n\
         <table class=\"sortable\" aria-describedby=\"columns\">\n<thead><tr>",
    );
    for (title, class) in [
        ("curve", ""),
        ("rows", "n"),
        ("start rows/s", "n"),
        ("end rows/s", "n"),
        ("slowdown", "n"),
        ("load time", "n"),
        ("table size", "n"),
        ("outcome", ""),
    ] {
        let _ = write!(out, "<th scope=\"col\" class=\"{class}\"><button type=\"button\">{title}</button></th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for (curve, name) in input.curves.iter().zip(curve_names(input)) {
        let speeds = answer::Speeds::of(&curve.factor());
        let bytes = curve.samples.last().and_then(|last| last.table_bytes());
        let measured = !curve.samples.is_empty();
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), human_rate);
        let _ = write!(out, "<tr><th scope=\"row\" title=\"{}\">{}</th>", escaped(&curve.name), escaped(&name));
        let rows = curve.table_rows();
        cell(out, &if measured { human_rows(rows) } else { "-".into() }, measured.then_some(rows as f64));
        cell(out, &rate(speeds.first), speeds.first);
        cell(out, &rate(speeds.last), speeds.last);
        cell(out, &factor(speeds.slowdown()), speeds.slowdown());
        let load = curve.load_seconds();
        cell(out, &if measured { human_seconds(load) } else { "-".into() }, measured.then_some(load));
        cell(out, &bytes.map_or_else(|| "-".into(), human_bytes), bytes.map(|bytes| bytes as f64));
        let outcome = input.outcome_of(curve).map_or("-", outcome_word);
        let _ = writeln!(out, "<td>{outcome}</td></tr>");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    if let Some(closing) = closing::sentence(input) {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(&closing));
    }
    out.push_str("</section>\n");
}

/// A part that was made elsewhere: its sentences, its pictures, its table.
fn part(out: &mut String, id: &str, title: &str, section: &Section, pictures: &str) {
    let _ = writeln!(out, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>");
    for paragraph in &section.paragraphs {
        let _ = writeln!(out, "<p>{}</p>", escaped(paragraph));
    }
    out.push_str(pictures);
    for note in &section.notes {
        let _ = writeln!(out, "<p class=\"note\">{}</p>", escaped(note));
    }
    if !section.header.is_empty() {
        table_of(out, &section.header, &section.places, &section.rows);
    }
    out.push_str("</section>\n");
}

/// The pictures of probes: drawn by the script as the others, and still where there are no scripts.
fn probe_charts(input: &Input) -> String {
    let mut out = String::new();
    let first = data::kinds(input).len();
    for (index, (kind, caption)) in (first..).zip(probes::data::captions(input)) {
        figure(&mut out, index, kind, &caption);
        still::without_scripts(&mut out, input, kind);
    }
    out
}

fn table(out: &mut String, header: &[String], rows: &[Vec<String>]) {
    table_of(out, header, &[], rows);
}

fn table_of(out: &mut String, header: &[String], places: &[Align], rows: &[Vec<String>]) {
    let class = |column: usize| match places.get(column) {
        None => "words",
        Some(Align::Left) => "short",
        Some(Align::Right) => "n",
    };
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    for (column, title) in header.iter().enumerate() {
        let class = if class(column) == "n" { " class=\"n\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escaped(title));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (column, text) in row.iter().enumerate() {
            let class = match class(column) {
                // A long name may be broken into lines.
                "short" if text.chars().count() > 20 => "words",
                class => class,
            };
            let _ = write!(out, "<td class=\"{class}\">{}</td>", escaped(text));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table></div>\n");
}

/// Curves that were skipped, failed or ended early, with the reason.
fn incomplete(out: &mut String, input: &Input) {
    let rows: Vec<Vec<String>> = input
        .curves
        .iter()
        .zip(curve_names(input))
        .filter_map(|(curve, name)| {
            let outcome = input.outcome_of(curve)?;
            let why = match outcome {
                Outcome::Completed => return None,
                other => reason(other).unwrap_or_else(|| outcome_word(other).to_owned()),
            };
            Some(vec![name, why])
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"incomplete\">\n<h2 id=\"incomplete\">Curves that did not complete</h2>\n");
    table(out, &["curve".into(), "why".into()], &rows);
    out.push_str("</section>\n");
}

/// What differs between curves, and what all share: the labels, and the variables that were read back.
fn settings(out: &mut String, input: &Input) {
    let tables = tables::lines(&tables::of_input(input), false);
    let names = curve_names(input);
    let mut columns: Vec<(String, Vec<String>)> = vec![
        ("target".into(), values(input, |curve| curve.labels.target.clone())),
        ("engine".into(), values(input, |curve| curve.labels.engine.clone())),
        ("key".into(), values(input, |curve| curve.labels.key.clone())),
        ("flush".into(), values(input, |curve| curve.labels.flush.clone())),
        ("flush in force".into(), values(input, |curve| curve.labels.flush_in_force.clone())),
        ("settings".into(), values(input, |curve| varied(&curve.labels.settings))),
        ("method".into(), values(input, |curve| curve.labels.method.clone())),
        ("connections".into(), values(input, |curve| count(curve.labels.connections.into()))),
        ("rows per statement".into(), values(input, |curve| count(curve.labels.statement_rows))),
        ("rows per commit".into(), values(input, |curve| count(curve.labels.commit_rows))),
    ];
    let variables: BTreeSet<&String> = input
        .curves
        .iter()
        .filter_map(|curve| input.record_of(curve))
        .flat_map(|record| record.variables.keys())
        .collect();
    for variable in variables {
        // Differs with every curve, and says nothing about it.
        if variable != "datadir" {
            let of = |curve: &Curve| input.record_of(curve).and_then(|record| record.variables.get(variable)).cloned();
            columns.push((variable.clone(), values(input, |curve| of(curve).unwrap_or_default())));
        }
    }
    let differs = |values: &[String]| {
        let known: BTreeSet<&String> = values.iter().filter(|value| !value.is_empty()).collect();
        known.len() > 1
    };
    out.push_str("<section aria-labelledby=\"settings\">\n<h2 id=\"settings\">Settings</h2>\n");
    for (table, keys) in &tables {
        let keys: String = keys.iter().map(|key| format!("<li>{}</li>", escaped(key))).collect();
        let _ = writeln!(out, "<p>{}</p>\n<ul>{keys}</ul>", escaped(table));
    }
    let different: Vec<&(String, Vec<String>)> = columns.iter().filter(|(_, values)| differs(values)).collect();
    if !different.is_empty() {
        out.push_str("<h3>What differs</h3>\n");
        let rows: Vec<Vec<String>> =
            different.iter().map(|(name, values)| vec![name.clone(), by_value(values, &names)]).collect();
        table(out, &["setting".into(), "values, and the curves that have them".into()], &rows);
    }
    out.push_str("<h3>What is the same for all curves</h3>\n<dl>\n");
    for (name, values) in columns.iter().filter(|(_, values)| !differs(values)) {
        if let Some(value) = values.iter().find(|value| !value.is_empty()) {
            definition(out, name, value);
        }
    }
    out.push_str("</dl>\n</section>\n");
}

fn values(input: &Input, of: impl Fn(&Curve) -> String) -> Vec<String> {
    input.curves.iter().map(of).collect()
}

/// Nothing varied is a setting too, where others are.
fn varied(settings: &str) -> String {
    if settings.is_empty() { "none varied".into() } else { settings.to_owned() }
}

/// A number of the labels; there is no such thing as 0 of them, so that it is not known.
fn count(number: u64) -> String {
    if number == 0 { String::new() } else { grouped(number) }
}

/// `1: innodb autoinc, innodb uuid4; 2: ...`, the curves counted where they are many.
fn by_value(values: &[String], names: &[String]) -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (value, name) in values.iter().zip(names).filter(|(value, _)| !value.is_empty()) {
        groups.entry(value).or_default().push(name);
    }
    let words = |(value, names): (&str, Vec<&str>)| match names.len() {
        0..=6 => format!("{value}: {}", names.join(", ")),
        more => format!("{value}: {more} curves"),
    };
    groups.into_iter().map(words).collect::<Vec<_>>().join("; ")
}

fn definition(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
}

fn environment(out: &mut String, input: &Input) {
    let runs: Vec<(&LoadedRun, &RunRecord)> =
        input.runs.iter().filter_map(|run| Some((run, run.record.as_ref()?))).collect();
    if runs.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"environment\">\n<h2 id=\"environment\">Environment</h2>\n");
    for (run, record) in &runs {
        if runs.len() > 1 {
            let _ = writeln!(out, "<h3>{}</h3>", escaped(&run.label));
        }
        out.push_str("<dl>\n");
        machine(out, &record.environment);
        for (label, target) in &record.targets {
            definition(out, label, &version(&target.flavour, &target.version));
            for note in &target.notes {
                definition(out, "note", note);
            }
        }
        for note in &record.environment.notes {
            definition(out, "note", note);
        }
        definition(out, "rowcliff", &format!("{} ({} build)", record.program_version, record.build_profile));
        definition(out, "started", &record.started_at);
        definition(out, "finished", record.finished_at.as_deref().unwrap_or("not yet"));
        out.push_str("</dl>\n");
    }
    out.push_str("</section>\n");
}

fn machine(out: &mut String, environment: &Environment) {
    let facts: [(&str, Option<String>); 17] = [
        ("host", environment.host.clone()),
        ("kernel", environment.kernel.clone()),
        ("CPU", environment.cpu_model.clone()),
        ("cores", environment.cpu_cores.map(|cores| cores.to_string())),
        ("CPU governor", environment.cpu_governor.clone()),
        ("memory", environment.memory_bytes.map(human_bytes)),
        ("memory limit of the control group", environment.cgroup_memory_bytes.map(human_bytes)),
        ("CPU limit of the control group", environment.cgroup_cpu_cores.map(|cores| format!("{cores} cores"))),
        ("threads that encode rows", environment.encode_threads.map(|threads| threads.to_string())),
        ("virtualisation", environment.virtualisation.clone()),
        ("file system of the data", environment.file_system.clone()),
        ("mount options", environment.mount_options.clone()),
        ("device", environment.device.clone()),
        ("scheduler of the device", environment.device_scheduler.clone()),
        ("rotating device", environment.device_rotational.map(|rotates| if rotates { "yes" } else { "no" }.into())),
        (
            "latency of a sync",
            environment.sync_probe.map(|probe| {
                let seconds = |micros: u64| human_seconds(micros as f64 / 1e6);
                format!("median {}, p99 {}", seconds(probe.median_us), seconds(probe.p99_us))
            }),
        ),
        ("load average before the run", environment.load_average_1m.map(|load| format!("{load:.2}"))),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            definition(out, name, &value);
        }
    }
}

/// The command lines, and the tables as they were made.
fn repeat(out: &mut String, input: &Input) {
    if records(input).next().is_none() {
        return;
    }
    out.push_str("<section aria-labelledby=\"repeat\">\n<h2 id=\"repeat\">How to repeat it</h2>\n");
    for (run, record) in input.runs.iter().filter_map(|run| Some((run, run.record.as_ref()?))) {
        let _ = writeln!(
            out,
            "<h3>{}</h3>\n<pre>{}</pre>",
            escaped(&run.label),
            escaped(&command_line(&record.command_line))
        );
        for later in &record.resumed_by {
            let _ = writeln!(
                out,
                "<p class=\"note\">went on {}:</p>\n<pre>{}</pre>",
                escaped(&later.at),
                escaped(&command_line(&later.command_line))
            );
        }
    }
    let mut made: Vec<(String, &str)> = Vec::new();
    for (curve, name) in input.curves.iter().zip(curve_names(input)) {
        let Some(sql) = input.record_of(curve).and_then(|record| record.create_table.as_deref()) else { continue };
        // The names of the tables differ, and nothing else does as a rule.
        if !made.iter().any(|(_, other)| after_name(other) == after_name(sql)) {
            made.push((name, sql));
        }
    }
    for (name, sql) in made.iter().take(8) {
        let _ =
            writeln!(out, "<p class=\"note\">The table of {}:</p>\n<pre>{}</pre>", escaped(name), lines_escaped(sql));
    }
    out.push_str("<p class=\"note\">The figures are in batches.csv of the run, a line for each batch; the rows are a function of the seed.</p>\n</section>\n");
}

/// Words as a shell takes them.
fn command_line(words: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:,=@+%".contains(&byte))
    };
    let quoted = |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn after_name(sql: &str) -> &str {
    let body = sql.split_once('(').map_or(sql, |(_, rest)| rest);
    body.rsplit_once("COMMENT=").map_or(body, |(before, _)| before)
}

/// Escaped, but with its lines.
fn lines_escaped(text: &str) -> String {
    text.lines().map(escaped).collect::<Vec<_>>().join("\n")
}

fn problems(out: &mut String, input: &Input) {
    if input.problems.is_empty() {
        return;
    }
    out.push_str("<section aria-labelledby=\"left-out\">\n<h2 id=\"left-out\">What was left out or looks odd</h2>\n");
    for problem in &input.problems {
        let _ = writeln!(out, "<p>{}</p>", escaped(problem));
    }
    out.push_str("</section>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse::{RunSamples, group};
    use crate::record::Sample;
    use crate::record::test_support::run_record;

    fn input(name: &str, batches: u64) -> Input {
        let samples: Vec<Sample> = (1..=batches)
            .map(|batch| Sample {
                curve: name.into(),
                engine: name.into(),
                key: "uuid4".into(),
                batch,
                rows: 100_000,
                table_rows: batch * 100_000,
                seconds: if batch < 10 { 1.0 } else { 8.0 },
                ..Sample::default()
            })
            .collect();
        let mut record = run_record(&[name, "skipped one"]);
        record.command_line = vec!["rowcliff".into(), "run".into(), "--vary".into(), name.into()];
        record.curves[1].outcome = Outcome::Skipped { why: "no <plugin> & no privilege".into(), environment: true };
        record.curves[0].create_table = Some("CREATE TABLE `x` (\n  `a` int\n) COMMENT='</pre><b>'".into());
        let run = LoadedRun { label: "r".into(), path: "r".into(), record: Some(record) };
        let mut input = Input { runs: vec![run], ..Input::default() };
        input.curves = group(&[RunSamples { run: "r".into(), samples }]).curves;
        let unmeasured = input.runs[0].record.as_ref().unwrap().curves[1].clone();
        input.curves.push(Curve {
            name: unmeasured.curve.clone(),
            run: "r".into(),
            labels: crate::analyse::Labels::from(&unmeasured),
            repeat: 1,
            samples: Vec::new(),
        });
        input
    }

    #[test]
    fn words_of_users_are_text_wherever_they_stand() {
        let odd = "</script><script>alert('x')</script>&\"<!--";
        let options = ReportOptions {
            title: Some(odd.into()),
            cliffs: Some(Section {
                paragraphs: vec![odd.into()],
                header: vec![odd.into()],
                rows: vec![vec![odd.into()]],
                ..Section::default()
            }),
            probes: None,
            answer: vec![odd.into()],
        };
        let html = report(&input(odd, 20), &options);
        // The script of the data, that of the pictures, and no other; both end once.
        assert_eq!(html.matches("<script").count(), 2, "{html}");
        assert_eq!(html.matches("</script").count(), 2);
        assert!(!html.contains("<script>alert") && !html.contains("<b>'") && !html.contains("<!--"));
        assert!(html.contains("no &lt;plugin&gt; &amp; no privilege"));
        assert!(html.contains("rowcliff run --vary &#39;&lt;/script&gt;"));
    }

    #[test]
    fn nothing_is_asked_from_anywhere() {
        let html = report(&input("innodb", 20), &ReportOptions::default());
        let without = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!without.contains("http:") && !without.contains("https:") && !without.contains(" src="), "{without}");
        assert!(html.contains("default-src 'none'"));
        assert!(!html.contains("id=\"cliffs\"") && !html.contains("id=\"probes\""));
    }

    #[test]
    fn a_run_without_batches_has_a_report_too() {
        let empty = input("innodb", 0);
        let html =
            report(&empty, &ReportOptions { answer: answer::sentences(&empty, &[]), ..ReportOptions::default() });
        assert!(html.contains("no &lt;plugin&gt;") && !html.contains("<script"));
        assert!(html.contains("Nothing was measured."));
        assert!(report(&Input::default(), &ReportOptions::default()).contains("</html>"));
    }

    #[test]
    fn closing_work_stands_below_the_table() {
        let mut input = input("innodb", 20);
        assert!(!report(&input, &ReportOptions::default()).contains("closing work"));
        input.runs[0].record.as_mut().unwrap().curves[0].closing_seconds = Some(97.0);
        let html = report(&input, &ReportOptions::default());
        assert!(html.contains("1m37s (50%)</p>\n</section>"), "{html}");
    }

    #[test]
    fn the_table_has_values_to_sort_by() {
        let html = report(&input("innodb", 20), &ReportOptions::default());
        assert!(html.contains("data-v=\"2000000\">2M</td>"), "{html}");
        assert!(html.contains("data-v=\"8\">8.00x</td>") || html.contains("data-v=\"8\">"), "{html}");
        // What is not known has no value.
        assert!(html.contains("<td class=\"n\" data-v=\"\">-</td>"));
    }

    #[test]
    fn settings_are_grouped_by_value() {
        let names: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        let values: Vec<String> = ["1", "2", "1"].map(str::to_owned).to_vec();
        assert_eq!(by_value(&values, &names), "1: a, c; 2: b");
    }
}
