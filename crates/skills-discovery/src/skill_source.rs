//! The interface of what skills come from if not from directories.

use std::error::Error;

use crate::{ListedSkill, TreePath};

/// Why a source cannot be read; its text is the cause that a message shows.
pub type SourceFailure = Box<dyn Error + Send + Sync>;

/// The skills of a source in any order; in the place of one that is not valid its path and the reason.
pub type SourceListing = Vec<Result<ListedSkill, (TreePath, SourceFailure)>>;

/// A function that gets each file of a skill: its path and its whole content.
pub type ReceiveFile<'a> = dyn FnMut(&TreePath, &[u8]) -> Result<(), SourceFailure> + 'a;

/// Lists and opens skills that have no directory of their own: in memory, in an archive, at a server.
///
/// A scan calls [`list`](Self::list), which reads only what a catalog needs; the other files of a
/// skill are read by [`open`](Self::open), when the skill is first opened. Both run on the thread of
/// the caller, so an implementation that waits for others bounds that time itself. Nothing that a
/// source says is trusted: listings are validated, and content that is not the listed one is
/// refused.
///
/// [`MemorySource`](crate::MemorySource) is the implementation for skills in memory, and a
/// [`SourceRoot`](crate::SourceRoot) adds a source to a scan.
pub trait SkillSource: Send + Sync {
    /// Returns the name of the source, which identifies it: approvals of its skills are for this
    /// name, and so are the directories of the skills. An example is `memory:app`. Read once by
    /// [`SourceRoot::new`](crate::SourceRoot::new). A source is skipped if its name is empty or has
    /// invisible characters, and if it is an absolute path or one with `..`.
    fn name(&self) -> &str;

    /// Returns whether others can change what the source lists.
    fn kind(&self) -> SourceKind;

    /// Lists the skills. One that is not valid hides no other.
    ///
    /// # Errors
    /// Fails if the source cannot be read. Then it has no skills.
    fn list(&self) -> Result<SourceListing, SourceFailure>;

    /// Passes each file of a listed skill to `receive`, once, in any order. After a failure it is not
    /// called again for the same skill for a minute, unless the revision changes, and for no skill
    /// if the failures took 30 seconds.
    ///
    /// # Errors
    /// Fails if a file cannot be read, and with the error of `receive`.
    fn open(&self, skill: &ListedSkill, receive: &mut ReceiveFile<'_>)
    -> Result<(), SourceFailure>;

    /// Returns a number that is another one once [`list`](Self::list) can have another result. Must
    /// return at once: each comparison of a catalog with its sources calls it.
    fn revision(&self) -> u64;

    /// Returns true if the skills can differ from those that were listed at `revision`.
    fn changed(&self, revision: u64) -> bool {
        self.revision() != revision
    }
}

/// Who can change what a source lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceKind {
    /// The application alone. The [`Trust`](crate::Trust) of its root applies.
    Local,
    /// Others, such as the operator of a server. A skill is trusted only while its content is what
    /// the user has agreed to ([`SourceRoot::lock_directory`](crate::SourceRoot::lock_directory)).
    Live,
}
