//! The plan of the root file system of a run with namespaces, as plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_policy::{Grants, ResourceLimits};
use skills_process::{KeyFile, KeyFiles};

use crate::path_rule::{PathAccess, PathRule, PlanContext, SymlinkPolicy};
use crate::user_ids::UserIds;

/// The default path of the scratch space; `HOME` is a directory in it, and usually it is `TMPDIR`.
const SCRATCH_PATH: &str = "/tmp";
/// The directory in which C libraries create shared memory and semaphores.
pub(crate) const SHARED_MEMORY_PATH: &str = "/dev/shm";
/// The directory of terminals.
const TERMINALS_PATH: &str = "/dev/pts";
/// Maximum files in the scratch space.
const SCRATCH_FILES: u64 = 65_536;
/// Maximum size of the files in a layer: 64 MiB.
const LAYER_BYTES: u64 = 64 << 20;

/// Attributes of a mount: `MOUNT_ATTR_*` of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MountAttrs(u32);

impl MountAttrs {
    pub(crate) const READ_ONLY: Self = Self(1);
    pub(crate) const NOSUID: Self = Self(2);
    pub(crate) const NODEV: Self = Self(4);
    pub(crate) const NOEXEC: Self = Self(8);

    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}

/// The plan of a root file system: its entries in the order in which they are created.
///
/// Everything in it is read-only except the scratch space and writable grants. Paths that are not
/// in the plan do not exist for the program. It is a part of a [`Plan`](crate::Plan).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFsPlan {
    entries: Vec<RootFsEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootFsEntry {
    /// An empty directory.
    Directory(PathBuf),
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    File {
        path: PathBuf,
        text: String,
    },
    /// A private, writable file system in memory, which ends with the run.
    Scratch {
        path: PathBuf,
        bytes: u64,
        files: u64,
    },
    /// A writable layer over a read-only directory of the host, which ends with the run.
    Layer {
        path: PathBuf,
        bytes: u64,
    },
    /// The scratch space at another path.
    ScratchAlias {
        path: PathBuf,
        scratch: PathBuf,
    },
    /// A `/proc` with the processes of the run and [facts about the machine](crate::proc_entries).
    Proc(PathBuf),
    /// Terminals that programs of the run open themselves.
    Terminals(PathBuf),
    /// An empty directory over a hidden directory of the host.
    Mask(PathBuf),
    /// A file or directory that cannot be opened, over one of the host.
    Withhold {
        path: PathBuf,
        file: KeyFile,
    },
    /// A file or directory of the host, at the same path.
    Bind {
        path: PathBuf,
        attributes: MountAttrs,
    },
}

impl RootFsEntry {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Directory(path)
            | Self::Proc(path)
            | Self::Terminals(path)
            | Self::Mask(path)
            | Self::Withhold { path, .. } => path,
            Self::Symlink { path, .. }
            | Self::File { path, .. }
            | Self::Scratch { path, .. }
            | Self::ScratchAlias { path, .. }
            | Self::Layer { path, .. }
            | Self::Bind { path, .. } => path,
        }
    }
}

impl RootFsPlan {
    /// Creates the plan from the path rules of a run.
    pub(crate) fn new(
        paths: &[PathRule],
        limits: &ResourceLimits,
        context: &PlanContext,
        user: UserIds,
    ) -> Self {
        let scratch = &context.scratch_path;
        let mut entries = vec![
            RootFsEntry::Scratch {
                path: scratch.clone(),
                bytes: limits.scratch_bytes,
                files: SCRATCH_FILES,
            },
            RootFsEntry::Directory(home_path(scratch)),
        ];
        entries.extend(shared_memory_entry(paths, scratch));
        entries.push(RootFsEntry::Terminals(TERMINALS_PATH.into()));
        entries.push(RootFsEntry::Symlink {
            path: "/dev/ptmx".into(),
            target: "pts/ptmx".into(),
        });
        if context.mount_proc {
            entries.push(RootFsEntry::Proc("/proc".into()));
            entries.push(RootFsEntry::Symlink {
                path: "/dev/fd".into(),
                target: "/proc/self/fd".into(),
            });
            for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
                entries.push(RootFsEntry::Symlink {
                    path: Path::new("/dev").join(name),
                    target: format!("/proc/self/fd/{number}").into(),
                });
            }
        }
        entries.extend(identity_files(
            user,
            &home_path(scratch),
            context.own_network,
        ));
        entries.extend(bind_entries(paths));
        let hidden = paths
            .iter()
            .filter(|rule| rule.access == PathAccess::Hidden);
        entries.extend(hidden.map(|rule| RootFsEntry::Mask(rule.path.clone())));
        Self { entries }
    }

    /// Covers the files that may hold keys, after everything else: they can be in any directory.
    pub(crate) fn with_withheld(mut self, keys: &KeyFiles) -> Self {
        let withheld = keys.iter().map(|(path, file)| RootFsEntry::Withhold {
            path: path.to_owned(),
            file,
        });
        self.entries.extend(withheld);
        self
    }

    /// Adds symlinks from aliases to paths. An alias at, above or below another entry is skipped,
    /// since it would hide that entry.
    pub(crate) fn with_aliases(mut self, aliases: &[(PathBuf, PathBuf)]) -> Self {
        for (path, target) in aliases {
            let is_free = |entry: &RootFsEntry| {
                !entry.path().starts_with(path) && !path.starts_with(entry.path())
            };
            if path.is_absolute() && path.parent().is_some() && self.entries.iter().all(is_free) {
                self.entries.push(RootFsEntry::Symlink {
                    path: path.clone(),
                    target: target.clone(),
                });
            }
        }
        self
    }

    /// Puts a writable layer over a directory, below what is mounted in that.
    pub(crate) fn with_layer(mut self, path: Option<&Path>, limits: &ResourceLimits) -> Self {
        let is_bound = |entry: &RootFsEntry| matches!(entry, RootFsEntry::Bind { path: bound, .. } if Some(bound.as_path()) == path);
        if let Some(index) = self.entries.iter().position(is_bound) {
            let layer = RootFsEntry::Layer {
                path: self.entries[index].path().to_owned(),
                bytes: limits.scratch_bytes.min(LAYER_BYTES),
            };
            self.entries.insert(index + 1, layer);
        }
        self
    }

    /// Adds symlinks in `HOME`, which is empty otherwise.
    pub(crate) fn with_home_links(mut self, links: &[(PathBuf, PathBuf)]) -> Self {
        let links = links.iter().cloned();
        self.entries
            .extend(links.map(|(path, target)| RootFsEntry::Symlink { path, target }));
        self
    }

    /// Returns true if an alias is a symlink to a path.
    pub(crate) fn is_linked(&self, alias: &Path, to: &Path) -> bool {
        self.entries.iter().any(|entry| {
            matches!(entry, RootFsEntry::Symlink { path, target } if path == alias && target == to)
        })
    }

    /// Returns true if a `/proc` is mounted.
    pub(crate) fn has_proc(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry, RootFsEntry::Proc(_)))
    }

    /// Returns the directory of the terminals that programs open.
    pub(crate) fn terminals(&self) -> Option<&Path> {
        self.entries
            .iter()
            .find(|entry| matches!(entry, RootFsEntry::Terminals(_)))
            .map(RootFsEntry::path)
    }

    /// Returns the path of the scratch space.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.entries
            .iter()
            .find(|entry| matches!(entry, RootFsEntry::Scratch { .. }))
            .map(RootFsEntry::path)
    }

    /// Returns the directory with a writable layer.
    pub(crate) fn layer(&self) -> Option<&Path> {
        let is_layer = |entry: &&RootFsEntry| matches!(entry, RootFsEntry::Layer { .. });
        self.entries.iter().find(is_layer).map(RootFsEntry::path)
    }

    pub(crate) fn entries(&self) -> &[RootFsEntry] {
        &self.entries
    }
}

/// Returns a path for the scratch space that is not granted: `/tmp` if possible.
pub(crate) fn choose_scratch_path(grants: &Grants) -> PathBuf {
    let mut path = PathBuf::from(SCRATCH_PATH);
    let mut number = 0;
    while is_granted(grants, &path) {
        path = PathBuf::from(format!("/scratch-{number}"));
        number += 1;
    }
    path
}

fn is_granted(grants: &Grants, path: &Path) -> bool {
    grants.files().iter().any(|file| file.path() == path)
}

/// Returns an entry for `/dev/shm` that refers to the scratch space, so that one size limit applies
/// to both, or `None` if the host's own is granted. Usually it is a symlink; with granted paths
/// below it, it has to be a directory in which those can be mounted.
fn shared_memory_entry(paths: &[PathRule], scratch: &Path) -> Option<RootFsEntry> {
    let path = PathBuf::from(SHARED_MEMORY_PATH);
    if paths.iter().any(|rule| rule.path == path) {
        return None;
    }
    if paths.iter().any(|rule| rule.path.starts_with(&path)) {
        return Some(RootFsEntry::ScratchAlias {
            path,
            scratch: scratch.to_owned(),
        });
    }
    Some(RootFsEntry::Symlink {
        path,
        target: scratch.to_owned(),
    })
}

pub(crate) fn home_path(scratch: &Path) -> PathBuf {
    scratch.join("home")
}

/// Returns `/etc/passwd`, `group`, `hosts`, `nsswitch.conf` and `resolv.conf`: one user, and a name
/// server that knows no name, if the run has a network for it.
fn identity_files(
    UserIds { user, group }: UserIds,
    home: &Path,
    has_names: bool,
) -> Vec<RootFsEntry> {
    let file = |path: &str, text: String| RootFsEntry::File {
        path: path.into(),
        text,
    };
    let hosts = if has_names { "files dns" } else { "files" };
    let mut files = vec![
        file(
            "/etc/passwd",
            format!("skill:x:{user}:{group}::{}:/bin/sh\n", home.display()),
        ),
        file("/etc/group", format!("skill:x:{group}:\n")),
        file("/etc/hosts", "127.0.0.1 localhost\n".to_owned()),
        file(
            "/etc/nsswitch.conf",
            format!("passwd: files\ngroup: files\nhosts: {hosts}\n"),
        ),
    ];
    if has_names {
        // By TCP, since runs have no datagrams. Without `search`, names would also be looked up below
        // the domain of the host.
        let text = "nameserver 127.0.0.1\nsearch .\noptions use-vc timeout:1 attempts:1\n";
        files.push(file("/etc/resolv.conf", text.to_owned()));
    }
    files
}

/// Returns the paths of the host, outer ones before inner ones, so that inner mounts cover outer
/// ones.
fn bind_entries(paths: &[PathRule]) -> Vec<RootFsEntry> {
    let mut bound: BTreeMap<PathBuf, MountAttrs> = BTreeMap::new();
    for rule in paths.iter().filter(|rule| !rule.is_exception()) {
        if is_covered_by_write(rule, paths) {
            continue;
        }
        // A path with several rules, such as to read and to execute it, is mounted once; it is
        // writable if one of them allows writing.
        let attributes = bound
            .entry(rule.path.clone())
            .or_insert(mount_attrs(rule.access));
        if rule.access == PathAccess::Write {
            *attributes = mount_attrs(rule.access);
        }
    }
    for rule in paths
        .iter()
        .filter(|rule| rule.access == PathAccess::Protected)
    {
        // Replaces a writable mount of the same path: a granted directory that cannot be listed is
        // protected as a whole, since it cannot be searched for protected paths.
        bound.insert(rule.path.clone(), mount_attrs(rule.access));
    }
    bind_writable_parents(&mut bound, paths);
    bound
        .into_iter()
        .map(|(path, attributes)| RootFsEntry::Bind { path, attributes })
        .collect()
}

/// Returns true if a rule adds nothing, since the path is in a writable directory: write access
/// wins over read access for nested paths, except in the program's own directory, which is the
/// first granted path. Its executable files are rules of their own if it has a layer.
fn is_covered_by_write(rule: &PathRule, paths: &[PathRule]) -> bool {
    let is_granted = |rule: &PathRule| rule.symlinks == SymlinkPolicy::Reject;
    let own_dir = paths.iter().find(|rule| is_granted(rule));
    let is_own = |outer: &PathRule| {
        own_dir.is_some_and(|own| {
            let is_inside = own.path != outer.path && own.path.starts_with(&outer.path);
            rule.path == own.path || is_inside && rule.path.starts_with(&own.path)
        })
    };
    rule.access != PathAccess::Write
        && is_granted(rule)
        && paths.iter().any(|outer| {
            outer.access == PathAccess::Write
                && rule.path.starts_with(&outer.path)
                && !is_own(outer)
        })
}

/// Adds the writable directories above read-only, hidden and withheld paths. A mount point cannot be renamed,
/// so the program cannot move a directory away to get rid of the read-only mounts below it.
fn bind_writable_parents(bound: &mut BTreeMap<PathBuf, MountAttrs>, paths: &[PathRule]) {
    let writable: Vec<&Path> = paths
        .iter()
        .filter(|rule| rule.access == PathAccess::Write)
        .map(|rule| rule.path.as_path())
        .collect();
    let explicit = bound.clone();
    let is_writable = |path: &Path| {
        explicit
            .iter()
            .filter(|(outer, _)| path.starts_with(outer))
            .max_by_key(|(outer, _)| outer.components().count())
            .is_some_and(|(_, attributes)| *attributes == mount_attrs(PathAccess::Write))
    };
    let excluded = paths
        .iter()
        .filter(|rule| matches!(rule.access, PathAccess::Hidden | PathAccess::Withheld))
        .map(|rule| &rule.path);
    for path in explicit.keys().chain(excluded) {
        for parent in path.ancestors().skip(1) {
            let is_in_grant = writable.iter().any(|grant| parent.starts_with(grant));
            if is_in_grant && is_writable(parent) {
                bound
                    .entry(parent.to_owned())
                    .or_insert(mount_attrs(PathAccess::Write));
            }
        }
    }
}

fn mount_attrs(access: PathAccess) -> MountAttrs {
    let base = MountAttrs::NOSUID;
    match access {
        PathAccess::Read
        | PathAccess::ReadPublic
        | PathAccess::Execute
        | PathAccess::List
        | PathAccess::Protected
        | PathAccess::Hidden
        | PathAccess::Withheld => base.union(MountAttrs::NODEV).union(MountAttrs::READ_ONLY),
        PathAccess::Write | PathAccess::Create => base.union(MountAttrs::NODEV),
        // A read-only mount allows writing to a device on it, but not changing the mode of the
        // device file.
        PathAccess::Device | PathAccess::ReadDevice | PathAccess::Terminal => {
            base.union(MountAttrs::NOEXEC).union(MountAttrs::READ_ONLY)
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};

    use super::*;

    #[test]
    fn an_alias_at_another_entry_is_skipped() {
        let rules = ["/work/space", "/usr"].map(|path| PathRule {
            path: path.into(),
            access: PathAccess::Read,
            symlinks: SymlinkPolicy::Reject,
        });
        let context = PlanContext {
            isolation: crate::isolation::IsolationLevel::Namespaces,
            scratch_path: "/tmp".into(),
            mount_proc: true,
            own_network: true,
        };
        let aliases = [
            "/workspace",
            "/work",
            "/usr/x",
            "/",
            "rel",
            "/skills/pdf",
            "/skills/pdf/a",
            "/proc/x",
        ];
        let aliases = aliases.map(|alias| (PathBuf::from(alias), PathBuf::from("/work/space")));
        let plan = RootFsPlan::new(
            &rules,
            &ResourceLimits::default(),
            &context,
            UserIds::sandboxed(),
        )
        .with_aliases(&aliases);
        let links = plan.entries().iter().filter(|entry| {
            matches!(entry, RootFsEntry::Symlink { target, .. } if target == Path::new("/work/space"))
        });
        assert_eq!(
            links
                .map(|entry| entry.path().to_string_lossy())
                .collect::<Vec<_>>(),
            ["/workspace", "/skills/pdf"]
        );
    }

    #[test]
    fn the_scratch_path_is_not_a_granted_path() {
        for (workspace, expected) in [
            ("/project", "/tmp"),
            ("/tmp", "/scratch-0"),
            ("/tmp/project", "/tmp"),
        ] {
            let request = Request::new("/skills/pdf")
                .workspace(workspace)
                .allowed_tool("Write", None);
            let decision = Policy::default()
                .allow(RuleSource::User, Capability::Write)
                .authorize(&request);
            let Authorization::Granted(grants) = decision else {
                panic!("{decision:?}")
            };
            assert_eq!(choose_scratch_path(&grants), Path::new(expected));
        }
    }
}
