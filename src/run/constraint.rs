//! What the rows of a table have to obey beyond their types: asked before the first row where the figures are known, and named when a
//! row breaks it all the same.

use crate::schema::{Check, Column, ColumnType, Definition};
use crate::targets::{Failure, FailureKind, TableFacts};
use crate::units::grouped;

/// Whether the values that the database will count fit: into the type of the column, and into the last partition.
///
/// # Errors
/// They do not, with the figures and what helps.
pub fn ids_fit(facts: &TableFacts, rows: u64) -> Result<(), String> {
    let Some(column) = facts.auto_increment() else { return Ok(()) };
    let definition = facts.definition();
    let last = last_id(facts, &definition, rows);
    type_fits(column, first_id(facts, &definition), last, rows)?;
    let Some(partitioning) = definition.partitioning.filter(|cut| cut.method == "RANGE") else { return Ok(()) };
    let is_id = partitioning.expression.trim_matches(['`', '"', '(', ')', ' ']).eq_ignore_ascii_case(&column.name);
    match partitioning.last_bound.filter(|_| is_id) {
        Some(bound) if i128::try_from(last).is_ok_and(|last| last >= bound) => Err(format!(
            "the last partition ends below {bound}, and {} of {} rows reaches {last}; add a partition VALUES LESS THAN (MAXVALUE), or give fewer --rows",
            column.name,
            grouped(rows),
        )),
        _ => Ok(()),
    }
}

/// The value of the first row. A table that is gone on with tells where the next row stands, not the first.
fn first_id(facts: &TableFacts, definition: &Definition) -> u64 {
    definition.auto_increment.filter(|_| facts.is_fresh).unwrap_or(1)
}

/// The value of the last of `rows` rows: `auto_increment_increment` is how far it goes with each (above 1 on a cluster).
pub fn last_id(facts: &TableFacts, definition: &Definition, rows: u64) -> u128 {
    u128::from(rows.saturating_sub(1)) * u128::from(increment(facts)) + u128::from(first_id(facts, definition))
}

fn increment(facts: &TableFacts) -> u64 {
    let value = facts.variables.get("auto_increment_increment").and_then(|value| value.parse().ok());
    value.unwrap_or(1).max(1)
}

/// The largest value that a column can be counted to; `None` where its type has no end that is known.
fn counts_to(column: &Column) -> Option<u64> {
    match column.data_type {
        ColumnType::Int { bits, unsigned } => {
            let bits = if unsigned { bits } else { bits - 1 };
            Some(if bits >= 64 { u64::MAX } else { (1 << bits) - 1 })
        }
        // A floating-point counter stops counting where its steps become larger than one.
        ColumnType::Float { .. } => Some(1 << 24),
        ColumnType::Double { .. } => Some(1 << 53),
        _ => None,
    }
}

/// How far the counted column of a table can go beyond `rows` rows.
pub fn spare_ids(facts: &TableFacts, rows: u64) -> u64 {
    let Some(most) = facts.auto_increment().and_then(counts_to) else { return u64::MAX };
    let spare = u128::from(most).saturating_sub(last_id(facts, &facts.definition(), rows));
    u64::try_from(spare).unwrap_or(u64::MAX)
}

fn type_fits(column: &Column, first: u64, last: u128, rows: u64) -> Result<(), String> {
    let Some(most) = counts_to(column) else { return Ok(()) };
    if last <= u128::from(most) {
        return Ok(());
    }
    let begins = if first > 1 { format!(" from AUTO_INCREMENT={first} on") } else { String::new() };
    let helps = if first > 1 {
        "leave AUTO_INCREMENT out of the schema, give the column a larger type"
    } else {
        "give it a larger type"
    };
    Err(format!(
        "column {} ({}) counts to {}, and {} rows{begins} would need {last}; {helps}, or fewer --rows",
        column.name,
        column.column_type_text,
        grouped(most),
        grouped(rows),
    ))
}

/// Codes of rows that break what a table asks of its values. The same rows would break it again.
const REFUSED: &[i64] = &[
    // MariaDB and MySQL: checks; a value out of range, too long, cut, of another kind, in no partition, twice in a unique index; NULL;
    // none where one is needed; a key of another table; a counted column at the end of its type.
    4025, 3819, 1264, 1406, 1265, 1292, 1366, 1365, 1411, 1690, 1048, 1364, 1526, 1748, 1062, 1452, 1216, 3140, 3141,
    3143, 167, 1467, // SQLite: CHECK, FOREIGN KEY, NOT NULL, PRIMARY KEY, UNIQUE, the types of STRICT.
    275, 787, 1299, 1555, 2067, 3091,
];

/// A failure of the target in the words of the table: column, constraint, and the change that helps. What is none of these, or whose
/// constraint is not found, stays as it was said.
pub fn named(failure: Failure, facts: &TableFacts) -> Failure {
    let Some(code) = failure.code.filter(|code| REFUSED.contains(code)) else { return failure };
    let definition = facts.definition();
    let said = &failure.message;
    let words = match code {
        4025 | 3819 | 275 => check_words(said, facts, &definition),
        1526 | 1748 => partition_words(&definition, facts),
        1452 | 1216 | 787 => Some(foreign_words(facts)),
        1062 | 2067 | 1555 => unique_words(said, facts),
        _ => computed_words(said, facts),
    };
    // What usually helps against a key that is there twice, or a missing partition, is said better here.
    let server = if matches!(code, 1062 | 1526 | 1748) { said.split(" (").next().unwrap_or(said) } else { said };
    let message = words.map_or_else(|| said.clone(), |words| format!("{words} ({server})"));
    Failure { kind: FailureKind::Broken, message, ..failure }
}

/// The names in quotes that a message holds, and what follows its last colon: SQLite quotes nothing.
fn names_of(said: &str) -> Vec<String> {
    let mut names: Vec<String> =
        ['`', '\'', '"'].iter().flat_map(|quote| said.split(*quote).skip(1).step_by(2)).map(str::to_owned).collect();
    names.extend(said.rsplit(": ").next().map(|last| last.trim_end_matches(['"', ')']).to_owned()));
    // `table.column` for a check in the definition of a column, `table.index` for an index on MySQL.
    let behind_dot: Vec<String> =
        names.iter().filter_map(|name| name.rsplit_once('.')).map(|(_, name)| name.to_owned()).collect();
    names.extend(behind_dot);
    names
}

fn check_words(said: &str, facts: &TableFacts, definition: &Definition) -> Option<String> {
    let names = names_of(said);
    let is = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some(period) = definition.periods.iter().find(|period| is(&period.name)) {
        return Some(format!(
            "period {}: {} is not before {} in a row of this load; drop the period for the measurement",
            period.name, period.start, period.end
        ));
    }
    let by_name = |check: &&Check| {
        check.name.as_deref().is_some_and(is)
            || check.column.as_deref().is_some_and(|column| check.name.is_none() && is(column))
            || said.contains(&check.expression)
    };
    // MySQL names those that have no name after the table, in their order.
    let number = said.split('\'').nth(1).and_then(|name| name.rsplit_once("_chk_")?.1.parse::<usize>().ok());
    let unnamed = number.and_then(|number| definition.checks.get(number.checked_sub(1)?));
    let check = definition.checks.iter().find(by_name).or(unnamed)?;
    let names: Vec<String> = facts.columns.iter().map(|column| column.name.clone()).collect();
    let mut columns = crate::schema::names_in(&check.expression, &names);
    columns.extend(check.column.clone().filter(|_| columns.is_empty()));
    let called = |name: &String| format!("{} ", crate::schema::template::pasted_name(&facts.quoted_name, name));
    let name = check.name.as_ref().map_or_else(String::new, called);
    let is_number = |column: &&Column| {
        columns.contains(&column.name)
            && matches!(column.data_type, ColumnType::Int { .. } | ColumnType::Decimal { .. })
    };
    let narrow = facts.columns.iter().find(is_number).map_or_else(String::new, |column| {
        format!(", or narrow the values with --fill {}=distinct:N, which are 0 to N-1", column.name)
    });
    Some(format!(
        "{}: CHECK {name}({}) refuses a row of this load; drop the check for the measurement{narrow}",
        of_columns(&columns),
        check.expression
    ))
}

fn of_columns(columns: &[String]) -> String {
    match columns {
        [one] => format!("column {one}"),
        several => format!("columns {}", several.join(", ")),
    }
}

fn partition_words(definition: &Definition, facts: &TableFacts) -> Option<String> {
    let cut = definition.partitioning.as_ref()?;
    let names: Vec<String> = facts.columns.iter().map(|column| column.name.clone()).collect();
    let columns = crate::schema::names_in(&cut.expression, &names);
    Some(format!(
        "{}: PARTITION BY {} ({}) has no partition for a row of this load; give the schema one for every value, as with LESS THAN (MAXVALUE)",
        of_columns(&columns),
        cut.method,
        cut.expression
    ))
}

fn foreign_words(facts: &TableFacts) -> String {
    let keys: Vec<String> = facts
        .columns
        .iter()
        .filter_map(|column| column.references.as_ref().map(|table| format!("{} in {table}", column.name)))
        .collect();
    let keys = if keys.is_empty() { String::new() } else { format!(" ({})", keys.join(", ")) };
    format!("a foreign key looks up values{keys} that nobody has filled; drop the foreign key for the measurement")
}

fn unique_words(said: &str, facts: &TableFacts) -> Option<String> {
    let names = names_of(said);
    let is = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    // SQLite names the columns of an index, and an index on expressions by its name.
    let index = facts.columns.iter().flat_map(|column| {
        let of_column = is(&column.name);
        column.unique_indexes.iter().filter(move |index| of_column || is(&index.name))
    });
    let (mut expression, mut columns, mut name) = (None, Vec::<String>::new(), None);
    for index in index {
        let name = name.get_or_insert_with(|| index.name.clone());
        for column in &facts.columns {
            for part in column.unique_indexes.iter().filter(|part| part.name == *name) {
                let made_of = if column.generated { column.expression.clone() } else { part.expression.clone() };
                if let Some(made_of) = made_of {
                    expression.get_or_insert(made_of);
                    let list = if column.generated { &column.made_of[..] } else { std::slice::from_ref(&column.name) };
                    for source in list {
                        if !columns.contains(source) {
                            columns.push(source.clone());
                        }
                    }
                }
            }
        }
    }
    let (name, expression) = (name?, expression?);
    Some(format!(
        "{}: unique index {name} on ({expression}) gets the same entry for two rows of this load; drop the index for the measurement, or let its expression tell rows apart",
        of_columns(&columns),
    ))
}

fn computed_words(said: &str, facts: &TableFacts) -> Option<String> {
    let names = names_of(said);
    let is = |column: &&Column| column.generated && names.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
    let column = facts.columns.iter().find(is)?;
    let expression = column.expression.as_deref().unwrap_or("?");
    let made_of = column.made_of.first().map_or("COLUMN", String::as_str);
    Some(format!(
        "column {} ({}): it is computed as ({expression}) and does not hold what that gives for a row of this load; give it a larger type, leave it out for the measurement, or narrow the values with --fill {made_of}=distinct:N",
        column.name, column.column_type_text
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Dialect;

    fn facts(create_table: &str, id: ColumnType, text: &str) -> TableFacts {
        let int = |name: &str| Column::plain(name, ColumnType::Int { bits: 32, unsigned: false }, "int(11)");
        let id = Column { auto_increment: true, ..Column::plain("id", id, text) };
        let mut columns = vec![id, int("v"), int("m"), int("d")];
        columns[2].generated = true;
        let definition = Definition::parse(create_table);
        definition.mark(&mut columns);
        TableFacts {
            create_table: create_table.into(),
            columns,
            is_fresh: true,
            ..TableFacts::new("`t`".into(), Dialect::Mysql)
        }
    }

    fn int(bits: u8, unsigned: bool) -> ColumnType {
        ColumnType::Int { bits, unsigned }
    }

    #[test]
    fn a_counter_that_would_run_over_is_refused_with_the_figures() {
        let plain = "CREATE TABLE t (id INT)";
        let tiny = facts(plain, int(8, true), "tinyint(3) unsigned");
        assert_eq!(ids_fit(&tiny, 255), Ok(()));
        let message = ids_fit(&tiny, 300).unwrap_err();
        assert!(message.contains("255") && message.contains("300") && message.contains("tinyint"), "{message}");
        // Two nodes of a cluster: every other value.
        let mut two = tiny.clone();
        two.variables.insert("auto_increment_increment".into(), "2".into());
        assert_eq!(ids_fit(&two, 128), Ok(()));
        assert!(ids_fit(&two, 129).is_err());
        assert_eq!(ids_fit(&facts(plain, int(32, false), "int(11)"), i32::MAX as u64), Ok(()));
        assert!(ids_fit(&facts(plain, int(32, false), "int(11)"), i32::MAX as u64 + 1).is_err());
        assert_eq!(ids_fit(&facts(plain, int(64, true), "bigint(20) unsigned"), u64::MAX), Ok(()));
    }

    #[test]
    fn a_counter_that_begins_high_counts_from_there() {
        let dump = "CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT) ENGINE=InnoDB AUTO_INCREMENT=2147482000 DEFAULT CHARSET=latin1";
        let mut fresh = facts(dump, int(32, false), "int(11)");
        assert_eq!(ids_fit(&fresh, 1_648), Ok(()));
        let message = ids_fit(&fresh, 1_649).unwrap_err();
        assert!(message.contains("AUTO_INCREMENT=2147482000") && message.contains("2147483648"), "{message}");
        // A table that is gone on with says where it stands, which is no beginning.
        fresh.is_fresh = false;
        assert_eq!(ids_fit(&fresh, 4_000), Ok(()));
    }

    #[test]
    fn the_last_partition_is_compared_with_the_ids_to_come() {
        let cut = |bound: &str, by: &str| {
            let sql = format!(
                "CREATE TABLE t (id INT) /*!50100 PARTITION BY RANGE ({by}) (PARTITION a VALUES LESS THAN {bound}) */"
            );
            facts(&sql, int(32, false), "int(11)")
        };
        assert_eq!(ids_fit(&cut("(2600)", "`id`"), 2_599), Ok(()));
        let message = ids_fit(&cut("(2600)", "`id`"), 2_600).unwrap_err();
        assert!(message.contains("below 2600") && message.contains("MAXVALUE"), "{message}");
        assert_eq!(ids_fit(&cut("MAXVALUE", "`id`"), 4_000), Ok(()));
        assert_eq!(ids_fit(&cut("(2600)", "`v`"), 4_000), Ok(()));
    }

    #[test]
    fn what_broke_is_named_with_column_and_expression() {
        let sql = "CREATE TABLE `t` (`id` int(11), `v` int(11) CHECK (`v` <> 7), `m` tinyint(4) AS (`v` * 2) STORED, `d` date,
            CONSTRAINT `small` CHECK (`v` < 2500), PERIOD FOR `p` (`v`, `d`)) PARTITION BY RANGE (year(`d`)) (PARTITION a VALUES LESS THAN (2020))";
        let facts = facts(sql, int(32, false), "int(11)");
        for (code, said, parts) in [
            (4025, "CONSTRAINT `small` failed for `db`.`t`", ["column v: CHECK small (`v` < 2500)", "drop the check"]),
            (4025, "CONSTRAINT `t.v` failed for `db`.`t`", ["column v: CHECK (`v` <> 7)", "drop the check"]),
            (4025, "CONSTRAINT `p` failed for `db`.`t`", ["period p: v is not before d", "drop the period"]),
            (3819, "Check constraint 't_chk_1' is violated.", ["CHECK (`v` <> 7)", "drop the check"]),
            (275, "CHECK constraint failed: small", ["CHECK small (`v` < 2500)", "drop the check"]),
            (275, "CHECK constraint failed: `v` <> 7", ["CHECK (`v` <> 7)", "drop the check"]),
            (1264, "Out of range value for column 'm' at row 29", ["computed as (`v` * 2)", "--fill v=distinct:N"]),
            (1526, "Table has no partition for value 2021", ["column d: PARTITION BY RANGE (year(`d`))", "MAXVALUE"]),
        ] {
            let failure = Failure { code: Some(code), ..Failure::fatal(said) };
            let named = named(failure, &facts);
            assert_eq!(named.kind, FailureKind::Broken, "{said}");
            assert!(parts.iter().all(|part| named.message.contains(part)), "{}", named.message);
            assert!(named.message.contains(said), "the server's own words stay: {}", named.message);
        }
        let other = Failure { code: Some(1114), ..Failure::fatal("The table is full") };
        assert_eq!(named(other.clone(), &facts), other);
    }
}
