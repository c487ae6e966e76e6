//! `skills update`: replaces installed skills by the newest versions of their sources.

use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::install::{
    InstallArgs, Target, failed, fetcher, open_read_only, open_store, parse_target, perform,
    policy_words, preview, reject_frozen, report_nothing_locked, select_locked,
};

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
                let mut shown = preview(&plan, &directory, &self.install.deny, || {}, output)?;
                if !plan.is_empty() {
                    shown.exit = Exit::Failed;
                }
                shown
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
