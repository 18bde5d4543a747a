//! `rowcliff engines`: the engine table, and what a server has of it.

use super::Output;
use crate::cli::EnginesArgs;
use crate::engine::{Engine, EngineTable};
use crate::error::{Error, exit};
use crate::plan::{Login, Place, place};
use crate::render::table::{Align, Table};
use crate::targets::mysql::{self, Access};

/// What SHOW ENGINES lists and nobody loads: views of something else.
const NO_TABLES: [&str; 5] = ["performance_schema", "sequence", "mrg_myisam", "federated", "perfschema"];

/// Prints the table.
///
/// # Errors
/// The server cannot be reached.
pub fn run(args: &EnginesArgs) -> Result<Output, Error> {
    if args.toml {
        return Ok(Output::results(EngineTable::built_in_text().to_owned()));
    }
    let engines = EngineTable::built_in();
    match &args.target {
        None => Ok(Output::results(listing(&engines))),
        Some(word) => on_server(word, args, &engines),
    }
}

fn listing(engines: &EngineTable) -> String {
    let mut table = Table::new(&[
        ("engine", Align::Left),
        ("also", Align::Left),
        ("flush 0/1/2 sets", Align::Left),
        ("cache", Align::Left),
        ("cannot", Align::Left),
        ("tested on", Align::Left),
    ]);
    for (word, engine) in engines.iter() {
        table.row(vec![
            word.to_owned(),
            engine.aliases.join(", "),
            flush(engine),
            engine.cache.as_ref().map_or_else(|| "-".into(), |cache| starred(&cache.variable, cache.dynamic)),
            cannot(engine),
            if engine.tested.is_empty() { "-".into() } else { engine.tested.join(", ") },
        ]);
    }
    let mut text = table.render();
    text.push_str("\n* counts only when the server starts: use --target scratch\n");
    for (word, engine) in engines.iter() {
        let unable = engine.unable.iter().map(|why| format!("cannot be run: {why}"));
        for note in unable.chain(engine.notes.iter().cloned()) {
            text.push_str(&format!("{word}: {note}\n"));
        }
    }
    text.push_str(
        "\nAn engine that is not listed works with --flush as-is and with NAME=VALUE. --toml prints the table as a file to change.\n",
    );
    text
}

fn flush(engine: &Engine) -> String {
    match &engine.flush {
        None => "-".into(),
        Some(knob) => starred(&format!("{}={}", knob.variable, knob.values.join("/")), knob.dynamic),
    }
}

fn starred(name: &str, dynamic: bool) -> String {
    format!("{name}{}", if dynamic { "" } else { "*" })
}

fn cannot(engine: &Engine) -> String {
    let can = engine.can;
    let lacks = [
        (can.transactions, "transactions"),
        (can.delete, "delete by key"),
        (can.uuid_keys, "UUID keys"),
        (can.keeps_rows, "keep rows"),
        (can.several_connections, "several connections"),
    ];
    let words: Vec<&str> = lacks.into_iter().filter(|(can, _)| !can).map(|(_, word)| word).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}

fn on_server(word: &str, args: &EnginesArgs, engines: &EngineTable) -> Result<Output, Error> {
    let login = Login::read(&args.access)?;
    let (place, secret) = match place::parse_with(word, &login.options)? {
        (Place::Server(place), secret) => (place, secret),
        _ => {
            return Err(Error::usage(
                "--target",
                "this is not a server that runs already",
                "name one as mysql://USER@HOST:PORT/DB; without --target the whole table is listed",
            ));
        }
    };
    let label = place.url();
    let secret = login.secret(secret, &place)?;
    let access = Access::new(place, secret).protected(&login.protection);
    let offer = mysql::offer(access).map_err(|failure| {
        Error::target(&label, failure.to_string(), "rowcliff check with the same options only connects and reads")
    })?;
    let mut table = Table::new(&[("engine", Align::Left), ("here", Align::Left), ("why not", Align::Left)]);
    let mut known: Vec<&str> = vec![];
    for (word, engine) in engines.iter().filter(|(word, _)| *word != "sqlite") {
        known.push(&engine.name);
        let why = offer.missing(engine).or_else(|| engine.unable.clone());
        table.row(vec![word.to_owned(), if why.is_none() { "yes" } else { "no" }.into(), why.unwrap_or_default()]);
    }
    for name in offer.names().into_iter().filter(|name| !NO_TABLES.contains(&name.to_ascii_lowercase().as_str())) {
        if !known.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            let note = "not in the table: --flush as-is and NAME=VALUE only";
            table.row(vec![name.to_ascii_lowercase(), "yes".into(), note.into()]);
        }
    }
    Ok(Output { stdout: format!("{label}\n{}", table.render()), stderr: login.notes, exit: exit::OK })
}
