//! What moved with the onset of a cliff. Things that move together need not cause each other, and nothing here says so.

use std::collections::BTreeMap;

use super::{Cliff, Curve, Rhythm, median};
use crate::record::detail::OF_ENDPOINT;
use crate::record::{CurveRecord, Sample};
use crate::units::{human_bytes, human_rows, human_seconds, significant};

/// Deltas of the counters of one curve: by name, then by batch.
pub type Counted = BTreeMap<String, BTreeMap<u64, f64>>;

/// The cache of a curve's engine, as it was in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    /// The variable that sizes it.
    pub variable: String,
    pub bytes: u64,
    /// Whether it holds nothing but indexes.
    pub only_indexes: bool,
}

/// Something that changed where the speed did.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// Word for machines.
    pub what: &'static str,
    /// The sentence for people.
    pub sentence: String,
    /// The figure before the onset, where it has one.
    pub before: Option<f64>,
    /// The figure after it.
    pub after: Option<f64>,
}

/// Counters of pages that an engine had to read because its cache did not hold them.
const READS: &[&str] = &[
    "innodb_buffer_pool_reads",
    "aria_pagecache_reads",
    "key_reads",
    "rocksdb_block_cache_data_miss",
    "pbxt_index_cache_misses",
];
const SYNCS: &[&str] = &[
    // It counts the log's, too.
    "innodb_data_fsyncs",
    "innodb_os_log_fsyncs",
    "rocksdb_wal_synced",
    "aria_transaction_log_syncs",
    "tokudb_filesystem_fsync_num",
    "pbxt_xlog_flushes",
];
/// Other counters that are named, at most.
const OTHERS: usize = 3;

/// What moved with the onset of `cliff`.
///
/// Figures are medians of the batches before the onset and of the later half of those after it, and count from two batches on
/// each side. What is not known is not mentioned.
pub fn evidence(
    curve: &Curve,
    record: Option<&CurveRecord>,
    counted: Option<&Counted>,
    cache: Option<&Cache>,
    cliff: &Cliff,
) -> Vec<Evidence> {
    let Some(at) = curve.samples.iter().position(|sample| sample.batch == cliff.onset_batch) else { return Vec::new() };
    let later = at + (curve.samples.len() - at) / 2;
    let sides = Sides { before: &curve.samples[..at], after: &curve.samples[later.min(curve.samples.len() - 1)..] };
    let mut found = Vec::new();
    found.extend(cache.and_then(|cache| cache_passed(curve, cache, cliff)));
    let counters = counted.cloned().unwrap_or_default();
    let (reads, syncs) = (names(record, "reads", READS), names(record, "syncs", SYNCS));
    found.extend(sides.traffic(&counters, &reads, &syncs));
    found.extend(sides.note("client-bound", "the client was the limit (client-bound)"));
    found.extend(sides.note("fewer-endpoints", "fewer servers than the target names took the load (fewer-endpoints)"));
    found.extend(sides.note("cpu-full", "the processors were full (cpu-full)"));
    found.extend(other_counters(&sides, &counters, &[reads, syncs].concat()));
    found.extend(resumed(curve, at));
    found.extend(pause(curve, at));
    found
}

/// What is different in the slow batches of a rhythm: "before" is the median of the others while it went on, "after" that of the slow
/// ones. At least two of each are needed, and what is not known is not mentioned.
pub fn of_rhythm(
    curve: &Curve,
    record: Option<&CurveRecord>,
    counted: Option<&Counted>,
    rhythm: &Rhythm,
) -> Vec<Evidence> {
    let during = curve.samples.iter().filter(|sample| rhythm.covers(sample.batch)).cloned();
    let (slow, others): (Vec<Sample>, Vec<Sample>) = during.partition(|sample| rhythm.is_slow(sample.batch));
    let sides = Sides { before: &others, after: &slow };
    let counters = counted.cloned().unwrap_or_default();
    let (reads, syncs) = (names(record, "reads", READS), names(record, "syncs", SYNCS));
    let mut found = sides.traffic(&counters, &reads, &syncs);
    found.extend(other_counters(&sides, &counters, &[reads, syncs].concat()));
    found
}

/// Why the size of the table cannot be told from what else grew with it; `None` when something tells them apart: a control batch,
/// or another repeat that fell at the same table size at another time.
pub fn not_told_apart(record: Option<&CurveRecord>, other_repeat_agrees: bool) -> Option<String> {
    let has_control = record.is_some_and(|record| record.control_batch.as_ref().is_some_and(|c| c.seconds.is_some()));
    (!has_control && !other_repeat_agrees).then(|| {
        "table size, time since the start and bytes written grew together, so this run cannot tell which of them the fall goes \
         with; `run --control-batch` checks it: one batch into a fresh table at the end"
            .to_owned()
    })
}

/// The counters that stand for something: those that the run recorded as such, then those that are known by name.
fn names<'a>(record: Option<&'a CurveRecord>, role: &str, known: &[&'a str]) -> Vec<&'a str> {
    let recorded = record.and_then(|record| record.counter_roles.get(role)).into_iter().flatten();
    recorded.map(String::as_str).chain(known.iter().copied()).collect()
}

struct Sides<'a> {
    before: &'a [Sample],
    after: &'a [Sample],
}

fn per_row(sample: &Sample, figure: f64) -> Option<f64> {
    (sample.rows > 0).then(|| figure / sample.rows as f64)
}

fn share(sample: &Sample, seconds: f64) -> Option<f64> {
    (sample.seconds > 0.0).then(|| seconds / sample.seconds)
}

impl Sides<'_> {
    /// What went to the device and came from it, and how long nothing was acknowledged.
    fn traffic(&self, counters: &Counted, reads: &[&str], syncs: &[&str]) -> Vec<Evidence> {
        let mut found = Vec::new();
        found.extend(self.counters(counters, reads, "reads-per-row", "pages read per row", 0.02));
        found.extend(self.moved("read-bytes-per-row", "bytes read from the device per row", 20.0, |sample| {
            per_row(sample, sample.read_bytes? as f64)
        }));
        found.extend(self.moved("written-bytes-per-row", "bytes written to the device per row", 50.0, |sample| {
            per_row(sample, sample.written_bytes? as f64)
        }));
        found.extend(self.counters(counters, syncs, "syncs-per-row", "fsyncs per row", 0.0002));
        let words = "share of the time without an acknowledgement (stalls)";
        found.extend(self.moved("stall-share", words, 0.05, |sample| share(sample, sample.stall_seconds?)));
        found.extend(device_busy(self, counters));
        found
    }

    /// The medians before and after, of what at least two batches on each side have.
    fn medians(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Option<(f64, f64)> {
        let of = |samples: &[Sample]| {
            let usable = samples.iter().filter(|sample| sample.counts_for_baseline());
            let known: Vec<f64> = usable.filter_map(&figure).collect();
            (known.len() >= 2).then(|| median(&known)).flatten()
        };
        Some((of(self.before)?, of(self.after)?))
    }

    /// A figure that is at least half as high again after the onset, and by at least `least` higher.
    fn moved(
        &self,
        what: &'static str,
        words: &str,
        least: f64,
        figure: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Evidence> {
        let (before, after) = self.medians(figure)?;
        if after < 1.5 * before || after - before < least {
            return None;
        }
        let sentence = format!("{words} moved with it: from {} to {}", figure_words(before), figure_words(after));
        Some(Evidence { what, sentence, before: Some(before), after: Some(after) })
    }

    fn counters(
        &self,
        counted: &Counted,
        names: &[&str],
        what: &'static str,
        words: &str,
        least: f64,
    ) -> Option<Evidence> {
        let named = |name: &&&str| counted.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        names.iter().filter_map(|name| named(&name)).find_map(|(name, by_batch)| {
            self.moved(what, &format!("{words} ({name})"), least, |sample| {
                per_row(sample, *by_batch.get(&sample.batch)?)
            })
        })
    }

    /// A note that most batches after the onset have and few before it.
    fn note(&self, word: &'static str, words: &str) -> Option<Evidence> {
        let part = |samples: &[Sample]| {
            let noted = samples.iter().filter(|sample| sample.has_note(word)).count();
            (!samples.is_empty()).then(|| noted as f64 / samples.len() as f64)
        };
        let (before, after) = (part(self.before)?, part(self.after)?);
        (after >= 0.5 && before < 0.25).then(|| Evidence {
            what: word,
            sentence: format!(
                "{words}: in {:.0}% of the batches before it, in {:.0}% after",
                before * 100.0,
                after * 100.0
            ),
            before: Some(before),
            after: Some(after),
        })
    }
}

fn figure_words(figure: f64) -> String {
    match figure {
        figure if figure.abs() < 1e-4 => "about 0".to_owned(),
        figure => significant(figure),
    }
}

/// The device: the share of the time in which it was busy, which is recorded as one.
fn device_busy(sides: &Sides<'_>, counted: &Counted) -> Option<Evidence> {
    let (name, by_batch) =
        counted.iter().find(|(name, _)| name.starts_with("host.") && name.ends_with("busy_share"))?;
    sides.moved("device-busy-share", &format!("share of the time the device was busy ({name})"), 0.15, |sample| {
        by_batch.get(&sample.batch).copied()
    })
}

/// The counters that changed most, of those which have no words of their own.
fn other_counters(sides: &Sides<'_>, counted: &Counted, named: &[&str]) -> Vec<Evidence> {
    // The machine's have words of their own, and what ends with `@end` is a level and no count.
    let is_named = |name: &str| named.iter().any(|other| other.eq_ignore_ascii_case(name));
    // What one endpoint counts is a part of a sum that is here as well.
    let is_part = |name: &str| name.contains(OF_ENDPOINT);
    let known = |name: &str| is_named(name) || is_part(name) || name.starts_with("host.") || name.ends_with("@end");
    let mut found: Vec<(f64, Evidence)> = counted
        .iter()
        .filter(|(name, _)| !known(name))
        .filter_map(|(name, by_batch)| {
            let figure = |sample: &Sample| per_row(sample, *by_batch.get(&sample.batch)?);
            let (before, after) = sides.medians(figure)?;
            // A hundred in a hundred thousand rows: below that, counters flutter.
            if after < 3.0 * before || after - before < 0.001 {
                return None;
            }
            let sentence =
                format!("{name} per row moved with it: from {} to {}", figure_words(before), figure_words(after));
            let evidence = Evidence { what: "counter", sentence, before: Some(before), after: Some(after) };
            Some((after / before.max(1e-6), evidence))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(OTHERS).map(|(_, evidence)| evidence).collect()
}

fn cache_passed(curve: &Curve, cache: &Cache, cliff: &Cliff) -> Option<Evidence> {
    let (variable, bytes) = (&cache.variable, cache.bytes);
    let size = |sample: &Sample| match cache.only_indexes {
        true => sample.index_bytes,
        false => sample.table_bytes(),
    };
    let known = || curve.samples.iter().filter_map(|sample| Some((sample.table_rows, size(sample)?)));
    let passed = known().find(|&(_, table)| table > bytes).map(|(rows, _)| rows);
    let at_onset = known().find(|&(rows, _)| rows >= cliff.onset_to_rows).map(|(_, table)| table)?;
    let cache = format!("{variable} ({})", human_bytes(bytes));
    let near = passed.filter(|&rows| {
        // Sizes are estimates of the server, and a cache also holds other things.
        let (rows, from, to) = (rows as f64, cliff.onset_from_rows as f64, cliff.onset_to_rows as f64);
        rows >= 0.6 * from && rows <= 1.6 * to
    });
    let sentence = match (near, passed) {
        (Some(rows), _) => {
            format!("the table outgrew {cache} by {} rows, which moved with it", human_rows(rows))
        }
        (None, Some(_)) => format!(
            "the table was {} times as large as {cache} at the onset: it outgrew it elsewhere",
            significant(at_onset as f64 / bytes as f64)
        ),
        (None, None) => format!("the table stayed smaller than {cache}"),
    };
    Some(Evidence {
        what: if near.is_some() { "table-passed-cache" } else { "table-and-cache" },
        sentence,
        before: Some(bytes as f64),
        after: Some(at_onset as f64),
    })
}

/// A batch at the onset that was resumed: what follows it began with a cold cache or another server.
fn resumed(curve: &Curve, at: usize) -> Option<Evidence> {
    let around = &curve.samples[at.saturating_sub(1)..(at + 2).min(curve.samples.len())];
    let batch = around.iter().find(|sample| sample.has_note("resumed"))?.batch;
    let sentence = format!("batch {batch} was resumed: the curve was interrupted there");
    Some(Evidence { what: "resumed", sentence, before: None, after: None })
}

/// A pause between two batches at the onset that the batches do not explain.
fn pause(curve: &Curve, at: usize) -> Option<Evidence> {
    let from = at.saturating_sub(2);
    let usual = median(&curve.samples.iter().map(|sample| sample.seconds).collect::<Vec<_>>())?;
    curve.samples[from..(at + 2).min(curve.samples.len())].windows(2).find_map(|pair| {
        // The probe of the run itself is what the time before this batch went to.
        if pair[1].has_note("after-probe") {
            return None;
        }
        let start = |sample: &Sample| sample.started_at.parse::<jiff::Timestamp>().ok();
        let apart = start(&pair[1])?.duration_since(start(&pair[0])?).as_secs_f64();
        let pause = apart - pair[0].seconds;
        // Encoding is part of every gap: only what is beyond it is a pause.
        let unexplained = pause - pair[1].encode_seconds.unwrap_or(0.0);
        (unexplained > (2.0 * usual).max(5.0)).then(|| Evidence {
            what: "pause",
            sentence: format!("there was a pause of {} before batch {}", human_seconds(unexplained), pair[1].batch),
            before: None,
            after: Some(unexplained),
        })
    })
}

#[cfg(test)]
mod tests;
