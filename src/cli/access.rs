//! The words for logging in at a server, shared by every command that does.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

/// How to log in: the same options for every command that connects.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Logging in")]
pub struct AccessArgs {
    /// A file whose first line is the password. Before the environment (ROWCLIFF_PASSWORD, MYSQL_PWD) and option files
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Ask for the password on the terminal
    #[arg(long, conflicts_with = "password_file")]
    pub ask_password: bool,

    /// Option file as the stock clients read it (groups client and rowcliff: user, password, host, port, socket).
    /// ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub defaults_file: Option<PathBuf>,

    /// Whether connections over TCP are encrypted. preferred
    #[arg(long, value_name = "MODE", value_enum)]
    pub ssl_mode: Option<SslWord>,

    /// Certificates of the authorities that may have signed the server's own, in PEM
    #[arg(long, value_name = "FILE")]
    pub ssl_ca: Option<PathBuf>,
}

/// How a connection over TCP is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SslWord {
    /// No TLS.
    Disabled,
    /// TLS where the server has it; no certificate is checked.
    Preferred,
    /// TLS or nothing; no certificate is checked.
    Required,
    /// TLS with a certificate signed by --ssl-ca or a public authority.
    VerifyCa,
    /// As verify-ca, and it has to bear the name of the host.
    VerifyIdentity,
}

/// What may be done to a server beyond loading a table.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = "Replication")]
pub struct ReplicationArgs {
    /// Load although replicas are attached: they receive every row
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", action = ArgAction::Set)]
    pub allow_replication: bool,

    /// Keep the rows out of the binary log (session sql_log_bin=0, which needs a privilege)
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide_default_value = true, hide_possible_values = true, value_name = "BOOL", conflicts_with = "allow_replication", action = ArgAction::Set)]
    pub skip_binlog: bool,
}
