//! The subject of a run: a skill or a host command.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use skills_audit::ContentHash;
use skills_discovery::{ContentDigest, Entry, SkillFiles};
use skills_library::{ContentDigests, Library, OpenedSkill, read_requirements};
use skills_manifest::{Manifest, Requirements};

use crate::error::RuntimeError;
use crate::host_command::HostCommand;
use crate::options::ExecutionOptions;

/// The skill or the directory that a run belongs to.
pub(crate) enum RunSubject {
    /// A program of a skill, or a command that runs for a skill.
    Skill(Box<SkillSubject>),
    /// A host command on a directory, without a skill.
    Host(HostSubject),
}

/// A skill with its current files.
pub(crate) struct SkillSubject {
    pub(crate) entry: Entry,
    pub(crate) files: Arc<SkillFiles>,
    pub(crate) manifest: Manifest,
    pub(crate) requirements: Requirements,
}

/// A host command on a directory.
pub(crate) struct HostSubject {
    pub(crate) directory: PathBuf,
    /// Digest of the command, in place of a content digest: an approval covers exactly this
    /// command.
    pub(crate) digest: String,
}

/// Pseudo skill name of host commands. Its `/` is invalid in skill names.
pub(crate) const HOST_COMMAND_NAME: &str = "commands/";

impl SkillSubject {
    /// Opens a skill, by its name or directory, with the checks of a run: it is active, and its
    /// restrictions can be parsed.
    pub(crate) fn open(library: &Library, name: &str) -> Result<Self, RuntimeError> {
        let catalog = library.catalog();
        let skill = OpenedSkill::find_runnable(&catalog, name)?;
        let manifest = skill.document.manifest().clone();
        let requirements = read_requirements(&manifest, &skill.files);
        Ok(Self {
            entry: skill.entry.clone(),
            files: Arc::new(skill.files),
            manifest,
            requirements,
        })
    }
}

impl RunSubject {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Skill(skill) => skill.entry.name().as_str(),
            Self::Host(_) => HOST_COMMAND_NAME,
        }
    }

    /// Returns the path of the `SKILL.md`, or the directory of a command.
    pub(crate) fn location(&self) -> PathBuf {
        match self {
            Self::Skill(skill) => skill.entry.location(),
            Self::Host(host) => host.directory.clone(),
        }
    }

    /// Returns the directory of the skill, or that of a command.
    pub(crate) fn directory(&self) -> &Path {
        match self {
            Self::Skill(skill) => skill.entry.directory(),
            Self::Host(host) => &host.directory,
        }
    }

    pub(crate) fn skill(&self) -> Option<&SkillSubject> {
        match self {
            Self::Skill(skill) => Some(skill),
            Self::Host(_) => None,
        }
    }

    /// Returns the content digest that the lock file beside the skill requires, if it is locked.
    pub(crate) fn locked_digest(&self) -> Option<ContentDigest> {
        self.skill()?.entry.locked_digest()
    }

    /// Returns the current content digest.
    pub(crate) fn digest(&self, digests: &ContentDigests) -> Option<String> {
        match self {
            Self::Skill(skill) => Some(digests.digest(&skill.files).ok()?.to_string()),
            Self::Host(host) => Some(host.digest.clone()),
        }
    }
}

/// Returns the digest of everything that the caller specified: program and arguments, working
/// directory and standard input.
pub(crate) fn command_digest(
    directory: &Path,
    command: &HostCommand,
    options: &ExecutionOptions,
) -> String {
    let current_dir = options.current_dir.as_deref().unwrap_or(directory);
    let stdin = options.stdin.as_deref().unwrap_or_default();
    let parts = [
        command.program().to_owned(),
        current_dir.display().to_string(),
        // As a hash, since input can contain NUL, unlike the other parts.
        ContentHash::new(stdin).sha256,
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .chain(command.leading_args())
        .chain(options.args.iter().cloned())
        .collect();
    // Arguments cannot contain NUL, so the text is unambiguous.
    let text = parts.join("\0");
    format!("sha256:{}", ContentHash::new(text.as_bytes()).sha256)
}
