//! Work between batches: it may take long, and a limit, a signal or a server that is silent ends it. Nothing waits for ever, nor in silence.
//!
//! Whatever is asked of a target outside a batch (a log-in, a trial, a count, a drop) is called through a [`Warden`], on another thread,
//! so that this one can watch it, tell what is waited for, and end it by the reins of the target.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use super::curve::failed;
use super::stop::{Firing, InFlight};
use super::{Clock, Event, Interrupt, Reporter};
use crate::plan::stop::StopRules;
use crate::record::Outcome;
use crate::targets::{Canceller, Failure, FailureKind, NoReins, Reins, Table};
use crate::units::human_seconds;

/// How often what is waited for is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How long something is waited for before that is told; then whenever it has doubled.
const TOLD_AFTER: Duration = Duration::from_secs(10);
/// How long what is left to be done may take once everything is to end: with the ten seconds that ending may take at most in mind.
const FAREWELL: Duration = Duration::from_secs(4);
/// How long the end of a curve may take once a limit of time is over: what is done in a moment is worth it.
const FINISH: Duration = Duration::from_secs(3);
/// What each step of it may take at least.
const FAREWELL_STEP: Duration = Duration::from_secs(1);
/// How long a sign of life may take, and where somebody waits for rowcliff to end.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);
const SIGN_OF_LIFE_IN_A_HURRY: Duration = Duration::from_secs(2);
/// A server that may still be silent is asked no less often.
const ASK_AGAIN: Duration = Duration::from_secs(60);
/// How long it may take to drop a table, and what belongs to that.
pub const CLOSE_LIMIT: Duration = Duration::from_secs(600);

/// What ended work between batches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Somebody asked the run to end.
    Interrupted,
    /// A limit of time.
    Rule(Firing),
    /// The target gave no sign of life: in words.
    Silent(String),
    /// It took too long: in words.
    Late(String),
}

/// Whether work is given up at once when everything is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// It is.
    Work,
    /// It has a moment more after a limit of time, and none after a signal.
    Finishing,
    /// It has a few seconds more: it leaves things as they should be. It takes [`CLOSE_LIMIT`] at most in any case.
    Closing,
}

/// Since when something goes on, and what earlier processes spent on it.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    since: Duration,
    before: Duration,
}

impl Spent {
    fn until(self, now: Duration) -> Duration {
        self.before + now.saturating_sub(self.since)
    }
}

/// Watches over work between batches.
pub struct Warden {
    clock: Arc<dyn Clock>,
    interrupt: Interrupt,
    rules: StopRules,
    run: Spent,
    /// The curve that goes on, or the trial.
    curve: Option<Spent>,
    /// The target that it is on.
    reins: Arc<dyn Reins>,
    /// When it was first seen that everything is to end.
    over_since: Option<Duration>,
    end: Option<End>,
}

/// One piece of work while it is waited for.
struct Waiting<'a> {
    what: &'a str,
    how: How,
    started: Duration,
    asked: Duration,
    told: Duration,
}

impl Warden {
    /// Nothing is waited for yet.
    pub fn new(rules: &StopRules, clock: Arc<dyn Clock>, interrupt: Interrupt) -> Self {
        Self {
            run: Spent { since: clock.now(), before: Duration::ZERO },
            clock,
            interrupt,
            rules: rules.clone(),
            curve: None,
            reins: Arc::new(NoReins),
            over_since: None,
            end: None,
        }
    }

    /// The run begins, or goes on after `before`.
    pub fn begin_run(&mut self, since: Duration, before: Duration) {
        self.run = Spent { since, before };
    }

    /// A curve or a trial begins on the target with these reins, or goes on after `before`.
    pub fn begin(&mut self, reins: Arc<dyn Reins>, before: Duration) {
        self.curve = Some(Spent { since: self.clock.now(), before });
        self.reins = reins;
        (self.over_since, self.end) = (None, None);
        self.reins.loosen(false);
    }

    /// What follows is on the target with these reins.
    pub fn hold(&mut self, reins: Arc<dyn Reins>) {
        self.reins = reins;
    }

    /// The curve or trial is over.
    pub fn finish(&mut self) {
        self.curve = None;
    }

    /// How long the curve and the run have been going on.
    pub fn spent(&self) -> (Duration, Duration) {
        let now = self.clock.now();
        (self.curve.map_or(Duration::ZERO, |curve| curve.until(now)), self.run.until(now))
    }

    /// Whether everything is to end, and by what.
    pub fn over(&mut self) -> Option<End> {
        let end = if self.interrupt.is_asked() {
            End::Interrupted
        } else {
            let (curve, run) = self.spent();
            End::Rule(self.rules.in_flight(InFlight { curve, run, ..InFlight::default() })?)
        };
        self.over_since.get_or_insert(self.clock.now());
        Some(end)
    }

    /// Whether the target gave no sign of life when it was asked for one.
    pub fn is_silent(&self) -> bool {
        matches!(self.end, Some(End::Silent(_)))
    }

    /// The target was found to be silent elsewhere: nothing is waited for any more.
    pub fn silent(&mut self, why: String) {
        self.end = Some(End::Silent(why));
    }

    /// Asks the target for a sign of life; without one, nothing is waited for any more.
    pub fn ask_for_life(&mut self, what: &str) {
        if self.reins.answers(SIGN_OF_LIFE) == Some(false) {
            let limit = human_seconds(SIGN_OF_LIFE.as_secs_f64());
            self.silent(format!("server silent: no sign of life within {limit} during {what} (--stall-timeout)"));
        }
    }

    /// Until when work that leaves things as they should be may go on, once everything is to end.
    pub fn farewell(&mut self) -> Option<Duration> {
        self.over()?;
        let since = self.over_since?;
        Some((since + FAREWELL).max(self.clock.now() + FAREWELL_STEP))
    }

    /// The rule that ended the last piece of work, if one did.
    pub fn take_rule(&mut self) -> Option<Firing> {
        match self.end.take()? {
            End::Rule(firing) => Some(firing),
            other => {
                self.end = Some(other);
                None
            }
        }
    }

    /// What becomes of a curve after a failure of work that was waited for.
    pub fn outcome(&self, failure: &Failure) -> Outcome {
        match &self.end {
            Some(End::Silent(why)) => failed(&Failure::fatal(why.clone())),
            Some(End::Rule(Firing { rule, figures })) if failure.kind == FailureKind::Cancelled => {
                Outcome::Stopped { rule: rule.clone(), figures: figures.clone() }
            }
            _ if failure.kind == FailureKind::Cancelled || self.interrupt.is_asked() => Outcome::Interrupted,
            _ => failed(failure),
        }
    }

    /// Does something with a table.
    ///
    /// # Errors
    /// What the target said; [`FailureKind::Cancelled`] when it was ended.
    pub fn on_table<T: Send>(
        &mut self,
        reporter: &mut dyn Reporter,
        table: &mut dyn Table,
        (what, how): (&str, How),
        call: impl FnOnce(&mut dyn Table) -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let canceller = table.canceller();
        self.guarded(reporter, (what, how), Some(canceller.as_ref()), || call(table))
    }

    /// Does something that has no table yet.
    ///
    /// # Errors
    /// As [`Warden::on_table`].
    pub fn wait<T: Send>(
        &mut self,
        reporter: &mut dyn Reporter,
        named: (&str, How),
        call: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        self.guarded(reporter, named, None, call)
    }

    /// Does something that `canceller` can end.
    ///
    /// # Errors
    /// As [`Warden::on_table`].
    pub fn watched<T: Send>(
        &mut self,
        reporter: &mut dyn Reporter,
        named: (&str, How),
        canceller: &dyn Canceller,
        call: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        self.guarded(reporter, named, Some(canceller), call)
    }

    fn guarded<T: Send>(
        &mut self,
        reporter: &mut dyn Reporter,
        (what, how): (&str, How),
        canceller: Option<&dyn Canceller>,
        call: impl FnOnce() -> Result<T, Failure> + Send,
    ) -> Result<T, Failure> {
        let over = self.over();
        match (&over, how) {
            (Some(end), How::Work) | (Some(end @ End::Interrupted), How::Finishing) => {
                return Err(self.not_begun(what, end.clone()));
            }
            _ => {}
        }
        self.reins.loosen(over.is_some() || self.is_silent());
        let now = self.clock.now();
        let mut waiting = Waiting { what, how, started: now, asked: now, told: Duration::ZERO };
        let mut end = None;
        let (result, is_there) = std::thread::scope(|scope| {
            let (sender, done) = sync_channel(1);
            let worker = scope.spawn(move || {
                let _ = sender.send(call());
            });
            let mut asked = None;
            let result = loop {
                match done.recv_timeout(LOOK) {
                    Ok(result) => break result,
                    Err(RecvTimeoutError::Disconnected) => break Err(Failure::fatal(format!("{what} panicked"))),
                    Err(RecvTimeoutError::Timeout) if end.is_some() => {}
                    Err(RecvTimeoutError::Timeout) => {
                        end = self.look(&mut waiting, canceller, reporter);
                        if end.is_some() {
                            // Meanwhile: ending a statement at a server that is silent takes as long.
                            let reins = Arc::clone(&self.reins);
                            asked = Some(scope.spawn(move || reins.answers(SIGN_OF_LIFE_IN_A_HURRY)));
                            self.reins.loosen(true);
                            canceller.inspect(|canceller| canceller.cancel());
                            self.reins.pull();
                        }
                    }
                }
            };
            // A panic has been told above.
            let _ = worker.join();
            (result, asked.and_then(|asked| asked.join().ok().flatten()))
        });
        let waited = self.clock.now().saturating_sub(waiting.started);
        let Some(end) = end else { return self.unless_silent(what, result, over.is_some()) };
        self.reins.loosen(true);
        match (how, result) {
            // What was done all the same is done.
            (How::Closing, Ok(done)) => Ok(done),
            // What the target says of itself, other than that it was ended, is the better answer.
            (_, Err(own)) if !matches!(own.kind, FailureKind::Cancelled | FailureKind::Lost) => Err(own),
            _ => Err(self.ended(what, end, waited, is_there)),
        }
    }

    /// Once everything is to end, a connection that is lost is the sign of a server that is silent, unless it answers after all.
    fn unless_silent<T>(&mut self, what: &str, result: Result<T, Failure>, over: bool) -> Result<T, Failure> {
        match result {
            Err(lost)
                if over
                    && lost.kind == FailureKind::Lost
                    && self.reins.answers(SIGN_OF_LIFE_IN_A_HURRY) == Some(false) =>
            {
                let why = format!("server silent: {what}: {}", lost.message);
                Err(self.ended(what, End::Silent(why), Duration::ZERO, Some(false)))
            }
            other => other,
        }
    }

    /// What ends a piece of work now, if anything does.
    fn look(
        &mut self,
        waiting: &mut Waiting<'_>,
        canceller: Option<&dyn Canceller>,
        reporter: &mut dyn Reporter,
    ) -> Option<End> {
        let over = self.over();
        let now = self.clock.now();
        let waited = now.saturating_sub(waiting.started);
        let what = waiting.what;
        if let (Some(end), Some(since)) = (over, self.over_since) {
            let last = |more: Duration| (since + more).max(waiting.started + FAREWELL_STEP);
            match waiting.how {
                How::Finishing if end != End::Interrupted && now <= last(FINISH) => {}
                How::Work | How::Finishing => return Some(end),
                How::Closing if now > last(FAREWELL) => return Some(End::Late(late(what, waited))),
                How::Closing => {}
            }
        }
        if waiting.how == How::Closing && waited > CLOSE_LIMIT {
            return Some(End::Late(late(what, waited)));
        }
        let timeout = Duration::from_secs_f64(self.rules.stall_timeout_seconds);
        if waited > timeout && now.saturating_sub(waiting.asked) > timeout.min(ASK_AGAIN) {
            waiting.asked = now;
            if self.reins.answers(SIGN_OF_LIFE) == Some(false) {
                return Some(End::Silent(format!(
                    "server silent: no sign of life within {} during {what}, {} after it began (--stall-timeout)",
                    human_seconds(SIGN_OF_LIFE.as_secs_f64()),
                    human_seconds(waited.as_secs_f64())
                )));
            }
        }
        if waited >= TOLD_AFTER.max(waiting.told * 2) {
            waiting.told = waited;
            let doing = canceller.and_then(Canceller::doing);
            reporter.report(&Event::Waiting { what, waited, doing: doing.as_deref() });
            // It waits for a person, who has to be told; the table is as it was.
            if let Some(state) = doing.filter(|state| waiting.how == How::Closing && is_short_of_space(state)) {
                return Some(End::Late(format!(
                    "{what} was ended: the server's disk is full ({state:?}); make room there"
                )));
            }
        }
        None
    }

    /// What is left out because everything is to end already.
    fn not_begun(&mut self, what: &str, end: End) -> Failure {
        let message = match &end {
            End::Rule(Firing { rule, .. }) => format!("{what} was left out: {rule} was over"),
            _ => format!("{what}: interrupted"),
        };
        self.end.get_or_insert(end);
        Failure { kind: FailureKind::Cancelled, code: None, message }
    }

    /// Remembers what ended a piece of work, and says it.
    fn ended(&mut self, what: &str, end: End, waited: Duration, is_there: Option<bool>) -> Failure {
        let waited = human_seconds(waited.as_secs_f64());
        let (end, why) = match end {
            End::Late(why) => (self.over(), why),
            End::Rule(firing) => {
                let why = format!("{what} was ended after {waited} by {}", firing.rule);
                (Some(End::Rule(firing)), why)
            }
            End::Interrupted => (Some(End::Interrupted), format!("{what}: interrupted")),
            End::Silent(why) => (Some(End::Silent(why.clone())), why),
        };
        // It would have taken longer in any case.
        let Some(end) = end else { return Failure::fatal(why) };
        let end = match end {
            End::Rule(Firing { rule, figures }) => match is_there {
                Some(false) => End::Silent(format!("server silent: {why} ({figures}), and it gives no sign of life")),
                _ => End::Rule(Firing { rule, figures: format!("{figures}: {what} was ended") }),
            },
            other => other,
        };
        let message = match &end {
            End::Silent(why) => why.clone(),
            _ => why,
        };
        // What ended the curve is what did it first.
        self.end.get_or_insert(end);
        Failure { kind: FailureKind::Cancelled, code: None, message }
    }
}

fn late(what: &str, waited: Duration) -> String {
    format!("{what} was ended after {} without an answer", human_seconds(waited.as_secs_f64()))
}

/// What MariaDB says of a session that waits for somebody to make room.
fn is_short_of_space(state: &str) -> bool {
    let state = state.to_lowercase();
    state.contains("free space") || state.contains("disk space")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_waits_for_room_is_known_by_its_words() {
        assert!(is_short_of_space("Waiting for someone to free space"));
        assert!(!is_short_of_space("Waiting for table metadata lock"));
    }
}
