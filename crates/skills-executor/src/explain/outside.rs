//! Granted files that lead to paths that are not granted.
//!
//! Tools follow such files as a matter of course, and then report a missing repository, interpreter or
//! package. A program can write such a file, too, to make its user allow what it leads to. So only files
//! count that existed before the run and did not change since, in a directory that the caller chose, and
//! what they lead to must have the form that it should have: a repository names its worktree in return,
//! in a place that the run cannot write.

use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;
use skills_policy::{Access, FileGrant, Grants};
use skills_sandbox::{RunOutput, ScriptType};
use skills_store::trusted_file;

use super::paths::{VISIBLE_DIRECTORIES, normalized};
use super::printed::{end_of, is_permission_denied, missing_package, read_only_marker};

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 10;
/// The most entries of a directory that are looked at.
const MAX_ENTRIES: usize = 4_096;
/// The most path files that are read, and paths in each.
const MAX_PATHS: usize = 16;
/// The usual names of Python environments in a workspace.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];
/// The file of an environment that names the Python that it is based on.
const CONFIGURATION: &str = "pyvenv.cfg";

/// A granted file or link that leads to a path that is not granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutsideLink {
    /// The file, absolute.
    pub file: PathBuf,
    /// What it is.
    pub link: OutsideLinkKind,
    /// The directory that a rule has to name, absolute and without symlinks.
    pub target: PathBuf,
    /// The directories that commands which also write need rules for: protected ones need their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<PathBuf>,
    /// Whether the run can read it, and fails to write it.
    pub is_visible: bool,
}

/// A kind of file that leads to another path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutsideLinkKind {
    /// The `.git` file of a linked worktree of git.
    Worktree,
    /// The `.git` file of a submodule of git.
    Submodule,
    /// The configuration of a Python environment, which names the Python that it is based on.
    Environment,
    /// A `.pth` file of a Python environment.
    PathFile,
    /// A link in `node_modules`, as pnpm and workspaces create them.
    PackageLink,
}

/// The owner of a directory that is granted for writing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FileOwner {
    /// The directory, absolute.
    pub path: PathBuf,
    /// The user ID of the owner.
    pub user_id: u32,
}

impl fmt::Display for OutsideLinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Worktree => "the `.git` file of a linked worktree",
            Self::Submodule => "the `.git` file of a submodule",
            Self::Environment => "the configuration of a Python environment",
            Self::PathFile => "a path file of a Python environment",
            Self::PackageLink => "a link to a package",
        })
    }
}

/// Returns the file of the workspace that explains a failure: it leads to a path that the program
/// reports, and that the run may not use as it needs to.
pub(crate) fn find_outside_link(
    output: &RunOutput,
    grants: &Grants,
    workspace: &Path,
    started: SystemTime,
) -> Option<OutsideLink> {
    if output.termination.is_success() {
        return None;
    }
    let text = [&output.stderr, &output.stdout].map(end_of).join("\n");
    let old = OldFiles { workspace, started };
    let links = [
        git_link(&old, grants, &text),
        environment_link(&old, &text),
        path_file(&old, &text),
        package_link(&old, &text),
    ];
    let mut links = links.into_iter().flatten();
    links.find_map(|link| needed(link, grants, &text))
}

/// Returns a link if the program did not get what it leads to.
fn needed(mut link: OutsideLink, grants: &Grants, text: &str) -> Option<OutsideLink> {
    link.is_visible = grants.innermost_grant(&link.target).is_some();
    let is_write_refused = || {
        let is_refused =
            |line: &str| read_only_marker(line).is_some() || is_permission_denied(line);
        let target = link.target.to_string_lossy();
        text.lines()
            .any(|line| is_refused(line) && line.contains(&*target))
    };
    let mut visible = VISIBLE_DIRECTORIES.iter();
    let is_needed = if link.is_visible {
        !link.written.is_empty() && is_write_refused()
    } else {
        !visible.any(|visible| link.target.starts_with(visible))
    };
    is_needed.then_some(link)
}

impl OutsideLink {
    /// A link to what programs only read, and that the run does not see.
    fn new(file: PathBuf, link: OutsideLinkKind, target: PathBuf) -> Self {
        Self {
            file,
            link,
            target,
            written: Vec::new(),
            is_visible: false,
        }
    }

    /// Returns true for a path that the remedy for this link is about.
    pub(super) fn explains(&self, path: &Path) -> bool {
        path == self.file || path.starts_with(&self.target)
    }
}

/// The files of a workspace that a run cannot have written.
struct OldFiles<'a> {
    workspace: &'a Path,
    started: SystemTime,
}

impl OldFiles<'_> {
    /// Returns the metadata of a file or link that has not changed since before the run. No directory
    /// on the way to it is a symlink, and none was put there during the run.
    fn metadata(&self, below: &Path) -> Option<Metadata> {
        let mut path = self.workspace.to_owned();
        let mut last = None;
        for name in below.components() {
            if last.as_ref().is_some_and(Metadata::is_symlink) {
                return None;
            }
            path.push(name);
            let metadata = path.symlink_metadata().ok()?;
            if !is_older(&metadata, self.started) {
                return None;
            }
            last = Some(metadata);
        }
        last
    }

    fn read(&self, below: &Path) -> Option<String> {
        let metadata = self.metadata(below)?;
        metadata
            .is_file()
            .then(|| read_text(&self.workspace.join(below)))?
    }
}

/// The time of the last change is the kernel's, which no program can set.
#[cfg(unix)]
fn is_older(metadata: &Metadata, started: SystemTime) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Clocks of file systems lag behind by up to ten milliseconds.
    let since =
        started.duration_since(SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(20));
    let since = since.unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (metadata.ctime(), metadata.ctime_nsec()) < (seconds, i64::from(since.subsec_nanos()))
}

#[cfg(not(unix))]
fn is_older(_metadata: &Metadata, _started: SystemTime) -> bool {
    false
}

fn git_link(old: &OldFiles<'_>, grants: &Grants, text: &str) -> Option<OutsideLink> {
    let content = old.read(Path::new(".git"))?;
    let workspace = old.workspace.canonicalize().ok()?;
    let file = workspace.join(".git");
    let named = Path::new(content.strip_prefix("gitdir:")?.trim());
    let directory = workspace.join(named).canonicalize().ok()?;
    let parent = directory.parent()?;
    let repository = parent.parent().unwrap_or(parent);
    // Only git writes what names the worktree in return: not if the run could have written it, unless
    // all that it leads to is granted already.
    let can_forge = |granted: &FileGrant| {
        granted.access() == Access::ReadWrite
            && directory.starts_with(granted.path())
            && !repository.starts_with(granted.path())
    };
    if directory.starts_with(&workspace) || grants.files().iter().any(can_forge) {
        return None;
    }
    let is_repository = |path: &Path| path.join("HEAD").is_file() && path.join("objects").is_dir();
    let link = if parent.file_name()? == "worktrees" {
        let back = read_text(&directory.join("gitdir"))?;
        let target = parent.parent().filter(|path| is_repository(path))?;
        let written = vec![target.to_owned(), directory.clone()];
        (Path::new(back.trim()) == file).then(|| OutsideLink {
            written,
            ..OutsideLink::new(file, OutsideLinkKind::Worktree, target.to_owned())
        })?
    } else {
        let config = read_text(&directory.join("config"))?;
        let mut lines = config.lines().map(str::trim);
        let back = lines.find_map(|line| value_of(line, "worktree"))?;
        let back = directory.join(back).canonicalize().ok()?;
        (back == workspace && is_repository(&directory)).then(|| OutsideLink {
            written: vec![directory.clone()],
            ..OutsideLink::new(file, OutsideLinkKind::Submodule, directory.clone())
        })?
    };
    let is_reported = text.contains("not a git repository")
        || text.contains(&*link.target.to_string_lossy())
        || named.is_absolute() && text.contains(&*named.to_string_lossy());
    is_reported.then_some(link)
}

/// The interpreter of an environment is a symlink to the Python that it is based on.
fn environment_link(old: &OldFiles<'_>, text: &str) -> Option<OutsideLink> {
    let (name, config) =
        environments(old).find(|(name, _)| text.contains(&format!("{name}/bin/python")))?;
    let home = value_of(&config, "home")?;
    let home = old.workspace.join(name).join(home).canonicalize().ok()?;
    let target = home.parent()?.to_owned();
    let library = target.join("lib").join(python_directory(&config)?);
    let file = old.workspace.join(name).join(CONFIGURATION);
    (home.file_name()? == "bin" && library.is_dir())
        .then(|| OutsideLink::new(file, OutsideLinkKind::Environment, target))
}

/// An editable installation is a path file with the directory of its source.
fn path_file(old: &OldFiles<'_>, text: &str) -> Option<OutsideLink> {
    let missing = |line| missing_package(line, ScriptType::Python);
    let module = text.lines().find_map(missing)?;
    let module = module.split('.').next()?.to_owned();
    environments(old).find_map(|(name, config)| {
        let packages = Path::new(name)
            .join("lib")
            .join(python_directory(&config)?)
            .join("site-packages");
        old.metadata(&packages)?;
        let directory = old.workspace.join(&packages);
        let directory = Dir::open_ambient_dir(directory, ambient_authority()).ok()?;
        let entries = directory.entries().ok()?.take(MAX_ENTRIES).flatten();
        let files = entries.map(|entry| packages.join(entry.file_name()));
        let mut files = files
            .filter(|file| file.extension().is_some_and(|extension| extension == "pth"))
            .take(MAX_PATHS);
        files.find_map(|file| {
            let content = old.read(&file)?;
            let lines = content.lines().map(|line| Path::new(line.trim()));
            let targets = lines.filter(|line| line.is_absolute()).take(MAX_PATHS);
            let mut targets = targets.filter_map(|line| line.canonicalize().ok());
            let has_module = |target: &PathBuf| {
                let package = target.join(&module).join("__init__.py");
                target.join(format!("{module}.py")).is_file() || package.is_file()
            };
            let target = targets.find(has_module)?;
            let file = old.workspace.join(file);
            Some(OutsideLink::new(file, OutsideLinkKind::PathFile, target))
        })
    })
}

fn package_link(old: &OldFiles<'_>, text: &str) -> Option<OutsideLink> {
    let missing = |line| missing_package(line, ScriptType::Node);
    let package = text.lines().find_map(missing)?;
    let modules = Path::new("node_modules");
    let below = normalized(&modules.join(package));
    let is_link = below.starts_with(modules) && old.metadata(&below)?.is_symlink();
    let file = old.workspace.join(&below);
    let target = is_link.then(|| file.canonicalize().ok())??;
    // The package finds those that it needs beside it.
    let outermost = target
        .ancestors()
        .filter(|path| path.file_name().is_some_and(|name| name == "node_modules"))
        .last();
    let is_package = target.join("package.json").is_file();
    is_package.then(|| {
        let target = outermost.unwrap_or(&target).to_owned();
        OutsideLink::new(file, OutsideLinkKind::PackageLink, target)
    })
}

/// Returns the names of the Python environments of a workspace, with their configuration.
fn environments(old: &OldFiles<'_>) -> impl Iterator<Item = (&'static str, String)> {
    ENVIRONMENTS.into_iter().filter_map(|name| {
        let config = old.read(&Path::new(name).join(CONFIGURATION))?;
        Some((name, config))
    })
}

/// Returns the name of the directory of a version of Python, such as `python3.12`.
fn python_directory(config: &str) -> Option<String> {
    let version = value_of(config, "version").or_else(|| value_of(config, "version_info"))?;
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next()?, numbers.next()?);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(major) && is_number(minor)).then(|| format!("python{major}.{minor}"))
}

fn value_of<'a>(config: &'a str, name: &str) -> Option<&'a str> {
    config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn read_text(path: &Path) -> Option<String> {
    let file = trusted_file::open_untrusted(path, MAX_BYTES).ok()?;
    String::from_utf8(trusted_file::read_bounded(&file, path, MAX_BYTES).ok()?).ok()
}

/// Returns the owner of a directory that is granted for writing, if this process is one of root and the
/// directory is not: without its capabilities, root has no rights for files of others.
#[cfg(target_os = "linux")]
pub(crate) fn foreign_owner(grants: &Grants) -> Option<FileOwner> {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| path.metadata().map(|metadata| metadata.uid()).ok();
    if owner(Path::new("/proc/self"))? != 0 {
        return None;
    }
    let writable = grants
        .files()
        .iter()
        .filter(|file| file.access() == Access::ReadWrite);
    writable.into_iter().find_map(|file| {
        let user_id = owner(file.path()).filter(|user_id| *user_id != 0)?;
        Some(FileOwner {
            path: file.path().to_owned(),
            user_id,
        })
    })
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn foreign_owner(_grants: &Grants) -> Option<FileOwner> {
    None
}
