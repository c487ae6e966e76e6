//! Files in granted directories that may hold keys, which a run does not get.
#![expect(
    clippy::disallowed_methods,
    reason = "directories are only listed here; files are opened without following symlinks"
)]

mod git_settings;
mod links;
mod named_by_content;
mod public_text;
mod secret_text;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use skills_policy::{FileGrant, Grants, ends_key_path, is_key_by_content};
use skills_sandbox::ChangedKeyLink;

use self::links::{FollowedLink, KeyLinks};
use self::public_text::holds_no_key;
use crate::open_directory::{EntryType, OpenDirectory};
use crate::protected_entries::ProtectedEntries;

/// Maximum directory entries that are examined before each run. The rest could hold keys, so the run
/// is rejected.
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum paths that are withheld, and maximum symlinks that have to stay. With namespaces each of
/// them is a mount.
const MAX_PATHS: usize = 2_000;
/// Maximum depth of directories below a granted one.
const MAX_DEPTH: usize = 64;
/// Maximum granted paths that are named with the reason why they are withheld.
const MAX_NOTES: usize = 20;

/// The files and directories of a run that may hold keys and that no permission names. A backend
/// denies opening them.
///
/// Found are paths that [`Grants::withholds`] names, the targets of symlinks with such names, and
/// other hard links of the same files, as far as they are in granted directories. Certificates
/// without a private key, settings of git and npm without a password, and files with the name of a
/// [key by content](skills_policy::is_key_by_content) that are none, are not among them.
///
/// A file that only a symlink marks as one with keys would be readable in the next run if the program
/// could rename or remove the symlink. So a backend lets the program change neither the
/// [symlinks](Self::symlinks) nor the names of the directories above them, and one that cannot reports
/// the [changed ones](Self::changed_links).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFiles {
    paths: BTreeMap<PathBuf, KeyFile>,
    links: KeyLinks,
    /// Granted paths that are withheld, since they are hard links of other files with keys, and those.
    other_names: Vec<(PathBuf, PathBuf)>,
}

/// A path that is withheld, and what was there when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFile {
    /// Device and inode number.
    pub identity: (u64, u64),
    /// Whether it is a directory, which is withheld with everything in it.
    pub is_directory: bool,
}

/// Why [`KeyFiles::find`] could not examine everything. A key file that was not found would be
/// readable, so a backend rejects the grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the granted directories contain more than {0}, too many to search for files with keys; grant narrower directories"
)]
pub struct KeySearchLimit(&'static str);

/// Returns true if a file holds a key by its content, and `name` is one of
/// [`skills_policy::is_key_by_content`]. `name` can be that of a symlink to the file, and `file` has no
/// symlinks. This reads the file, up to a mebibyte.
#[must_use]
pub fn holds_key_by_content(name: &OsStr, file: &Path) -> bool {
    let has_key = |metadata: Metadata| metadata.is_file() && !holds_no_key(name, file, &metadata);
    is_key_by_content(name) && file.symlink_metadata().is_ok_and(has_key)
}

impl KeyFiles {
    /// Searches the granted directories. Symlinks are not followed, except those with a name of a
    /// file with keys. This reads the disk, so call it on a blocking thread.
    ///
    /// # Errors
    /// Returns the limit at which the search ended, if it could not examine everything: 1,000,000
    /// entries, 2,000 files with keys or 64 levels of directories.
    pub fn find(grants: &Grants) -> Result<Self, KeySearchLimit> {
        Self::find_among(grants, &ProtectedEntries::default())
    }

    /// As [`find`](Self::find), without listing the directories again that a search for protected
    /// paths listed immediately before.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn find_among(grants: &Grants, listed: &ProtectedEntries) -> Result<Self, KeySearchLimit> {
        let mut search = Search::new(grants, listed);
        search.visit_all(&KeyNames)?;
        let links = search.follow_links()?;
        if !links.names.is_empty() {
            // A second pass, since a link can be found before the file with the name of a key.
            search.visit_all(&links)?;
        }
        let other_names = search.granted_names(&links);
        Ok(Self {
            other_names,
            ..search.into_outermost()
        })
    }

    /// Returns the symlinks that have to stay, in order: those with the name of a file with keys and
    /// those that they lead through, as far as they are in writable directories.
    pub fn symlinks(&self) -> impl Iterator<Item = &Path> {
        self.links.steps().iter().map(PathBuf::as_path)
    }

    /// Returns true if one of the [symlinks](Self::symlinks) is below `directory`.
    #[must_use]
    pub fn has_symlink_below(&self, directory: &Path) -> bool {
        let mut after = self.links.steps().range(directory.to_owned()..);
        after.next().is_some_and(|path| path.starts_with(directory))
    }

    /// Returns the symlinks with names of files with keys that lead elsewhere than before, or were
    /// removed or renamed. This reads the disk, so call it on a blocking thread.
    #[must_use]
    pub fn changed_links(&self) -> Vec<ChangedKeyLink> {
        self.links.changed().collect()
    }

    /// Returns a line for each granted path that is withheld nevertheless, at most 20.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let names = self.other_names.iter().take(MAX_NOTES);
        names.map(|(path, key)| {
            let (path, key) = (path.display(), key.display());
            format!(
                "`{path}` was not shared: it is another name of `{key}`, which may hold keys; only a rule or an approval to read `{key}` shares it"
            )
        })
    }

    /// Returns the withheld paths in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Path, KeyFile)> {
        self.paths
            .iter()
            .map(|(path, file)| (path.as_path(), *file))
    }

    /// Returns true if nothing is withheld.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns true if this very path is withheld.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        self.paths.contains_key(path)
    }

    /// Returns the withheld path at or above `path`.
    #[must_use]
    pub fn enclosing(&self, path: &Path) -> Option<&Path> {
        let mut ancestors = path.ancestors();
        ancestors.find_map(|ancestor| Some(self.paths.get_key_value(ancestor)?.0.as_path()))
    }

    /// Returns true if a path below `directory` is withheld.
    #[must_use]
    pub fn has_below(&self, directory: &Path) -> bool {
        let mut after = self.paths.range(directory.to_owned()..);
        // The paths below a directory follow it in order of components.
        after
            .next()
            .is_some_and(|(path, _)| path.starts_with(directory))
    }
}

/// A granted directory, or one in it.
struct Directory {
    path: PathBuf,
    /// Where its files are.
    location: PathBuf,
    depth: usize,
    /// Whether it is, or is in, a directory with keys of which a permission names some.
    is_in_keys: bool,
}

/// An entry of a granted directory.
struct Entry<'a> {
    directory: &'a Path,
    name: &'a OsStr,
    inode: u64,
    is_directory: bool,
    is_in_keys: bool,
}

impl Entry<'_> {
    fn path(&self) -> PathBuf {
        self.directory.join(self.name)
    }
}

/// What a pass over the granted directories looks for.
trait Pass {
    /// Returns true if an entry is withheld.
    fn withholds(&self, grants: &Grants, entry: &Entry<'_>) -> bool;

    /// Whether the content of a withheld entry can [show](holds_no_key) that it holds no key.
    const DEPENDS_ON_CONTENT: bool;
}

/// Withholds paths by their names.
struct KeyNames;

/// Withholds files by their inode numbers.
struct HardLinks {
    /// Device and inode numbers, and the name by which each file is withheld.
    names: HashMap<(u64, u64), PathBuf>,
    inodes: HashSet<u64>,
}

struct Search<'a> {
    grants: &'a Grants,
    /// Directories that are listed already.
    listed: &'a ProtectedEntries,
    remaining: usize,
    found: BTreeMap<PathBuf, KeyFile>,
    links: KeyLinks,
}

impl Pass for KeyNames {
    const DEPENDS_ON_CONTENT: bool = true;

    fn withholds(&self, grants: &Grants, entry: &Entry<'_>) -> bool {
        // Nearly all names are those of no key.
        let is_candidate = entry.is_in_keys || ends_key_path(entry.name);
        is_candidate && grants.withholds(&entry.path())
    }
}

impl Pass for HardLinks {
    // The content was examined by the name of the key.
    const DEPENDS_ON_CONTENT: bool = false;

    fn withholds(&self, grants: &Grants, entry: &Entry<'_>) -> bool {
        if entry.is_directory || !self.inodes.contains(&entry.inode) {
            return false;
        }
        match grants.locate(&entry.path()).symlink_metadata() {
            Ok(metadata) => self.names.contains_key(&identity(&metadata)),
            Err(error) => !is_no_directory(&error),
        }
    }
}

impl<'a> Search<'a> {
    fn new(grants: &'a Grants, listed: &'a ProtectedEntries) -> Self {
        Self {
            grants,
            listed,
            remaining: MAX_ENTRIES,
            found: BTreeMap::new(),
            links: KeyLinks::default(),
        }
    }

    /// Visits the granted directories, each once.
    fn visit_all(&mut self, pass: &impl Pass) -> Result<(), KeySearchLimit> {
        self.remaining = MAX_ENTRIES;
        let grants = self.grants;
        let roots = grants.files().iter().filter(|file| {
            let is_in_another = grants.files().iter().any(|outer| {
                !outer.includes_keys()
                    && outer.path() != file.path()
                    && file.path().starts_with(outer.path())
                    && outer.location() == outer.path()
            });
            !file.includes_keys() && !is_in_another
        });
        for root in roots {
            let root = Directory {
                path: root.path().to_owned(),
                location: root.location().to_owned(),
                depth: 0,
                is_in_keys: false,
            };
            self.visit(&root, pass)?;
        }
        Ok(())
    }

    /// Visits a directory. Another file is not visited: a permission names it.
    fn visit<P: Pass>(&mut self, directory: &Directory, pass: &P) -> Result<(), KeySearchLimit> {
        if directory.depth > MAX_DEPTH {
            return Err(KeySearchLimit("64 levels of directories"));
        }
        let (path, location) = (&directory.path, &directory.location);
        let mut inner = Vec::new();
        if let Some(entries) = self.listed.listing(location) {
            for (name, entry_type, inode) in entries {
                self.visit_entry(directory, (name, entry_type, inode), pass, &mut inner)?;
            }
        } else {
            match OpenDirectory::new(location).and_then(|opened| opened.entries()) {
                Ok(entries) => {
                    for entry in entries {
                        let listed = (entry.name.as_os_str(), entry.entry_type, entry.inode);
                        self.visit_entry(directory, listed, pass, &mut inner)?;
                    }
                }
                Err(error) if is_no_directory(&error) => return Ok(()),
                // Its files can be opened by their names.
                Err(_) => return self.insert(path, location),
            }
        }
        for (name, is_in_keys) in inner {
            let inner = Directory {
                path: path.join(&name),
                location: location.join(&name),
                depth: directory.depth + 1,
                is_in_keys,
            };
            self.visit(&inner, pass)?;
        }
        Ok(())
    }

    /// Visits an entry of a directory by its name, type and inode number. Adds a directory that is
    /// to be visited to `inner`.
    fn visit_entry<P: Pass>(
        &mut self,
        directory: &Directory,
        (name, entry_type, inode): (&OsStr, EntryType, u64),
        pass: &P,
        inner: &mut Vec<(OsString, bool)>,
    ) -> Result<(), KeySearchLimit> {
        self.count_entry()?;
        let (path, location) = (&directory.path, &directory.location);
        if entry_type == EntryType::Unknown {
            return self.insert(&path.join(name), &location.join(name));
        }
        let examined = Entry {
            directory: path,
            name,
            inode,
            is_directory: entry_type == EntryType::Directory,
            is_in_keys: directory.is_in_keys,
        };
        let is_withheld = pass.withholds(self.grants, &examined);
        let is_granted_in_part = is_withheld && self.has_grant_below(&examined.path());
        if is_withheld && !is_granted_in_part {
            if P::DEPENDS_ON_CONTENT {
                self.withhold(&examined.path(), &location.join(name))?;
            } else {
                self.insert(&examined.path(), &location.join(name))?;
            }
        }
        if examined.is_directory && !self.is_closed(&examined.path()) {
            inner.push((name.to_owned(), directory.is_in_keys || is_granted_in_part));
        }
        Ok(())
    }

    /// Returns true if the run sees nothing in a directory anyway.
    fn is_closed(&self, directory: &Path) -> bool {
        self.found.contains_key(directory) || self.grants.hidden().contains(directory)
    }

    fn count_entry(&mut self) -> Result<(), KeySearchLimit> {
        self.remaining = self
            .remaining
            .checked_sub(1)
            .ok_or(KeySearchLimit("1,000,000 files and directories"))?;
        Ok(())
    }

    /// Returns true if a permission names a path below `path`, so that it is not withheld as a whole.
    fn has_grant_below(&self, path: &Path) -> bool {
        let mut files = self.grants.files().iter();
        files.any(|file| file.path() != path && file.path().starts_with(path))
    }

    /// Withholds a path with its file at `location`, or the target of a symlink, unless it is known to
    /// hold no key.
    fn withhold(&mut self, path: &Path, location: &Path) -> Result<(), KeySearchLimit> {
        let metadata = match location.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_no_directory(&error) => return Ok(()),
            Err(_) => return self.insert_directory_of(path, location),
        };
        // The name of a link says what it leads to: a target may have any name.
        let name = location.file_name().unwrap_or_default();
        if !metadata.is_symlink() {
            return if holds_no_key(name, location, &metadata) {
                Ok(())
            } else {
                self.insert(path, location)
            };
        }
        // The link has to stay as it is.
        self.keep_link(location)?;
        let target = self.target(location);
        let target = target.filter(|target| {
            let metadata = target.symlink_metadata();
            metadata.is_ok_and(|metadata| !holds_no_key(name, target, &metadata))
        });
        target.map_or(Ok(()), |target| self.insert(&target, &target))
    }

    /// Adds a path with its file at `location`.
    fn insert(&mut self, path: &Path, location: &Path) -> Result<(), KeySearchLimit> {
        let metadata = match location.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if is_no_directory(&error) => return Ok(()),
            Err(_) => return self.insert_directory_of(path, location),
        };
        if self.is_hidden(path) {
            return Ok(());
        }
        if self.found.len() >= MAX_PATHS {
            return Err(KeySearchLimit("2,000 files that may hold keys"));
        }
        let file = KeyFile {
            identity: identity(&metadata),
            is_directory: metadata.is_dir(),
        };
        self.found.insert(path.to_owned(), file);
        Ok(())
    }

    /// Adds the granted directory of a path that cannot be examined: it can be listed but not
    /// searched, which a program of its user can change.
    fn insert_directory_of(&mut self, path: &Path, location: &Path) -> Result<(), KeySearchLimit> {
        match path.parent().zip(location.parent()) {
            Some((path, location)) if self.grants.innermost_grant(path).is_some() => {
                self.insert(path, location)
            }
            _ => Ok(()),
        }
    }

    /// Returns the target of a symlink, if it is in a granted directory and no permission names it.
    fn target(&self, link: &Path) -> Option<PathBuf> {
        let target = link.canonicalize().ok()?;
        // A permission for the target itself names it. A link to a directory around what is granted
        // would withhold everything.
        let mut files = self.grants.files().iter();
        let is_named = files.any(|file| file.path().starts_with(&target));
        let grant = self.grants.innermost_grant(&target)?;
        (!is_named && !grant.includes_keys()).then_some(target)
    }

    fn is_hidden(&self, path: &Path) -> bool {
        let hidden = self.grants.hidden();
        path.ancestors().any(|above| hidden.contains(above))
    }

    /// Keeps the symlinks to a file that is not shared, in this run or in one with other grants. It
    /// need not exist yet.
    fn keep_link(&mut self, link: &Path) -> Result<(), KeySearchLimit> {
        let grants = self.grants;
        let name = link.file_name().unwrap_or_default();
        let FollowedLink { symlinks, end } = FollowedLink::new(link);
        let is_shared = grants
            .innermost_grant(&end)
            .is_some_and(FileGrant::includes_keys);
        let is_around_grant = grants
            .files()
            .iter()
            .any(|file| file.path().starts_with(&end));
        let is_public = || {
            let metadata = end.symlink_metadata();
            metadata.is_ok_and(|metadata| holds_no_key(name, &end, &metadata))
        };
        if is_shared || is_around_grant || self.is_hidden(&end) || is_public() {
            return Ok(());
        }
        let is_changeable = |path: &PathBuf| grants.innermost_writable(path).is_some();
        let steps: Vec<PathBuf> = symlinks.into_iter().filter(is_changeable).collect();
        if !steps.is_empty() {
            self.links.add(link, end, steps);
        }
        if self.links.len() > MAX_PATHS {
            return Err(KeySearchLimit("2,000 symlinks to files that may hold keys"));
        }
        Ok(())
    }

    /// Withholds what symlinks in the withheld directories lead to, and returns the withheld files
    /// that have other names.
    fn follow_links(&mut self) -> Result<HardLinks, KeySearchLimit> {
        let mut names = HashMap::new();
        let found: Vec<PathBuf> = self.found.keys().cloned().collect();
        for path in found {
            self.add_linked(&self.grants.locate(&path), 0, &mut names)?;
        }
        let inodes = names.keys().map(|(_, inode)| *inode).collect();
        Ok(HardLinks { names, inodes })
    }

    /// Returns the granted paths that are withheld as hard links, each with the name of the key.
    fn granted_names(&self, links: &HardLinks) -> Vec<(PathBuf, PathBuf)> {
        let granted = self.grants.files().iter().map(FileGrant::path);
        let names = granted.filter_map(|path| {
            let key = links.names.get(&self.found.get(path)?.identity)?;
            (key != path).then(|| (path.to_owned(), key.clone()))
        });
        names.collect()
    }

    /// Adds a file that has other names, or those in a directory.
    fn add_linked(
        &mut self,
        path: &Path,
        depth: usize,
        names: &mut HashMap<(u64, u64), PathBuf>,
    ) -> Result<(), KeySearchLimit> {
        let Ok(metadata) = path.symlink_metadata() else {
            return Ok(());
        };
        if metadata.is_symlink() {
            let Some(target) = self.target(path) else {
                return Ok(());
            };
            // Symlinks on the way can be outside of what is withheld.
            self.keep_link(path)?;
            if self.found.contains_key(&target) || depth > MAX_DEPTH {
                return Ok(());
            }
            self.insert(&target, &target)?;
            return self.add_linked(&target, depth + 1, names);
        }
        if metadata.is_file() && metadata.nlink() > 1 {
            let name = names.entry(identity(&metadata));
            name.or_insert_with(|| path.to_owned());
        }
        if !metadata.is_dir() || depth > MAX_DEPTH {
            return Ok(());
        }
        // One that cannot be listed by this user has no links that this user made.
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            self.count_entry()?;
            self.add_linked(&entry.path(), depth + 1, names)?;
        }
        Ok(())
    }

    /// Returns the found paths, and the symlinks, without those in others.
    fn into_outermost(self) -> KeyFiles {
        let all = KeyFiles {
            paths: self.found,
            ..KeyFiles::default()
        };
        let is_outermost = |path: &Path| {
            let above = path.parent();
            above.and_then(|above| all.enclosing(above)).is_none()
        };
        let mut links = self.links;
        links.retain_steps(is_outermost);
        let outermost = all.iter().filter(|(path, _)| is_outermost(path));
        KeyFiles {
            paths: outermost
                .map(|(path, file)| (path.to_owned(), file))
                .collect(),
            links,
            ..KeyFiles::default()
        }
    }
}

fn is_no_directory(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use skills_policy::{Authorization, Capability, Policy, Request, Rule, RuleSource};

    use super::*;

    fn create_files(workspace: &Path, paths: &[&str]) {
        for path in paths {
            fs::create_dir_all(workspace.join(path).parent().unwrap()).unwrap();
            fs::write(workspace.join(path), "x").unwrap();
        }
    }

    fn found(request: &Request, workspace: &Path, rules: &[&str]) -> String {
        let rules = rules.iter().map(|path| {
            let text = format!("read:{}", workspace.join(path).display());
            Rule::parse(skills_policy::Effect::Allow, RuleSource::User, &text).unwrap()
        });
        let policy = rules.fold(Policy::default(), Policy::rule);
        let Authorization::Granted(grants) = policy.authorize(request) else {
            panic!("reading is allowed by default")
        };
        let keys = KeyFiles::find(&grants).unwrap();
        let names: Vec<_> = keys
            .iter()
            .map(|(path, _)| path.strip_prefix(workspace).unwrap().display().to_string())
            .collect();
        names.join(" ")
    }

    /// A request with the skill `skill` in the workspace, and the workspace.
    fn request_in(directory: &tempfile::TempDir) -> (Request, PathBuf) {
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["skill/.env", "skill/SKILL.md"]);
        let request = Request::new(workspace.join("skill"))
            .workspace(&workspace)
            .allowed_tool("Read", None);
        (request, workspace)
    }

    #[test]
    fn keys_are_found_by_name_link_and_inode() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(
            &workspace,
            &[
                ".env",
                ".env.example",
                "a/.aws/credentials",
                "a/b/c.txt",
                "real.txt",
            ],
        );
        symlink("a/b/c.txt", workspace.join(".env.local")).unwrap();
        symlink("..", workspace.join("a/.ssh")).unwrap();
        fs::hard_link(workspace.join(".env"), workspace.join("a/linked")).unwrap();
        fs::hard_link(workspace.join("a/.aws/credentials"), workspace.join("b")).unwrap();
        assert_eq!(
            found(&request, &workspace, &[]),
            ".env a/.aws a/b/c.txt a/linked b"
        );
    }

    #[test]
    fn a_directory_that_cannot_be_searched_is_withheld() {
        // Of this thread only. The superuser could search it.
        nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65_534));
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &["a/.env", "a/b/.env", "c/.env", "d/text"]);
        let set_mode = |name: &str, mode| {
            let permissions = PermissionsExt::from_mode(mode);
            fs::set_permissions(workspace.join(name), permissions).unwrap();
        };
        for name in ["a", "d"] {
            set_mode(name, 0o444);
        }
        let names = found(&request, &workspace, &[]);
        for name in ["a", "d"] {
            set_mode(name, 0o700);
        }
        assert_eq!(names, "a c/.env d");
    }

    /// Grants of a program that writes to the workspace.
    fn writable(workspace: &Path) -> Grants {
        let request = Request::new(workspace.join("skill"))
            .workspace(workspace)
            .write(workspace);
        let policy = Policy::default().allow(RuleSource::Invocation, Capability::Write);
        match policy.authorize(&request) {
            Authorization::Granted(grants) => grants,
            Authorization::Denied(denial) => panic!("{denial}"),
        }
    }

    fn symlinks(keys: &KeyFiles, workspace: &Path) -> String {
        let names = keys.symlinks().map(|path| {
            let path = path.strip_prefix(workspace).unwrap();
            path.display().to_string()
        });
        names.collect::<Vec<_>>().join(" ")
    }

    /// In the next run only they would tell that their target holds keys.
    #[test]
    fn symlinks_to_keys_have_to_stay_with_those_that_they_lead_through() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &["store/real", "awsconf/file", "keep/x"]);
        create_files(&workspace, &["venv/pyvenv.cfg", ".ssh/x"]);
        symlink("../current/./real", workspace.join("keep/.env")).unwrap();
        symlink("store", workspace.join("current")).unwrap();
        symlink("awsconf", workspace.join(".aws")).unwrap();
        symlink("not/yet", workspace.join(".netrc")).unwrap();
        symlink("/nowhere/key", workspace.join("id_rsa")).unwrap();
        symlink("loop.pem", workspace.join("loop.pem")).unwrap();
        // These show nothing that the run does not show, or are in a directory that is withheld.
        symlink("../venv", workspace.join("keep/.env.local")).unwrap();
        symlink("..", workspace.join("keep/.kube")).unwrap();
        symlink("../store/real", workspace.join(".ssh/id")).unwrap();
        let keys = KeyFiles::find(&writable(&workspace)).unwrap();
        assert_eq!(
            symlinks(&keys, &workspace),
            ".aws .netrc current id_rsa keep/.env loop.pem"
        );
        assert!(keys.has_symlink_below(&workspace.join("keep")));
        assert!(!keys.has_symlink_below(&workspace.join("store")));
        let Authorization::Granted(read_only) = Policy::default().authorize(&request) else {
            panic!("reading is allowed by default")
        };
        let keys = KeyFiles::find(&read_only).unwrap();
        assert_eq!(symlinks(&keys, &workspace), "");
    }

    /// A symlink in a withheld directory cannot be changed, but one that it leads through can.
    #[test]
    fn what_withheld_directories_link_to_is_withheld_with_its_other_names() {
        let directory = tempfile::tempdir().unwrap();
        let (_, workspace) = request_in(&directory);
        create_files(&workspace, &["store/creds", "more/a", ".aws/x"]);
        fs::hard_link(workspace.join("store/creds"), workspace.join("copy")).unwrap();
        symlink("../current/creds", workspace.join(".aws/credentials")).unwrap();
        symlink("store", workspace.join("current")).unwrap();
        symlink("../more", workspace.join(".aws/more")).unwrap();
        symlink("../more", workspace.join("more/itself")).unwrap();
        let keys = KeyFiles::find(&writable(&workspace)).unwrap();
        assert_eq!(symlinks(&keys, &workspace), "current");
        for path in ["store/creds", "copy", "more/a"] {
            assert!(keys.enclosing(&workspace.join(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn symlinks_to_keys_that_lead_elsewhere_are_reported() {
        let changes: [fn(&Path); 7] = [
            |workspace| fs::remove_file(workspace.join("keep/.env")).unwrap(),
            |workspace| fs::rename(workspace.join("keep/.env"), workspace.join("z")).unwrap(),
            |workspace| fs::rename(workspace.join("keep"), workspace.join("other")).unwrap(),
            |workspace| {
                fs::remove_file(workspace.join("keep/.env")).unwrap();
                symlink("../store/b", workspace.join("keep/.env")).unwrap();
            },
            |workspace| {
                fs::remove_file(workspace.join("keep/.env")).unwrap();
                fs::write(workspace.join("keep/.env"), "A=1").unwrap();
            },
            |workspace| fs::remove_file(workspace.join("current")).unwrap(),
            |workspace| {
                fs::remove_file(workspace.join("current")).unwrap();
                symlink("keep", workspace.join("current")).unwrap();
            },
        ];
        for change in changes {
            let directory = tempfile::tempdir().unwrap();
            let (_, workspace) = request_in(&directory);
            create_files(&workspace, &["store/real", "store/b", "keep/x"]);
            symlink("../current/real", workspace.join("keep/.env")).unwrap();
            symlink("store", workspace.join("current")).unwrap();
            let keys = KeyFiles::find(&writable(&workspace)).unwrap();
            assert_eq!(keys.changed_links(), []);
            change(&workspace);
            let expected =
                ChangedKeyLink::new(workspace.join("keep/.env"), workspace.join("store/real"));
            assert_eq!(keys.changed_links(), [expected]);
        }
    }

    #[test]
    fn a_granted_hard_link_of_a_key_is_named_with_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &[".aws/credentials"]);
        fs::hard_link(
            workspace.join(".aws/credentials"),
            workspace.join("hard.txt"),
        )
        .unwrap();
        let rule = format!("read:{}", workspace.join("hard.txt").display());
        let rule = Rule::parse(skills_policy::Effect::Allow, RuleSource::User, &rule).unwrap();
        let policy = Policy::default().rule(rule);
        let Authorization::Granted(grants) = policy.authorize(&request) else {
            panic!("reading is allowed by default")
        };
        let keys = KeyFiles::find(&grants).unwrap();
        assert!(keys.contains(&workspace.join("hard.txt")));
        let notes: Vec<String> = keys.notes().collect();
        assert_eq!(
            notes
                .join("\n")
                .replace(&*workspace.to_string_lossy(), "/w"),
            "`/w/hard.txt` was not shared: it is another name of `/w/.aws/credentials`, which may hold keys; only a rule or an approval to read `/w/.aws/credentials` shares it"
        );
    }

    #[test]
    fn a_granted_key_is_not_withheld_and_those_beside_it_are() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        let keys = [
            ".env",
            ".aws/config",
            ".aws/credentials",
            ".ssh/work",
            ".ssh/known/x",
        ];
        create_files(&workspace, &keys);
        assert_eq!(
            found(&request, &workspace, &[".env", ".aws/credentials"]),
            ".aws/config .ssh"
        );
        assert_eq!(found(&request, &workspace, &[".aws"]), ".env .ssh");
        assert_eq!(
            found(&request, &workspace, &[".ssh/known/x"]),
            ".aws .env .ssh/work"
        );
    }

    /// One mount for each would fail.
    #[test]
    fn no_withheld_path_is_in_another() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &[".ssh/work", "stow/aws/creds"]);
        symlink(".ssh/work", workspace.join("id_rsa")).unwrap();
        fs::create_dir(workspace.join(".aws")).unwrap();
        symlink("../stow/aws/creds", workspace.join(".aws/credentials")).unwrap();
        assert_eq!(found(&request, &workspace, &[]), ".aws .ssh stow/aws/creds");
    }

    #[test]
    fn hidden_paths_and_virtual_environments_are_not_withheld() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &["state/code/mac.key", ".env/pyvenv.cfg"]);
        let request = request.hide(workspace.join("state"));
        assert_eq!(found(&request, &workspace, &[]), "");
    }

    /// A repository can be a skill: then its keys are those of the project.
    #[test]
    fn a_skill_around_the_workspace_does_not_get_its_keys() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        create_files(&workspace, &["SKILL.md", ".env"]);
        let request = Request::new(&workspace).workspace(&workspace);
        assert_eq!(found(&request, &workspace, &[]), ".env");
    }

    #[test]
    fn a_command_of_the_caller_does_not_get_the_keys_of_the_skill() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        assert_eq!(found(&request, &workspace, &[]), "");
        assert_eq!(found(&request.ad_hoc("1"), &workspace, &[]), "skill/.env");
    }

    #[test]
    fn certificates_and_plain_settings_are_not_withheld() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &["tls.key", ".git/HEAD", "sub/.git/HEAD"]);
        let certificate = "-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n";
        fs::write(workspace.join("ca.pem"), certificate).unwrap();
        fs::write(workspace.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        let with_password = "[remote \"o\"]\n\turl = https://u:p@h/x\n";
        fs::write(workspace.join("sub/.git/config"), with_password).unwrap();
        assert_eq!(found(&request, &workspace, &[]), "sub/.git/config tls.key");
    }

    #[test]
    fn names_of_which_the_content_decides_are_withheld_with_a_key() {
        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nAA\n";
        create_files(
            &workspace,
            &[
                "docs/README.asc",
                "auth.json",
                "src_rsa/main.c",
                ".env",
                "store/plain",
                "store/real",
            ],
        );
        for path in ["deploy_rsa", "my.asc", "store/real"] {
            fs::write(workspace.join(path), private).unwrap();
        }
        fs::write(workspace.join(".yarnrc.yml"), "npmAuthToken: abc\n").unwrap();
        // Other names of a key are not examined by their own content.
        fs::hard_link(workspace.join(".env"), workspace.join("notes.asc")).unwrap();
        symlink("../docs/README.asc", workspace.join("store/.env")).unwrap();
        symlink("plain", workspace.join("store/plain_rsa")).unwrap();
        symlink("real", workspace.join("store/real_rsa")).unwrap();
        symlink("/nowhere", workspace.join("lost_rsa")).unwrap();
        let all = ".env .yarnrc.yml deploy_rsa docs/README.asc my.asc notes.asc store/real";
        assert_eq!(found(&request, &workspace, &[]), all);
        let others = all.replace("deploy_rsa ", "");
        assert_eq!(found(&request, &workspace, &["deploy_rsa"]), others);
    }

    #[test]
    fn a_directory_that_cannot_be_listed_is_withheld() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let (request, workspace) = request_in(&directory);
        create_files(&workspace, &["closed/.env"]);
        let set_mode = |mode| {
            let permissions = PermissionsExt::from_mode(mode);
            fs::set_permissions(workspace.join("closed"), permissions).unwrap();
        };
        set_mode(0o311);
        let is_listed = fs::read_dir(workspace.join("closed")).is_ok();
        let withheld = found(&request, &workspace, &[]);
        set_mode(0o755);
        if is_listed {
            return skills_test_support::skip("root lists every directory");
        }
        assert_eq!(withheld, "closed");
    }
}
