//! Tracks the skills whose text is already in a model's context.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_discovery::ContentDigest;

/// Tracks which skills a session has injected, to avoid duplicates and to restore the texts after
/// the context was compacted.
///
/// A skill is identified by its directory, its content by the digest over all of its files. The
/// host application keeps one value per session. When it drops or summarizes old messages, it
/// injects the skills of [`skills`](Self::skills) again, and calls [`remove`](Self::remove) for
/// those that it does not restore.
///
/// ```
/// use std::path::Path;
///
/// use skills_discovery::{DigestCache, SkillFiles};
/// use skills_prompt::{Activation, ActiveSkills};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let directory = directory.path().canonicalize()?;
/// # std::fs::write(directory.join("SKILL.md"), "---\nname: pdf\ndescription: d\n---\n")?;
/// let digest = SkillFiles::open_directory(&directory)?.digest(&mut DigestCache::default())?;
///
/// let mut active = ActiveSkills::default();
/// assert_eq!(active.activate(&directory, digest), Activation::New);
/// assert_eq!(active.activate(&directory, digest), Activation::AlreadyActive);
/// assert_eq!(active.skills(), [directory.as_path()]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ActiveSkills {
    skills: BTreeMap<PathBuf, (ContentDigest, usize)>,
    next_order: usize,
}

/// The result of [`ActiveSkills::activate`]: whether the text of the skill must be injected.
///
/// For [`AlreadyActive`](Self::AlreadyActive) the response to a model is
/// [`already_active_notice`](crate::already_active_notice).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// The skill was not active; its text must be injected.
    New,
    /// The skill was active with other content; its new text must be injected.
    Changed,
    /// The skill is active with this content; nothing has to be injected.
    AlreadyActive,
}

impl ActiveSkills {
    /// Records that the skill in `directory` is active with the content `digest`, and returns
    /// whether its text must be injected.
    ///
    /// A changed skill moves to the end of [`skills`](Self::skills).
    pub fn activate(&mut self, directory: &Path, digest: ContentDigest) -> Activation {
        let previous = self.skills.get(directory).map(|(previous, _)| *previous);
        let activation = match previous {
            Some(previous) if previous == digest => return Activation::AlreadyActive,
            Some(_) => Activation::Changed,
            None => Activation::New,
        };
        self.skills
            .insert(directory.to_owned(), (digest, self.next_order));
        // A counter and not a time, so that the order is the same in every run.
        self.next_order += 1;
        activation
    }

    /// Returns the directories of the active skills, in the order of their injection.
    #[must_use]
    pub fn skills(&self) -> Vec<&Path> {
        // The map is sorted by path, but restored texts must come in the order that the model has
        // seen.
        let mut skills: Vec<(usize, &Path)> = self
            .skills
            .iter()
            .map(|(path, (_, order))| (*order, path.as_path()))
            .collect();
        skills.sort_unstable();
        skills.into_iter().map(|(_, path)| path).collect()
    }

    /// Removes a skill whose text is no longer in the context; the next activation is
    /// [`Activation::New`]. A skill that is not active is ignored.
    pub fn remove(&mut self, directory: &Path) {
        self.skills.remove(directory);
    }
}
