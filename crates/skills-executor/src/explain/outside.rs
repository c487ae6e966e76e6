//! Granted files that lead to paths that are not granted.
//!
//! Tools follow such files as a matter of course, and then report a missing repository, interpreter or
//! package. Who writes into the workspace can write such a file, too: a path is reported only if what
//! it leads to has the form that it should have, and a repository names its worktree in return.

use std::fmt;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;
use skills_policy::{Access, Grants};
use skills_sandbox::{RunOutput, ScriptType};
use skills_store::trusted_file;

use super::paths::{VISIBLE_DIRECTORIES, normalized};
use super::printed::{end_of, is_permission_denied, missing_package, read_only_marker};

/// The longest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 10;
/// The most files of a directory that are read.
const MAX_FILES: usize = 64;
/// The usual names of Python environments in a workspace.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

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
) -> Option<OutsideLink> {
    if output.termination.is_success() {
        return None;
    }
    let text = [&output.stderr, &output.stdout].map(end_of).join("\n");
    let mut link = git_link(workspace, &text)
        .or_else(|| environment_link(workspace, &text))
        .or_else(|| path_file(workspace, &text))
        .or_else(|| package_link(workspace, &text))?;
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

fn git_link(workspace: &Path, text: &str) -> Option<OutsideLink> {
    let file = workspace.join(".git");
    let content = read_text(&file)?;
    let named = content.strip_prefix("gitdir:")?.trim();
    let directory = workspace.join(named).canonicalize().ok()?;
    let parent = directory.parent()?;
    // Only git writes what names the worktree in return: it is in the repository.
    let (back, expected) = if parent.file_name()? == "worktrees" {
        (read_text(&directory.join("gitdir"))?, &*file)
    } else {
        let config = read_text(&directory.join("config"))?;
        let mut lines = config.lines().map(str::trim);
        let back = lines.find_map(|line| value_of(line, "worktree").map(str::to_owned));
        (back?, workspace)
    };
    let back = directory.join(back.trim()).canonicalize().ok()?;
    if back != expected.canonicalize().ok()? {
        return None;
    }
    let link = if parent.file_name()? == "worktrees" {
        let target = parent.parent()?.to_owned();
        let written = vec![target.clone(), directory];
        OutsideLink {
            written,
            ..OutsideLink::new(file, OutsideLinkKind::Worktree, target)
        }
    } else {
        OutsideLink {
            written: vec![directory.clone()],
            ..OutsideLink::new(file, OutsideLinkKind::Submodule, directory)
        }
    };
    let is_reported = text.contains("not a git repository")
        || text.contains(&*link.target.to_string_lossy())
        || text.contains(named);
    is_reported.then_some(link)
}

/// The interpreter of an environment is a symlink to the Python that it is based on.
fn environment_link(workspace: &Path, text: &str) -> Option<OutsideLink> {
    let (name, file, config) =
        environments(workspace).find(|(name, ..)| text.contains(&format!("{name}/bin/python")))?;
    let home = value_of(&config, "home")?;
    let home = workspace.join(name).join(home).canonicalize().ok()?;
    let target = home.parent()?.to_owned();
    let library = target.join("lib").join(python_directory(&config)?);
    (home.file_name()? == "bin" && library.is_dir())
        .then(|| OutsideLink::new(file, OutsideLinkKind::Environment, target))
}

/// An editable installation is a path file with the directory of its source.
fn path_file(workspace: &Path, text: &str) -> Option<OutsideLink> {
    let missing = |line| missing_package(line, ScriptType::Python);
    let module = text.lines().find_map(missing)?;
    let module = module.split('.').next()?.to_owned();
    environments(workspace).find_map(|(name, _, config)| {
        let packages = workspace
            .join(name)
            .join("lib")
            .join(python_directory(&config)?)
            .join("site-packages");
        let directory = Dir::open_ambient_dir(&packages, ambient_authority()).ok()?;
        let entries = directory.entries().ok()?.flatten();
        let files = entries.map(|entry| packages.join(entry.file_name()));
        let mut files = files
            .filter(|file| file.extension().is_some_and(|extension| extension == "pth"))
            .take(MAX_FILES);
        files.find_map(|file| {
            let content = read_text(&file)?;
            let mut targets = content.lines().map(str::trim).filter_map(|line| {
                let line = Some(line).filter(|line| Path::new(line).is_absolute())?;
                Path::new(line).canonicalize().ok()
            });
            let has_module = |target: &PathBuf| {
                let package = target.join(&module).join("__init__.py");
                target.join(format!("{module}.py")).is_file() || package.is_file()
            };
            let target = targets.find(has_module)?;
            Some(OutsideLink::new(file, OutsideLinkKind::PathFile, target))
        })
    })
}

fn package_link(workspace: &Path, text: &str) -> Option<OutsideLink> {
    let missing = |line| missing_package(line, ScriptType::Node);
    let package = text.lines().find_map(missing)?;
    let modules = workspace.join("node_modules");
    let file = normalized(&modules.join(package));
    if !file.starts_with(&modules) || !file.is_symlink() {
        return None;
    }
    let target = file.canonicalize().ok()?;
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
fn environments(workspace: &Path) -> impl Iterator<Item = (&'static str, PathBuf, String)> {
    ENVIRONMENTS.into_iter().filter_map(|name| {
        let file = workspace.join(name).join("pyvenv.cfg");
        let config = read_text(&file)?;
        Some((name, file, config))
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
