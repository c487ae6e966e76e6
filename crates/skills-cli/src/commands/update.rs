//! `skills update`: replaces installed skills by the newest versions of their sources.

use std::path::Path;

use clap::Args;
use serde_json::json;
use skills_install::Plan;

use crate::context::Context;
use crate::exit::Exit;
use crate::install::{
    InstallArgs, Performed, PlanFindings, Target, failed, fetcher, open_read_only, open_store,
    parse_target, perform, plan_json, plan_lines, policy_words, reject_frozen, report_failures,
    report_nothing_locked, select_locked,
};
use crate::lint::DenyArgs;
use crate::output::Output;

/// Update installed skills
///
/// Fetches the sources of skills.lock again and shows what changed: what the skills ask for in
/// addition, new scripts, other files, and what in the text looks like an attack. A skill that may
/// do more than before, whose source or signer changed, or that has a finding of high severity, is
/// updated only after a person agreed at a terminal.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Skills to update [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Update the skills of this directory only [default: all directories with a skills.lock]
    #[arg(long = "in", value_name = "project|user|DIR", value_parser = parse_target)]
    target: Option<Target>,

    /// Change nothing, and exit with 1 if there is an update
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    install: InstallArgs,
}

impl Update {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        if !self.check {
            reject_frozen(context)?;
        }
        let output = context.output;
        let fetcher = fetcher(&self.install.fetch, context)?;
        let mut documents = Vec::new();
        let mut exit = Exit::Success;
        let selected = select_locked(&self.names, self.target.as_ref(), context)?;
        let is_any_locked = !selected.is_empty();
        for (directory, names) in selected {
            let mut store = if self.check {
                open_read_only(&directory, context)?
            } else {
                open_store(&directory, context)?
            };
            let edits = self.install.edits.edits();
            let plan = store.plan_update_all(&fetcher, &names, edits, &policy_words);
            let plan = plan.map_err(failed)?;
            let performed = if self.check {
                check(&plan, &directory, &self.install.deny, output)?
            } else {
                perform(store, plan, &directory, &self.install, context)?
            };
            documents.push(performed.document);
            exit = exit.max(performed.exit);
        }
        if output.is_json() {
            output.print_json(&json!({"directories": documents}))?;
        } else if !is_any_locked {
            report_nothing_locked(output);
        } else if self.check && exit == Exit::Success {
            output.status("all skills are up to date");
        }
        Ok(exit)
    }
}

/// Prints what an update would change.
fn check(
    plan: &Plan,
    directory: &Path,
    deny: &DenyArgs,
    output: Output,
) -> anyhow::Result<Performed> {
    report_failures(plan, output);
    let findings = PlanFindings::new(plan)?;
    if !output.is_json() {
        output.lines(plan_lines(plan, &findings))?;
    }
    let denied = findings.check_denied(plan, deny, output);
    let is_current = denied.is_none() && plan.is_empty() && plan.failures().is_empty();
    Ok(Performed {
        document: plan_json(plan, &findings, directory),
        exit: if is_current {
            Exit::Success
        } else {
            Exit::Failed
        },
    })
}
