//! From a pasted table to columns as a server would report them: what can be told of a table that is not there yet.

use crate::schema::{Column, IndexColumn, ReportedColumn, ReportedIndex, mysql_columns};

use super::{PastedColumn, PastedTable};

/// Other words for the types of MySQL and MariaDB.
const SYNONYMS: [(&str, &str); 22] = [
    ("integer", "int"),
    ("int4", "int"),
    ("int8", "bigint"),
    ("int2", "smallint"),
    ("int1", "tinyint"),
    ("int3", "mediumint"),
    ("middleint", "mediumint"),
    ("dec", "decimal"),
    ("numeric", "decimal"),
    ("fixed", "decimal"),
    ("number", "decimal"),
    ("double precision", "double"),
    ("real", "double"),
    ("float8", "double"),
    ("float4", "float"),
    ("character", "char"),
    ("nchar", "char"),
    ("character varying", "varchar"),
    ("nvarchar", "varchar"),
    ("varchar2", "varchar"),
    ("long varchar", "mediumtext"),
    ("clob", "longtext"),
];

impl PastedTable {
    /// Its columns, as a server of the MySQL family will most probably have them.
    pub fn expected_columns(&self) -> Vec<Column> {
        let reported: Vec<ReportedColumn> = self.columns.iter().map(|column| self.reported(column)).collect();
        mysql_columns(&reported, &self.reported_indexes())
    }

    /// Its indexes, in the same form.
    pub fn reported_indexes(&self) -> Vec<ReportedIndex> {
        let index = |index: &super::PastedIndex| {
            let part = |(name, prefix): &(Option<String>, Option<u64>)| IndexColumn {
                name: name.clone(),
                prefix: *prefix,
                expression: None,
            };
            ReportedIndex {
                name: index.name.clone(),
                unique: index.unique,
                primary: index.primary,
                columns: index.parts.iter().map(part).collect(),
            }
        };
        self.indexes.iter().map(index).collect()
    }

    fn reported(&self, column: &PastedColumn) -> ReportedColumn {
        let name = column.type_name.as_str();
        let name = match name {
            "bool" | "boolean" => "tinyint",
            "serial" => "bigint",
            _ => SYNONYMS.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known),
        };
        let column_type = match column.type_name.as_str() {
            "bool" | "boolean" => "tinyint(1)".to_owned(),
            "serial" => "bigint unsigned".to_owned(),
            _ => column.type_text.replacen(&column.type_name, name, 1).to_ascii_lowercase(),
        };
        let is_text =
            name.ends_with("char") || name.ends_with("text") || name.ends_with("binary") || name.ends_with("blob");
        let in_key = self.primary_key().iter().any(|part| part.name == column.name);
        ReportedColumn {
            name: column.name.clone(),
            data_type: name.to_owned(),
            column_type: if matches!(name, "enum" | "set") { column.type_text.clone() } else { column_type },
            is_nullable: if column.not_null || in_key { "NO" } else { "YES" }.into(),
            column_default: column.has_default.then(|| "?".to_owned()),
            character_maximum_length: if is_text { longest(name, column.length()) } else { None },
            character_set_name: column.charset.clone(),
            check_clause: column.is_json.then(|| "json_valid".to_owned()),
            extra: [(column.auto_increment, "auto_increment"), (column.generated, "STORED GENERATED")]
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, word)| *word)
                .collect::<Vec<_>>()
                .join(" "),
            ..ReportedColumn::default()
        }
    }

    /// What only the database can tell of it, in words: `2 CHECK constraints, 1 generated column`.
    pub fn untold(&self) -> Vec<String> {
        let counted = |count: usize, one: &str, many: &str| {
            (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
        };
        let generated = self.columns.iter().filter(|column| column.generated).count();
        let expressions =
            self.indexes.iter().filter(|index| index.parts.iter().any(|(name, _)| name.is_none())).count();
        [
            counted(self.checks, "CHECK constraint", "CHECK constraints"),
            counted(generated, "generated column", "generated columns"),
            counted(self.references.len(), "foreign key", "foreign keys"),
            counted(expressions, "index on an expression", "indexes on expressions"),
            self.has_partitions.then(|| "partitions".to_owned()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The longest value, in characters or bytes.
fn longest(name: &str, length: Option<u64>) -> Option<u64> {
    match name {
        "char" | "binary" => Some(length.unwrap_or(1)),
        "varchar" | "varbinary" => length,
        "tinytext" | "tinyblob" => Some(255),
        "text" | "blob" => Some(65_535),
        "mediumtext" | "mediumblob" => Some((1 << 24) - 1),
        _ => Some((1 << 32) - 1),
    }
}
