//! Collects the observations of all cases.

use std::collections::BTreeMap;
use std::time::Instant;

use skills_sandbox::conformance::{AttemptResult, BackendVariant, CASES, Case, SkippedCase};
use skills_sandbox::{EnforcementReport, EnforcementStatus};
use skills_sandbox_linux::IsolationMode;

use super::attempts::AttemptOutput;

pub(crate) struct Observations {
    column: BackendVariant,
    pub(crate) mode: IsolationMode,
    observations: BTreeMap<u8, Result<AttemptResult, SkippedCase>>,
    since: Instant,
}

impl Observations {
    pub(crate) fn new(column: BackendVariant, mode: IsolationMode) -> Self {
        Self {
            column,
            mode,
            observations: BTreeMap::new(),
            since: Instant::now(),
        }
    }

    pub(crate) fn has_namespaces(&self) -> bool {
        self.column == BackendVariant::LinuxNamespaces
    }

    /// Prints how long a group of cases took.
    pub(crate) fn finish_group(&mut self, group: &str) {
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

    /// Records an observation. A case can be observed in several ways; one that is not expected
    /// decides.
    pub(crate) fn observe(&mut self, number: u8, what: &str, result: AttemptResult) {
        let case = Self::case(number);
        let is_right = case.expected(self.column).contains(&result);
        if !is_right {
            eprintln!(
                "case {number} {} ({}): {result}: {what}",
                case.name, self.column
            );
        }
        if !is_right || !self.observations.contains_key(&number) {
            self.observations.insert(number, Ok(result));
        }
    }

    /// Records the expected result if `is_so`, otherwise a failed case.
    pub(crate) fn check(&mut self, number: u8, what: &str, result: AttemptResult, is_so: bool) {
        let otherwise = if result == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { result } else { otherwise });
    }

    /// Records a restriction that is not fully enforced on this host: the report must say so.
    pub(crate) fn check_reported(
        &mut self,
        number: u8,
        report: &EnforcementReport,
        restriction: &str,
    ) {
        let is_reported = report.restrictions().iter().any(|known| {
            known.name() == restriction && known.status() != EnforcementStatus::Enforced
        });
        self.observe(
            number,
            &format!("restriction {restriction} of the report"),
            if is_reported {
                AttemptResult::Reported
            } else {
                AttemptResult::Succeeded
            },
        );
    }

    /// Records attempts of which each must have failed.
    pub(crate) fn check_denied(&mut self, tried: &[AttemptOutput]) {
        for AttemptOutput { case, code, result } in tried {
            match result {
                Ok(value) => self.observe(
                    *case,
                    &format!("{code} gave {value}"),
                    AttemptResult::Succeeded,
                ),
                Err(error) if is_from_restriction(code, error) => {
                    self.observe(*case, code, AttemptResult::Denied)
                }
                Err(error) => self.observe(
                    *case,
                    &format!("{code} failed for another reason: {error}"),
                    AttemptResult::Succeeded,
                ),
            }
        }
    }

    /// Records attempts that changed nothing, as checked from outside: denied if each failed.
    pub(crate) fn check_without_effect(&mut self, number: u8, tried: &[AttemptOutput]) {
        let mut tried = tried.iter().filter(|tried| tried.case == number).peekable();
        assert!(tried.peek().is_some(), "case {number} was not tried");
        let result = if tried.all(|tried| tried.result.is_err()) {
            AttemptResult::Denied
        } else {
            AttemptResult::NoEffect
        };
        self.observe(number, "seen from outside", result);
    }

    pub(crate) fn skip(&mut self, number: u8, reason: &str) {
        self.observations.entry(number).or_insert_with(|| {
            Err(SkippedCase {
                reason: reason.to_owned(),
            })
        });
    }

    /// Returns the result of a case so far.
    pub(crate) fn result_of(&self, number: u8) -> Option<AttemptResult> {
        self.observations.get(&number)?.as_ref().ok().copied()
    }

    pub(crate) fn finish(self) -> BTreeMap<u8, Result<AttemptResult, SkippedCase>> {
        self.observations
    }
}

/// Returns whether an error comes from a restriction. A bare system call or a new socket can also
/// fail because of its arguments, which proves nothing.
fn is_from_restriction(code: &str, error: &str) -> bool {
    let is_bare = code.starts_with("call(") && !code.contains("os.open");
    let is_socket =
        code.starts_with("socket.socket(") && code.ends_with(')') && code.matches('(').count() == 1;
    !(is_bare || is_socket) || ["EPERM", "ENOSYS"].contains(&error)
}
