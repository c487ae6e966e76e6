//! Whose program runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_audit::ContentHash;
use skills_discovery::{Entry, SkillFiles};
use skills_manifest::Manifest;

use crate::{ExecutionOptions, HostCommand, SkillRuntime};

/// Whose program runs.
pub(crate) enum RunTarget {
    /// A skill's, or a command that works for one.
    Skill(Box<SkillTarget>),
    /// Nobody's: a command of the machine that works on a directory.
    Host(HostTarget),
}

/// A skill as it is now.
pub(crate) struct SkillTarget {
    pub(crate) entry: Entry,
    pub(crate) files: Arc<SkillFiles>,
    pub(crate) manifest: Manifest,
}

/// A command that works on a directory.
pub(crate) struct HostTarget {
    pub(crate) directory: PathBuf,
    /// What stands for its content: whoever approves a command approves these words.
    digest: String,
}

/// What commands that work for no skill are called where the name of a skill stands; no skill can
/// be called so.
pub(crate) const HOST_COMMAND_NAME: &str = "commands/";

impl RunTarget {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Skill(skill) => skill.entry.name().as_str(),
            Self::Host(_) => HOST_COMMAND_NAME,
        }
    }

    /// Returns where it lies.
    pub(crate) fn location(&self) -> PathBuf {
        match self {
            Self::Skill(skill) => skill.entry.location(),
            Self::Host(machine) => machine.directory.clone(),
        }
    }

    pub(crate) fn skill(&self) -> Option<&SkillTarget> {
        match self {
            Self::Skill(skill) => Some(skill),
            Self::Host(_) => None,
        }
    }

    /// Returns the digest of its content as it is now.
    pub(crate) fn digest(&self, runtime: &SkillRuntime) -> Option<String> {
        match self {
            Self::Skill(skill) => runtime.shared.copies.digest(&skill.files),
            Self::Host(machine) => Some(machine.digest.clone()),
        }
    }
}

impl HostTarget {
    /// `directory` is where the command works.
    pub(crate) fn new(directory: &Path, command: &HostCommand, options: &ExecutionOptions) -> Self {
        Self {
            directory: directory.to_owned(),
            digest: command_digest(directory, command, options),
        }
    }
}

/// What stands for all that a caller made up: the words, where they start, and what comes on
/// standard input.
pub(crate) fn command_digest(
    directory: &Path,
    command: &HostCommand,
    options: &ExecutionOptions,
) -> String {
    let starts_in = options
        .current_dir
        .as_deref()
        .unwrap_or(directory)
        .display()
        .to_string();
    let stdin = options.stdin.as_deref().unwrap_or_default();
    let stdin = ContentHash::from_prefix(stdin, stdin.len() as u64).sha256;
    let parts = [command.program().to_owned(), starts_in, stdin];
    let words: Vec<String> = parts
        .into_iter()
        .chain(command.leading_args())
        .chain(options.args.iter().cloned())
        .collect();
    // A NUL is in no word, so no two commands are written the same.
    let text = words.join("\0");
    format!(
        "sha256:{}",
        ContentHash::from_prefix(text.as_bytes(), text.len() as u64).sha256
    )
}
