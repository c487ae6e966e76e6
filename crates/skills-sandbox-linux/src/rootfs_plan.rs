//! What a program sees of the file system in a tree of its own, as plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_policy::{Grants, ResourceLimits};

use crate::plan::{PathAccess, PathRule, PlanContext, SymlinkPolicy};
use crate::rootfs::MountAttrs;
use crate::user_ids::UserIds;

/// Where the scratch space is, which is also `TMPDIR`, unless this was granted; `HOME` is a
/// directory in it.
const SCRATCH_PATH: &str = "/tmp";
/// Where programs look for memory that is shared by name.
const SHARED_MEMORY_PATH: &str = "/dev/shm";
/// How many files the scratch space holds.
const SCRATCH_FILES: u64 = 65_536;

/// What a program sees, in the order in which it is put together. All of it is read-only but the
/// scratch space and what is granted for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFsPlan {
    entries: Vec<RootFsEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RootFsEntry {
    Directory(PathBuf),
    Symlink {
        path: PathBuf,
        target: PathBuf,
    },
    File {
        path: PathBuf,
        text: String,
    },
    /// Private and writable; gone with the program.
    Scratch {
        path: PathBuf,
        bytes: u64,
        files: u64,
    },
    /// The scratch space at one more place.
    ScratchAlias {
        path: PathBuf,
        scratch: PathBuf,
    },
    /// A `/proc` with the program's own processes and nothing else.
    Proc(PathBuf),
    /// An empty directory in place of one of the host that is not to be seen.
    Mask(PathBuf),
    /// A file or directory of the host, at its own path.
    Bind {
        path: PathBuf,
        attributes: MountAttrs,
    },
}

impl RootFsEntry {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::Proc(path) | Self::Mask(path) => path,
            Self::Symlink { path, .. }
            | Self::File { path, .. }
            | Self::Scratch { path, .. }
            | Self::ScratchAlias { path, .. }
            | Self::Bind { path, .. } => path,
        }
    }
}

impl RootFsPlan {
    /// Puts the view together from the paths that may be used.
    pub(crate) fn new(
        paths: &[PathRule],
        limits: &ResourceLimits,
        ground: &PlanContext,
        user: UserIds,
    ) -> Self {
        let scratch = &ground.scratch_path;
        let mut items = vec![
            RootFsEntry::Scratch {
                path: scratch.clone(),
                bytes: limits.scratch_bytes,
                files: SCRATCH_FILES,
            },
            RootFsEntry::Directory(home_path(scratch)),
        ];
        items.extend(shared_memory_entry(paths, scratch));
        if ground.mount_proc {
            items.push(RootFsEntry::Proc("/proc".into()));
            items.push(RootFsEntry::Symlink {
                path: "/dev/fd".into(),
                target: "/proc/self/fd".into(),
            });
            for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
                items.push(RootFsEntry::Symlink {
                    path: Path::new("/dev").join(name),
                    target: format!("/proc/self/fd/{number}").into(),
                });
            }
        }
        items.extend(identity_files(user, &home_path(scratch)));
        items.extend(bind_entries(paths));
        let hidden = paths
            .iter()
            .filter(|rule| rule.access == PathAccess::Hidden);
        items.extend(hidden.map(|rule| RootFsEntry::Mask(rule.path.clone())));
        Self { entries: items }
    }

    /// Adds other names for what is to be seen, but those that are in the way of anything.
    pub(crate) fn with_aliases(mut self, aliases: &[(PathBuf, PathBuf)]) -> Self {
        for (path, target) in aliases {
            let is_free = |item: &RootFsEntry| {
                !item.path().starts_with(path) && !path.starts_with(item.path())
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

    /// Says whether a path can be used under another name.
    pub(crate) fn is_linked(&self, alias: &Path, to: &Path) -> bool {
        self.entries.iter().any(|item| matches!(item, RootFsEntry::Symlink { path, target } if path == alias && target == to))
    }

    /// Says whether there is a `/proc`.
    pub(crate) fn has_proc(&self) -> bool {
        self.entries
            .iter()
            .any(|item| matches!(item, RootFsEntry::Proc(_)))
    }

    /// Returns where the scratch space is.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.entries
            .iter()
            .find(|item| matches!(item, RootFsEntry::Scratch { .. }))
            .map(RootFsEntry::path)
    }

    pub(crate) fn entries(&self) -> &[RootFsEntry] {
        &self.entries
    }
}

/// Chooses where the scratch space is: not where something of the host is to be seen.
pub(crate) fn choose_scratch_path(grants: &Grants) -> PathBuf {
    let is_taken = |place: &PathBuf| grants.files().iter().any(|file| file.path() == place);
    let mut place = PathBuf::from(SCRATCH_PATH);
    let mut number = 0;
    while is_taken(&place) {
        place = PathBuf::from(format!("/scratch-{number}"));
        number += 1;
    }
    place
}

/// The place for semaphores and shared memory of the program's own processes: the scratch space.
/// What lies below it on the host is shown in it, which a link would not allow; and when the host's
/// own is granted, that is the place.
fn shared_memory_entry(paths: &[PathRule], scratch: &Path) -> Option<RootFsEntry> {
    let place = PathBuf::from(SHARED_MEMORY_PATH);
    if paths.iter().any(|rule| rule.path == place) {
        return None;
    }
    Some(
        match paths.iter().any(|rule| rule.path.starts_with(&place)) {
            true => RootFsEntry::ScratchAlias {
                path: place,
                scratch: scratch.to_owned(),
            },
            false => RootFsEntry::Symlink {
                path: place,
                target: scratch.to_owned(),
            },
        },
    )
}

/// The home directory inside.
pub(crate) fn home_path(scratch: &Path) -> PathBuf {
    scratch.join("home")
}

/// Whom the program takes itself for, and that no name leads to an address.
fn identity_files(UserIds { user, group }: UserIds, home: &Path) -> [RootFsEntry; 4] {
    let file = |path: &str, text: String| RootFsEntry::File {
        path: path.into(),
        text,
    };
    [
        file(
            "/etc/passwd",
            format!("skill:x:{user}:{group}::{}:/bin/sh\n", home.display()),
        ),
        file("/etc/group", format!("skill:x:{group}:\n")),
        file("/etc/hosts", "127.0.0.1 localhost\n".to_owned()),
        file(
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\n".to_owned(),
        ),
    ]
}

/// The host's paths, those above before those below, so that what is narrower covers what is wider.
fn bind_entries(paths: &[PathRule]) -> Vec<RootFsEntry> {
    let granted = |rule: &&PathRule| rule.symlinks == SymlinkPolicy::Reject;
    let home = paths.iter().find(granted).map(|rule| &rule.path);
    let is_writable = |path: &Path| {
        paths
            .iter()
            .any(|wider| wider.access == PathAccess::Write && path.starts_with(&wider.path))
    };
    let mut shown: BTreeMap<PathBuf, MountAttrs> = BTreeMap::new();
    for rule in paths
        .iter()
        .filter(|rule| !matches!(rule.access, PathAccess::Protected | PathAccess::Hidden))
    {
        // Grants add up: what may be written may be written even if a part of it may be read
        // besides. But never the program's own directory.
        if rule.access != PathAccess::Write
            && granted(&rule)
            && home != Some(&rule.path)
            && is_writable(&rule.path)
        {
            continue;
        }
        // A path that is named twice, to be read and to be executed, is shown once; one to be
        // written is writable.
        let known = shown
            .entry(rule.path.clone())
            .or_insert(mount_attrs(rule.access));
        if rule.access == PathAccess::Write {
            *known = mount_attrs(rule.access);
        }
    }
    for rule in paths
        .iter()
        .filter(|rule| rule.access == PathAccess::Protected)
    {
        // Also where it was granted as a whole: what cannot be searched is not written.
        shown.insert(rule.path.clone(), mount_attrs(rule.access));
    }
    bind_writable_parents(&mut shown, paths);
    shown
        .into_iter()
        .map(|(path, attributes)| RootFsEntry::Bind { path, attributes })
        .collect()
}

/// Adds the writable directories above what is read-only or hidden: each becomes a mount, and a
/// mount cannot be renamed.
fn bind_writable_parents(shown: &mut BTreeMap<PathBuf, MountAttrs>, paths: &[PathRule]) {
    let writable: Vec<&Path> = paths
        .iter()
        .filter(|rule| rule.access == PathAccess::Write)
        .map(|rule| rule.path.as_path())
        .collect();
    let explicit = shown.clone();
    let is_writable = |path: &Path| {
        let above = explicit.iter().filter(|(known, _)| path.starts_with(known));
        above
            .max_by_key(|(known, _)| known.components().count())
            .is_some_and(|(_, known)| *known == mount_attrs(PathAccess::Write))
    };
    let hidden = paths
        .iter()
        .filter(|rule| rule.access == PathAccess::Hidden)
        .map(|rule| &rule.path);
    for path in explicit.keys().chain(hidden) {
        let between = path.ancestors().skip(1).filter(|above| {
            writable
                .iter()
                .any(|directory| above.starts_with(directory))
        });
        for above in between.filter(|above| is_writable(above)) {
            shown
                .entry(above.to_owned())
                .or_insert(mount_attrs(PathAccess::Write));
        }
    }
}

fn mount_attrs(right: PathAccess) -> MountAttrs {
    let none = MountAttrs::NOSUID;
    match right {
        PathAccess::Read | PathAccess::Execute | PathAccess::Protected | PathAccess::Hidden => {
            none.union(MountAttrs::NODEV).union(MountAttrs::READ_ONLY)
        }
        PathAccess::Write => none.union(MountAttrs::NODEV),
        // Reading and writing a device is not writing to the mount that it is on; changing its mode
        // is.
        PathAccess::Device | PathAccess::ReadDevice => {
            none.union(MountAttrs::NOEXEC).union(MountAttrs::READ_ONLY)
        }
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};

    use super::*;

    #[test]
    fn an_alias_hides_nothing() {
        let rules = ["/work/space", "/usr"].map(|path| PathRule {
            path: path.into(),
            access: PathAccess::Read,
            symlinks: SymlinkPolicy::Reject,
        });
        let ground = PlanContext {
            isolation: crate::isolation::IsolationLevel::Namespaces,
            scratch_path: "/tmp".into(),
            mount_proc: true,
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
        let view = RootFsPlan::new(
            &rules,
            &ResourceLimits::default(),
            &ground,
            UserIds::sandboxed(),
        )
        .with_aliases(&aliases);
        let links = view.entries().iter().filter(|item| matches!(item, RootFsEntry::Symlink { target, .. } if target == Path::new("/work/space")));
        assert_eq!(
            links
                .map(|item| item.path().to_string_lossy())
                .collect::<Vec<_>>(),
            ["/workspace", "/skills/pdf"]
        );
    }

    #[test]
    fn scratch_space_covers_nothing_that_was_granted() {
        for (workspace, place) in [
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
            assert_eq!(choose_scratch_path(&grants), Path::new(place));
        }
    }
}
