//! `skills deps install`: installs the missing packages of a skill.

use clap::Args;
use serde_json::json;
use skills_runtime::{CallContext, PackagePlan, PackageStatus, RuntimeError, SkillRuntime};

use super::mentioned::Mentioned;
use super::{PackageArgs, plan_json, plan_lines};
use crate::approver::{Confirmation, confirm};
use crate::context::Context;
use crate::exit::Exit;
use crate::lookup;
use crate::output::Output;
use crate::packages::SetupProgress;
use crate::signals;

/// Install the packages that a skill declares and that are missing
///
/// Shows what would be installed and asks. The package manager runs in the sandbox, with access to
/// the index alone and without secrets; the skill is not changed. Runs of the skill then use the
/// packages without a question.
#[derive(Debug, Args)]
pub(crate) struct Install {
    #[command(flatten)]
    package: PackageArgs,

    /// Build packages without a built file from source, which runs their code in the sandbox
    #[arg(long)]
    build: bool,

    /// Install without a question
    #[arg(long, short)]
    yes: bool,
}

impl Install {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let (runtime, name, mut options) = self.package.open(self.build, context)?;
        let call = std::mem::take(&mut options.context);
        let explain = |error| lookup::explain_error(&runtime, &name, error);
        let (call, progress) = SetupProgress::add_to(call);
        options.context = call;
        let planned = runtime.executor().plan_packages(&name, &options, false);
        let planned = signals::run_until_interrupt(planned)?;
        drop(progress);
        let Some(planned) = planned else {
            return Ok(Exit::Interrupted);
        };
        let Some(plan) = planned.map_err(explain)? else {
            let status = runtime.executor().package_status(&name, &options)?;
            if let PackageStatus::Mentioned(packages) = status {
                Mentioned::new(&runtime, &name, &packages)?.print("installed", output)?;
            } else if output.is_json() {
                output.print_json(&json!({"skill": name, "installed": null}))?;
            } else {
                output.status(&format!("no package of skill `{name}` is missing"));
            }
            return Ok(Exit::Success);
        };
        if !self.yes && !self.is_agreed(&plan, output)? {
            return Ok(Exit::Denied);
        }
        match install(&runtime, &plan)? {
            None => Ok(Exit::Interrupted),
            Some(installed) => {
                let directory = installed.map_err(explain)?;
                if output.is_json() {
                    let packages = plan_json(plan.packages());
                    output.print_json(
                        &json!({"skill": name, "installed": packages, "directory": directory}),
                    )?;
                } else {
                    let count = plan.packages().packages.len();
                    output.status(&format!("installed {count} packages for skill `{name}`"));
                }
                Ok(Exit::Success)
            }
        }
    }

    fn is_agreed(&self, plan: &PackagePlan, output: Output) -> anyhow::Result<bool> {
        for line in plan_lines(plan.packages()) {
            output.status(&line);
        }
        Ok(match confirm("Install them? [y/N]", output) {
            Confirmation::Yes => true,
            Confirmation::No => {
                output.status("nothing was installed");
                false
            }
            Confirmation::Unanswered => false,
        })
    }
}

/// Installs a plan; `None` after a signal.
fn install(
    runtime: &SkillRuntime,
    plan: &PackagePlan,
) -> anyhow::Result<Option<Result<String, RuntimeError>>> {
    let (call, _progress) = SetupProgress::add_to(CallContext::default());
    let installed = signals::run_until_interrupt(runtime.executor().install_packages(plan, &call))?;
    Ok(installed.map(|installed| {
        installed.map(|environment| environment.directory().display().to_string())
    }))
}
