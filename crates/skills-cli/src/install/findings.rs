//! The findings about the skills of a plan.

use skills_install::{Action, Plan, SkillChange};
use skills_runtime::discovery::parallel_map;

use super::error::failed_search;
use crate::exit::Exit;
use crate::lint::{DenyArgs, SkillFindings};
use crate::output::{Output, line};

/// The findings about the new files of a plan, in the order of its changes. A skill that stays as it
/// is has none: it is not searched again.
pub(crate) struct PlanFindings {
    of_changes: Vec<SkillFindings>,
}

impl PlanFindings {
    /// Searches the staged files.
    pub(crate) fn new(plan: &Plan) -> anyhow::Result<Self> {
        let is_new =
            |change: &SkillChange| !matches!(change.action(), Action::Keep | Action::KeepEdited);
        let search = |change: &SkillChange| {
            if !is_new(change) {
                return Ok(SkillFindings::default());
            }
            SkillFindings::of_listed(change.staged_directory(), change.files(), change.name())
                .map_err(|error| failed_search(change.name(), &error))
        };
        let of_changes = parallel_map(plan.changes(), search);
        Ok(Self {
            of_changes: of_changes.into_iter().collect::<anyhow::Result<_>>()?,
        })
    }

    pub(crate) fn of_change(&self, index: usize) -> Option<&SkillFindings> {
        self.of_changes.get(index)
    }

    /// Returns the names of added and updated skills with a finding of high severity. What is
    /// restored was agreed to before.
    pub(crate) fn dangerous<'a>(&self, plan: &'a Plan) -> Vec<&'a str> {
        let changes = plan.changes().iter().zip(&self.of_changes);
        changes
            .filter(|(change, found)| {
                matches!(change.action(), Action::Add | Action::Update) && found.has_high()
            })
            .map(|(change, _)| change.name())
            .collect()
    }

    /// Reports findings that are denied. Returns the exit code if there are any.
    pub(crate) fn check_denied(
        &self,
        plan: &Plan,
        deny: &DenyArgs,
        output: Output,
    ) -> Option<Exit> {
        let mut exit = None;
        for (change, found) in plan.changes().iter().zip(&self.of_changes) {
            for finding in found.report.findings() {
                if deny.denies(finding) {
                    let (name, rule) = (line(change.name()), finding.rule());
                    let place = format!("{}:{}", line(finding.path()), finding.line());
                    output.status(&format!(
                        "error: `{name}`: denied finding `{rule}` at {place}"
                    ));
                    exit = Some(Exit::Failed);
                }
            }
        }
        exit
    }
}
