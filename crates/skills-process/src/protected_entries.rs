//! Protected paths that exist in writable directories: found before a run, and compared after it.
#![expect(
    clippy::disallowed_methods,
    reason = "directories are only listed here; paths to mount are opened without following symlinks"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use skills_policy::{Access, FileGrant, Grants};

/// Maximum directory entries that are examined before and after each run. The rest could not be
/// protected, so the run is rejected.
const MAX_ENTRIES: usize = 200_000;
/// Maximum protected paths. With namespaces each of them is a mount.
const MAX_PATHS: usize = 1_000;
/// Maximum depth of directories below a granted one.
const MAX_DEPTH: usize = 64;
/// Maximum changes that are reported one by one.
const MAX_REPORTED: usize = 20;

/// The protected paths in the writable directories of a run, and the entries below them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProtectedEntries {
    /// The states of all entries before the run.
    entries: BTreeMap<PathBuf, EntryState>,
    /// The protected paths that are not below another one, and the targets of symlinks among them.
    outermost: BTreeSet<PathBuf>,
    /// The limit at which the search ended, if it did not examine everything.
    search_limit: Option<&'static str>,
}

/// More entries than [`ProtectedEntries::find`] examines. A protected path that was not found would
/// be writable, so a backend rejects the grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the writable directories contain more than {0}, too many to search for protected paths; grant narrower directories"
)]
pub struct SearchLimit(&'static str);

/// Metadata of an entry that changes when it is replaced or modified.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EntryState {
    /// Device and inode number.
    identity: (u64, u64),
    /// Length, change time and mode; `None` for directories, whose entries have their own states.
    /// The change time, since a program can set the modification time.
    content: Option<(u64, i64, i64, u32)>,
}

impl ProtectedEntries {
    /// Searches the writable directories, including those below protected ones. Symlinks are not
    /// followed. This reads the disk, so call it on a blocking thread.
    ///
    /// # Errors
    /// Returns the limit at which the search ended, if it could not examine everything: 200,000
    /// entries, 1,000 protected paths or 64 levels.
    pub fn find(grants: &Grants) -> Result<Self, SearchLimit> {
        let found = Self::search(grants);
        match found.search_limit {
            None => Ok(found),
            Some(limit) => Err(SearchLimit(limit)),
        }
    }

    fn search(grants: &Grants) -> Self {
        let mut found = Self::default();
        let mut queue: VecDeque<(PathBuf, usize)> = grants
            .files()
            .iter()
            .filter(|file| file.access() == Access::ReadWrite)
            .map(|file| (file.path().to_owned(), 0))
            .collect();
        let mut remaining = MAX_ENTRIES;
        while let Some((directory, depth)) = queue.pop_front() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                // A file that was granted by itself, or a directory that was removed.
                Err(error)
                    if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) =>
                {
                    continue;
                }
                // A directory that cannot be listed may contain protected paths, so all of it is
                // protected.
                Err(_) => {
                    found.outermost.insert(directory);
                    continue;
                }
            };
            for entry in entries.flatten() {
                remaining -= 1;
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let path = entry.path();
                let descends = found.examine(grants, &path) && is_directory;
                found.search_limit = match (remaining, found.outermost.len(), depth) {
                    (0, ..) => Some("200,000 files and directories"),
                    (_, MAX_PATHS.., _) => Some("1,000 protected paths"),
                    (.., MAX_DEPTH..) if descends => Some("64 levels of directories"),
                    _ => None,
                };
                if found.search_limit.is_some() {
                    return found;
                }
                if descends {
                    queue.push_back((path, depth + 1));
                }
            }
        }
        found
    }

    /// Records an entry if it is protected. Returns whether the search continues below it.
    fn examine(&mut self, grants: &Grants, path: &Path) -> bool {
        let Some(granted) = grants.innermost_writable(path).map(FileGrant::path) else {
            return false;
        };
        // A writable directory inside another one is searched by itself.
        if granted == path {
            return false;
        }
        let Some(protected) = grants.protected_in(granted, path) else {
            return true;
        };
        let is_outermost = path
            .parent()
            .is_none_or(|parent| grants.protected_in(granted, parent).is_none());
        if is_outermost {
            self.outermost.insert(path.to_owned());
        }
        // Objects, branches and logs of a repository change with every commit, and another program
        // may commit during the run. Only entries that are protected themselves, such as `config`
        // and `hooks`, are compared.
        if protected.ends_with(".git") && !is_outermost {
            return false;
        }
        let Ok(metadata) = path.symlink_metadata() else {
            return true;
        };
        if metadata.is_symlink() {
            self.protect_target(grants, path.canonicalize().ok());
        } else if metadata.is_file() && is_outermost && protected == path && path.ends_with(".git")
        {
            self.protect_target(grants, git_directory(path));
        }
        self.entries
            .insert(path.to_owned(), EntryState::from_metadata(&metadata));
        true
    }

    /// Protects the target of a protected symlink, if it is in a writable directory.
    fn protect_target(&mut self, grants: &Grants, target: Option<PathBuf>) {
        let is_changeable = |path: &PathBuf| {
            grants
                .innermost_writable(path)
                .is_some_and(|file| file.path() != path)
        };
        self.outermost.extend(target.filter(is_changeable));
    }

    /// Returns the paths to make read-only.
    pub fn outermost(&self) -> impl Iterator<Item = &Path> {
        self.outermost.iter().map(PathBuf::as_path)
    }

    /// Searches again after the run and returns one line for each protected path that was created,
    /// changed or removed, at most 20 and the number of the others.
    pub fn changes(&self, grants: &Grants) -> Vec<String> {
        let after = Self::search(grants);
        let new_or_changed =
            after
                .entries
                .iter()
                .filter_map(|(path, state)| match self.entries.get(path) {
                    Some(before) if before == state => None,
                    Some(_) => Some((path, "changed")),
                    None => Some((path, "created")),
                });
        let removed = self
            .entries
            .keys()
            .filter(|path| path.symlink_metadata().is_err())
            .map(|path| (path, "removed"));
        let all: Vec<_> = new_or_changed.chain(removed).collect();
        let more = all.len().saturating_sub(MAX_REPORTED);
        let line = |(path, change): &(&PathBuf, &str)| {
            let path = path.display().to_string();
            format!(
                "the program {change} the protected path {path:?}: check it before another program runs or reads it"
            )
        };
        let lines = all.iter().take(MAX_REPORTED).map(line);
        lines
            .chain((more > 0).then(|| {
                format!("and {more} more protected paths were created, changed or removed")
            }))
            .collect()
    }
}

/// Returns the repository that a `.git` file refers to, as in worktrees and submodules. Its hooks
/// run like those in a `.git` directory.
fn git_directory(path: &Path) -> Option<PathBuf> {
    const MAX_BYTES: u64 = 4_096;
    let mut text = String::new();
    fs::File::open(path)
        .ok()?
        .take(MAX_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    path.parent()?
        .join(text.strip_prefix("gitdir:")?.trim())
        .canonicalize()
        .ok()
}

impl EntryState {
    fn from_metadata(metadata: &Metadata) -> Self {
        let content = (!metadata.is_dir()).then(|| {
            (
                metadata.len(),
                metadata.ctime(),
                metadata.ctime_nsec(),
                metadata.mode(),
            )
        });
        Self {
            identity: (metadata.dev(), metadata.ino()),
            content,
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource, Target};

    use super::*;

    fn grants(workspace: &Path) -> Grants {
        let hooks = Target::write(workspace.join("nested/.git")).unwrap();
        let request = Request::new("/skills/a")
            .allowed_tool("Write", None)
            .allowed_tool("Write", Some("nested/.git/**"))
            .workspace(workspace);
        let request = request.protect(workspace.join("roots/skills"));
        match Policy::default()
            .allow(RuleSource::User, Capability::Write)
            .allow(RuleSource::User, hooks)
            .authorize(&request)
        {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    fn create_files(workspace: &Path, paths: &[&str]) {
        for path in paths {
            fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
            fs::write(workspace.join(path), "x").unwrap();
        }
    }

    fn outermost_paths(workspace: &Path, found: &ProtectedEntries) -> String {
        let below = |path: &Path| path.strip_prefix(workspace).unwrap().display().to_string();
        found.outermost().map(below).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn protected_paths_are_found_at_any_depth() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let unprotected = ["src/main.rs", ".github/FUNDING.yml", "nested/.git/HEAD"];
        create_files(
            &workspace,
            &[
                ".git/config",
                "a/b/.GIT/hooks/x",
                ".github/workflows/ci.yml",
                "a/.envrc",
                "roots/skills/x/SKILL.md",
                "nested/.git/hooks/y",
            ],
        );
        create_files(&workspace, &unprotected);
        std::os::unix::fs::symlink("dotfiles", workspace.join(".zshrc")).unwrap();
        create_files(&workspace, &["dotfiles"]);
        let found = ProtectedEntries::find(&grants(&workspace)).unwrap();
        let expected = ".git .github/workflows .zshrc a/.envrc a/b/.GIT dotfiles nested/.git/hooks roots/skills";
        assert_eq!(outermost_paths(&workspace, &found), expected);
    }

    #[test]
    fn changes_of_protected_paths_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(
            &workspace,
            &[
                ".git/config",
                ".git/hooks/old",
                ".git/objects/a",
                ".vscode/tasks.json",
            ],
        );
        let grants = grants(&workspace);
        let before = ProtectedEntries::find(&grants).unwrap();
        assert!(before.changes(&grants).is_empty());
        create_files(
            &workspace,
            &[
                ".git/hooks/new",
                ".git/objects/b",
                "sub/.claude/settings.json",
            ],
        );
        fs::write(workspace.join(".git/config"), "longer").unwrap();
        fs::remove_file(workspace.join(".vscode/tasks.json")).unwrap();
        let changes = before
            .changes(&grants)
            .join("\n")
            .replace(&workspace.display().to_string(), "");
        let changes = changes
            .replace("the program ", "")
            .replace(": check it before another program runs or reads it", "");
        insta::assert_snapshot!(changes, @r#"
        changed the protected path "/.git/config"
        created the protected path "/.git/hooks/new"
        created the protected path "/sub/.claude"
        created the protected path "/sub/.claude/settings.json"
        removed the protected path "/.vscode/tasks.json"
        "#);
    }
}
