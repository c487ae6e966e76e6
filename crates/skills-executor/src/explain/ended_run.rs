//! What is known about a run that ended, for its explanation.

use skills_policy::Grants;
use skills_sandbox::{RunOutput, ScriptType};

use super::outside::{FileOwner, OutsideLink};
use super::paths::ProgramPaths;
use super::rule_check::RuleCheck;

/// What is known about a run that ended.
pub(crate) struct EndedRun<'a> {
    pub(crate) skill: &'a str,
    pub(crate) output: &'a RunOutput,
    pub(crate) rules: RuleCheck<'a>,
    pub(crate) paths: ProgramPaths<'a>,
    /// The type of the script; `None` for commands and modules.
    pub(crate) script_type: Option<ScriptType>,
    /// The type of the code that the run executes, also for commands.
    pub(crate) interpreted: Option<ScriptType>,
    /// The script as a path in its skill, and its text; both empty if there is none.
    pub(crate) script: (&'a str, String),
    /// Required programs that nothing granted.
    pub(crate) dropped_programs: &'a [String],
    /// The variables that the skill declares.
    pub(crate) declared_variables: Vec<String>,
    /// The granted file that leads to a path that the run needs and that is not granted.
    pub(crate) outside: Option<OutsideLink>,
    /// The owner of the workspace, if the run has no rights for its files.
    pub(crate) foreign_owner: Option<FileOwner>,
}

impl EndedRun<'_> {
    pub(super) fn grants(&self) -> &Grants {
        self.rules.grants
    }

    pub(super) fn is_failure(&self) -> bool {
        !self.output.termination.is_success()
    }
}
