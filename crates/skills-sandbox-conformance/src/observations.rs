//! Collects the observations of all cases.

use std::collections::BTreeMap;
use std::path::Path;

use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource, VariableSource};

use super::attempts::AttemptOutput;
use super::{AttemptResult, BackendVariant, CASES, SkippedCase};
use skills_sandbox::{EnforcementReport, EnforcementStatus, Job, Program};

/// Variables that change which code a program runs.
const UNSAFE_VARIABLES: [&str; 10] = [
    "BASH_ENV",
    "DYLD_INSERT_LIBRARIES",
    "HOME",
    "IFS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
];

/// The results that the tests of a backend observed so far.
#[derive(Debug)]
pub struct Observations {
    column: BackendVariant,
    results: BTreeMap<u8, Result<AttemptResult, SkippedCase>>,
    unexpected: Vec<String>,
}

impl Observations {
    /// Creates an empty collection for a column of the table.
    #[must_use]
    pub fn new(column: BackendVariant) -> Self {
        Self {
            column,
            results: BTreeMap::new(),
            unexpected: Vec::new(),
        }
    }

    /// Returns the column.
    #[must_use]
    pub fn column(&self) -> BackendVariant {
        self.column
    }

    /// Records an observation. A case can be observed in several ways; one that is not expected
    /// decides.
    pub fn observe(&mut self, number: u8, what: &str, result: AttemptResult) {
        let case = CASES.iter().find(|case| case.number == number);
        let is_right = case.is_some_and(|case| case.expected(self.column).contains(&result));
        if !is_right {
            let name = case.map_or("unknown", |case| case.name);
            self.unexpected.push(format!(
                "case {number} {name} ({}): {result}: {what}",
                self.column
            ));
        }
        if !is_right || !self.results.contains_key(&number) {
            self.results.insert(number, Ok(result));
        }
    }

    /// Records `result` if `is_so`, otherwise a failed case.
    pub fn check(&mut self, number: u8, what: &str, result: AttemptResult, is_so: bool) {
        let otherwise = if result == AttemptResult::Succeeded {
            AttemptResult::Denied
        } else {
            AttemptResult::Succeeded
        };
        self.observe(number, what, if is_so { result } else { otherwise });
    }

    /// Records a restriction that is not fully enforced on this host: the report must say so.
    pub fn check_reported(&mut self, number: u8, report: &EnforcementReport, restriction: &str) {
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
    pub fn check_denied(&mut self, tried: &[AttemptOutput]) {
        for AttemptOutput { case, code, result } in tried {
            match result {
                Ok(value) => self.observe(
                    *case,
                    &format!("{code} gave {value}"),
                    AttemptResult::Succeeded,
                ),
                Err(error) if is_from_restriction(code, error) => {
                    self.observe(*case, code, AttemptResult::Denied);
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
    pub fn check_without_effect(&mut self, number: u8, tried: &[AttemptOutput]) {
        let results: Vec<bool> = tried
            .iter()
            .filter(|tried| tried.case == number)
            .map(|tried| tried.result.is_ok())
            .collect();
        let result = match results.as_slice() {
            [] => AttemptResult::Succeeded,
            results if results.contains(&true) => AttemptResult::NoEffect,
            _ => AttemptResult::Denied,
        };
        self.observe(number, "seen from outside", result);
    }

    /// Records whether the reports of runs are true (case 98): each restriction that one of them calls
    /// enforced must have been tested by cases, by its name in `cases_of_restrictions`, and all of them
    /// must have been blocked so far.
    pub fn check_reports(
        &mut self,
        reports: &[EnforcementReport],
        cases_of_restrictions: &[(&str, &[u8])],
    ) {
        let enforced = reports
            .iter()
            .flat_map(EnforcementReport::restrictions)
            .filter(|restriction| restriction.status() == EnforcementStatus::Enforced);
        for restriction in enforced {
            let mut known = cases_of_restrictions.iter();
            let cases = known
                .find(|(name, _)| *name == restriction.name())
                .map_or(&[][..], |(_, cases)| cases);
            let is_blocked = cases.iter().all(|case| {
                let result = self.result_of(*case);
                result.is_some_and(AttemptResult::is_blocked)
            });
            self.check(
                98,
                &format!("{restriction}, tested by {cases:?}"),
                AttemptResult::Succeeded,
                is_blocked && !cases.is_empty(),
            );
        }
    }

    /// Records whether a skill can set variables that change which code runs (case 69): even if rules
    /// allow all variables, none of these is granted, or no job takes it.
    pub fn check_unsafe_variables(&mut self, skill: &Path) {
        for name in UNSAFE_VARIABLES {
            let request = Request::new(skill).variable(name, VariableSource::Secret);
            let rule = Rule::parse(Effect::Allow, RuleSource::User, "env:*");
            let policy = Policy::default().with_rules(rule);
            let is_rejected = match policy.authorize(&request) {
                Authorization::Granted(grants) => {
                    let job = Job::new(grants, Program::command("sh"));
                    job.secret_env(name, "/evil").is_err()
                }
                Authorization::Denied(_) => true,
            };
            self.check(69, name, AttemptResult::Denied, is_rejected);
        }
    }

    /// Records all cases of the column that do not apply to it.
    pub fn skip_not_applicable(&mut self) {
        for case in CASES {
            if case.expected(self.column) == [AttemptResult::NotApplicable].as_slice() {
                self.observe(case.number, "does not apply", AttemptResult::NotApplicable);
            }
        }
    }

    /// Records that a case cannot be tried on this host.
    pub fn skip(&mut self, number: u8, reason: &str) {
        self.results.entry(number).or_insert_with(|| {
            Err(SkippedCase {
                reason: reason.to_owned(),
            })
        });
    }

    /// Returns the result of a case so far.
    #[must_use]
    pub fn result_of(&self, number: u8) -> Option<AttemptResult> {
        self.results.get(&number)?.as_ref().ok().copied()
    }

    /// Returns a line for each observation that the table does not expect.
    #[must_use]
    pub fn unexpected(&self) -> &[String] {
        &self.unexpected
    }

    /// Returns the results, for [`assert_conforms`](super::assert_conforms).
    #[must_use]
    pub fn finish(self) -> BTreeMap<u8, Result<AttemptResult, SkippedCase>> {
        self.results
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
