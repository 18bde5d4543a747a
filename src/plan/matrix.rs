//! From what the user typed to the list of curves: lists multiplied out, defaults filled in, impossible cells marked.

use std::collections::HashSet;
use std::str::FromStr;
use std::time::Duration;

use super::own_table::{Asked, Schema};
use super::{
    Care, Cell, Circumstances, CurvePlan, Flush, Login, Place, Plan, ProbePlan, Protection, Scale, SchemaFile, Secret,
    Sizes, TargetSpec, place, settings,
};
use crate::cli;
use crate::engine::{Engine, EngineTable};
use crate::error::Error;
use crate::key::Storage;
use crate::plan::counters::CounterChoice;
use crate::plan::method::Method;
use crate::plan::stop::StopRules;
use crate::rows::{EDITION, IndexOrder, Wishes};
use crate::schema::{self, BuiltIn, Dialect, key_type};
use crate::units::grouped;

/// A plan with what goes beside it and is stored nowhere.
#[derive(Debug)]
pub struct Resolved {
    pub plan: Plan,
    /// The password of each target, by its index.
    pub secrets: Vec<Secret>,
    /// How connections are protected.
    pub protection: Protection,
    /// What was adjusted, for people.
    pub notes: Vec<String>,
}

/// Builds the plan. Looks at nothing but the words and the files they name, and asks for a password where it is told to.
///
/// # Errors
/// A word is not known, sizes contradict each other, a file cannot be read.
pub fn resolve(args: &cli::RunArgs, engines: &EngineTable) -> Result<Resolved, Error> {
    resolve_with(args, engines, Circumstances::default())
}

/// The same in the circumstances of a run.
///
/// # Errors
/// As [`resolve`], and what the target said.
pub fn resolve_with(
    args: &cli::RunArgs,
    engines: &EngineTable,
    circumstances: Circumstances<'_>,
) -> Result<Resolved, Error> {
    let Circumstances { ask, tables } = circumstances;
    let login = Login::read(&args.access)?;
    let mut notes = login.notes.clone();
    notes.extend(args.said.passed_over.iter().cloned());
    let (targets, secrets) = targets(&args.target, &login)?;
    let flushes = parsed("--flush", &args.flush, Flush::from_str)?;
    let methods = parsed("--method", &args.method, Method::from_str)?;
    let has_server = targets.iter().any(|target| !matches!(target.place, Place::Sqlite { .. }));
    if !args.engine.is_empty() && !has_server {
        return Err(Error::usage(
            "--engine",
            "SQLite has one engine of its own",
            "leave --engine out, or name a server with --target",
        ));
    }
    let is_scratch = |target: &TargetSpec| matches!(target.place, Place::Scratch { .. });
    let scratch = settings::scratch(args, targets.iter().any(is_scratch))?;
    let fetch = |index: usize, name: &str| match ask {
        Some(ask) => ask(&targets[index], &secrets[index], &login.protection, name),
        None => Ok(String::new()),
    };
    let schema = Schema::read(args, &targets, ask.is_some().then_some(&fetch), &mut notes)?;
    let scale = Scale::of_args(args)?;
    if let Some(scale) = scale {
        notes.push(scale.note(args.cache));
    }
    let cache_bytes = scale.map_or(args.cache, |scale| scale.cache(args.cache));
    let label = schema.as_ref().map(Schema::label);
    let storage = default_storage(schema.as_ref().map(|schema| &schema.file), tables);
    let mut axes = Axes {
        tables,
        keys: Vec::new(),
        flushes,
        methods,
        variations: settings::variations(&args.vary)?,
        cache_bytes,
        schema: label,
    };
    let mut curves = Vec::new();
    for repeat in 1..=args.repeat {
        let mut seen = HashSet::new();
        for (index, target) in targets.iter().enumerate() {
            let is_sqlite = matches!(target.place, Place::Sqlite { .. });
            let dialect = if is_sqlite { Dialect::Sqlite } else { Dialect::Mysql };
            axes.keys = super::own_table::keys(args, schema.as_ref(), dialect, storage)?;
            for (word, entry) in engine_list(args, is_sqlite, engines)? {
                for (cell, not_taken) in axes.cells(args, index, target, &word, &entry) {
                    let name = curve_name(&cell, repeat);
                    if cell.flush == Flush::None && args.flush.iter().any(|word| word != "as-is") {
                        say_once(&mut notes, without_knob(&word, &args.flush));
                    }
                    // An engine without a knob gives one curve, whatever flush settings were asked for.
                    if !seen.insert(name.clone()) {
                        continue;
                    }
                    let options: &[_] = if is_scratch(target) { &scratch.options } else { &[] };
                    settings::contradiction(&cell, options)?;
                    let sizes = sizes(args, scale, is_sqlite, &cell, &mut notes)?;
                    let unable =
                        not_taken.or_else(|| unable(&cell, is_sqlite, schema.as_ref().map(|schema| &schema.file)));
                    curves.push(CurvePlan { number: curves.len() + 1, name, cell, repeat, sizes, unable });
                }
            }
        }
    }
    let engines_used = curves.iter().map(|curve: &CurvePlan| curve.cell.engine_entry.name.as_str());
    notes.extend(schema.as_ref().and_then(|schema| schema.engine_note(engines_used)));
    let mut probe = ProbePlan::of_args(&args.probe)?;
    if let (Some(scale), Some(probe)) = (scale, &mut probe) {
        scale.probes(probe, batch_rows(args, !has_server));
    }
    let plan = Plan {
        targets,
        curves,
        seed: args.seed,
        uuid_rate: scale.map_or(args.uuid_rate, |scale| scale.uuid_rate(args.uuid_rate)),
        index_order: index_order(args, schema.as_ref().map(|schema| &schema.file)),
        fill: wishes(args)?,
        edition: EDITION,
        schema: schema.map(|schema| schema.file),
        payload_bytes: args.payload_bytes,
        verify_rows: (!args.no_verify).then_some(args.verify_rows),
        window_bytes: args.window_bytes,
        stop: stop_rules(&args.stop),
        scratch,
        settle_seconds: args.settle.as_secs_f64(),
        counters: match args.counters {
            cli::Counters::Default => CounterChoice::Default,
            cli::Counters::All => CounterChoice::All,
            cli::Counters::None => CounterChoice::None,
        },
        keep: args.keep,
        strict: args.strict,
        control_batch: args.control_batch,
        fail_on_cliff: args.fail_on_cliff,
        fail_on_slowdown: args.fail_on_slowdown,
        probe,
        scale: scale.map(Scale::factor),
        scale_cache: scale.is_some_and(Scale::scales_cache),
        scale_uuid_rate: scale.is_some(),
        care: Care { allow_replication: args.replication.allow_replication, skip_binlog: args.replication.skip_binlog },
        shard: None,
    };
    Ok(Resolved { plan, secrets, protection: login.protection, notes })
}

/// The order of indexed values: in a table of the user's own nothing ascends by itself, so that its secondary indexes cost what they cost.
fn index_order(args: &cli::RunArgs, schema: Option<&SchemaFile>) -> IndexOrder {
    match args.index_order {
        Some(cli::IndexOrder::Ascending) => IndexOrder::Ascending,
        Some(cli::IndexOrder::Random) => IndexOrder::Random,
        None if schema.is_some_and(|schema| !schema.is_named()) => IndexOrder::Random,
        None => IndexOrder::Ascending,
    }
}

fn wishes(args: &cli::RunArgs) -> Result<Wishes, Error> {
    let mut wishes = Wishes::new();
    for (column, wish) in &args.fill {
        if wishes.insert(column.clone(), *wish).is_some() {
            let next = format!("say all of it at once, as in --fill {column}=distinct:1000,null:0.1");
            return Err(Error::usage("--fill", format!("the column {column} is filled twice"), next));
        }
    }
    Ok(wishes)
}

fn stop_rules(args: &cli::StopArgs) -> StopRules {
    let seconds = |limit: Option<Duration>| limit.map(|limit| limit.as_secs_f64());
    StopRules {
        min_rate: args.min_rate,
        max_slowdown: args.max_slowdown,
        stop_after: args.stop_after,
        max_batch_seconds: seconds(args.max_batch_seconds),
        max_duration_seconds: seconds(args.max_duration),
        max_run_duration_seconds: seconds(args.max_run_duration),
        max_table_bytes: args.max_table_bytes,
        min_free_disk_bytes: args.min_free_disk,
        stall_timeout_seconds: args.stall_timeout.as_secs_f64(),
        stop_ends_run: args.on_stop == cli::OnStop::Run,
        no_disk_check: args.no_disk_check,
    }
}

/// The dimensions of the matrix below target and engine.
struct Axes {
    tables: BuiltIn,
    keys: Vec<Asked>,
    flushes: Vec<Flush>,
    methods: Vec<Method>,
    variations: Vec<Vec<(String, String)>>,
    cache_bytes: Option<u64>,
    schema: Option<String>,
}

impl Axes {
    /// Every cell of one engine on one target, with the reason where the table does not take its key.
    fn cells(
        &self,
        args: &cli::RunArgs,
        index: usize,
        target: &TargetSpec,
        word: &str,
        entry: &Engine,
    ) -> Vec<(Cell, Option<String>)> {
        let connections = match (args.connections.is_empty(), entry.can.several_connections) {
            (false, _) => args.connections.clone(),
            (true, false) => vec![1],
            (true, true) => vec![8],
        };
        let mut cells = Vec::new();
        for (key, why) in &self.keys {
            for flush in &self.flushes {
                for &method in &self.methods {
                    for &connections in &connections {
                        cells.extend(self.variations.iter().map(|settings| {
                            let cell = Cell {
                                target: index,
                                target_label: target.label.clone(),
                                engine: word.to_owned(),
                                engine_entry: entry.clone(),
                                tables: self.tables,
                                key: *key,
                                flush: effective_flush(flush, entry),
                                method,
                                connections,
                                probe_connections: most_probe_connections(args, connections, entry),
                                settings: settings.clone(),
                                schema: self.schema.clone(),
                                cache_bytes: self.cache_bytes,
                            };
                            (cell, why.clone())
                        }));
                    }
                }
            }
        }
        cells
    }
}

/// The most connections that a probe of a cell uses.
fn most_probe_connections(args: &cli::RunArgs, loading: u32, engine: &Engine) -> u32 {
    if args.probe.probe.is_empty() {
        return 0;
    }
    let asked = args.probe.probe_connections.iter().copied().max();
    if engine.can.several_connections { asked.unwrap_or(loading) } else { 1 }
}

fn targets(words: &[String], login: &Login) -> Result<(Vec<TargetSpec>, Vec<Secret>), Error> {
    let mut specs: Vec<TargetSpec> = Vec::new();
    let mut secrets = Vec::new();
    for word in words {
        let (mut place, secret) = place::parse_with(word, &login.options)?;
        let label = match &place {
            Place::Sqlite { path: None } => "sqlite".to_owned(),
            Place::Sqlite { path: Some(path) } => format!("sqlite:{}", path.display()),
            Place::Scratch { binary: None } => "scratch".to_owned(),
            Place::Scratch { binary: Some(binary) } => format!("scratch:{}", binary.display()),
            Place::Server(server) => server.url(),
        };
        if let Place::Sqlite { path: Some(path) } = &mut place {
            // A run may be gone on with from another directory.
            *path = settings::absolute(path)?;
        }
        if specs.iter().any(|spec| spec.label == label) {
            return Err(Error::usage(
                "--target",
                format!("{label} is named twice"),
                "name each target once; --repeat repeats its curves",
            ));
        }
        secrets.push(match &place {
            Place::Server(server) => login.secret(secret, server)?,
            _ => secret,
        });
        specs.push(TargetSpec { label, place });
    }
    Ok((specs, secrets))
}

/// How a UUID is stored whose word does not say it: as the table of the schema has it, or as those of the run.
fn default_storage(schema: Option<&SchemaFile>, tables: BuiltIn) -> Storage {
    match schema.filter(|schema| schema.is_named()) {
        // The posts have CHAR(32).
        Some(_) => Storage::Char32,
        None => tables.default_storage(),
    }
}

fn parsed<T, E: std::fmt::Display>(
    flag: &str,
    words: &[String],
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, Error> {
    let list: Result<Vec<T>, Error> = words
        .iter()
        .map(|word| {
            parse(word.trim()).map_err(|error| Error::usage(flag, error.to_string(), "see rowcliff run --help"))
        })
        .collect();
    match list {
        Ok(list) if list.is_empty() => Err(Error::usage(flag, "the list is empty", "see rowcliff run --help")),
        other => other,
    }
}

fn engine_list(args: &cli::RunArgs, is_sqlite: bool, engines: &EngineTable) -> Result<Vec<(String, Engine)>, Error> {
    if is_sqlite {
        return Ok(vec![engines.resolve("sqlite")]);
    }
    if args.engine.is_empty() {
        return Ok(vec![engines.resolve("innodb")]);
    }
    let mut list: Vec<(String, Engine)> = Vec::new();
    for word in &args.engine {
        let word = word.trim();
        if !word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') || word.is_empty() {
            return Err(Error::usage(
                "--engine",
                format!("{word:?} is not the name of an engine"),
                "see rowcliff engines",
            ));
        }
        let resolved = engines.resolve(word);
        if resolved.0 == "sqlite" {
            return Err(Error::usage(
                "--engine",
                "sqlite is a target, not an engine of a server",
                "use --target sqlite",
            ));
        }
        if !list.iter().any(|(name, _)| *name == resolved.0) {
            list.push(resolved);
        }
    }
    Ok(list)
}

/// Why an engine has one curve where several flush settings were asked for.
fn without_knob(word: &str, asked: &[String]) -> String {
    format!("{word} has no flush setting: --flush {} is one curve of it, with flush=none", asked.join(","))
}

/// What a flush setting means for an engine. Variables by name stay as they are: they may be the server's.
fn effective_flush(flush: &Flush, engine: &Engine) -> Flush {
    match flush {
        Flush::Named(_) => flush.clone(),
        // A stranger to the engine table may well have a knob that only its user knows.
        _ if engine.flush.is_none() && !engine.tested.is_empty() => Flush::None,
        _ => flush.clone(),
    }
}

fn curve_name(cell: &Cell, repeat: u32) -> String {
    let settings = cell.settings_label();
    let mut name = format!(
        "{} {} {} flush={} {} c{}",
        cell.target_label, cell.engine, cell.key, cell.flush, cell.method, cell.connections
    );
    if !settings.is_empty() {
        name.push(' ');
        name.push_str(&settings);
    }
    name.push_str(&format!(" r{repeat}"));
    name
}

/// Rows of a batch before they are scaled.
fn batch_rows(args: &cli::RunArgs, is_sqlite: bool) -> u64 {
    args.batch_rows.unwrap_or(if is_sqlite { 50_000 } else { 1_000_000 })
}

fn sizes(
    args: &cli::RunArgs,
    scale: Option<Scale>,
    is_sqlite: bool,
    cell: &Cell,
    notes: &mut Vec<String>,
) -> Result<Sizes, Error> {
    let batch_rows = batch_rows(args, is_sqlite);
    let asked = match args.rows {
        Some(rows) => rows,
        None if is_sqlite => 1_000_000.max(batch_rows),
        None => {
            return Err(Error::usage(
                "--rows",
                "a server needs to be told how many rows to load",
                "give the size of the table, as in --rows 300M",
            ));
        }
    };
    let rows = asked.div_ceil(batch_rows).checked_mul(batch_rows).filter(|&rows| rows <= i64::MAX as u64).ok_or_else(
        || {
            Error::usage(
                "--rows",
                format!("{} rows are more than a 64-bit key can number", grouped(asked)),
                "give fewer rows",
            )
        },
    )?;
    if rows != asked {
        say_once(
            notes,
            format!(
                "--rows {} is rounded up to {} rows: {} whole batches of {}",
                grouped(asked),
                grouped(rows),
                grouped(rows / batch_rows),
                grouped(batch_rows)
            ),
        );
    }
    // The number of batches stays as it is.
    let batches = rows / batch_rows;
    let batch_rows = scale.map_or(batch_rows, |scale| scale.count(batch_rows));
    let rows = batches.checked_mul(batch_rows).filter(|&rows| rows <= i64::MAX as u64).ok_or_else(|| {
        let cause =
            format!("{} batches of {} rows are too many for a 64-bit key", grouped(batches), grouped(batch_rows));
        Error::usage("--scale", cause, "give a smaller factor")
    })?;
    let default_statement = cell.method.default_statement_rows(batch_rows, cell.connections);
    let statement_rows = args.statement_rows.unwrap_or(default_statement).min(batch_rows);
    let default_commit = if is_sqlite { batch_rows } else { statement_rows };
    let mut commit_rows = args.commit_rows.unwrap_or(default_commit).min(batch_rows);
    if commit_rows < statement_rows {
        say_once(
            notes,
            format!(
                "--commit-rows {} is raised to the {} rows of one statement, which cannot be committed in parts",
                grouped(commit_rows),
                grouped(statement_rows)
            ),
        );
        commit_rows = statement_rows;
    }
    Ok(Sizes { rows, batch_rows, statement_rows, commit_rows })
}

fn say_once(notes: &mut Vec<String>, note: String) {
    if !notes.contains(&note) {
        notes.push(note);
    }
}

/// What no server could change.
fn unable(cell: &Cell, is_sqlite: bool, schema: Option<&SchemaFile>) -> Option<String> {
    let engine = &cell.engine_entry;
    if let Some(why) = engine.unable.as_ref().filter(|_| schema.is_none()) {
        return Some(why.clone());
    }
    let named = schema.filter(|schema| schema.is_named()).and_then(|schema| schema::named(&schema.path));
    if let Some(why) = named.and_then(|table| table.unable(cell.key)) {
        return Some(why);
    }
    if !cell.key.is_autoinc() && !engine.can.uuid_keys {
        return Some(format!("{} takes no UUID key", engine.name));
    }
    if cell.connections > 1 && !engine.can.several_connections {
        return Some(format!(
            "{} has one writer at a time, so it is loaded over one connection; give --connections 1",
            engine.name
        ));
    }
    if matches!(cell.flush, Flush::Level(_)) && engine.flush.is_none() {
        return Some(format!(
            "{} is not in the engine table with a flush setting; use --flush as-is, or NAME=VALUE with its own variable",
            engine.name
        ));
    }
    let dialect = if is_sqlite { Dialect::Sqlite } else { Dialect::Mysql };
    let without_type = cell.key.storage().filter(|&storage| key_type(dialect, storage).is_none());
    cell.method
        .unable(is_sqlite)
        .or_else(|| without_type.map(|storage| format!("{} has no {} UUIDs", dialect.name(), storage.name())))
}
