//! What the name of a column says: `Serial(ms)`, `perf[sec]`, `per. row/s`, `ms_per_10000`, `overall row/s`, `rows_before`.

use super::Unit;

/// What a name says. What it does not say is `None` or `false`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Meaning {
    /// What the figures are.
    pub unit: Option<Unit>,
    /// Rows that the seconds are for, as in `ms_per_10000`.
    pub per_rows: Option<u64>,
    /// The figures are totals, or means since the start: `total`, `overall`, `cumulative`, `elapsed`.
    pub is_total: bool,
    /// The figures are each of their own batch: `per`, `batch`, `interval`.
    pub is_each: bool,
    /// Sizes before the batch: `rows_before`.
    pub is_before: bool,
    /// Time since the start, or of the day.
    pub is_time_of_day: bool,
    /// A setting, not a size: `rows_per_commit`, `threads`.
    pub is_setting: bool,
    /// What one stands for in a column of sizes: 1,000 in `rows (k)`, a million in `rows (millions)`.
    pub scale: f64,
    names_rows: bool,
    names_size: bool,
    names_batches: bool,
}

impl Meaning {
    pub fn of(name: &str) -> Self {
        let lower = name.trim().trim_start_matches('#').to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric() && c != '/').filter(|word| !word.is_empty()).collect();
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
        let per = words.iter().position(|word| *word == "per").filter(|&at| at + 1 < words.len());
        let per_rows = per.and_then(|at| count(&words[at + 1..]));
        let is_rate = of_rate(&words, per);
        let unit = match () {
            () if is_rate == Some(true) || has(&["ips", "tps"]) => Some(Unit::RowsPerSecond),
            () if is_rate.is_some() => None,
            () if has(&["us", "usec", "µs", "μs", "micros", "microseconds"]) => Some(Unit::Microseconds),
            () if has(&["ms", "msec", "millis", "milliseconds"]) => Some(Unit::Milliseconds),
            () if has(&["s", "sec", "secs", "second", "seconds"]) => Some(Unit::Seconds),
            () if has(&["mins", "minutes"]) || lower.contains("(min)") || lower.contains("[min]") => {
                Some(Unit::Minutes)
            }
            () if has(&["hrs", "hours"]) || lower.contains("(h)") || lower.contains("[h]") => Some(Unit::Hours),
            () => None,
        };
        let is_rate = is_rate.is_some() || unit == Some(Unit::RowsPerSecond);
        // iibench writes t_ for totals and i_ for intervals.
        let begins = |sign: &str| words.len() > 1 && words[0] == sign;
        let is_total = begins("t")
            || has(&["total", "totals", "cumulative", "cum", "elapsed", "overall", "running", "sum", "mean", "avg"]);
        let whole = words.join(" ");
        Self {
            unit,
            per_rows,
            is_total,
            is_each: per.is_some() || begins("i") || has(&["batch", "interval", "each", "int", "last"]),
            is_before: has(&["before"]),
            is_time_of_day: (whole == "t"
                || has(&["time", "timestamp", "datetime", "date", "elapsed", "clock", "ts", "epoch", "uptime"]))
                && !has(&["row", "rows"]),
            is_setting: !is_rate
                && (per.is_some()
                    || has(&["thread", "threads", "client", "clients", "connections", "commit", "statement"])),
            scale: match () {
                () if per.is_some() => 1.0,
                () if has(&["k", "thousand", "thousands", "krows"]) => 1e3,
                () if has(&["m", "mio", "million", "millions", "mrows"]) => 1e6,
                () if has(&["billion", "billions"]) => 1e9,
                () => 1.0,
            },
            names_rows: has(&["row", "rows", "records", "inserts", "inserted", "krows", "mrows"]),
            names_size: has(&["total", "table", "before", "after", "inserted", "tot", "loaded"]),
            names_batches: matches!(
                whole.as_str(),
                "batch" | "batches" | "batch number" | "batch no" | "n" | "no" | "nr" | "i" | "iteration" | ""
            ),
        }
    }

    /// Whether the name is one of a column of table sizes.
    pub fn is_table_size(&self) -> bool {
        self.names_rows && self.names_size && self.unit.is_none() && !self.is_setting
    }

    /// Whether the name speaks of rows at all.
    pub fn is_of_rows(&self) -> bool {
        self.names_rows && self.unit.is_none()
    }

    /// Whether the name is one of a column that counts batches.
    pub fn is_batch_number(&self) -> bool {
        self.names_batches
    }
}

/// Whether the name is one of a rate, and then whether of rows: megabytes and queries a second are none.
fn of_rate(words: &[&str], per: Option<usize>) -> Option<bool> {
    const SECOND: [&str; 3] = ["s", "sec", "second"];
    let others = [
        "b", "kb", "mb", "gb", "kib", "mib", "gib", "bytes", "bits", "mbit", "gbit", "io", "ios", "reads", "read",
        "queries", "query", "selects", "deletes", "err", "errors", "reconn", "krows", "mrows", "krow", "mrow",
        "thousand", "million", "k", "m",
    ];
    let slashed = words.iter().enumerate().find_map(|(at, word)| {
        let (what, second) = word.rsplit_once('/')?;
        SECOND.contains(&second).then(|| [words[..at].last().copied().unwrap_or(""), what])
    });
    let before = |at: usize| {
        [words[..at.saturating_sub(1)].last().copied().unwrap_or(""), words[..at].last().copied().unwrap_or("")]
    };
    let what = slashed.or_else(|| per.filter(|&at| SECOND.contains(&words[at + 1])).map(before))?;
    Some(!what.iter().any(|word| others.contains(word)))
}

/// `10000`, `100k`, `1m`, `million`: rows after the word `per`.
fn count(words: &[&str]) -> Option<u64> {
    match words.first().copied()? {
        "million" => Some(1_000_000),
        "thousand" => Some(1_000),
        word => crate::units::parse_rows(word).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_units() {
        for (name, unit) in [
            ("Serial(ms)", Some(Unit::Milliseconds)),
            ("serial_ms", Some(Unit::Milliseconds)),
            (" perf[sec]", Some(Unit::Seconds)),
            ("seconds", Some(Unit::Seconds)),
            ("per. row/s", Some(Unit::RowsPerSecond)),
            ("rows_per_s", Some(Unit::RowsPerSecond)),
            ("interval_rows_per_s", Some(Unit::RowsPerSecond)),
            ("last_ips", Some(Unit::RowsPerSecond)),
            ("Count", None),
            ("row total", None),
            ("sync=off & journal=off", None),
        ] {
            assert_eq!(Meaning::of(name).unit, unit, "{name}");
        }
    }

    #[test]
    fn names_tell_sizes_totals_and_settings() {
        for name in ["rows_total", "table_rows", "row total", "rows_before", "tot_inserts", "rows in table"] {
            assert!(Meaning::of(name).is_table_size(), "{name}");
        }
        for name in
            ["Count", "records", "rows_per_commit", "rows_per_s", "time", "batch", "overall row/s", "metric total"]
        {
            assert!(!Meaning::of(name).is_table_size(), "{name}");
        }
        assert!(Meaning::of("rows_before").is_before);
        assert!(Meaning::of("overall row/s").is_total && !Meaning::of("per. row/s").is_total);
        assert!(Meaning::of("rows_per_commit").is_setting && !Meaning::of("rows_per_s").is_setting);
        assert!(Meaning::of("elapsed_s").is_time_of_day && Meaning::of("batch").is_batch_number());
        assert_eq!(Meaning::of("ms_per_10000").per_rows, Some(10_000));
        assert_eq!(Meaning::of("seconds_per_100k").per_rows, Some(100_000));
        assert_eq!(Meaning::of("ms per million").per_rows, Some(1_000_000));
        assert_eq!(Meaning::of("rows_per_s").per_rows, None);
    }
}
