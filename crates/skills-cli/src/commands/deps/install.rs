//! `skills deps install`: installs the missing packages of a skill.

use clap::Args;
use serde_json::json;
use skills_runtime::packages::ListedPackage;
use skills_runtime::{CallContext, PackagePlan, PackageStatus};

use super::mentioned::Mentioned;
use super::opened::{
    AcceptedPackages, OpenedPackages, PackageArgs, Planned, plan_json, plan_lines,
};
use crate::approver::{is_terminal, require_confirmation};
use crate::commands::config::set_list;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::lookup;
use crate::output::Output;
use crate::packages::SetupProgress;
use crate::settings::SettingKey;
use crate::signals;

/// Install the packages that a skill declares and that are missing
///
/// Shows what would be installed and asks. The package manager runs in the sandbox, with access to
/// the index alone and without secrets; the skill is not changed. Runs of the skill then use the
/// packages without a question.
///
/// If a skill declares no packages, offers those that its instructions name or its scripts import; what
/// you accept is kept in the setting `skills.NAME.packages`.
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
        let opened = self.package.open(self.build, None, context)?;
        match opened.plan(false)? {
            Planned::Interrupted => Ok(Exit::Interrupted),
            Planned::Packages(plan) => {
                if !self.yes {
                    require_agreement(&plan, "Install them? [y/N]", output)?;
                }
                let exit = install(&opened, &plan, output)?;
                opened.report_scripts(output)?;
                Ok(exit)
            }
            Planned::Nothing => {
                let OpenedPackages {
                    runtime,
                    name,
                    options,
                } = &opened;
                let status = runtime.executor().package_status(name, options)?;
                if let PackageStatus::Mentioned(packages) = status {
                    let exit = self.offer(&opened, packages, context)?;
                    opened.report_scripts(output)?;
                    return Ok(exit);
                }
                if output.is_json() {
                    output.print_json(&json!({"skill": name, "installed": null}))?;
                } else {
                    output.status(&format!("no package of skill `{name}` is missing"));
                }
                opened.report_scripts(output)?;
                Ok(Exit::Success)
            }
        }
    }

    /// Lists packages that the skill does not declare. At a terminal the user can accept them, so that
    /// they are kept in the settings and installed.
    fn offer(
        &self,
        opened: &OpenedPackages,
        packages: Vec<ListedPackage>,
        context: &Context,
    ) -> anyhow::Result<Exit> {
        let output = context.output;
        let mentioned = Mentioned::new(&opened.runtime, &opened.name, &packages)?;
        mentioned.print("installed", output)?;
        // `--yes` is about packages that the user could know. Nothing was installed, so it is not a success.
        if self.yes || output.is_json() || !is_terminal() {
            return Ok(Exit::Denied);
        }
        let skill = mentioned.skill.as_str();
        let accepted = AcceptedPackages { skill, packages };
        let opened = self.package.open(self.build, Some(accepted), context)?;
        let plan = match opened.plan(false)? {
            Planned::Interrupted => return Ok(Exit::Interrupted),
            Planned::Nothing => return Ok(Exit::Success),
            Planned::Packages(plan) => plan,
        };
        let question = format!("Install them, and keep them as packages of `{skill}`? [y/N]");
        require_agreement(&plan, &question, output)?;
        let key = SettingKey::parse(&["skills", skill, "packages"]).map_err(CommandError::input)?;
        set_list(&key, &mentioned.packages, context)?;
        install(&opened, &plan, output)
    }
}

/// Shows a plan and asks whether it is performed.
fn require_agreement(
    plan: &PackagePlan,
    question: &str,
    output: Output,
) -> Result<(), CommandError> {
    for line in plan_lines(plan.packages()) {
        output.status(&line);
    }
    require_confirmation(question, "nothing was installed", output)
}

fn install(opened: &OpenedPackages, plan: &PackagePlan, output: Output) -> anyhow::Result<Exit> {
    let OpenedPackages { runtime, name, .. } = opened;
    let (call, progress) = SetupProgress::add_to(CallContext::default());
    let installed = signals::run_until_interrupt(runtime.executor().install_packages(plan, &call))?;
    drop(progress);
    let Ok(installed) = installed else {
        return Ok(Exit::Interrupted);
    };
    let environment = installed.map_err(|error| lookup::explain_error(runtime, name, error))?;
    if output.is_json() {
        let packages = plan_json(plan.packages());
        let directory = environment.directory().display().to_string();
        output
            .print_json(&json!({"skill": name, "installed": packages, "directory": directory}))?;
    } else {
        let count = plan.packages().packages.len();
        output.status(&format!("installed {count} packages for skill `{name}`"));
    }
    Ok(Exit::Success)
}
