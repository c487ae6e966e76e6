//! The complete environment of a program.
//!
//! It is built in four steps: the runtime sets the variables of the input protocol (`SKILL_*`,
//! `protocol_variables` in `skills-runtime`) and adds the granted ones (`run_plan`), the backend
//! sets `HOME`, `PATH` and others (its `plan`), and [`Environment::new`] adds the defaults here.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::{Job, ProgramTerminal};

/// The complete environment of a program, as a backend passes it: the [filtered
/// variables](Job::filtered_envs) of the job, then those of the backend, which take precedence.
///
/// `Debug` output shows only the names of variables that come from the host.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: Vec<(String, String)>,
    secrets: BTreeSet<String>,
}

/// Default variables that prevent programs from prompting, paging or buffering their output.
///
/// A job can set others: they are defaults, not restrictions.
const DEFAULTS: [(&str, &str); 11] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LOGNAME", "skill"),
    ("PAGER", "cat"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INPUT", "1"),
    // Output that is buffered is lost when a deadline ends the run.
    ("PYTHONUNBUFFERED", "1"),
    ("SHELL", "/bin/sh"),
    ("TERM", "dumb"),
    ("USER", "skill"),
];

/// Variables with the number of processors: `nproc` and libraries read them.
const OF_PROCESSORS: [&str; 2] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"];

/// Variables that every backend sets to values of its own.
const FIXED: [&str; 4] = ["HOME", "LANG", "PATH", "TMPDIR"];

impl Environment {
    /// Returns true if every run has this variable, whatever its job sets.
    #[must_use]
    pub fn always_sets(name: &str) -> bool {
        FIXED.contains(&name)
            || OF_PROCESSORS.contains(&name)
            || DEFAULTS.iter().any(|(default, _)| *default == name)
    }

    /// Merges the job's variables with the backend's; the backend wins, so no job can set `PATH` or
    /// loader variables. Variables that programs expect, such as `TERM`, `USER` and `PAGER`, are
    /// added unless the job or the backend sets them.
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
        // That of the caller comes first.
        let has_zone = variables.iter().any(|(name, _)| name == "TZ");
        let time_zone = job.user_locale().time_zone().filter(|_| !has_zone);
        variables.extend(time_zone.map(|zone| ("TZ".to_owned(), zone.to_owned())));
        let python_path = job.python_module_directory().and_then(Path::to_str);
        variables.extend(python_path.map(|path| ("PYTHONPATH".to_owned(), path.to_owned())));
        let terminal = job.program_streams().terminal.as_ref();
        let of_terminal = terminal.map_or(&[][..], ProgramTerminal::environment);
        for (name, value) in of_terminal {
            if !variables.iter().any(|(known, _)| known == name) {
                variables.push((name.clone(), value.clone()));
            }
        }
        let is_set = |name: &str| variables.iter().any(|(known, _)| known == name);
        let defaults: Vec<(String, String)> = DEFAULTS
            .iter()
            .filter(|(name, _)| !is_set(name))
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        variables.extend(defaults);
        Self {
            variables,
            secrets: job.grants().variables().clone(),
        }
    }

    /// Adds the number of processors that the run may use, unless the job sets it.
    #[must_use]
    pub fn processors(mut self, count: usize) -> Self {
        for name in OF_PROCESSORS {
            if !self.variables.iter().any(|(known, _)| known == name) {
                self.variables.push((name.to_owned(), count.to_string()));
            }
        }
        self
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
        .env("PATH", "/evil")
        .python_path("/skills/pdf");
        let job = job
            .env("LD_PRELOAD", "/evil.so")
            .env("PYTHONPATH", "/evil")
            .env("SKILL_ID", "pdf")
            .secret_env("API_KEY", "hidden")
            .unwrap();
        let environment = Environment::new(&job, vec![("PATH".to_owned(), "/usr/bin".to_owned())]);
        let shown = format!("{environment:?}");
        let expected = r#"[("SKILL_ID", "pdf"), ("API_KEY", "…"), ("PATH", "/usr/bin"), ("PYTHONPATH", "/skills/pdf"), "#;
        assert!(shown.starts_with(expected), "{shown}");
        assert!(
            environment
                .variables()
                .contains(&("API_KEY".to_owned(), "hidden".to_owned()))
        );
    }

    #[test]
    fn defaults_give_way_to_variables_of_the_job() {
        let Authorization::Granted(grants) =
            Policy::default().authorize(&Request::new("/skills/pdf"))
        else {
            panic!("granted")
        };
        let script = Program::script(ScriptType::Shell, "/skills/pdf/run.sh");
        let job = Job::new(grants, script).env("TERM", "xterm");
        let environment = Environment::new(&job, Vec::new());
        let values = |name: &str| {
            let variables = environment.variables().iter();
            let values: Vec<&str> = variables
                .filter(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
                .collect();
            values.join(",")
        };
        assert_eq!(
            (values("TERM"), values("PAGER")),
            ("xterm".to_owned(), "cat".to_owned())
        );
    }
}
