//! What a comparison says of its own worth: what it could not have seen, what was left out, what nobody has verified.

use std::collections::BTreeSet;

use super::{Comparison, Pair, SideCurve, multiple};
use crate::analyse::compare::{LEAST_SIZES, Speed, TooShort};
use crate::analyse::power::Needed;
use crate::units::{grouped, significant};

/// What a comparison of two curves that keep no row measures.
pub(super) const NO_ROW_IS_KEPT: &str = "both keep no row: what is compared is the client, the connection and the parser of the server, \
                                         and no storage engine";

impl Comparison {
    /// How many batches or repeats would have told, for a pair that is inconclusive.
    pub(super) fn needed(&self, pair: &Pair) -> Option<Needed> {
        let repeats = pair.base.as_ref()?.repeats.min(pair.new.as_ref()?.repeats);
        pair.speed.as_ref().ok()?.needed(self.tolerance, repeats)
    }

    /// What a pair without a regression could not have seen.
    pub(super) fn could_not_see(&self, pair: &Pair, speed: &Speed) -> String {
        let smallest = speed.smallest_found(self.tolerance);
        let found = format!(
            "only a NEW of at most {} times BASE's speed would have been a regression for certain",
            multiple(smallest)
        );
        if !self.is_inconclusive(pair) {
            return found;
        }
        let estimate = self.needed(pair).map_or_else(
            || format!("no number of batches tells this from a tolerance of {}", percent(self.tolerance)),
            |needed| needed_words(&needed),
        );
        format!(
            "INCONCLUSIVE: a slowdown beyond the tolerance of {} is neither found nor ruled out; {found} ({} slower); {estimate}",
            percent(self.tolerance),
            percent(1.0 - smallest)
        )
    }

    /// The last line: what became of the comparisons.
    pub(super) fn verdict(&self) -> String {
        let (found, open, all) = (self.regressions(), self.inconclusive(), self.compared() + self.too_short());
        let mut words = match (found, open, all) {
            (_, _, 0) => "no load could be compared".to_owned(),
            (0, 0, all) => format!("no regression in {all} of {all} comparisons"),
            (0, open, all) if open == all => format!("INCONCLUSIVE in {open} of {all} comparisons"),
            (0, open, all) => format!("no regression in {} of {all} comparisons, INCONCLUSIVE in {open}", all - open),
            (found, 0, all) => format!("REGRESSION in {found} of {all} comparisons"),
            (found, open, all) => format!("REGRESSION in {found} of {all} comparisons, INCONCLUSIVE in {open}"),
        };
        match self.other_tables() {
            0 => {}
            found => words.push_str(&format!("; {found} of different tables, from which no verdict is drawn")),
        }
        match self.partners_left_out() {
            0 => {}
            1 => words.push_str("; 1 curve finds only a partner that is left out"),
            more => words.push_str(&format!("; {more} curves find only partners that are left out")),
        }
        words
    }
}

/// What the tables do not have in common, above the figures.
pub(super) fn other_tables(pair: &Pair) -> Vec<String> {
    if !pair.has_other_table() {
        return Vec::new();
    }
    let mut out =
        vec!["DIFFERENT TABLES: what differs in speed may be due to them, and is called no regression".to_owned()];
    for (side, lines) in [("BASE", &pair.tables.0), ("NEW", &pair.tables.1)] {
        out.extend((!lines.is_empty()).then(|| format!("  in {side} only: {}", lines.join(", "))));
    }
    out
}

/// Both sides are too short for a verdict.
pub(super) fn too_short(short: &TooShort) -> String {
    let sizes = if short.sizes == 1 { "size" } else { "sizes" };
    format!("too short: {} table {sizes} in common, and {LEAST_SIZES} are the least that gives a verdict", short.sizes)
}

/// Curves that are left out although others of their cell are not.
pub(super) fn left_out(side: &str, curves: &[SideCurve]) -> Vec<String> {
    let any_good = curves.iter().any(|curve| curve.standing.fault.is_none());
    let faulty = curves.iter().filter(|_| any_good).filter_map(|curve| Some((curve, curve.standing.fault.as_ref()?)));
    faulty.map(|(curve, fault)| format!("left out: repeat {} of {side}, {fault}", curve.repeat)).collect()
}

/// `not verified: BASE (interrupted ...)`; nothing where everything that is compared was verified.
pub(super) fn not_verified(pair: &Pair) -> Option<String> {
    let sides = [("BASE", &pair.base_curves), ("NEW", &pair.new_curves)].map(|(side, curves)| {
        let used = curves.iter().filter(|curve| curve.standing.fault.is_none());
        let why: BTreeSet<&str> = used.filter_map(|curve| curve.standing.not_verified.as_deref()).collect();
        (side, why)
    });
    match sides {
        [(_, base), (_, new)] if base.is_empty() && new.is_empty() => None,
        [(_, base), (_, new)] if base == new => Some(format!("not verified: BASE and NEW ({})", joined(&base))),
        sides => {
            let told = sides.iter().filter(|(_, why)| !why.is_empty());
            let words: Vec<String> = told.map(|(side, why)| format!("{side} ({})", joined(why))).collect();
            Some(format!("not verified: {}", words.join(", ")))
        }
    }
}

fn joined(words: &BTreeSet<&str>) -> String {
    words.iter().copied().collect::<Vec<_>>().join("; ")
}

fn needed_words(needed: &Needed) -> String {
    let what = if needed.are_repeats { "repeats" } else { "batches" };
    format!(
        "it would take about {} {what} of each in place of {} (an estimate: the width falls with the square root of their number)",
        grouped(needed.needed),
        needed.had
    )
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 10.0 { format!("{percent:.0}%") } else { format!("{}%", significant(percent)) }
}
