//! The mounts of a container, as plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_policy::{Access, FileGrant, Grants};
use skills_process::{KeyFiles, ProtectedEntries};
use skills_sandbox::SandboxError;

use crate::engine::BACKEND;
use crate::launcher;

/// Directories that a container has of its own, or that lead to devices, the kernel and the engine. A
/// mount at or of one of them would replace what the sandbox relies on.
const RESERVED: [&str; 18] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/proc", "/root", "/run",
    "/sbin", "/sys", "/usr", "/usr/bin", "/usr/lib", "/var", "/var/run",
];

/// Where engines and their parts listen. A program that can connect there controls the host.
const ENGINE_SOCKETS: [&str; 6] = [
    "/run/podman/podman.sock",
    "/run/docker.sock",
    "/var/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/buildkit/buildkitd.sock",
];

/// The default path of the scratch space, and of `HOME` and `TMPDIR`.
const SCRATCH_PATH: &str = "/tmp";

/// A file or directory of the host in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContainerMount {
    pub(crate) source: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) is_writable: bool,
}

/// A file and a directory of the host that no program may open, since they have no permissions and
/// programs no capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) file: PathBuf,
    pub(crate) directory: PathBuf,
}

/// Everything that decides the mounts of a run.
pub(crate) struct MountInput<'a> {
    pub(crate) grants: &'a Grants,
    pub(crate) protected: &'a ProtectedEntries,
    pub(crate) keys: &'a KeyFiles,
    pub(crate) aliases: &'a [(PathBuf, PathBuf)],
    /// Further directories to read, with their paths in the container.
    pub(crate) read_only: &'a [(PathBuf, PathBuf)],
    /// The socket of the engine, which no program may reach.
    pub(crate) socket: &'a Path,
    /// An empty directory of the host, which is mounted over hidden ones. Not a file system in memory,
    /// since Podman copies what is below it into that.
    pub(crate) empty: &'a Path,
    /// What is mounted over files that may hold keys.
    pub(crate) unreadable: &'a Unreadable,
    /// The directory with the programs of [`launcher`].
    pub(crate) launcher: &'a Path,
}

/// Creates the mounts of a run, outer ones before inner ones, then those of aliases and of the launcher.
/// Returns them with the aliases that are mounted.
pub(crate) fn plan_mounts(
    input: &MountInput<'_>,
) -> Result<(Vec<ContainerMount>, Vec<PathBuf>), SandboxError> {
    let grants = input.grants;
    let mut bound = granted_mounts(grants);
    for path in input.protected.outermost() {
        bound.insert(path.to_owned(), (path.to_owned(), false));
    }
    bind_writable_parents(&mut bound, grants, input.keys);
    for (source, target) in input.read_only {
        bound.insert(target.clone(), (source.clone(), false));
    }
    for (target, (source, _)) in &bound {
        check_path(source, input.socket)?;
        check_path(target, input.socket)?;
    }
    let mut mounts: Vec<ContainerMount> = bound
        .into_iter()
        .map(|(target, (source, is_writable))| ContainerMount {
            source,
            target,
            is_writable,
        })
        .collect();
    mounts.extend(hidden_mounts(grants, input.empty)?);
    // An engine takes one mount for each path.
    mounts.retain(|mount| input.keys.enclosing(&mount.target).is_none());
    mounts.extend(key_mounts(input.keys, input.unreadable));
    let aliases = add_aliases(&mut mounts, input);
    mounts.push(ContainerMount {
        source: input.launcher.to_owned(),
        target: launcher::DIRECTORY.into(),
        is_writable: false,
    });
    Ok((mounts, aliases))
}

/// Checks that granted paths can be mounted, without what depends on the run.
pub(crate) fn check_mounts(grants: &Grants, socket: &Path) -> Result<(), SandboxError> {
    granted_mounts(grants)
        .iter()
        .try_for_each(|(target, (source, _))| {
            check_path(source, socket)?;
            check_path(target, socket)
        })
}

/// Returns the path of the scratch space: `/tmp`, unless that is granted.
pub(crate) fn scratch_path(grants: &Grants) -> PathBuf {
    let is_granted = |path: &Path| grants.files().iter().any(|file| file.path() == path);
    let mut path = PathBuf::from(SCRATCH_PATH);
    let mut number = 0;
    while is_granted(&path) {
        path = PathBuf::from(format!("/scratch-{number}"));
        number += 1;
    }
    path
}

/// The mounts by their target: the source, and whether it is writable.
type Bound = BTreeMap<PathBuf, (PathBuf, bool)>;

/// Returns a mount for each granted path. A path that is granted twice is writable if one of the grants
/// is, and a readable path in a writable directory is not mounted again, except the first granted
/// directory: that of the program stays read-only.
fn granted_mounts(grants: &Grants) -> Bound {
    let mut bound = Bound::new();
    for (index, file) in grants.files().iter().enumerate() {
        let is_writable = file.access() == Access::ReadWrite;
        let is_covered = !is_writable && grants.innermost_writable(file.path()).is_some();
        if is_covered && index > 0 {
            continue;
        }
        let mount = bound
            .entry(file.path().to_owned())
            .or_insert_with(|| (file.location().to_owned(), is_writable));
        mount.1 |= is_writable;
    }
    bound
}

/// Adds the writable directories above read-only mounts, hidden paths and files with keys. A mount point cannot be
/// renamed, so the program cannot move such a directory away.
fn bind_writable_parents(bound: &mut Bound, grants: &Grants, keys: &KeyFiles) {
    let inner: Vec<PathBuf> = bound
        .iter()
        .filter(|(_, (_, is_writable))| !is_writable)
        .map(|(path, _)| path.clone())
        .chain(grants.hidden().iter().cloned())
        .chain(keys.iter().map(|(path, _)| path.to_owned()))
        .collect();
    for path in inner {
        for parent in path.ancestors().skip(1) {
            let Some(granted) = grants.innermost_writable(parent).map(FileGrant::path) else {
                break;
            };
            let is_read_only = bound.iter().any(|(outer, (_, is_writable))| {
                !is_writable && parent.starts_with(outer) && outer.starts_with(granted)
            });
            if !is_read_only {
                let source = grants.locate(parent);
                bound.entry(parent.to_owned()).or_insert((source, true));
            }
        }
    }
}

/// Returns a mount over each hidden path that exists in a granted directory.
fn hidden_mounts(grants: &Grants, empty: &Path) -> Result<Vec<ContainerMount>, SandboxError> {
    let mut mounts = Vec::new();
    for hidden in grants.hidden() {
        let Some(granted) = grants.deciding_grant(hidden) else {
            continue;
        };
        let mut mask = |source: &Path| {
            mounts.push(ContainerMount {
                source: source.to_owned(),
                target: hidden.clone(),
                is_writable: false,
            });
        };
        match grants.locate(hidden).symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => mask(empty),
            Ok(metadata) if metadata.is_file() => mask(Path::new("/dev/null")),
            Err(_) if granted.access() == Access::ReadOnly => {}
            _ => {
                let (granted, hidden) = (granted.path().display(), hidden.display());
                return Err(SandboxError::rejected(
                    BACKEND,
                    format!(
                        "`{granted}` contains the hidden path `{hidden}`, which is a symlink or does not exist, so it cannot be hidden; grant narrower directories"
                    ),
                ));
            }
        }
    }
    Ok(mounts)
}

/// Returns a mount over each path that may hold keys.
fn key_mounts<'a>(
    keys: &'a KeyFiles,
    unreadable: &'a Unreadable,
) -> impl Iterator<Item = ContainerMount> + 'a {
    keys.iter().map(|(path, file)| ContainerMount {
        source: match file.is_directory {
            true => unreadable.directory.clone(),
            false => unreadable.file.clone(),
        },
        target: path.to_owned(),
        is_writable: false,
    })
}

/// Adds the mounts of each path again at its alias, so that what is read-only or hidden there is so at
/// the alias. Returns the aliases that are mounted: those that neither hide nor contain another mount.
fn add_aliases(mounts: &mut Vec<ContainerMount>, input: &MountInput<'_>) -> Vec<PathBuf> {
    let mut mounted = Vec::new();
    for (alias, path) in input.aliases {
        let is_free = |mount: &ContainerMount| {
            !mount.target.starts_with(alias) && !alias.starts_with(&mount.target)
        };
        let is_valid = alias.is_absolute()
            && check_path(alias, input.socket).is_ok()
            && mounts.iter().all(is_free)
            && alias != Path::new(SCRATCH_PATH);
        let Some(granted) = input.grants.innermost_grant(path).filter(|_| is_valid) else {
            continue;
        };
        let mut copies: Vec<ContainerMount> = mounts
            .iter()
            .filter(|mount| mount.target.starts_with(path))
            .map(|mount| relocated(mount, path, alias))
            .collect();
        if copies.first().is_none_or(|first| first.target != *alias) {
            let enclosing = mounts
                .iter()
                .filter(|mount| path.starts_with(&mount.target))
                .max_by_key(|mount| mount.target.components().count());
            copies.insert(
                0,
                ContainerMount {
                    source: input.grants.locate(path),
                    target: alias.clone(),
                    is_writable: granted.access() == Access::ReadWrite
                        && enclosing.is_some_and(|mount| mount.is_writable),
                },
            );
        }
        mounts.extend(copies);
        mounted.push(alias.clone());
    }
    mounted
}

/// Returns a mount below `path` at the corresponding path below `alias`.
fn relocated(mount: &ContainerMount, path: &Path, alias: &Path) -> ContainerMount {
    let below = mount.target.strip_prefix(path).unwrap_or(Path::new(""));
    ContainerMount {
        // Joining an empty path would leave a slash at the end.
        target: alias.join(below).components().collect(),
        ..mount.clone()
    }
}

/// Returns the paths of sockets of engines, each also without symlinks, as granted paths are.
fn engine_sockets(configured: &Path) -> impl Iterator<Item = PathBuf> {
    let known = ENGINE_SOCKETS.iter().map(Path::new);
    let all = [configured].into_iter().chain(known);
    all.flat_map(|socket| [Some(socket.to_owned()), socket.canonicalize().ok()])
        .flatten()
}

/// Rejects paths that a container must not have, or that it has of its own.
fn check_path(path: &Path, socket: &Path) -> Result<(), SandboxError> {
    let shown = path.display();
    let is_reserved = RESERVED.iter().any(|reserved| Path::new(reserved) == path)
        || ["/proc", "/sys", "/dev", launcher::DIRECTORY]
            .iter()
            .any(|top| path.starts_with(top));
    if is_reserved {
        return Err(SandboxError::rejected(
            BACKEND,
            format!("`{shown}` cannot be mounted in a container; grant a narrower directory"),
        ));
    }
    if engine_sockets(socket).any(|socket| socket.starts_with(path)) {
        return Err(SandboxError::rejected(
            BACKEND,
            format!(
                "`{shown}` contains the socket of the container engine, which controls the host; grant a narrower directory"
            ),
        ));
    }
    if path.to_str().is_none() {
        return Err(SandboxError::rejected(
            BACKEND,
            format!("the path `{shown}` is not UTF-8"),
        ));
    }
    Ok(())
}
