//! What is taken of a text, and that nothing else is.

use proptest::prelude::*;

use super::*;
use crate::key::Storage;
use crate::schema::lex::Token;
use crate::schema::{TemplateValues, render_statements};

const MYSQL_VALUES: TemplateValues<'_> = TemplateValues {
    dialect: Dialect::Mysql,
    table: "`rowcliff_x_1`",
    index: "`rowcliff_x_1_id2`",
    key_type: None,
    options: "ENGINE=Aria",
};
const SQLITE_VALUES: TemplateValues<'_> =
    TemplateValues { dialect: Dialect::Sqlite, table: "\"rowcliff_x_1\"", index: "\"i\"", key_type: None, options: "" };

fn mysql(text: &str) -> Pasted {
    pasted(text, Dialect::Mysql, None).unwrap()
}

fn made(text: &str) -> Vec<String> {
    render_statements(&mysql(text).table.template, &MYSQL_VALUES).unwrap()
}

fn refusal(text: &str) -> String {
    pasted(text, Dialect::Mysql, None).unwrap_err()
}

const DUMP: &str = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\n/*!40101 SET NAMES utf8mb4 */;\n\
    DROP TABLE IF EXISTS `orders`;\nCREATE TABLE `orders` (\n  `id` int(11) NOT NULL AUTO_INCREMENT,\n  `parent` int(11) DEFAULT NULL,\n  \
    `note` text DEFAULT 'a;b' COMMENT 'it''s; \\'DROP TABLE x\\'',\n  `paid` tinyint(1) GENERATED ALWAYS AS (`parent` is null) VIRTUAL,\n  \
    PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`note`(20),`id`),\n  CONSTRAINT `fk_parent` FOREIGN KEY (`parent`) REFERENCES `orders` (`id`),\n  \
    CONSTRAINT `positive` CHECK (`id` > 0)\n) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4;\n\
    LOCK TABLES `orders` WRITE;\nINSERT INTO `orders` VALUES (1,NULL,'CREATE TABLE x (a INT);');\nUNLOCK TABLES;\n\
    /*!50003 SET sql_mode = '' */ ;\nDELIMITER ;;\n/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT ON \
    orders FOR EACH ROW BEGIN DROP TABLE y; CREATE TABLE z (a INT); END */;;\nDELIMITER ;\n";

#[test]
fn of_a_dump_only_the_table_is_taken() {
    for text in [DUMP.to_owned(), DUMP.replace('\n', "\r\n")] {
        let found = mysql(&text);
        assert_eq!(found.table.name.as_deref(), Some("orders"));
        let (count, words) = found.left_out_words().unwrap();
        assert_eq!((count, words.as_str()), (7, "2 SET, 1 CREATE, 1 DROP, 1 INSERT, 1 LOCK, 1 UNLOCK"));
        let sql = made(&text);
        assert_eq!(sql.len(), 1, "{sql:?}");
        assert!(sql[0].starts_with("CREATE TABLE `rowcliff_x_1` ("), "{}", sql[0]);
        assert!(sql[0].ends_with("DEFAULT CHARSET=utf8mb4 ENGINE=Aria"), "{}", sql[0]);
        assert!(sql[0].contains("CONSTRAINT `rowcliff_x_1_1_fk_parent` FOREIGN KEY"), "{}", sql[0]);
        assert!(sql[0].contains("REFERENCES `rowcliff_x_1` (`id`)"), "{}", sql[0]);
        assert!(sql[0].contains("CONSTRAINT `rowcliff_x_1_2_positive` CHECK"), "{}", sql[0]);
        assert!(sql[0].contains("COMMENT 'it''s; \\'DROP TABLE x\\''"), "{}", sql[0]);
        let table = &found.table;
        assert_eq!((table.checks, table.engine.as_deref(), table.has_partitions), (1, Some("InnoDB"), false));
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "parent", "note", "paid"]);
        assert!(table.columns[0].auto_increment && table.columns[0].not_null && table.columns[3].generated);
        let unique = &table.indexes[1];
        assert_eq!(unique.parts, [(Some("note".into()), Some(20)), (Some("id".into()), None)]);
        assert!(table.is_counted(Dialect::Mysql));
    }
}

#[test]
fn sqlites_schema_is_taken_with_its_indexes() {
    let text = "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE IF NOT EXISTS \"orders\"(id INTEGER PRIMARY KEY AUTOINCREMENT, [a;b] TEXT, \
        key TEXT /* ; DROP TABLE x */);\nINSERT INTO orders VALUES(1,'x','y');\nCREATE TABLE sqlite_sequence(name,seq);\nCREATE UNIQUE INDEX IF \
        NOT EXISTS main.i ON orders([a;b]);\nCREATE INDEX other ON orders(lower(key));\nCREATE TRIGGER t AFTER INSERT ON orders BEGIN UPDATE \
        orders SET key = CASE WHEN 1 THEN 2 END; DELETE FROM x; END;\n.mode list\nCOMMIT;\n";
    let found = pasted(text, Dialect::Sqlite, None).unwrap();
    let sql = render_statements(&found.table.template, &SQLITE_VALUES).unwrap();
    assert_eq!(sql.len(), 3, "{sql:?}");
    assert_eq!(sql[1], "CREATE UNIQUE INDEX \"rowcliff_x_1_1_i\" ON \"rowcliff_x_1\"([a;b])");
    assert_eq!(sql[2], "CREATE INDEX \"rowcliff_x_1_2_other\" ON \"rowcliff_x_1\"(lower(key))");
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    sql.iter().for_each(|sql| assert_eq!(connection.execute(sql, []).unwrap(), 0));
    assert_eq!(found.left_out.values().sum::<usize>(), 6, "{:?}", found.left_out);
    assert!(found.table.is_counted(Dialect::Sqlite));
    assert_eq!(found.table.columns[2].name, "key");
}

#[test]
fn of_several_tables_one_is_chosen_by_name() {
    let text = "CREATE TABLE a (x INT); CREATE TABLE `shop`.`B` (y INT); CREATE INDEX i ON a (x); ALTER TABLE a ADD PRIMARY KEY (x);";
    assert!(refusal(text).contains("2 tables in it (a, B); choose one with --schema-table"), "{}", refusal(text));
    let named = |name: &str| pasted(text, Dialect::Mysql, Some(name));
    assert_eq!(named("b").unwrap().table.template, "CREATE TABLE {table} (y INT)");
    assert_eq!(named("shop.B").unwrap().table.name.as_deref(), Some("B"));
    assert_eq!(named("a").unwrap().alterations, 1);
    assert!(named("a").unwrap().table.template.ends_with(";\nCREATE INDEX i ON {table} (x)"));
    assert_eq!(named("c").unwrap_err(), "there is no table c in it; it has a, B");
}

#[test]
fn what_is_no_definition_is_refused_by_name() {
    for (text, words) in [
        ("CREATE TABLE a LIKE b", "CREATE TABLE a LIKE b: that is no definition"),
        ("CREATE TABLE a (LIKE shop.b)", "LIKE shop"),
        ("CREATE TABLE a AS SELECT 1", "AS SELECT"),
        ("CREATE TABLE a (x INT) IGNORE SELECT 1 AS x", "SELECT"),
        ("CREATE TEMPORARY TABLE a (x INT)", "TEMPORARY"),
        ("DROP TABLE a", "no CREATE TABLE"),
        ("", "no CREATE TABLE"),
        ("CREATE TABLE a (x INT COMMENT 'open", "does not end"),
        ("CREATE TABLE a (x INT /*!50000 COMMENT 'a */ b' */); DROP TABLE x", "where servers differ"),
        (
            "CREATE TABLE a (x {type})",
            "{type} is not a placeholder; known are {table}, {index}, {key}, {key_type}, {options}",
        ),
    ] {
        assert!(refusal(text).contains(words), "{text}: {}", refusal(text));
    }
}

#[test]
fn placeholders_stay_and_the_words_before_the_name_go() {
    for head in ["CREATE TABLE {table}", "create table if not exists `a`.`b`", "CREATE OR REPLACE TABLE b"] {
        let text = format!("{head} (id {{key}}, PRIMARY KEY (id)) {{options}}");
        assert_eq!(mysql(&text).table.template, "CREATE TABLE {table} (id {key}, PRIMARY KEY (id)) {options}");
    }
    let sql = made("CREATE TABLE {table} (id {key}, PRIMARY KEY (id))");
    assert_eq!(
        sql,
        ["CREATE TABLE `rowcliff_x_1` (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT, PRIMARY KEY (id)) ENGINE=Aria"]
    );
}

#[test]
fn options_go_before_partitions_that_only_some_servers_know() {
    let sql = made(
        "CREATE TABLE p (d DATE) ENGINE=InnoDB\n/*!50100 PARTITION BY RANGE (YEAR(d))\n(PARTITION a VALUES LESS THAN (2030)) */;",
    );
    assert!(sql[0].contains("ENGINE=InnoDB\nENGINE=Aria /*!50100 PARTITION BY"), "{}", sql[0]);
    assert!(mysql("CREATE TABLE p (d DATE) PARTITION BY HASH (YEAR(d))").table.has_partitions);
}

#[test]
fn a_key_column_tells_which_uuids_it_holds() {
    let storages = |column: &str, dialect| {
        let text = format!("CREATE TABLE a (id {column} PRIMARY KEY, x INT)");
        let table = pasted(&text, dialect, None).unwrap().table;
        let key = table.primary_key();
        assert_eq!(key.len(), 1, "{column}");
        key[0].uuid_storages(dialect)
    };
    use Storage::{Binary16, Char32, Char36, Native};
    for (column, expected) in [
        ("char(32) CHARACTER SET latin1", vec![Char32]),
        ("CHAR(36) NOT NULL", vec![Char36, Char32]),
        ("varchar(255)", vec![Char36, Char32]),
        ("binary(16)", vec![Binary16]),
        ("binary(20)", vec![]),
        ("varbinary(16)", vec![Binary16]),
        ("uuid", vec![Native]),
        ("int(11) unsigned", vec![]),
        ("char", vec![]),
    ] {
        assert_eq!(storages(column, Dialect::Mysql), expected, "{column}");
    }
    for (column, expected) in [
        ("TEXT", vec![Char36, Char32]),
        ("BLOB", vec![Binary16]),
        ("", vec![Binary16]),
        ("INTEGER", vec![]),
        ("varchar(10)", vec![]),
    ] {
        assert_eq!(storages(column, Dialect::Sqlite), expected, "{column}");
    }
}

/// How a server reads a text that passes over the comments which another one executes: whether a statement ends within it.
fn ends_within(sql: &str, executes: bool) -> bool {
    let plain = if executes {
        sql.to_owned()
    } else {
        let mut out = String::new();
        let mut rest = sql;
        // The comments are found by one that reads quotes as a server does.
        while let Some(token) = Lexer::new(rest, Dialect::Mysql).find(|token| token.kind == Kind::CodeOpen) {
            out.push_str(&rest[..token.at]);
            rest = rest[token.at..].find("*/").map_or("", |end| &rest[token.at + end + 2..]);
        }
        out + rest
    };
    Lexer::new(&plain, Dialect::Mysql).any(|token: Token<'_>| token.kind == Kind::Delimiter)
}

const PIECES: [&str; 42] = [
    "CREATE TABLE ",
    "create table if not exists `a`",
    "t (x INT)",
    "(a INT, b CHAR(3))",
    ";",
    ";\n",
    "DROP TABLE victim",
    "'",
    "\"",
    "`",
    "\\",
    "\\'",
    "''",
    "/*",
    "*/",
    "/*!50000 ",
    "/*M!100100 ",
    "/*!99999 ' */",
    "-- ",
    "--",
    "#",
    "\n",
    "\r\n",
    "DELIMITER ;;\n",
    "DELIMITER $$\n",
    "$$",
    ";;",
    "END",
    "BEGIN ",
    "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW ",
    "CREATE UNIQUE INDEX i ON t (x)",
    "[",
    "]",
    "{table}",
    "{key}",
    "(",
    ")",
    ",",
    "COMMENT 'a; b'",
    "INSERT INTO victim VALUES (1)",
    "ü",
    "\\G\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn tokens_cover_every_byte_of_any_text(text in any::<String>(), pieces in prop::collection::vec(0..PIECES.len(), 0..30)) {
        let made: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        for text in [text, made] {
            for dialect in [Dialect::Mysql, Dialect::Sqlite] {
                let mut whole = String::new();
                for token in Lexer::new(&text, dialect) {
                    prop_assert_eq!(token.at, whole.len());
                    prop_assert!(!token.text.is_empty());
                    whole.push_str(token.text);
                }
                prop_assert_eq!(&whole, &text);
                let _ = pasted(&text, dialect, None);
                let _ = decode(text.as_bytes());
            }
        }
    }

    #[test]
    fn whatever_is_pasted_makes_one_table_and_its_indexes(pieces in prop::collection::vec(0..PIECES.len(), 0..24), at in 0_usize..24) {
        let mut words: Vec<&str> = pieces.iter().map(|&piece| PIECES[piece]).collect();
        words.insert(at.min(words.len()), ";\nCREATE TABLE t (x INT);");
        let text = words.concat();
        if let Ok(found) = pasted(&text, Dialect::Mysql, None)
            && let Ok(statements) = render_statements(&found.table.template, &MYSQL_VALUES)
        {
            for (place, sql) in statements.iter().enumerate() {
                prop_assert!(sql.starts_with("CREATE "), "{}", sql);
                prop_assert_eq!(sql.starts_with("CREATE TABLE `rowcliff_x_1`"), place == 0, "{}", sql);
                prop_assert!(!ends_within(sql, true) && !ends_within(sql, false), "{} of {}", sql, text);
            }
        }
        if let Ok(found) = pasted(&text, Dialect::Sqlite, None)
            && let Ok(statements) = render_statements(&found.table.template, &SQLITE_VALUES)
        {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            connection.execute_batch("CREATE TABLE victim (x INT)").unwrap();
            for sql in &statements {
                // The whole text at once, as a careless caller would send it.
                let _ = connection.execute_batch(sql);
            }
            let rows: i64 = connection.query_row("SELECT COUNT(*) FROM victim", [], |row| row.get(0)).unwrap();
            prop_assert_eq!(rows, 0);
        }
    }
}
