//! What other programs call an option, so that a refusal names ours.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options that people bring from mysqlslap, sysbench, iibench and the stock clients, and where to find what they mean.
const FOREIGN: [(&str, &str); 21] = [
    ("--threads", "'--connections' is the number of loading connections"),
    ("--num-threads", "'--connections' is the number of loading connections"),
    ("--concurrency", "'--connections' is the number of loading connections"),
    ("--clients", "'--connections' is the number of loading connections"),
    ("--parallel", "'--connections' is the number of loading connections"),
    ("--jobs", "'--connections' is the number of loading connections"),
    ("--batch-size", "'--batch-rows' is what is timed, '--statement-rows' the rows of a statement"),
    ("--table-size", "'--rows' is the size of the table at the end"),
    ("--max-rows", "'--rows' is the size of the table at the end"),
    ("--count", "'--rows' is the size of the table at the end"),
    ("--dry-run", "'rowcliff check' takes the same options, and loads nothing"),
    ("--explain", "'rowcliff check' takes the same options, and loads nothing"),
    ("--iterations", "'--repeat' loads every cell again"),
    ("--output", "'--out' names the directory of the run"),
    ("--host", "the server stands in '--target mysql://USER@HOST:PORT/DB'"),
    ("--port", "the server stands in '--target mysql://USER@HOST:PORT/DB'"),
    ("--user", "the server stands in '--target mysql://USER@HOST:PORT/DB'"),
    ("--socket", "the server stands in '--target mysql://USER@localhost/DB?socket=PATH'"),
    ("--database", "the server stands in '--target mysql://USER@HOST:PORT/DB'"),
    ("--password", "use '--password-file FILE', '--ask-password' or ROWCLIFF_PASSWORD"),
    ("--durability", "'--flush' takes 0, 1 or 2, as innodb_flush_log_at_trx_commit does"),
];

/// Adds to a refusal what is meant here by the word, where that is known.
#[must_use]
pub fn explained(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return error };
    let name = word.split('=').next().unwrap_or(word);
    if let Some((_, hint)) = FOREIGN.iter().find(|(known, _)| *known == name) {
        // What clap found by likeness of letters would stand beside it.
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![(*hint).into()]));
    }
    error
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_word_of_another_program_is_answered_with_ours() {
        for (word, expected) in
            [("--threads=8", "--connections"), ("--dry-run", "rowcliff check"), ("--password=***", "--password-file")]
        {
            let error = Cli::try_parse_from(["rowcliff", "run", word]).unwrap_err();
            let text = explained(error).to_string();
            assert!(text.contains(&format!("'{expected}")), "{text}");
        }
    }

    #[test]
    fn no_option_of_ours_is_taken_for_a_foreign_one() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let ours: Vec<String> =
            run.get_arguments().filter_map(|arg| arg.get_long().map(|long| format!("--{long}"))).collect();
        for (foreign, hint) in FOREIGN {
            assert!(!ours.contains(&foreign.to_owned()), "{foreign}");
            let named = hint.split('\'').nth(1).unwrap();
            let option = named.split(' ').next().unwrap().to_owned();
            assert!(named == "rowcliff check" || ours.contains(&option), "{hint}");
        }
    }
}
