//! What a program sees of the file system in a tree of its own, as plain data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skills_policy::{Grants, Limits};

use crate::identity::User;
use crate::plan::{Ground, PathRule, Right, Symlinks};
use crate::tree::Attributes;

/// Where the scratch space is, which is also `TMPDIR`, unless this was granted; `HOME` is a directory in it.
const SCRATCH: &str = "/tmp";
/// Where programs look for memory that is shared by name.
const SHARED: &str = "/dev/shm";
/// How many files the scratch space holds.
const SCRATCH_FILES: u64 = 65_536;

/// What a program sees, in the order in which it is put together. All of it is read-only but the scratch space and what is granted for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Directory(PathBuf),
    Link {
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
    SameScratch {
        path: PathBuf,
        scratch: PathBuf,
    },
    /// A `/proc` with the program's own processes and nothing else.
    Processes(PathBuf),
    /// An empty directory in place of one of the host that is not to be seen.
    Mask(PathBuf),
    /// A file or directory of the host, at its own path.
    Mirror {
        path: PathBuf,
        attributes: Attributes,
    },
}

impl Item {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Directory(path) | Self::Processes(path) | Self::Mask(path) => path,
            Self::Link { path, .. }
            | Self::File { path, .. }
            | Self::Scratch { path, .. }
            | Self::SameScratch { path, .. }
            | Self::Mirror { path, .. } => path,
        }
    }
}

impl View {
    /// Puts the view together from the paths that may be used.
    pub(crate) fn new(paths: &[PathRule], limits: &Limits, ground: &Ground, user: User) -> Self {
        let scratch = &ground.scratch;
        let mut items = vec![
            Item::Scratch { path: scratch.clone(), bytes: limits.scratch_bytes, files: SCRATCH_FILES },
            Item::Directory(home(scratch)),
        ];
        items.extend(shared(paths, scratch));
        if ground.processes {
            items.push(Item::Processes("/proc".into()));
            items.push(Item::Link { path: "/dev/fd".into(), target: "/proc/self/fd".into() });
            for (number, name) in ["stdin", "stdout", "stderr"].iter().enumerate() {
                items.push(Item::Link { path: Path::new("/dev").join(name), target: format!("/proc/self/fd/{number}").into() });
            }
        }
        items.extend(names(user, &home(scratch)));
        items.extend(mirrors(paths));
        let hidden = paths.iter().filter(|rule| rule.right == Right::Hidden);
        items.extend(hidden.map(|rule| Item::Mask(rule.path.clone())));
        Self { items }
    }

    /// Adds other names for what is to be seen, but those that are in the way of anything.
    pub(crate) fn with_aliases(mut self, aliases: &[(PathBuf, PathBuf)]) -> Self {
        for (path, target) in aliases {
            let is_free = |item: &Item| !item.path().starts_with(path) && !path.starts_with(item.path());
            if path.is_absolute() && path.parent().is_some() && self.items.iter().all(is_free) {
                self.items.push(Item::Link { path: path.clone(), target: target.clone() });
            }
        }
        self
    }

    /// Says whether a path can be used under another name.
    pub(crate) fn links_to(&self, alias: &Path, to: &Path) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Link { path, target } if path == alias && target == to))
    }

    /// Says whether there is a `/proc`.
    pub(crate) fn shows_processes(&self) -> bool {
        self.items.iter().any(|item| matches!(item, Item::Processes(_)))
    }

    /// Returns where the scratch space is.
    pub(crate) fn scratch(&self) -> Option<&Path> {
        self.items.iter().find(|item| matches!(item, Item::Scratch { .. })).map(Item::path)
    }

    pub(crate) fn items(&self) -> &[Item] {
        &self.items
    }
}

/// Chooses where the scratch space is: not where something of the host is to be seen.
pub(crate) fn scratch_beside(grants: &Grants) -> PathBuf {
    let is_taken = |place: &PathBuf| grants.files().iter().any(|file| file.path() == place);
    let mut place = PathBuf::from(SCRATCH);
    let mut number = 0;
    while is_taken(&place) {
        place = PathBuf::from(format!("/scratch-{number}"));
        number += 1;
    }
    place
}

/// The place for semaphores and shared memory of the program's own processes: the scratch space. What lies below it on the host is shown in it, which
/// a link would not allow; and when the host's own is granted, that is the place.
fn shared(paths: &[PathRule], scratch: &Path) -> Option<Item> {
    let place = PathBuf::from(SHARED);
    if paths.iter().any(|rule| rule.path == place) {
        return None;
    }
    Some(match paths.iter().any(|rule| rule.path.starts_with(&place)) {
        true => Item::SameScratch { path: place, scratch: scratch.to_owned() },
        false => Item::Link { path: place, target: scratch.to_owned() },
    })
}

/// The home directory inside.
pub(crate) fn home(scratch: &Path) -> PathBuf {
    scratch.join("home")
}

/// Whom the program takes itself for, and that no name leads to an address.
fn names(User { user, group }: User, home: &Path) -> [Item; 4] {
    let file = |path: &str, text: String| Item::File { path: path.into(), text };
    [
        file("/etc/passwd", format!("skill:x:{user}:{group}::{}:/bin/sh\n", home.display())),
        file("/etc/group", format!("skill:x:{group}:\n")),
        file("/etc/hosts", "127.0.0.1 localhost\n".to_owned()),
        file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
    ]
}

/// The host's paths, those above before those below, so that what is narrower covers what is wider.
fn mirrors(paths: &[PathRule]) -> Vec<Item> {
    let granted = |rule: &&PathRule| rule.symlinks == Symlinks::Refused;
    let home = paths.iter().find(granted).map(|rule| &rule.path);
    let is_writable = |path: &Path| paths.iter().any(|wider| wider.right == Right::Write && path.starts_with(&wider.path));
    let mut shown: BTreeMap<PathBuf, Attributes> = BTreeMap::new();
    for rule in paths.iter().filter(|rule| !matches!(rule.right, Right::Protected | Right::Hidden)) {
        // Grants add up: what may be written may be written even if a part of it may be read besides. But never the program's own directory.
        if rule.right != Right::Write && granted(&rule) && home != Some(&rule.path) && is_writable(&rule.path) {
            continue;
        }
        // A path that is named twice, to be read and to be executed, is shown once; one to be written is writable.
        let known = shown.entry(rule.path.clone()).or_insert(attributes(rule.right));
        if rule.right == Right::Write {
            *known = attributes(rule.right);
        }
    }
    for rule in paths.iter().filter(|rule| rule.right == Right::Protected) {
        // Also where it was granted as a whole: what cannot be searched is not written.
        shown.insert(rule.path.clone(), attributes(rule.right));
    }
    hold_in_place(&mut shown, paths);
    shown.into_iter().map(|(path, attributes)| Item::Mirror { path, attributes }).collect()
}

/// Adds the writable directories above what is read-only or hidden: each becomes a mount, and a mount cannot be renamed.
fn hold_in_place(shown: &mut BTreeMap<PathBuf, Attributes>, paths: &[PathRule]) {
    let writable: Vec<&Path> = paths.iter().filter(|rule| rule.right == Right::Write).map(|rule| rule.path.as_path()).collect();
    let explicit = shown.clone();
    let is_writable = |path: &Path| {
        let above = explicit.iter().filter(|(known, _)| path.starts_with(known));
        above.max_by_key(|(known, _)| known.components().count()).is_some_and(|(_, known)| *known == attributes(Right::Write))
    };
    let hidden = paths.iter().filter(|rule| rule.right == Right::Hidden).map(|rule| &rule.path);
    for path in explicit.keys().chain(hidden) {
        let between = path.ancestors().skip(1).filter(|above| writable.iter().any(|directory| above.starts_with(directory)));
        for above in between.filter(|above| is_writable(above)) {
            shown.entry(above.to_owned()).or_insert(attributes(Right::Write));
        }
    }
}

fn attributes(right: Right) -> Attributes {
    let none = Attributes::NOSUID;
    match right {
        Right::Read | Right::Execute | Right::Protected | Right::Hidden => none.and(Attributes::NODEV).and(Attributes::READ_ONLY),
        Right::Write => none.and(Attributes::NODEV),
        // Reading and writing a device is not writing to the mount that it is on; changing its mode is.
        Right::Device | Right::ReadDevice => none.and(Attributes::NOEXEC).and(Attributes::READ_ONLY),
    }
}

#[cfg(test)]
mod tests {
    use skills_policy::{Capability, Decision, Layer, Request, Rules};

    use super::*;

    #[test]
    fn an_alias_hides_nothing() {
        let rules = ["/work/space", "/usr"].map(|path| PathRule { path: path.into(), right: Right::Read, symlinks: Symlinks::Refused });
        let ground = Ground { tier: crate::tier::Tier::Isolated, scratch: "/tmp".into(), processes: true };
        let aliases = ["/workspace", "/work", "/usr/x", "/", "rel", "/skills/pdf", "/skills/pdf/a", "/proc/x"];
        let aliases = aliases.map(|alias| (PathBuf::from(alias), PathBuf::from("/work/space")));
        let view = View::new(&rules, &Limits::default(), &ground, User::inside()).with_aliases(&aliases);
        let links = view.items().iter().filter(|item| matches!(item, Item::Link { target, .. } if target == Path::new("/work/space")));
        assert_eq!(links.map(|item| item.path().to_string_lossy()).collect::<Vec<_>>(), ["/workspace", "/skills/pdf"]);
    }

    #[test]
    fn scratch_space_covers_nothing_that_was_granted() {
        for (workspace, place) in [("/project", "/tmp"), ("/tmp", "/scratch-0"), ("/tmp/project", "/tmp")] {
            let request = Request::new("/skills/pdf").workspace(workspace).tool("Write", None);
            let decision = Rules::default().allow(Layer::User, Capability::Write).decide(&request);
            let Decision::Granted(grants) = decision else { panic!("{decision:?}") };
            assert_eq!(scratch_beside(&grants), Path::new(place));
        }
    }
}
