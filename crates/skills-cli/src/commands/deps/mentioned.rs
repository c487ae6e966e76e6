//! Packages that the instructions and scripts of a skill name.

use serde_json::{Value, json};
use skills_runtime::SkillRuntime;
use skills_runtime::packages::ListedPackage;

use crate::lookup;
use crate::output::{Output, line};
use crate::remedies::accept_command;

/// Packages that a skill does not declare, and that its instructions or scripts name.
pub(super) struct Mentioned {
    pub(super) skill: String,
    /// As the setting lists them.
    pub(super) packages: Vec<String>,
}

impl Mentioned {
    /// `name` is the name of the skill or its directory.
    pub(super) fn new(
        runtime: &SkillRuntime,
        name: &str,
        packages: &[ListedPackage],
    ) -> anyhow::Result<Self> {
        Ok(Self {
            skill: lookup::get_skill(runtime, name)?.id,
            packages: packages.iter().map(ToString::to_string).collect(),
        })
    }

    /// Prints the packages with the command that accepts them; in JSON `result` is null.
    pub(super) fn print(&self, result: &str, output: Output) -> anyhow::Result<()> {
        let accept = accept_command(&self.skill, &self.packages);
        if output.is_json() {
            return output.print_json(&json!({
                "skill": self.skill,
                result: Value::Null,
                "mentioned": self.packages,
                "accept": accept,
            }));
        }
        let packages: Vec<String> = self.packages.iter().map(|package| line(package)).collect();
        output.status(&format!(
            "skill `{}` declares no packages; its instructions and scripts name {}",
            self.skill,
            packages.join(", ")
        ));
        if let Some(accept) = accept {
            output.status(&format!("help: accept them with `{accept}`"));
        }
        Ok(())
    }
}
