//! `skills verify`: compares installed skills with their lock files.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};
use skills_install::SkillState;

use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::install::{Target, parse_target, roots_to_verify, verify};
use crate::output::line;

/// Compare installed skills with skills.lock
///
/// Reads every file. Exits with 1 if a locked skill is missing or has other content; with --frozen,
/// also if there is a skill that the lock file does not list, or a project has skills and no lock
/// file.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Verify the skills of this directory only [default: all directories with a skills.lock]
    #[arg(long = "in", value_name = "project|user|DIR", value_parser = parse_target)]
    target: Option<Target>,
}

impl Verify {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        let (output, is_frozen) = (context.output, context.options.frozen);
        let roots = roots_to_verify(self.target.as_ref(), context)?;
        let mut exit = Exit::Success;
        let mut documents: Vec<Value> = Vec::new();
        let mut verified = 0;
        for root in &roots {
            let (directory, verification) = (root.path(), verify(root, context)?);
            let skills = verification.skills();
            verified += skills.len();
            let is_valid = |state: &SkillState| match state {
                SkillState::Unchanged => true,
                SkillState::Unlocked => !is_frozen,
                _ => false,
            };
            if !skills.values().all(is_valid) {
                exit = Exit::Failed;
            }
            documents.extend(
                skills
                    .iter()
                    .map(|(name, state)| to_json(directory, name, state)),
            );
            if !output.is_json() {
                let changed = skills
                    .iter()
                    .filter(|(_, state)| **state != SkillState::Unchanged);
                output.lines(changed.map(|(name, state)| describe(directory, name, state)))?;
            }
        }
        if output.is_json() {
            let is_valid = exit == Exit::Success;
            output.print_json(&json!({"valid": is_valid, "skills": documents}))?;
        } else if roots.is_empty() {
            output.status("no directory with a `skills.lock` found");
        } else if exit == Exit::Success {
            output.status(&format!("verified {}", counted(verified, "skill")));
        } else {
            output.status("help: `skills add` restores missing skills, `skills update --theirs NAME` replaces changed ones");
        }
        Ok(exit)
    }
}

fn describe(directory: &Path, name: &str, state: &SkillState) -> String {
    let path = line(&directory.join(name).to_string_lossy());
    let detail = match state {
        SkillState::Changed {
            actual: Some(actual),
        } => format!("  (now {actual})"),
        SkillState::ModesChanged { files } => format!("  ({})", line(&files.join(", "))),
        _ => String::new(),
    };
    format!("{}  {path}{detail}", state.code())
}

fn to_json(directory: &Path, name: &str, state: &SkillState) -> Value {
    let mut document = json!({"skill": name, "directory": directory, "state": state.code()});
    match state {
        SkillState::Changed { actual } => {
            document["content"] = actual.map(|actual| actual.to_string()).into();
        }
        SkillState::ModesChanged { files } => document["files"] = json!(files),
        _ => {}
    }
    document
}
