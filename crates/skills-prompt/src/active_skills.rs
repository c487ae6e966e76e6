//! Which skills a conversation has read already.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_discovery::ContentDigest;

/// The skills whose text a conversation holds, so that none is given twice and none is lost.
///
/// A skill is known by its directory, its content by its digest. The host keeps this beside the
/// conversation: when old messages are dropped or summed up, it gives the texts of
/// [`skills`](Self::skills) again and calls [`remove`](Self::remove) for those it does not.
#[derive(Debug, Clone, Default)]
pub struct ActiveSkills {
    skills: BTreeMap<PathBuf, (ContentDigest, usize)>,
    next_order: usize,
}

/// What activating a skill comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Its text is not in the conversation yet.
    New,
    /// Another text of it is in the conversation: its files have changed.
    Changed,
    /// The conversation holds this very text.
    AlreadyActive,
}

impl ActiveSkills {
    /// Notes that the skill in `directory` is given with this content, and says whether it has to
    /// be.
    pub fn activate(&mut self, directory: &Path, digest: ContentDigest) -> Activation {
        let known = self.skills.get(directory).map(|(known, _)| *known);
        let activation = match known {
            Some(known) if known == digest => return Activation::AlreadyActive,
            Some(_) => Activation::Changed,
            None => Activation::New,
        };
        self.skills
            .insert(directory.to_owned(), (digest, self.next_order));
        self.next_order += 1;
        activation
    }

    /// Returns the directories of the skills in the order in which their text was given.
    #[must_use]
    pub fn skills(&self) -> Vec<&Path> {
        let mut skills: Vec<(usize, &Path)> = self
            .skills
            .iter()
            .map(|(path, (_, order))| (*order, path.as_path()))
            .collect();
        skills.sort_unstable();
        skills.into_iter().map(|(_, path)| path).collect()
    }

    /// Notes that a skill's text is no longer in the conversation.
    pub fn remove(&mut self, directory: &Path) {
        self.skills.remove(directory);
    }
}
