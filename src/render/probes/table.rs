//! The summaries of probes as tables, CSV and JSON: one list of columns, so that all show the same figures.

use std::collections::BTreeSet;

use crate::analyse::probes::summaries;
use crate::analyse::{Curve, ProbeLoad, ProbeSummary};
use crate::reading::input::Input;
use crate::record::probe::{LOOKED_UP, UNCHECKED};
use crate::render::columns::{Cell, UNKNOWN, milliseconds};
use crate::render::show::{ShowOptions, curve_names, heading, paragraph};
use crate::render::table::{Align, Table};
use crate::units::{grouped, human_rows};

/// Sizes of the table for each curve unless all are asked for: as many as there are unless `--probe-every` or `--probe-at` says otherwise.
const SIZES: usize = 10;

/// Lines of the table of a report, about.
const REPORT_LINES: usize = 80;

/// A line: a curve, and a load at one size of its table.
type Line<'a> = (&'a Curve, &'a ProbeSummary);

/// Who sees a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Always,
    /// People have it in the heading.
    Machines,
    /// With one iteration everywhere it repeats another column.
    Several,
}

struct Column {
    /// Its name in CSV and JSON, with its unit.
    name: &'static str,
    /// Its title in a table.
    title: &'static str,
    align: Align,
    seen: Seen,
    get: fn(&Line<'_>) -> Cell,
    text: fn(&Cell) -> String,
}

impl Column {
    const fn new(
        name: &'static str,
        title: &'static str,
        seen: Seen,
        get: fn(&Line<'_>) -> Cell,
        text: fn(&Cell) -> String,
    ) -> Self {
        Self { name, title, align: Align::Right, seen, get, text }
    }

    const fn left(self) -> Self {
        Self { align: Align::Left, ..self }
    }
}

const COLUMNS: [Column; 16] = [
    Column::new("run", "run", Seen::Machines, |(curve, _)| Cell::Word(curve.run.clone()), plain),
    Column::new("curve", "curve", Seen::Machines, |(curve, _)| Cell::Word(curve.name.clone()), plain),
    Column::new("table_rows", "rows in table", Seen::Always, |(_, one)| Cell::Whole(one.table_rows), rows),
    Column::new("probe", "probe", Seen::Always, |(_, one)| Cell::Word(one.load.probe.clone()), plain).left(),
    Column::new("connections", "conns", Seen::Always, |(_, one)| Cell::Whole(one.load.connections.into()), plain),
    Column::new("iterations", "iters", Seen::Several, |(_, one)| Cell::Whole(one.iterations.into()), plain),
    Column::new("ops", "ops", Seen::Always, |(_, one)| Cell::Whole(one.ops_each()), plain),
    Column::new("avg_seconds", "avg s", Seen::Always, |(_, one)| seconds(one.average_seconds()), three_decimals),
    Column::new("min_seconds", "min s", Seen::Several, |(_, one)| seconds(one.min_seconds), three_decimals),
    Column::new("max_seconds", "max s", Seen::Several, |(_, one)| seconds(one.max_seconds), three_decimals),
    Column::new("ops_per_sec", "ops/s", Seen::Always, |(_, one)| Cell::real(one.ops_per_sec()), two_decimals),
    Column::new("p50_us", "p50 ms", Seen::Always, |(_, one)| Cell::whole(one.p50_us), milliseconds),
    Column::new("p99_us", "p99 ms", Seen::Always, |(_, one)| Cell::whole(one.p99_us), milliseconds),
    Column::new("max_us", "max ms", Seen::Always, |(_, one)| Cell::whole(one.max_us), milliseconds),
    Column::new("errors", "errors", Seen::Always, |(_, one)| Cell::Whole(one.errors), plain),
    Column::new("notes", "notes", Seen::Machines, |(_, one)| Cell::Word(one.notes.join(" ")), plain),
];

/// A billionth is more than a clock tells; what adding leaves behind is not shown.
fn seconds(value: f64) -> Cell {
    Cell::real(Some((value * 1e9).round() / 1e9))
}

fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Unknown => UNKNOWN.into(),
        Cell::Whole(number) => grouped(*number),
        other => other.csv(),
    }
}

fn rows(cell: &Cell) -> String {
    if let Cell::Whole(rows) = cell { human_rows(*rows) } else { plain(cell) }
}

/// As mysqlslap writes seconds.
fn three_decimals(cell: &Cell) -> String {
    if let Cell::Real(seconds) = cell { format!("{seconds:.3}") } else { plain(cell) }
}

/// As sysbench writes rates.
fn two_decimals(cell: &Cell) -> String {
    if let Cell::Real(rate) = cell { format!("{rate:.2}") } else { plain(cell) }
}

/// What stands in a table for people: titles with their places, and cells.
pub struct ForPeople {
    pub header: Vec<(&'static str, Align)>,
    pub rows: Vec<Vec<String>>,
}

/// The lines of a curve for people, at so many sizes of its table. `several`: whether there is more than one iteration anywhere.
fn for_people(curve: &Curve, found: &[&ProbeSummary], several: bool) -> ForPeople {
    let columns = || {
        COLUMNS.iter().filter(move |column| match column.seen {
            Seen::Always => true,
            Seen::Machines => false,
            Seen::Several => several,
        })
    };
    let cells = |one: &&ProbeSummary| columns().map(|column| (column.text)(&(column.get)(&(curve, one)))).collect();
    ForPeople {
        header: columns().map(|column| (column.title, column.align)).collect(),
        rows: found.iter().map(cells).collect(),
    }
}

/// Which sizes of the table are shown: at most so many, the first, the last and some between; and how many are not. `most` is 2 or more.
fn chosen(found: &[ProbeSummary], most: usize) -> (BTreeSet<u64>, usize) {
    let sizes: Vec<u64> = found.iter().map(|one| one.table_rows).collect::<BTreeSet<_>>().into_iter().collect();
    if sizes.len() <= most {
        return (sizes.iter().copied().collect(), 0);
    }
    let shown: BTreeSet<u64> = (0..most).map(|step| sizes[step * (sizes.len() - 1) / (most - 1)]).collect();
    let left_out = sizes.len() - shown.len();
    (shown, left_out)
}

/// One load after the other, each by the size of the table: that is how a fall is read.
fn by_load<'a>(found: &'a [ProbeSummary], sizes: &BTreeSet<u64>) -> Vec<&'a ProbeSummary> {
    let mut loads: Vec<&ProbeLoad> = Vec::new();
    for one in found {
        if !loads.contains(&&one.load) {
            loads.push(&one.load);
        }
    }
    let of_load =
        |load: &'a ProbeLoad| found.iter().filter(move |one| one.load == *load && sizes.contains(&one.table_rows));
    loads.into_iter().flat_map(of_load).collect()
}

/// The tables of all curves that have probes, and what their columns mean.
pub fn text(input: &Input, options: ShowOptions) -> String {
    let names = curve_names(input);
    let mut parts = Vec::new();
    let of_curves: Vec<(&Curve, &String, Vec<ProbeSummary>)> = input
        .curves
        .iter()
        .zip(&names)
        .map(|(curve, name)| (curve, name, summaries(input.probes_of(curve))))
        .filter(|(.., found)| !found.is_empty())
        .collect();
    let several = of_curves.iter().any(|(.., found)| found.iter().any(|one| one.iterations > 1));
    for (curve, name, found) in &of_curves {
        let (sizes, left_out) = chosen(found, if options.all { usize::MAX } else { SIZES });
        let shown = by_load(found, &sizes);
        let people = for_people(curve, &shown, several);
        let mut table = Table::new(&people.header);
        people.rows.into_iter().for_each(|row| table.row(row));
        let (between, body) = match options.markdown {
            true => ("\n\n", table.render_markdown()),
            false => ("\n", table.render()),
        };
        let mut part = format!("{}{between}{body}", heading(name, curve));
        if left_out > 0 {
            let before = if options.markdown { "\n" } else { "" };
            part.push_str(&format!(
                "{before}… {left_out} of {} sizes left out; --all shows them …\n",
                sizes.len() + left_out
            ));
        }
        parts.push(part);
    }
    let mut words = vec![meaning(several)];
    words.extend(remarks(input));
    parts.push(paragraph(&words.join(" "), ""));
    parts.join("\n")
}

/// What the columns mean, as far as their titles do not say it.
pub fn meaning(several: bool) -> String {
    let of_several = if several {
        "avg, min, max s: seconds of an iteration; ops/s: all operations over all seconds; p50: the median of the iterations; p99, max ms: of \
         the worst iteration; "
    } else {
        "avg s: seconds of an iteration, of which there is one; p50, p99, max ms: of an operation; "
    };
    format!(
        "conns: connections that shared the ops of an iteration; {of_several}errors: transactions that were done again; -: not known."
    )
}

/// What the notes of the iterations say of how the figures came about, a sentence for each that stands somewhere.
pub fn remarks(input: &Input) -> Vec<String> {
    let meanings = [
        (UNCHECKED, "only ids were compared: nothing in the table tells which row an id is"),
        (
            LOOKED_UP,
            "the ids of the rows were looked up before the first iteration, which may have brought pages into the cache",
        ),
    ];
    let of = |word: &str| {
        let probes: BTreeSet<&str> = input
            .curves
            .iter()
            .flat_map(|curve| input.probes_of(curve))
            .filter(|line| line.has_note(word))
            .map(|line| line.probe.as_str())
            .collect();
        probes.into_iter().collect::<Vec<_>>().join(", ")
    };
    let sentence = |(word, meaning): (&str, &str)| {
        let probes = of(word);
        (!probes.is_empty()).then(|| format!("{word} ({probes}): {meaning}."))
    };
    meanings.into_iter().filter_map(sentence).collect()
}

/// One table of all curves for the report: the name of the curve before each line.
pub fn for_report(input: &Input) -> (ForPeople, usize) {
    let found: Vec<(&Curve, String, Vec<ProbeSummary>)> = input
        .curves
        .iter()
        .zip(curve_names(input))
        .map(|(curve, name)| (curve, name, summaries(input.probes_of(curve))))
        .filter(|(.., found)| !found.is_empty())
        .collect();
    let several = found.iter().any(|(.., all)| all.iter().any(|one| one.iterations > 1));
    let named = found.len() > 1;
    // Many loads have the smallest and the largest table and what fits between them.
    let loads: usize =
        found.iter().map(|(.., all)| all.iter().filter(|one| one.table_rows == all[0].table_rows).count()).sum();
    let most = (REPORT_LINES / loads.max(1)).clamp(2, SIZES);
    let mut out = ForPeople { header: Vec::new(), rows: Vec::new() };
    let mut most_left_out = 0;
    for (curve, name, all) in &found {
        let (sizes, left_out) = chosen(all, most);
        most_left_out = most_left_out.max(left_out);
        let shown = by_load(all, &sizes);
        let mut people = for_people(curve, &shown, several);
        if named {
            people.header.insert(0, ("curve", Align::Left));
            people.rows.iter_mut().for_each(|row| row.insert(0, name.clone()));
        }
        out.header = people.header;
        out.rows.append(&mut people.rows);
    }
    (out, most_left_out)
}

fn machine_lines(input: &Input) -> Vec<(&Curve, ProbeSummary)> {
    let of_curve = |curve| summaries(input.probes_of(curve)).into_iter().map(move |one| (curve, one));
    input.curves.iter().flat_map(of_curve).collect()
}

/// A line for each summary, with a header. A figure that is not known is empty.
pub fn csv(input: &Input) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory does not fail.
    let _ = writer.write_record(COLUMNS.iter().map(|column| column.name));
    for (curve, one) in machine_lines(input) {
        let _ = writer.write_record(COLUMNS.iter().map(|column| (column.get)(&(curve, &one)).csv()));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// An array of objects, one for each summary, a line each. A figure that is not known is null.
pub fn json(input: &Input) -> String {
    let object = |(curve, one): (&Curve, ProbeSummary)| {
        let field = |column: &Column| {
            format!("{}:{}", serde_json::Value::from(column.name), (column.get)(&(curve, &one)).json())
        };
        format!("{{{}}}", COLUMNS.iter().map(field).collect::<Vec<_>>().join(","))
    };
    let lines: Vec<String> = machine_lines(input).into_iter().map(object).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::super::test_input::{input, line};
    use super::*;

    #[test]
    fn how_figures_came_about_is_said_where_it_matters() {
        let mut lines = vec![line("a", 1, "oltp", 8, 1, 0.5), line("a", 1, "select-pk", 8, 1, 0.5)];
        assert_eq!(remarks(&input(&["a"], lines.clone())), Vec::<String>::new());
        (lines[0].notes, lines[1].notes) = ("looked-up timed".into(), "unchecked".into());
        let found = remarks(&input(&["a"], lines.clone()));
        assert_eq!(found.len(), 2);
        assert!(
            found[0].starts_with("unchecked (select-pk): ") && found[1].starts_with("looked-up (oltp): "),
            "{found:?}"
        );
        assert!(text(&input(&["a"], lines), ShowOptions::default()).contains("looked-up (oltp)"));
    }

    #[test]
    fn people_see_seconds_of_mysqlslap_and_rates_of_sysbench() {
        let input = input(
            &["uuid4"],
            vec![
                line("uuid4", 1, "select-pk", 8, 1, 0.021),
                line("uuid4", 1, "select-pk", 8, 2, 0.0303),
                line("uuid4", 10, "select-pk", 8, 1, 1.5),
                line("uuid4", 10, "oltp", 1, 1, 0.0),
            ],
        );
        let text = text(&input, ShowOptions::default());
        let lines: Vec<&str> = text.lines().collect();
        let words = |at: usize| lines[at].split_whitespace().collect::<Vec<_>>();
        assert!(lines[0].starts_with("innodb uuid4"), "{text}");
        assert_eq!(lines[2].split("  ").map(str::trim).filter(|word| !word.is_empty()).count(), 13, "{text}");
        assert_eq!(
            words(3),
            [
                "100k",
                "select-pk",
                "8",
                "2",
                "1,000",
                "0.026",
                "0.021",
                "0.030",
                "38986.35",
                "0.120",
                "1.31",
                "24.0",
                "0"
            ]
        );
        assert_eq!(words(4)[..6], ["1M", "select-pk", "8", "1", "1,000", "1.500"]);
        assert_eq!(words(5)[8], "-", "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 110), "{text}");
        let markdown = super::text(&input, ShowOptions { markdown: true, ..ShowOptions::default() });
        assert!(
            markdown.contains("| ---: | --- | ---: |") && markdown.contains("| 100k | select-pk | 8 |"),
            "{markdown}"
        );
    }

    #[test]
    fn one_iteration_is_not_shown_three_times_and_many_sizes_not_at_all() {
        let lines = (1..=10).flat_map(|at| [line("a", at, "insert", 1, 1, 0.5), line("a", at, "oltp", 1, 1, 0.5)]);
        let mut all: Vec<_> = lines.collect();
        for extra in 11..=25 {
            all.push(line("a", extra, "insert", 1, 1, 0.5));
        }
        let input = input(&["a"], all);
        let short = text(&input, ShowOptions::default());
        assert!(!short.contains("min s") && !short.contains("iters"), "{short}");
        assert!(short.contains("15 of 25 sizes left out; --all"), "{short}");
        assert!(short.contains("\n         100k  insert") && short.contains("\n         2.5M  insert"), "{short}");
        let long = text(&input, ShowOptions { all: true, ..ShowOptions::default() });
        assert_eq!(long.matches("  insert  ").count(), 25);
        assert_eq!(csv(&input).lines().count(), 36);
    }

    #[test]
    fn machines_get_every_summary_and_unknown_is_empty() {
        let mut odd = line("a", 1, "range-pk", 2, 1, 0.0);
        (odd.p50_us, odd.p99_us, odd.max_us, odd.notes) = (None, None, None, "looked-up timed".into());
        let input =
            input(&["a", "b"], vec![line("b", 2, "select-pk", 1, 1, 0.1), odd, line("b", 2, "select-pk", 1, 2, 0.2)]);
        assert_eq!(
            csv(&input),
            "run,curve,table_rows,probe,connections,iterations,ops,avg_seconds,min_seconds,max_seconds,ops_per_sec,p50_us,p99_us,\
             max_us,errors,notes\n\
             r,a,100000,range-pk,2,1,1000,0,0,0,,,,,0,looked-up timed\n\
             r,b,200000,select-pk,1,2,1000,0.15,0.1,0.2,6666.666666666666,120,1310,24000,0,\n"
        );
        let parsed: serde_json::Value = serde_json::from_str(&json(&input)).unwrap();
        assert_eq!((parsed.as_array().unwrap().len(), &parsed[1]["iterations"]), (2, &2.into()));
        assert!(parsed[0]["ops_per_sec"].is_null() && parsed[0]["p99_us"].is_null());
        assert_eq!(json(&Input::default()), "[\n\n]\n");
    }
}
