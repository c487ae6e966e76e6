//! Properties of plans for the isolated tier, whatever is granted: the tree is built in a model of
//! the kernel's file trees.
#![expect(clippy::disallowed_methods, reason = "the test makes its own files")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use skills_policy::{Access, Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::interpreter::ProgramFinder;
use skills_sandbox::{Job, Program, ScriptType};
use tempfile::TempDir;

use crate::granted_path::open_all;
use crate::isolation::IsolationLevel;
use crate::plan::{PathRule, Plan, PlanContext, SymlinkPolicy};
use crate::rootfs::{MountAttrs, MountOp, MountPoint, RootFs};
use crate::rootfs_plan::{RootFsPlan, choose_scratch_path};
use crate::user_ids::UserIds;

/// What stands at a path of the new tree.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Node {
    Directory,
    File,
    Link,
    Scratch,
    Proc,
    Bind {
        attributes: MountAttrs,
        is_directory: bool,
    },
}

impl Node {
    fn is_mount(self) -> bool {
        matches!(self, Self::Scratch | Self::Proc | Self::Bind { .. })
    }

    /// Says whether something may be made in it, or is there already.
    fn can_hold(self) -> bool {
        matches!(
            self,
            Self::Directory
                | Self::Scratch
                | Self::Bind {
                    is_directory: true,
                    ..
                }
        )
    }

    fn is_writable(self) -> bool {
        matches!(self, Self::Bind { attributes, .. } if attributes.bits() & MountAttrs::READ_ONLY.bits() == 0)
    }
}

/// A file tree as the operations build it; it knows what is visible, and nothing of what a mount
/// covers.
#[derive(Debug, Default)]
struct Model(BTreeMap<PathBuf, Node>);

impl Model {
    fn build(tree: &RootFs) -> Result<Self, TestCaseError> {
        let mut model = Self::default();
        for operation in &tree.operations {
            model.perform(operation)?;
        }
        Ok(model)
    }

    /// Returns the mount that a path lies in; the path itself may be one.
    fn mount_of(&self, path: &Path) -> Option<Node> {
        path.ancestors()
            .filter_map(|above| self.0.get(above).copied())
            .find(|node| node.is_mount())
    }

    fn perform(&mut self, operation: &MountOp) -> Result<(), TestCaseError> {
        let path = PathBuf::from(operation.path());
        let parent = path.parent().unwrap();
        let own = |node: Option<Node>| !matches!(node, Some(Node::Bind { .. } | Node::Proc));
        let around = self.mount_of(parent);
        for above in path.ancestors().skip(1) {
            prop_assert!(
                self.0.get(above).is_none_or(|node| node.can_hold()),
                "{path:?} is placed through {above:?}"
            );
        }
        let is_host = around.is_some_and(|node| matches!(node, Node::Bind { .. }));
        let has_parent =
            parent == Path::new("/") || self.0.contains_key(parent) || is_host && parent.exists();
        prop_assert!(has_parent, "{path:?} has no parent");
        let node = match operation {
            MountOp::Directory(_) => Node::Directory,
            MountOp::Symlink { .. } => Node::Link,
            MountOp::File { .. } => Node::File,
            MountOp::Proc { .. } => Node::Proc,
            MountOp::Scratch { .. } => Node::Scratch,
            MountOp::ScratchAlias { scratch, .. } => {
                let scratch = Path::new("/").join(OsStr::from_bytes(scratch.to_bytes()));
                prop_assert_eq!(self.0.get(&scratch), Some(&Node::Scratch));
                Node::Scratch
            }
            MountOp::Mask { .. } => Node::Bind {
                attributes: MountAttrs::READ_ONLY,
                is_directory: true,
            },
            MountOp::Bind {
                source,
                attributes,
                mount_point: place,
                ..
            } => {
                prop_assert_eq!(OsStr::from_bytes(source.to_bytes()), path.as_os_str());
                prop_assert_eq!(
                    *place == MountPoint::Existing,
                    is_host,
                    "{:?} in {:?}",
                    &path,
                    around
                );
                Node::Bind {
                    attributes: *attributes,
                    is_directory: path.is_dir(),
                }
            }
        };
        // A directory that is there already will do.
        if node == Node::Directory && self.0.get(&path).is_some_and(|known| known.can_hold()) {
            return Ok(());
        }
        // Nothing is made in what is the host's, and nothing twice.
        prop_assert!(
            own(around) || matches!(operation, MountOp::Bind { .. } | MountOp::Mask { .. }),
            "{path:?} is made in {around:?}"
        );
        if matches!(node, Node::Link | Node::File) {
            prop_assert!(!self.0.contains_key(&path), "{path:?} is there");
        }
        if node.is_mount() {
            self.0.retain(|known, _| !known.starts_with(&path));
        }
        self.0.insert(path, node);
        Ok(())
    }
}

/// Directories of the host, and a skill among them.
struct Host {
    directories: Vec<TempDir>,
}

const SKILL: &str = "a/skill";
const CREATED: [&str; 9] = [
    "a/b/c/.vscode",
    "a/b/.git/hooks",
    "a/b/.claude/skills/x",
    "a/.git/hooks",
    "a/.git/objects",
    "a/.ssh",
    SKILL,
    "d/.git/hooks",
    "d/e/f",
];
const SYSTEM: [&str; 6] = [
    "/tmp",
    "/dev/shm",
    "/dev",
    "/usr/share",
    "/etc",
    "/proc/sys",
];

impl Host {
    fn new() -> Self {
        let directories: Vec<TempDir> = ["/tmp", "/dev/shm"]
            .iter()
            .filter_map(|parent| tempfile::tempdir_in(parent).ok())
            .collect();
        for directory in &directories {
            for below in CREATED {
                fs::create_dir_all(directory.path().join(below)).unwrap();
            }
            fs::write(directory.path().join(SKILL).join("main.sh"), "").unwrap();
            fs::write(directory.path().join("d/file"), "").unwrap();
        }
        Self { directories }
    }

    fn skills(&self) -> Vec<PathBuf> {
        self.directories
            .iter()
            .map(|directory| directory.path().canonicalize().unwrap().join(SKILL))
            .collect()
    }

    /// Returns what may be granted, all that is above something made included.
    fn places(&self) -> Vec<PathBuf> {
        let mut places: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        for directory in self
            .directories
            .iter()
            .map(|directory| directory.path().canonicalize().unwrap())
        {
            let made = CREATED
                .iter()
                .chain(&["d/file", "missing/x"])
                .map(|below| directory.join(below));
            let all =
                made.flat_map(|path| path.ancestors().map(Path::to_owned).collect::<Vec<_>>());
            places.extend(all.filter(|path| path.starts_with(&directory)));
        }
        places.sort();
        places.dedup();
        places
    }
}

/// A grant: a path and how it may be used.
type Wanted = (PathBuf, Access);

/// Makes a plan, or none where the policy or the backend refuses.
fn plan(skill: &Path, wanted: &[Wanted], rules: [Capability; 2]) -> Option<(Plan, PlanContext)> {
    // One directory of the host's own, and a root of skills.
    let host = skill.ancestors().nth(2).unwrap_or(skill);
    let request = Request::new(skill)
        .hide(host.join("d/e"))
        .protect(host.join("a/b"));
    let request = wanted
        .iter()
        .fold(request, |request, (path, access)| match access {
            Access::ReadWrite => request.write(path),
            _ => request.read(path),
        });
    let rules = rules
        .into_iter()
        .fold(Policy::default(), |rules, capability| {
            rules.allow(RuleSource::Invocation, capability)
        });
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        return None;
    };
    let ground = PlanContext {
        isolation: IsolationLevel::Namespaces,
        scratch_path: choose_scratch_path(&grants),
        mount_proc: true,
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::Shell, skill.join("main.sh")),
    );
    Plan::new(&job, &ProgramFinder::default(), &ground)
        .ok()
        .map(|plan| (plan, ground))
}

fn check(plan: &Plan, ground: &PlanContext) -> Result<(), TestCaseError> {
    let view = plan.rootfs.as_ref().unwrap();
    let tree = RootFs::new(view, &open_all(plan.paths(), &plan.relocated).unwrap()).unwrap();
    let model = Model::build(&tree)?;
    let granted: Vec<&PathRule> = plan
        .paths()
        .iter()
        .filter(|rule| rule.symlinks == SymlinkPolicy::Reject)
        .collect();
    let writable: Vec<&Path> = granted
        .iter()
        .filter(|rule| rule.access == crate::PathAccess::Write)
        .map(|rule| rule.path.as_path())
        .collect();
    for (path, node) in model
        .0
        .iter()
        .filter(|(_, node)| matches!(node, Node::Bind { .. }))
    {
        let is_below_writable = writable.iter().any(|above| path.starts_with(above));
        prop_assert!(
            !node.is_writable() || is_below_writable,
            "{path:?} is writable"
        );
        // What is protected lies in what may be written.
        prop_assert!(
            plan.paths().iter().any(|rule| rule.path == *path) || is_below_writable,
            "{path:?} is shown"
        );
    }
    let scratches: Vec<_> = model
        .0
        .iter()
        .filter(|(_, node)| **node == Node::Scratch)
        .collect();
    prop_assert!(
        scratches
            .iter()
            .all(|(path, _)| **path == ground.scratch_path || **path == Path::new("/dev/shm")),
        "{scratches:?}"
    );
    // The program's own directory is there and stays as it is, whatever is written around it.
    let home = &plan.current_dir;
    let mount = model.mount_of(home);
    prop_assert!(
        matches!(mount, Some(Node::Bind { .. })) && !mount.unwrap().is_writable(),
        "{home:?} is in {mount:?}"
    );
    // So do hooks, unless somebody granted what holds them, or something in it.
    for hooks in writable
        .iter()
        .map(|directory| directory.join(".git/hooks"))
        .filter(|hooks| hooks.exists())
    {
        let git = hooks.parent().unwrap();
        if !writable.iter().any(|path| path.starts_with(git)) {
            prop_assert!(
                model
                    .mount_of(&hooks)
                    .is_some_and(|mount| !mount.is_writable()),
                "{hooks:?}"
            );
        }
    }
    // All that is granted and exists is shown, as what it is on the host.
    for rule in granted.iter().filter(|rule| rule.path.exists()) {
        prop_assert!(
            matches!(model.mount_of(&rule.path), Some(Node::Bind { .. })),
            "{:?}",
            rule.path
        );
    }
    Ok(())
}

/// The first path is the program's own; of the others none comes before another.
fn check_order(plan: &Plan, ground: &PlanContext, order: &[usize]) -> Result<(), TestCaseError> {
    let mut paths = plan.paths().to_vec();
    for (at, other) in (1..paths.len()).zip(order) {
        let other = 1 + other % (paths.len() - 1);
        paths.swap(at, other);
    }
    let shuffled = RootFsPlan::new(&paths, &plan.limits, ground, UserIds::sandboxed());
    prop_assert_eq!(Some(&shuffled), plan.rootfs.as_ref());
    Ok(())
}

#[test]
fn a_tree_can_be_built_and_widens_nothing() {
    let host = Host::new();
    let access = prop::sample::select(vec![Access::ReadOnly, Access::ReadWrite]);
    let wanted = prop::collection::vec((prop::sample::select(host.places()), access), 0..6);
    let order = Just((0..64).collect::<Vec<usize>>()).prop_shuffle();
    let config = ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(skill in prop::sample::select(host.skills()), wanted in wanted, order in order)| {
        let (read, write) = (Capability::Read, Capability::Write);
        let planned = plan(&skill, &wanted, [read, write]);
        if let Some((plan, ground)) = &planned {
            check(plan, ground)?;
            check_order(plan, ground, &order)?;
        }
        prop_assert_eq!(planned, plan(&skill, &wanted, [write, read]));
    });
}
