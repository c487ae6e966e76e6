//! What was observed so far.

use std::collections::BTreeMap;
use std::time::Instant;

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, Case, Skipped};
use skills_sandbox::{EnforcementReport, EnforcementStatus};
use skills_sandbox_linux::IsolationMode;

use super::attempts::Tried;

pub(crate) struct Answers {
    column: BackendVariant,
    pub(crate) tier: IsolationMode,
    answers: BTreeMap<u8, Result<AttemptResult, Skipped>>,
    since: Instant,
}

impl Answers {
    pub(crate) fn new(column: BackendVariant, tier: IsolationMode) -> Self {
        Self {
            column,
            tier,
            answers: BTreeMap::new(),
            since: Instant::now(),
        }
    }

    pub(crate) fn is_isolated(&self) -> bool {
        self.column == BackendVariant::LinuxNamespaces
    }

    /// Says which group is through, and after how long, for whoever wants to see it.
    pub(crate) fn through(&mut self, group: &str) {
        eprintln!(
            "{}: {group} took {} ms",
            self.column,
            self.since.elapsed().as_millis()
        );
        self.since = Instant::now();
    }

    fn case(number: u8) -> &'static Case {
        CASES.iter().find(|case| case.number == number).unwrap()
    }

    /// Notes an observation. A case may be observed in several ways, and one that is not as
    /// expected decides.
    pub(crate) fn observe(&mut self, number: u8, what: &str, answer: AttemptResult) {
        let case = Self::case(number);
        let is_right = case.expected(self.column).contains(&answer);
        if !is_right {
            eprintln!(
                "case {number} {} ({}): {answer}: {what}",
                case.name, self.column
            );
        }
        if !is_right || !self.answers.contains_key(&number) {
            self.answers.insert(number, Ok(answer));
        }
    }

    /// Notes an observation that is as the table says when `is_so`, else a hole.
    pub(crate) fn holds(&mut self, number: u8, what: &str, answer: AttemptResult, is_so: bool) {
        let otherwise = if answer == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { answer } else { otherwise });
    }

    /// What works although it should not: it must be in the report that this layer does not hold
    /// all.
    pub(crate) fn reported(&mut self, number: u8, report: &EnforcementReport, layer: &str) {
        let is_reported = report
            .restrictions()
            .iter()
            .any(|known| known.name() == layer && known.status() != EnforcementStatus::Enforced);
        self.observe(
            number,
            &format!("layer {layer} of the report"),
            if is_reported {
                AttemptResult::Reported
            } else {
                AttemptResult::Succeeded
            },
        );
    }

    /// Notes attempts of which each must have failed.
    pub(crate) fn denied(&mut self, tried: &[Tried]) {
        for Tried { case, code, result } in tried {
            match result {
                Ok(value) => self.observe(
                    *case,
                    &format!("{code} gave {value}"),
                    AttemptResult::Succeeded,
                ),
                Err(error) if is_wall(code, error) => {
                    self.observe(*case, code, AttemptResult::Denied)
                }
                Err(error) => self.observe(
                    *case,
                    &format!("{code} failed, but not at a wall: {error}"),
                    AttemptResult::Succeeded,
                ),
            }
        }
    }

    /// Notes attempts that changed nothing, as somebody saw from outside: denied when each failed.
    pub(crate) fn without_effect(&mut self, number: u8, tried: &[Tried]) {
        let mut tried = tried.iter().filter(|tried| tried.case == number).peekable();
        assert!(tried.peek().is_some(), "case {number} was not tried");
        let answer = if tried.all(|tried| tried.result.is_err()) {
            AttemptResult::Denied
        } else {
            AttemptResult::NoEffect
        };
        self.observe(number, "seen from outside", answer);
    }

    pub(crate) fn skip(&mut self, number: u8, reason: &str) {
        self.answers.entry(number).or_insert_with(|| {
            Err(Skipped {
                reason: reason.to_owned(),
            })
        });
    }

    /// Returns what a case was answered so far.
    pub(crate) fn of(&self, number: u8) -> Option<AttemptResult> {
        self.answers.get(&number)?.as_ref().ok().copied()
    }

    pub(crate) fn finish(self) -> BTreeMap<u8, Result<AttemptResult, Skipped>> {
        self.answers
    }
}

/// Says whether an error is that of a wall. A bare system call or a new socket may fail for other
/// reasons, its arguments among them, and that proves nothing.
fn is_wall(code: &str, error: &str) -> bool {
    let is_bare = code.starts_with("call(") && !code.contains("os.open");
    let is_socket =
        code.starts_with("socket.socket(") && code.ends_with(')') && code.matches('(').count() == 1;
    !(is_bare || is_socket) || ["EPERM", "ENOSYS"].contains(&error)
}
