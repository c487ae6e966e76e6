//! `skills deps plan`: lists what would be installed.

use clap::Args;
use serde_json::json;
use skills_runtime::PackageStatus;

use super::mentioned::Mentioned;
use super::opened::{OpenedPackages, PackageArgs, Planned, plan_json, plan_lines};
use crate::context::Context;
use crate::exit::Exit;
use crate::remedies::install_command;

/// List the packages that would be installed for a skill
///
/// Asks the index for versions and installs nothing. The plan is kept, so that the same versions are
/// installed later. If a skill declares no packages, lists those that its instructions name in
/// commands such as `pip install` or its scripts import, and how to accept them.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    #[command(flatten)]
    package: PackageArgs,

    /// Select the newest versions again
    #[arg(long)]
    refresh: bool,
}

impl Plan {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let opened = self.package.open(false, None, context)?;
        let OpenedPackages {
            runtime,
            name,
            options,
        } = &opened;
        match opened.plan(self.refresh)? {
            Planned::Interrupted => return Ok(Exit::Interrupted),
            Planned::Nothing => match runtime.executor().package_status(name, options)? {
                PackageStatus::Mentioned(packages) => {
                    Mentioned::new(runtime, name, &packages)?.print("plan", output)?;
                }
                _ if output.is_json() => {
                    output.print_json(&json!({"skill": name, "plan": null}))?;
                }
                PackageStatus::NothingDeclared => {
                    output.status(&format!("skill `{name}` declares no packages"));
                }
                _ => output.status(&format!("all packages of skill `{name}` are present")),
            },
            Planned::Packages(plan) if output.is_json() => {
                let packages = plan_json(plan.packages());
                output.print_json(
                    &json!({"skill": name, "missing": plan.missing(), "plan": packages}),
                )?;
            }
            Planned::Packages(plan) => {
                output.lines(plan_lines(plan.packages()))?;
                if let Some(command) = install_command(name, opened.script()) {
                    output.status(&format!("help: install them with `{command}`"));
                }
            }
        }
        opened.report_scripts(output)?;
        Ok(Exit::Success)
    }
}
