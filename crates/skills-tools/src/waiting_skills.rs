//! Skills of the project that are not active before its user trusts them.

use std::path::Path;

use skills_runtime::discovery::{InactiveEntry, TrustedSkill};
use skills_runtime::policy::Question;
use skills_runtime::{Catalog, audit::ContentHash};

use crate::virtual_files::VirtualFiles;

/// Maximum number of skills that a text names.
const MAX_NAMED: usize = 5;
/// Maximum length of a name that is shown, as the Agent Skills specification has it.
const MAX_NAME_BYTES: usize = 64;
/// Maximum number of skills of one question, and maximum length of their names: it shows all of them.
const MAX_ASKED: usize = 10;
const MAX_ASKED_BYTES: usize = 200;

const HOW: &str = "If one is needed, ask your user to run `skills trust --project` in the project.";

/// The skills of a catalog that wait for the trust of their project.
pub(crate) struct Waiting<'a>(Vec<&'a InactiveEntry>);

impl<'a> Waiting<'a> {
    pub(crate) fn new(catalog: &'a Catalog) -> Self {
        let inactive = catalog.inactive().iter();
        Self(
            inactive
                .filter(|inactive| inactive.is_of_untrusted_project())
                .collect(),
        )
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns how many skills wait, and how they are trusted, without names: for instructions, which a
    /// model follows. `None` if none wait.
    pub(crate) fn sentence(&self) -> Option<String> {
        Some(format!("{}. {HOW}", self.counted()?))
    }

    /// Returns the same with some names. A name is text of a project that is not trusted, so only plain
    /// ones are shown, and nothing else of these skills.
    pub(crate) fn sentence_with_names(&self) -> Option<String> {
        let counted = self.counted()?;
        let named = self.plain().take(MAX_NAMED);
        let named: Vec<String> = named.map(|(name, _)| format!("`{name}`")).collect();
        let more = self.count() - named.len();
        let listed = match (named.as_slice(), more) {
            ([], _) => String::new(),
            (named, 0) => format!(": {}", named.join(", ")),
            (named, more) => format!(": {} and {more} more", named.join(", ")),
        };
        Some(format!("{counted}{listed}. {HOW}"))
    }

    fn counted(&self) -> Option<String> {
        match self.count() {
            0 => None,
            1 => Some("1 skill of this project waits for trust".to_owned()),
            count => Some(format!("{count} skills of this project wait for trust")),
        }
    }

    fn plain(&self) -> impl Iterator<Item = (&'a str, &'a InactiveEntry)> {
        let named = self.0.iter();
        let named = named.map(|inactive| (inactive.entry().name().as_str(), *inactive));
        named.filter(|(name, _)| is_plain(name))
    }
}

fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= MAX_NAME_BYTES && !name.is_empty() && name.chars().all(is_plain)
}

/// Skills of a project that wait for trust, with their content when it was read.
///
/// At most ten with plain names of at most 64 bytes and of 200 bytes together, those that a question
/// shows in full. Others keep waiting. The same applies to skills that cannot be read or are larger than
/// 32 MiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingSkills {
    names: Vec<String>,
    skills: Vec<TrustedSkill>,
}

impl WaitingSkills {
    /// Reads the content of the skills of a catalog that wait. `None` if none with a plain name do. Drafts
    /// do not: their user accepts them.
    pub(crate) fn read(catalog: &Catalog, files: &VirtualFiles) -> Option<Self> {
        let mut waiting = Waiting::new(catalog);
        waiting
            .0
            .retain(|inactive| !files.is_draft(inactive.entry(), inactive.reason()));
        waiting.plain().next()?;
        let (mut names, mut skills) = (Vec::new(), Vec::new());
        let mut rest = MAX_ASKED_BYTES;
        for (name, inactive) in waiting.plain().take(MAX_ASKED) {
            let Some(after) = rest.checked_sub(name.len()) else {
                break;
            };
            if let Ok(skill) = TrustedSkill::read(inactive.entry()) {
                rest = after;
                names.push(name.to_owned());
                skills.push(skill);
            }
        }
        Some(Self { names, skills })
    }

    /// Returns the names of the skills, in the order of [`skills`](Self::skills).
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the content of the skills. Empty if none of those that wait can be read.
    #[must_use]
    pub fn skills(&self) -> &[TrustedSkill] {
        &self.skills
    }

    /// Returns the question whether they may be used. `project` is the canonical path of the project.
    #[must_use]
    pub fn question(&self, project: &Path) -> Question {
        let mut content = Vec::new();
        for skill in &self.skills {
            content.extend_from_slice(skill.directory().as_os_str().as_encoded_bytes());
            // No path and no name of a file contains NUL.
            content.extend_from_slice(format!("\0{}\0", skill.digest()).as_bytes());
            content.extend_from_slice(skill.executables().join("\0").as_bytes());
            content.extend_from_slice(b"\0\0");
        }
        let digest = ContentHash::new(&content).sha256;
        Question::about_project_skills(project, self.names.clone(), digest)
    }
}
