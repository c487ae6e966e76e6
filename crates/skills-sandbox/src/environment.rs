//! The complete environment of a program.

use std::collections::BTreeSet;
use std::fmt;

use crate::Job;

/// The complete environment of a program, as a backend passes it: the [filtered
/// variables](Job::filtered_envs) of the job, then those of the backend, which take precedence.
///
/// `Debug` output shows only the names of variables that come from the host.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(String, String)>,
    secrets: BTreeSet<String>,
}

impl Environment {
    /// Merges the job's variables with the backend's; the backend wins, so no job can set `PATH` or
    /// loader variables.
    #[must_use]
    pub fn new(job: &Job, fixed: Vec<(String, String)>) -> Self {
        let is_fixed = |name: &str| fixed.iter().any(|(fixed, _)| *fixed == name);
        // A variable of the backend, such as `PATH`, replaces that of the job: two of one name
        // would be ambiguous.
        let jobs = job
            .filtered_envs()
            .filter(|(name, _)| !is_fixed(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut variables: Vec<(String, String)> = jobs.collect();
        variables.extend(fixed);
        Self {
            variables,
            secrets: job.grants().variables().clone(),
        }
    }

    /// Returns names and values, in order.
    #[must_use]
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.variables.iter().map(|(name, value)| {
            (
                name,
                // Values of secrets must not get into logs.
                if self.secrets.contains(name) {
                    "…"
                } else {
                    value
                },
            )
        });
        f.debug_list().entries(shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Program, ScriptType};
    use skills_policy::{
        Authorization, Policy, Request, RuleSource, VariablePattern, VariableSource,
    };

    #[test]
    fn backend_variables_win_and_secrets_are_not_shown() {
        let request = Request::new("/skills/pdf").variable("API_KEY", VariableSource::Caller);
        let rules = Policy::default().allow(
            RuleSource::User,
            "API_KEY".parse::<VariablePattern>().unwrap(),
        );
        let Authorization::Granted(grants) = rules.authorize(&request) else {
            panic!("granted")
        };
        let job = Job::new(
            grants,
            Program::script(ScriptType::Shell, "/skills/pdf/run.sh"),
        )
        .env("PATH", "/evil");
        let job = job
            .env("LD_PRELOAD", "/evil.so")
            .env("SKILL_ID", "pdf")
            .secret_env("API_KEY", "hidden")
            .unwrap();
        let environment = Environment::new(&job, vec![("PATH".to_owned(), "/usr/bin".to_owned())]);
        insta::assert_snapshot!(format!("{environment:?}"), @r#"[("SKILL_ID", "pdf"), ("API_KEY", "…"), ("PATH", "/usr/bin")]"#);
        assert!(
            environment
                .variables()
                .contains(&("API_KEY".to_owned(), "hidden".to_owned()))
        );
    }
}
