//! `skills outdated`: lists installed skills of which there is another version.

use clap::Args;
use serde_json::{Value, json};
use skills_install::{Action, LocalEdits, LockFile, SkillChange};

use crate::context::Context;
use crate::exit::Exit;
use crate::install::{
    FetchArgs, Target, failed, fetcher, open_read_only, parse_target, policy_words,
    report_failures, report_nothing_locked, select_locked, short_revision,
};
use crate::output::line;

/// List installed skills of which there is another version
///
/// Fetches the sources of skills.lock again, and changes nothing. `skills update --check` shows the
/// differences.
#[derive(Debug, Args)]
pub(crate) struct Outdated {
    /// Skills to check [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Check the skills of this directory only [default: all directories with a skills.lock]
    #[arg(long = "in", value_name = "project|user|DIR", value_parser = parse_target)]
    target: Option<Target>,

    #[command(flatten)]
    fetch: FetchArgs,
}

impl Outdated {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let output = context.output;
        let fetcher = fetcher(&self.fetch, context)?;
        let mut exit = Exit::Success;
        let mut documents = Vec::new();
        let mut lines = Vec::new();
        let selected = select_locked(&self.names, self.target.as_ref(), context)?;
        let is_any_locked = !selected.is_empty();
        for (directory, names) in selected {
            let mut store = open_read_only(&directory, context)?;
            // An edited skill is compared, too: nothing is written.
            let edits = LocalEdits::Theirs;
            let plan = store.plan_update_all(&fetcher, &names, edits, &policy_words);
            let plan = plan.map_err(failed)?;
            report_failures(&plan, output);
            if !plan.failures().is_empty() {
                exit = Exit::Failed;
            }
            let is_update = |change: &&SkillChange| change.action() == Action::Update;
            for change in plan.changes().iter().filter(is_update) {
                lines.push(describe(change, store.lock_file()));
                documents.push(to_json(
                    change,
                    store.lock_file(),
                    &directory.to_string_lossy(),
                ));
            }
        }
        if output.is_json() {
            output.print_json(&json!({"outdated": documents}))?;
            return Ok(exit);
        }
        if !is_any_locked {
            report_nothing_locked(output);
        } else if lines.is_empty() && exit == Exit::Success {
            output.status("all skills are up to date");
        }
        output.lines(lines)?;
        Ok(exit)
    }
}

fn describe(change: &SkillChange, installed: &LockFile) -> String {
    let versions = [installed.skills().get(change.name()), Some(change.locked())].map(|locked| {
        let locked = locked?;
        let content = locked.content().to_string();
        Some(short_revision(locked.revision().unwrap_or(&content)))
    });
    let [old, new] = versions.map(Option::unwrap_or_default);
    let review = if change.needs_person() {
        "  (needs review)"
    } else {
        ""
    };
    let source = line(&change.locked().source().to_string());
    format!("{}  {old} -> {new}  {source}{review}", line(change.name()))
}

fn to_json(change: &SkillChange, installed: &LockFile, directory: &str) -> Value {
    let old = installed.skills().get(change.name());
    json!({
        "skill": change.name(),
        "directory": directory,
        "source": change.locked().source().to_string(),
        "installed": {
            "revision": old.and_then(|old| old.revision()),
            "content": old.map(|old| old.content().to_string()),
        },
        "available": {
            "revision": change.locked().revision(),
            "content": change.locked().content().to_string(),
        },
        "needs_review": change.needs_person(),
    })
}
