//! Short names for curves: only what differs between the curves that are shown together.
//!
//! The full name of a curve is unique in its run and long. Names here are made from the label columns, so that they do not
//! depend on how full names are written.

use std::collections::HashSet;

use crate::analyse::{Cell, Curve, Labels};
use crate::record::CurveRecord;

/// The key storage that goes without saying.
const DEFAULT_STORAGE: &str = "binary16";

/// What a curve or a cell can be named by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Named<'a> {
    pub labels: &'a Labels,
    /// The repeat; `None` where the repeats are shown together.
    pub repeat: Option<u32>,
    pub run: &'a str,
}

impl<'a> From<&'a Curve> for Named<'a> {
    fn from(curve: &'a Curve) -> Self {
        Self { labels: &curve.labels, repeat: Some(curve.repeat), run: &curve.run }
    }
}

impl<'a> From<&Cell<'a>> for Named<'a> {
    fn from(cell: &Cell<'a>) -> Self {
        Self { labels: cell.labels, repeat: None, run: cell.run }
    }
}

/// A label column, in the order in which words stand in a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Target,
    Engine,
    Key,
    Flush,
    FlushInForce,
    Method,
    Connections,
    StatementRows,
    CommitRows,
    Settings,
    Repeat,
    Run,
}

/// Parts that are always named when they differ.
const MAIN: [Part; 7] =
    [Part::Engine, Part::Key, Part::Flush, Part::Method, Part::Connections, Part::Settings, Part::Repeat];

/// Parts that mostly follow from the others (SQLite has its own engine, a method its own statement size); they are
/// named only where names would be the same without them.
const IF_NEEDED: [Part; 5] = [Part::Target, Part::FlushInForce, Part::StatementRows, Part::CommitRows, Part::Run];

/// Names curves by what differs between them, as in `uuid4` beside `autoinc`, or `innodb uuid4 flush 2`.
///
/// The storage of a UUID key is named when storages differ or when it is not `binary16`. Where nothing differs the name is engine and
/// key. The run is named only when names are not unique without it. The names are unique.
pub fn short_names(curves: &[Named<'_>]) -> Vec<String> {
    let mut parts: Vec<Part> = MAIN.into_iter().filter(|part| differs(curves, *part)).collect();
    if parts.is_empty() {
        parts = vec![Part::Engine, Part::Key];
    }
    let mut names = written(curves, &parts);
    for part in IF_NEEDED {
        let unique = distinct(&names);
        if unique == names.len() || !differs(curves, part) {
            continue;
        }
        let mut more = parts.clone();
        more.push(part);
        more.sort_unstable();
        let longer = written(curves, &more);
        if distinct(&longer) > unique {
            (parts, names) = (more, longer);
        }
    }
    for name in &mut names {
        // A file of another program may call its series anything.
        if let std::borrow::Cow::Owned(harmless) = crate::units::printable(name, false) {
            *name = harmless;
        }
    }
    number_equals(&mut names);
    names
}

/// Short names for the curves of a run's record, in their order: what a run calls them while it goes on.
pub fn record_names(curves: &[CurveRecord]) -> Vec<String> {
    let labels: Vec<Labels> = curves.iter().map(Labels::from).collect();
    let repeats = curves.iter().map(|curve| curve.repeat);
    let named: Vec<Named<'_>> =
        labels.iter().zip(repeats).map(|(labels, repeat)| Named { labels, repeat: Some(repeat), run: "" }).collect();
    short_names(&named)
}

/// What all the curves have in common, as words for a subtitle: `innodb`, `uuid4`, `flush 1`, `insert`, `8 connections`.
pub fn common_words(curves: &[Named<'_>]) -> Vec<String> {
    common(curves, &[Part::Engine, Part::Key, Part::Flush, Part::Method, Part::Connections, Part::Settings])
}

/// The same of the table alone, without how it was loaded.
pub fn common_words_of_table(curves: &[Named<'_>]) -> Vec<String> {
    common(curves, &[Part::Engine, Part::Key, Part::Flush, Part::Settings])
}

fn common(curves: &[Named<'_>], parts: &[Part]) -> Vec<String> {
    let Some(first) = curves.first() else { return Vec::new() };
    parts
        .iter()
        .filter(|part| !differs(curves, **part))
        .map(|part| match *part {
            // There is nothing to tell this from: the settings are written whole.
            Part::Settings => first.labels.settings.clone(),
            part => word(curves, first, part),
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn distinct(names: &[String]) -> usize {
    names.iter().collect::<HashSet<_>>().len()
}

fn differs(curves: &[Named<'_>], part: Part) -> bool {
    let Some(first) = curves.first() else { return false };
    let first = value(first, part);
    curves.iter().any(|curve| value(curve, part) != first)
}

fn value(curve: &Named<'_>, part: Part) -> String {
    let labels = curve.labels;
    match part {
        Part::Target => labels.target.clone(),
        Part::Engine => labels.engine.clone(),
        Part::Key => labels.key.clone(),
        Part::Flush => labels.flush.clone(),
        Part::FlushInForce => labels.flush_in_force.clone(),
        Part::Method => labels.method.clone(),
        Part::Connections => labels.connections.to_string(),
        Part::StatementRows => labels.statement_rows.to_string(),
        Part::CommitRows => labels.commit_rows.to_string(),
        Part::Settings => labels.settings.clone(),
        Part::Repeat => curve.repeat.map_or_else(String::new, |repeat| repeat.to_string()),
        Part::Run => curve.run.to_owned(),
    }
}

fn written(curves: &[Named<'_>], parts: &[Part]) -> Vec<String> {
    curves
        .iter()
        .map(|curve| {
            let words: Vec<String> =
                parts.iter().map(|part| word(curves, curve, *part)).filter(|word| !word.is_empty()).collect();
            if words.is_empty() {
                format!("{} {}", curve.labels.engine, curve.labels.key).trim().to_owned()
            } else {
                words.join(" ")
            }
        })
        .collect()
}

/// How one part is written. Empty where there is nothing to say, as for the flush setting of an engine without one.
fn word(curves: &[Named<'_>], curve: &Named<'_>, part: Part) -> String {
    let value = value(curve, part);
    match part {
        _ if value.is_empty() => value,
        Part::Target => target_word(curves, &value),
        Part::Key => key_word(curves, &value),
        Part::Flush => match value.as_str() {
            "none" => String::new(),
            named if named.contains('=') => value,
            _ => format!("flush {value}"),
        },
        Part::FlushInForce => differing_words(curves, &value, |labels| &labels.flush_in_force),
        Part::Settings => differing_words(curves, &value, |labels| &labels.settings),
        // A file of another program does not tell.
        Part::Connections | Part::StatementRows | Part::CommitRows if value == "0" => String::new(),
        Part::Connections if value == "1" => "1 connection".into(),
        Part::Connections => format!("{value} connections"),
        Part::StatementRows => format!("{value} rows/statement"),
        Part::CommitRows => format!("{value} rows/commit"),
        Part::Repeat => format!("#{value}"),
        _ => value,
    }
}

/// A target by its last part (a server binary, a host, a file), where that tells the targets apart.
fn target_word(curves: &[Named<'_>], target: &str) -> String {
    let targets: HashSet<&str> = curves.iter().map(|curve| curve.labels.target.as_str()).collect();
    let short: HashSet<&str> = targets.iter().map(|target| last_part(target)).collect();
    if short.len() == targets.len() {
        return last_part(target).to_owned();
    }
    let telling: HashSet<&str> = targets.iter().map(|one| telling_part(one, &targets)).collect();
    if telling.len() == targets.len() && !telling.contains("") {
        return telling_part(target, &targets).to_owned();
    }
    target.to_owned()
}

/// The part of a target in which it differs from the others, in whole pieces: `d2.sock` of `mysql://root@localhost/test?socket=/x/d2.sock`.
fn telling_part<'a>(target: &'a str, targets: &HashSet<&str>) -> &'a str {
    let separates = |c: char| matches!(c, '/' | '?' | '&' | '@' | '=' | ',');
    let common = |other: &&str| target.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let common_end = |other: &&str| target.bytes().rev().zip(other.bytes().rev()).take_while(|(a, b)| a == b).count();
    let others = || targets.iter().filter(|other| **other != target);
    let (begin, end) = (others().map(common).min().unwrap_or(0), others().map(common_end).min().unwrap_or(0));
    // Separators are of one byte, so both ends lie between letters.
    let from = target.char_indices().rfind(|&(at, c)| at < begin && separates(c)).map_or(0, |(at, _)| at + 1);
    let to = target
        .char_indices()
        .find(|&(at, c)| at >= from.max(target.len() - end) && matches!(c, '?' | '&'))
        .map_or(target.len(), |(at, _)| at);
    &target[from..to]
}

/// `mariadbd` of `scratch:/usr/sbin/mariadbd`, `db:3306` of `mysql://me@db:3306/test`, `t.db` of `sqlite:/data/t.db`.
fn last_part(target: &str) -> &str {
    if let Some((_, rest)) = target.split_once("://") {
        let authority = rest.split(['/', '?']).next().unwrap_or(rest);
        return authority.rsplit('@').next().unwrap_or(authority);
    }
    target.split_once(":/").map_or(target, |_| target.rsplit('/').next().unwrap_or(target))
}

fn key_word(curves: &[Named<'_>], key: &str) -> String {
    let Some((kind, storage)) = key.split_once(':') else { return key.to_owned() };
    let storages: HashSet<&str> =
        curves.iter().filter_map(|curve| curve.labels.key.split_once(':')).map(|(_, storage)| storage).collect();
    if storage == DEFAULT_STORAGE && storages.len() == 1 { kind.to_owned() } else { key.to_owned() }
}

/// The `name=value` words that not every curve has.
fn differing_words(curves: &[Named<'_>], words: &str, of: impl Fn(&Labels) -> &String) -> String {
    let common = |word: &str| curves.iter().all(|curve| of(curve.labels).split_whitespace().any(|other| other == word));
    words.split_whitespace().filter(|word| !common(word)).collect::<Vec<_>>().join(" ")
}

/// Two curves with the same labels in every column still get two names.
fn number_equals(names: &mut [String]) {
    let mut seen: HashSet<String> = HashSet::new();
    for name in names {
        let mut candidate = name.clone();
        let mut count = 1;
        while !seen.insert(candidate.clone()) {
            count += 1;
            candidate = format!("{name} ({count})");
        }
        *name = candidate;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(engine: &str, key: &str, flush: &str) -> Labels {
        Labels {
            target: "mysql://db".into(),
            engine: engine.into(),
            key: key.into(),
            flush: flush.into(),
            method: "insert".into(),
            connections: 8,
            ..Labels::default()
        }
    }

    fn names(all: &[Labels]) -> Vec<String> {
        let named: Vec<Named<'_>> = all.iter().map(|labels| Named { labels, repeat: Some(1), run: "run" }).collect();
        short_names(&named)
    }

    #[test]
    fn only_what_differs_is_named() {
        let keys = [labels("innodb", "autoinc", "1"), labels("innodb", "uuid4:binary16", "1")];
        assert_eq!(names(&keys), ["autoinc", "uuid4"]);
        let all = [
            labels("innodb", "uuid4:binary16", "2"),
            labels("innodb", "autoinc", "1"),
            labels("aria", "autoinc", "none"),
        ];
        assert_eq!(names(&all), ["innodb uuid4 flush 2", "innodb autoinc flush 1", "aria autoinc"]);
        let flush = [labels("innodb", "autoinc", "as-is"), labels("innodb", "autoinc", "sync_binlog=0")];
        assert_eq!(names(&flush), ["flush as-is", "sync_binlog=0"]);
    }

    #[test]
    fn nothing_differs_leaves_engine_and_key() {
        assert_eq!(names(&[labels("innodb", "uuid4:binary16", "1")]), ["innodb uuid4"]);
        assert_eq!(names(&[]), Vec::<String>::new());
    }

    #[test]
    fn the_storage_is_named_when_it_differs_or_is_unusual() {
        let storages = [labels("innodb", "uuid4:binary16", "1"), labels("innodb", "uuid4:char32", "1")];
        assert_eq!(names(&storages), ["uuid4:binary16", "uuid4:char32"]);
        let unusual = [labels("innodb", "uuid4:char32", "1"), labels("innodb", "autoinc", "1")];
        assert_eq!(names(&unusual), ["uuid4:char32", "autoinc"]);
    }

    #[test]
    fn repeats_connections_and_settings_are_words() {
        let one = labels("innodb", "autoinc", "1");
        let many = Labels { connections: 1, settings: "a=1 b=2".into(), ..one.clone() };
        let more = Labels { connections: 1, settings: "a=1 b=3".into(), ..one.clone() };
        assert_eq!(
            names(&[one.clone(), many, more]),
            ["8 connections", "1 connection a=1 b=2", "1 connection a=1 b=3"]
        );
        let repeats = [1, 2].map(|repeat| Named { labels: &one, repeat: Some(repeat), run: "run" });
        assert_eq!(short_names(&repeats), ["#1", "#2"]);
    }

    #[test]
    fn settings_that_all_share_are_not_named() {
        let one = Labels { settings: "a=1 b=2".into(), ..labels("innodb", "autoinc", "1") };
        let two = Labels { settings: "a=1 b=3".into(), ..one.clone() };
        assert_eq!(names(&[one, two]), ["b=2", "b=3"]);
    }

    #[test]
    fn target_and_run_are_named_only_where_names_would_be_equal() {
        let here = labels("innodb", "autoinc", "1");
        let there = Labels { target: "mysql://other".into(), ..here.clone() };
        let sqlite = Labels { target: "sqlite".into(), engine: "sqlite".into(), ..here.clone() };
        assert_eq!(names(&[here.clone(), sqlite]), ["innodb", "sqlite"]);
        assert_eq!(names(&[here.clone(), there]), ["db innodb autoinc", "other innodb autoinc"]);
        let uuid = labels("innodb", "uuid4:binary16", "1");
        let runs = [(&here, "a"), (&uuid, "b")].map(|(labels, run)| Named { labels, repeat: Some(1), run });
        assert_eq!(short_names(&runs), ["autoinc", "uuid4"]);
        let runs = [(&here, "a"), (&uuid, "a"), (&here, "b")].map(|(labels, run)| Named { labels, repeat: None, run });
        assert_eq!(short_names(&runs), ["autoinc a", "uuid4 a", "autoinc b"]);
    }

    #[test]
    fn names_are_unique_whatever_comes() {
        let one = labels("innodb", "autoinc", "1");
        assert_eq!(names(&[one.clone(), one]), ["innodb autoinc", "innodb autoinc (2)"]);
    }

    #[test]
    fn what_is_common_goes_to_the_subtitle() {
        let all = [labels("innodb", "uuid4:binary16", "1"), labels("innodb", "autoinc", "1")];
        let named: Vec<Named<'_>> = all.iter().map(|labels| Named { labels, repeat: None, run: "run" }).collect();
        assert_eq!(common_words(&named), ["innodb", "flush 1", "insert", "8 connections"]);
    }

    #[test]
    fn what_a_file_of_another_program_does_not_tell_is_not_said() {
        let one = Labels { engine: "per. row/s".into(), ..Labels::default() };
        let named = [Named { labels: &one, repeat: None, run: "run" }];
        assert_eq!(
            (common_words(&named), short_names(&named)),
            (vec!["per. row/s".to_owned()], vec!["per. row/s".into()])
        );
    }

    #[test]
    fn targets_are_named_by_their_last_part_where_that_tells_them_apart() {
        let named = |targets: &[&str]| {
            let labels: Vec<Labels> = targets
                .iter()
                .map(|target| Labels {
                    target: (*target).into(),
                    engine: "innodb".into(),
                    key: "autoinc".into(),
                    ..Labels::default()
                })
                .collect();
            let curves: Vec<Named<'_>> =
                labels.iter().map(|labels| Named { labels, repeat: Some(1), run: "r" }).collect();
            short_names(&curves)
        };
        let binaries = named(&["scratch:/usr/sbin/mariadbd", "scratch:/opt/mysql/bin/mysqld"]);
        assert!(binaries[0].contains("mariadbd") && !binaries[0].contains('/'), "{binaries:?}");
        let hosts = named(&["mysql://me@a:3306/test", "mysql://me@b:3306/test"]);
        assert!(hosts[0].contains("a:3306") && !hosts[0].contains("me@"), "{hosts:?}");
        // The same server twice by two sockets: the piece that tells, whole.
        let sockets = named(&["mysql://me@localhost/t?socket=/a/s", "mysql://me@localhost/t?socket=/b/s"]);
        assert!(sockets[0].starts_with("a/s ") && sockets[1].starts_with("b/s "), "{sockets:?}");
        let sockets = named(
            &["d1b", "d2", "n1,n2"]
                .map(|name| format!("mysql://root@localhost/test?socket=/data/{name}.sock"))
                .each_ref()
                .map(String::as_str),
        );
        for (name, piece) in sockets.iter().zip(["d1b.sock ", "d2.sock ", "n1,n2.sock "]) {
            assert!(name.starts_with(piece), "{sockets:?}");
        }
        let databases = named(&["mysql://me@h/one?ssl=1", "mysql://me@h/two?ssl=1"]);
        assert!(databases[0].starts_with("one ") && databases[1].starts_with("two "), "{databases:?}");
    }
}
