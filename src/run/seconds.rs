//! When rows were acknowledged within a timed section: second by second, and how long nothing came at all.
//!
//! Times here are section times: from the start of the batch's first timed section, the pauses between windows taken out.

use std::collections::BTreeMap;
use std::time::Duration;

/// Silences of one worker that are shorter are not kept: they cannot hold a stall.
const KEPT: Duration = Duration::from_millis(50);
/// A silence has to go beyond the usual statement by so much before it is a stall: less is what statements differ by.
const STALL: Duration = Duration::from_millis(100);
/// Where statements usually take longer than this, silence is usual and tells nothing.
const USUAL_LIMIT: Duration = Duration::from_secs(1);

/// From and to, in section time.
pub type Silence = (Duration, Duration);

/// Where a window stands in its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Section {
    /// The clock at its start.
    pub started: Duration,
    /// How long the windows before it took.
    pub already: Duration,
}

impl Section {
    /// The clock's time as section time.
    pub fn time(self, clock: Duration) -> Duration {
        clock.saturating_sub(self.started) + self.already
    }
}

/// The acknowledgements that one worker got in one window.
#[derive(Debug, Default)]
pub struct Acknowledged {
    section: Section,
    last: Option<Duration>,
    rows: BTreeMap<u64, u64>,
    /// What the current piece added: it is taken out again when the piece has to be sent again.
    piece: Vec<(u64, u64)>,
    silences: Vec<Silence>,
}

impl Acknowledged {
    /// Nothing yet.
    pub fn new(section: Section) -> Self {
        Self { section, ..Self::default() }
    }

    /// A piece begins: from here on [`Self::undo`] goes back to.
    pub fn begin_piece(&mut self) {
        self.piece.clear();
    }

    /// Takes out the rows of the piece: its transaction was taken back.
    pub fn undo(&mut self) {
        for (second, rows) in self.piece.drain(..) {
            if let Some(counted) = self.rows.get_mut(&second) {
                *counted -= rows;
            }
        }
    }

    /// Takes out the latest `rows`, which an earlier window has counted.
    pub fn uncount(&mut self, mut rows: u64) {
        while let Some((second, last)) = self.piece.last_mut()
            && rows > 0
        {
            let less = rows.min(*last);
            *last -= less;
            rows -= less;
            if let Some(counted) = self.rows.get_mut(second) {
                *counted -= less;
            }
            if *last == 0 {
                self.piece.pop();
            }
        }
    }

    /// The target answered, at a time of the clock.
    pub fn answer(&mut self, clock: Duration) {
        let time = self.section.time(clock);
        let before = self.last.replace(time);
        let from = before.unwrap_or(self.section.already);
        // The first is kept however short it is: with the end of the window before it may be one silence.
        if before.is_none() || time.saturating_sub(from) >= KEPT {
            self.silences.push((from, time));
        }
    }

    /// Rows are acknowledged, at a time of the clock.
    pub fn rows(&mut self, clock: Duration, rows: u64) {
        let second = second_of(self.section.time(clock));
        *self.rows.entry(second).or_default() += rows;
        match self.piece.last_mut() {
            Some((last, counted)) if *last == second => *counted += rows,
            _ => self.piece.push((second, rows)),
        }
    }

    /// Rows of a body that went in portions: `portions` are times of the clock with the bytes that had gone by then. What
    /// no portion accounts for counts at the time of the acknowledgement.
    pub fn portions(&mut self, portions: &[(Duration, u64)], bytes: u64, acknowledged: Duration, rows: u64) {
        let mut counted = 0;
        for &(clock, gone) in portions {
            let by_now = u64::try_from(u128::from(rows) * u128::from(gone.min(bytes)) / u128::from(bytes.max(1)));
            let by_now = by_now.unwrap_or(rows).max(counted);
            self.rows(clock, by_now - counted);
            counted = by_now;
        }
        self.rows(acknowledged, rows - counted);
    }

    /// The seconds, with their rows.
    pub fn seconds(&self) -> &BTreeMap<u64, u64> {
        &self.rows
    }

    /// When nothing came, up to the end of the window.
    pub fn silences(&self, ended: Duration) -> Vec<Silence> {
        let end = self.section.time(ended);
        let mut all = self.silences.clone();
        all.push((self.last.unwrap_or(self.section.already), end));
        all
    }
}

/// The second in which a section time lies, from 1: what comes after exactly 2 s belongs to the second.
pub fn second_of(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0 || time.is_zero())
}

/// When none of several workers got an answer.
pub fn common(workers: &[Vec<Silence>]) -> Vec<Silence> {
    let Some((first, rest)) = workers.split_first() else { return Vec::new() };
    rest.iter().fold(first.clone(), |common, other| overlap(&common, other))
}

fn overlap(a: &[Silence], b: &[Silence]) -> Vec<Silence> {
    let (mut i, mut j, mut out) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        let (from, to) = (a[i].0.max(b[j].0), a[i].1.min(b[j].1));
        if from <= to {
            out.push((from, to));
        }
        if a[i].1 < b[j].1 { i += 1 } else { j += 1 }
    }
    out
}

/// Adds the silences of the next window: one that goes on over the pause between windows is one.
pub fn extend(silences: &mut Vec<Silence>, more: Vec<Silence>) {
    for (index, next) in more.into_iter().enumerate() {
        match silences.last_mut() {
            Some(last) if index == 0 && last.1 == next.0 => last.1 = next.1,
            _ => silences.push(next),
        }
    }
}

/// Seconds without an acknowledgement beyond `usual`, the median statement time of the batch before. A silence counts when it
/// is at least twice that, and a tenth of a second beyond it. `None` without a batch before, and where statements usually
/// take more than a second.
pub fn stall(silences: &[Silence], usual: Option<Duration>) -> Option<Duration> {
    let usual = usual.filter(|usual| *usual <= USUAL_LIMIT)?;
    let beyond = silences.iter().filter_map(|&(from, to)| {
        let silent = to.saturating_sub(from);
        let beyond = silent.saturating_sub(usual);
        (silent >= 2 * usual && beyond >= STALL).then_some(beyond)
    });
    Some(beyond.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn of(section: Section, answers: &[u64]) -> Acknowledged {
        let mut acknowledged = Acknowledged::new(section);
        for &at in answers {
            acknowledged.answer(ms(at));
            acknowledged.rows(ms(at), 10);
        }
        acknowledged
    }

    #[test]
    fn seconds_begin_at_one_and_end_with_their_last_moment() {
        assert_eq!(second_of(Duration::ZERO), 1);
        assert_eq!(second_of(ms(1)), 1);
        assert_eq!(second_of(ms(1000)), 1);
        assert_eq!(second_of(ms(1001)), 2);
        let section = Section { started: ms(5000), already: ms(1500) };
        let acknowledged = of(section, &[5100, 5500, 5501, 6600]);
        assert_eq!(
            acknowledged.seconds().iter().map(|(s, r)| (*s, *r)).collect::<Vec<_>>(),
            [(2, 20), (3, 10), (4, 10)]
        );
    }

    #[test]
    fn what_was_taken_back_is_taken_out() {
        let mut acknowledged = of(Section::default(), &[500]);
        acknowledged.begin_piece();
        acknowledged.rows(ms(900), 5);
        acknowledged.rows(ms(1900), 5);
        acknowledged.undo();
        acknowledged.rows(ms(2500), 4);
        acknowledged.rows(ms(2600), 6);
        acknowledged.uncount(4);
        let rows: Vec<(u64, u64)> = acknowledged.seconds().iter().map(|(s, r)| (*s, *r)).collect();
        assert_eq!(rows, [(1, 10), (2, 0), (3, 6)]);
    }

    #[test]
    fn portions_add_up_to_the_rows_whatever_the_bytes() {
        for rows in [1, 7, 1000, 999_983] {
            let mut acknowledged = Acknowledged::new(Section::default());
            acknowledged.portions(&[(ms(500), 33), (ms(1500), 66), (ms(2500), 99)], 100, ms(3500), rows);
            assert_eq!(acknowledged.seconds().values().sum::<u64>(), rows);
            if rows == 1000 {
                let all: Vec<u64> = acknowledged.seconds().values().copied().collect();
                assert_eq!(all, [330, 330, 330, 10]);
            }
        }
        // More gone than there was: never more rows than there are.
        let mut acknowledged = Acknowledged::new(Section::default());
        acknowledged.portions(&[(ms(500), 500)], 100, ms(3500), 10);
        assert_eq!(acknowledged.seconds().values().sum::<u64>(), 10);
    }

    #[test]
    fn a_silence_is_what_all_workers_have_in_common() {
        let section = Section::default();
        let busy = of(section, &[100, 200, 3300, 3400]).silences(ms(3400));
        let other = of(section, &[150, 250, 3350]).silences(ms(3400));
        let idle = of(section, &[]).silences(ms(3400));
        let silences = common(&[busy, other, idle]);
        assert_eq!(stall(&silences, Some(ms(100))), Some(ms(3300 - 250 - 100)));
        assert_eq!(stall(&silences, None), None);
        assert_eq!(stall(&silences, Some(ms(1001))), None);
        // A silence that is usual is none.
        assert_eq!(stall(&silences, Some(ms(1600))), None);
        assert_eq!(stall(&[(ms(0), ms(1500))], Some(ms(800))), Some(Duration::ZERO));
        assert_eq!(stall(&[(ms(0), ms(105))], Some(ms(10))), Some(Duration::ZERO));
    }

    #[test]
    fn a_silence_over_two_windows_is_one() {
        let mut all = Vec::new();
        let first = Section { started: ms(1000), already: ms(0) };
        extend(&mut all, of(first, &[1020]).silences(ms(1070)));
        let second = Section { started: ms(9000), already: ms(70) };
        extend(&mut all, of(second, &[9080]).silences(ms(9080)));
        assert_eq!(stall(&all, Some(ms(10))), Some(ms(120)));
    }
}
