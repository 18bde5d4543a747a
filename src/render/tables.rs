//! The tables that were loaded: columns, indexes, and what a row took.

use super::show::{curve_names, paragraph};
use crate::reading::input::Input;
use crate::record::{CurveRecord, RunRecord};
use crate::schema::Layout;
use crate::units::grouped;

/// Curves that are named one by one; more of them are counted.
const NAMED: usize = 4;

/// A table of a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct TableOf {
    /// What the curve is called.
    pub name: String,
    pub engine: String,
    /// Its columns and indexes.
    pub layout: Layout,
    /// Whether its indexes are known.
    pub has_indexes: bool,
    /// Data and indexes, for a row.
    pub row_bytes: Option<f64>,
}

/// Whether the record of a curve tells the indexes of its table: on SQLite it once had CREATE TABLE alone.
pub fn tells_indexes(run: Option<&RunRecord>, sql: &str) -> bool {
    let names_tables = run.is_some_and(|run| !run.plan["curves"][0]["cell"]["tables"].is_null());
    names_tables || sql.contains("ENGINE=")
}

/// The table of a curve as its record has it, once it was made.
pub fn layout_of(record: &CurveRecord) -> Option<Layout> {
    Layout::of(record.create_table.as_deref()?)
}

/// The tables of all curves, as they are recorded and as large as they were at their last sample that tells it.
pub fn of_input(input: &Input) -> Vec<TableOf> {
    let of_curve = |(curve, name): (&crate::analyse::Curve, String)| {
        let record = input.record_of(curve)?;
        let run = input.runs.iter().find(|run| run.label == curve.run).and_then(|run| run.record.as_ref());
        let known = |sample: &&crate::record::Sample| sample.data_bytes.is_some() && sample.table_rows > 0;
        let row_bytes = curve
            .samples
            .iter()
            .rev()
            .find(known)
            .and_then(|sample| Some(sample.table_bytes()? as f64 / sample.table_rows as f64));
        Some(TableOf {
            name,
            engine: curve.labels.engine.clone(),
            layout: layout_of(record)?,
            has_indexes: tells_indexes(run, record.create_table.as_deref()?),
            row_bytes,
        })
    };
    input.curves.iter().zip(curve_names(input)).filter_map(of_curve).collect()
}

/// Tables that are the same beside their keys, by key and engine.
struct Group<'a> {
    words: String,
    keys: Vec<(String, Vec<&'a TableOf>)>,
}

/// A line for each table beside its key, with a line below it for each key on each engine. `estimated` says that bytes were not measured here.
pub fn lines(tables: &[TableOf], estimated: bool) -> Vec<(String, Vec<String>)> {
    let mut out: Vec<Group<'_>> = Vec::new();
    for table in tables {
        let key = if table.layout.key.is_empty() { "" } else { "a key, " };
        let mut words = format!("{key}{}", table.layout.beside_the_key());
        if !table.has_indexes {
            words.push_str("; further indexes are not recorded");
        }
        let at = out.iter().position(|group| group.words == words).unwrap_or_else(|| {
            out.push(Group { words, keys: Vec::new() });
            out.len() - 1
        });
        let keys = &mut out[at].keys;
        let key = table.layout.key.join(", ");
        match keys.iter_mut().find(|(known, tables)| *known == key && tables[0].engine == table.engine) {
            Some((_, tables)) => tables.push(table),
            None => keys.push((key, vec![table])),
        }
    }
    let of_key = |(key, tables): &(String, Vec<&TableOf>)| {
        let names = match tables.len() {
            0..=NAMED => tables.iter().map(|table| table.name.as_str()).collect::<Vec<_>>().join(", "),
            more => format!("{} curves", grouped(more as u64)),
        };
        let key = if key.is_empty() { "no primary key" } else { key };
        format!("{names}: {key}{}", bytes(tables, estimated))
    };
    out.into_iter().map(|group| (format!("table: {}", group.words), group.keys.iter().map(of_key).collect())).collect()
}

/// `; 78 bytes a row`, a range where curves differ, nothing where no curve tells.
fn bytes(tables: &[&TableOf], estimated: bool) -> String {
    let known = || tables.iter().filter_map(|table| table.row_bytes).map(|bytes| bytes.round() as u64);
    let about = if estimated { "about " } else { "" };
    match (known().min(), known().max()) {
        (Some(least), Some(most)) if least == most => {
            format!("; {about}{} bytes a row with its indexes", grouped(least))
        }
        (Some(least), Some(most)) => {
            format!("; {about}{} to {} bytes a row with its indexes", grouped(least), grouped(most))
        }
        _ => String::new(),
    }
}

/// The same as text.
pub fn text(tables: &[TableOf], estimated: bool) -> String {
    let mut out = String::new();
    for (table, keys) in lines(tables, estimated) {
        out.push_str(&paragraph(&table, ""));
        keys.iter().for_each(|key| out.push_str(&paragraph(key, "  ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str, sql: &str, row_bytes: Option<f64>) -> TableOf {
        let engine = name.split(' ').next_back().unwrap_or_default().into();
        TableOf { name: name.into(), engine, layout: Layout::of(sql).unwrap(), has_indexes: true, row_bytes }
    }

    #[test]
    fn one_table_is_told_once_with_its_keys_below() {
        let sql = |key: &str| format!("CREATE TABLE t (id {key}, id2 INT NOT NULL, PRIMARY KEY (id), KEY id2 (id2))");
        let tables = [
            table("autoinc innodb", &sql("bigint"), Some(78.3)),
            table("uuid4 flush 1 innodb", &sql("binary(16)"), Some(95.0)),
            table("uuid4 flush 2 innodb", &sql("binary(16)"), Some(97.4)),
            table("uuid4 rocksdb", &sql("binary(16)"), Some(60.0)),
            table("other x", "CREATE TABLE t (a INT)", None),
        ];
        let told = text(&tables, false);
        assert_eq!(
            told,
            "table: a key, id2 INT NOT NULL; PRIMARY KEY (id), KEY (id2)\n  autoinc innodb: id bigint; 78 bytes a row with its indexes\n  \
             uuid4 flush 1 innodb, uuid4 flush 2 innodb: id binary(16); 95 to 97 bytes a row with its indexes\n  \
             uuid4 rocksdb: id binary(16); 60 bytes a row with its indexes\ntable: a INT\n  other x: no primary key\n"
        );
        assert!(text(&tables[..1], true).contains("; about 78 bytes a row"));
        let unknown = TableOf { has_indexes: false, ..tables[4].clone() };
        assert!(text(&[unknown], false).contains("further indexes are not recorded"));
    }
}
