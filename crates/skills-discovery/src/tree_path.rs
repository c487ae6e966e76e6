//! Paths of files below a skill directory, safe on every file system.

use std::fmt;

use skills_manifest::is_invisible;

use crate::fold_case;

/// Maximum length of a path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;
/// Maximum length of one name, in bytes, as on most file systems.
const MAX_NAME_BYTES: usize = 255;
/// Maximum number of names of a path: the limit of content digests, with room for directories of
/// a repository above the skill.
const MAX_DEPTH: usize = 48;
/// Names of devices on Windows, which open a device in any directory and with any extension.
const DEVICE_NAMES: [&str; 24] = [
    "con", "prn", "aux", "nul", "conin$", "conout$", "com1", "com2", "com3", "com4", "com5",
    "com6", "com7", "com8", "com9", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8",
    "lpt9",
];

/// A relative path with `/` between its names, which no file system reads in another way.
///
/// It has no empty name, no `.` and `..`, no backslash, no colon (drives, and streams of NTFS), no
/// control or invisible character, no name of a device of Windows, no dot or space at the end of a
/// name, and no directory of version control. The empty path is the directory itself.
///
/// ```
/// use skills_discovery::{PathProblem, TreePath};
///
/// assert_eq!(TreePath::new("scripts/run.py")?.file_name(), Some("run.py"));
/// assert_eq!(TreePath::new("../run.py"), Err(PathProblem::Traversal));
/// assert_eq!(TreePath::new("/etc/passwd"), Err(PathProblem::Absolute));
/// # Ok::<(), PathProblem>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TreePath(String);

/// The reason why a path is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// The path is empty.
    #[error("empty path")]
    Empty,
    /// The path starts at the root of a file system or drive.
    #[error("absolute path")]
    Absolute,
    /// A name is `..` or `.`, or is empty.
    #[error("path with `..`, `.` or an empty name")]
    Traversal,
    /// The path is not UTF-8.
    #[error("path is not UTF-8")]
    Encoding,
    /// A character means something else on another system, or cannot be seen.
    #[error("path contains {0:?}")]
    Character(char),
    /// A name is that of a device on Windows.
    #[error("name of a device on Windows")]
    Device,
    /// A name ends with a dot or a space, which Windows drops.
    #[error("name ends with a dot or a space")]
    TrailingDot,
    /// A name is that of a directory of version control.
    #[error("directory of version control")]
    VersionControl,
    /// The path or one of its names is too long, or has too many directory levels.
    #[error("path is too long")]
    TooLong,
}

impl TreePath {
    /// Validates a path. A `/` at the end, as archives write directories, is ignored.
    ///
    /// # Errors
    /// [`PathProblem`] for the first rule that the path violates.
    pub fn new(text: &str) -> Result<Self, PathProblem> {
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return Err(PathProblem::Empty);
        }
        if text.starts_with(['/', '\\']) || has_drive(text) {
            return Err(PathProblem::Absolute);
        }
        if text.len() > MAX_PATH_BYTES || text.split('/').count() > MAX_DEPTH {
            return Err(PathProblem::TooLong);
        }
        text.split('/').try_for_each(check_name)?;
        Ok(Self(text.to_owned()))
    }

    /// Validates the bytes of a path, as archives and git have them.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the bytes are not UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PathProblem> {
        let text = std::str::from_utf8(bytes).map_err(|_| PathProblem::Encoding)?;
        // Tools write `./` in front of each path of an archive.
        Self::new(text.trim_start_matches("./"))
    }

    /// Returns the path of the directory itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Returns true if it is the path of the directory itself.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the path as text, with `/` on all systems.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the names of the path, from the outermost.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the last name; `None` for the directory itself.
    #[must_use]
    pub fn file_name(&self) -> Option<&str> {
        self.names().last()
    }

    /// Returns the path of the directory that contains it; `None` for the directory itself.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let parent = self.0.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(Self(parent.to_owned()))
    }

    /// Returns the path and the paths of all directories above it, from the path to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.rmatch_indices('/').map(|(at, _)| at);
        let above = ends.map(|end| &self.0[..end]);
        let root = (!self.is_root()).then_some("");
        std::iter::once(self.as_str()).chain(above).chain(root)
    }

    /// Returns the path below `directory`; `None` if it is not in it.
    #[must_use]
    pub fn strip_prefix(&self, directory: &Self) -> Option<Self> {
        if directory.is_root() {
            return Some(self.clone());
        }
        let rest = self.0.strip_prefix(&directory.0)?;
        match rest.strip_prefix('/') {
            Some(below) => Some(Self(below.to_owned())),
            None if rest.is_empty() => Some(Self::root()),
            None => None,
        }
    }

    /// Returns the path of an entry of this directory.
    ///
    /// # Errors
    /// [`PathProblem`] if the name or the longer path is not valid.
    pub fn join(&self, below: &str) -> Result<Self, PathProblem> {
        if self.is_root() {
            Self::new(below)
        } else {
            Self::new(&format!("{}/{below}", self.0))
        }
    }

    /// Returns the path in the form in which file systems that ignore case and Unicode composition
    /// compare it.
    #[must_use]
    pub fn folded(&self) -> String {
        fold_case(&self.0)
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_root() { "." } else { &self.0 })
    }
}

/// Returns true if a path starts with a drive of Windows.
fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

fn check_name(name: &str) -> Result<(), PathProblem> {
    if matches!(name, "" | "." | "..") {
        return Err(PathProblem::Traversal);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(PathProblem::TooLong);
    }
    // Joiners are part of some scripts and emoji, but two names that differ in one look the same.
    let is_rejected = |c: char| matches!(c, '\\' | ':') || is_invisible(c);
    if let Some(c) = name.chars().find(|c| is_rejected(*c)) {
        return Err(PathProblem::Character(c));
    }
    if name.ends_with(['.', ' ']) {
        return Err(PathProblem::TrailingDot);
    }
    let lower = fold_case(name);
    let stem = lower.split('.').next().unwrap_or_default().trim_end();
    if DEVICE_NAMES.contains(&stem) {
        return Err(PathProblem::Device);
    }
    // `git~1` is the short name of `.git` on Windows.
    if matches!(lower.as_str(), ".git" | ".hg" | ".svn" | ".jj" | "git~1") {
        return Err(PathProblem::VersionControl);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_some_system_reads_differently_are_rejected() {
        for (text, problem) in [
            ("", PathProblem::Empty),
            ("/", PathProblem::Empty),
            ("/a", PathProblem::Absolute),
            ("\\\\server\\share", PathProblem::Absolute),
            ("C:/a", PathProblem::Absolute),
            ("c:a", PathProblem::Absolute),
            ("a/../b", PathProblem::Traversal),
            ("a//b", PathProblem::Traversal),
            ("a/./b", PathProblem::Traversal),
            ("..", PathProblem::Traversal),
            ("a\\..\\b", PathProblem::Character('\\')),
            ("ab:stream", PathProblem::Character(':')),
            ("a\0b", PathProblem::Character('\0')),
            ("a\nb", PathProblem::Character('\n')),
            ("a\u{202e}b", PathProblem::Character('\u{202e}')),
            ("NUL", PathProblem::Device),
            ("a/con.txt", PathProblem::Device),
            ("com1 .x", PathProblem::Device),
            ("a.", PathProblem::TrailingDot),
            ("a /b", PathProblem::TrailingDot),
            (".git/config", PathProblem::VersionControl),
            ("a/.GIT/hooks", PathProblem::VersionControl),
            ("GIT~1/hooks", PathProblem::VersionControl),
        ] {
            assert_eq!(TreePath::new(text), Err(problem), "{text:?}");
        }
        let long = "a/".repeat(MAX_DEPTH) + "a";
        assert_eq!(TreePath::new(&long), Err(PathProblem::TooLong));
        assert_eq!(TreePath::new(&"a".repeat(256)), Err(PathProblem::TooLong));
        assert_eq!(TreePath::from_bytes(b"a\xff"), Err(PathProblem::Encoding));
    }

    #[test]
    fn usual_paths_are_accepted() {
        for text in [
            "SKILL.md",
            "a/b.c/.hidden",
            "日本/é.md",
            "console/aux_1",
            "..a",
        ] {
            assert_eq!(TreePath::new(text).unwrap().as_str(), text);
        }
        assert_eq!(TreePath::from_bytes(b"./a/b").unwrap().as_str(), "a/b");
        assert_eq!(TreePath::new("dir/").unwrap().as_str(), "dir");
    }

    #[test]
    fn prefixes_are_compared_by_name() {
        let path = TreePath::new("skills/pdf/SKILL.md").unwrap();
        let below = |directory: &str| {
            let stripped = path.strip_prefix(&TreePath::new(directory).unwrap());
            stripped.map(|path| path.to_string())
        };
        assert_eq!(below("skills/pdf").as_deref(), Some("SKILL.md"));
        assert_eq!(below("skills/pd"), None);
        assert_eq!(below("skills/pdf/SKILL.md").as_deref(), Some("."));
    }

    #[test]
    fn ancestors_end_with_the_root() {
        let ancestors = |path: &TreePath| path.ancestors().map(str::to_owned).collect::<Vec<_>>();
        let path = TreePath::new("skills/pdf/SKILL.md").unwrap();
        assert_eq!(
            ancestors(&path),
            ["skills/pdf/SKILL.md", "skills/pdf", "skills", ""]
        );
        assert_eq!(ancestors(&TreePath::root()), [""]);
    }

    #[test]
    fn names_that_a_file_system_confuses_have_one_folded_form() {
        assert_eq!(fold_case("Straße"), fold_case("STRAßE"));
        assert_eq!(fold_case("e\u{301}.md"), fold_case("\u{e9}.md"));
        assert_eq!(fold_case("SKILL.MD"), "skill.md");
    }
}
