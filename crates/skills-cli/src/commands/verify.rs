//! `skills verify`: compares installed skills with their lock files.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use skills_install::{SkillState, Verification};

use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::install::{Target, parse_target, roots_to_verify, verify};
use crate::lookup::UNFINISHED_HINT;
use crate::output::{Output, line};

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
        let mut report = Report::default();
        for root in &roots {
            let (directory, verification) = (root.path(), verify(root, context)?);
            let is_valid = |state: &SkillState| match state {
                SkillState::Unchanged => true,
                SkillState::Unlocked => !is_frozen,
                _ => false,
            };
            if !verification.skills().values().all(is_valid) {
                exit = Exit::Failed;
            }
            if !output.is_json() {
                let skills = verification.skills().iter();
                let changed = skills.filter(|(_, state)| **state != SkillState::Unchanged);
                output.lines(changed.map(|(name, state)| describe(directory, name, state)))?;
            }
            report.add(directory, &verification);
        }
        if output.is_json() {
            output.print_json(&report.to_json(exit == Exit::Success))?;
        } else if roots.is_empty() {
            output.status("no directory with a `skills.lock` found");
        } else {
            report.print_status(output, exit);
        }
        Ok(exit)
    }
}

/// What was found in all directories.
#[derive(Default)]
struct Report {
    /// The number of skills that were compared with a lock file.
    compared: usize,
    unlocked: usize,
    skills: Vec<Value>,
    /// The directories with an interrupted change.
    unfinished: Vec<PathBuf>,
}

impl Report {
    fn add(&mut self, directory: &Path, verification: &Verification) {
        self.compared += verification.compared();
        self.unlocked += verification.unlocked();
        let skills = verification.skills().iter();
        self.skills
            .extend(skills.map(|(name, state)| to_json(directory, name, state)));
        if verification.is_unfinished() {
            self.unfinished.push(directory.to_owned());
        }
    }

    fn to_json(&self, is_valid: bool) -> Value {
        json!({
            "valid": is_valid,
            "verified": self.compared,
            "unlocked": self.unlocked,
            "unfinished": self.unfinished,
            "skills": self.skills,
        })
    }

    fn print_status(&self, output: Output, exit: Exit) {
        for directory in &self.unfinished {
            let path = line(&directory.to_string_lossy());
            output.status(&format!("an interrupted change of `{path}` is unfinished"));
        }
        if exit == Exit::Success {
            let unlocked = match self.unlocked {
                0 => String::new(),
                unlocked => format!(", {unlocked} unlocked"),
            };
            let compared = counted(self.compared, "skill");
            output.status(&format!("verified {compared}{unlocked}"));
        }
        if !self.unfinished.is_empty() {
            output.status(&format!("help: {UNFINISHED_HINT}"));
        } else if exit != Exit::Success {
            output.status("help: `skills add` restores missing skills, `skills update --theirs NAME` replaces changed ones");
        }
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
