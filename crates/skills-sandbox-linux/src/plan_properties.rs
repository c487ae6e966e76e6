//! Property tests of plans with namespaces, for arbitrary grants: the root file system is built in
//! a model of the kernel's mounts.
#![expect(clippy::disallowed_methods, reason = "the test creates its own files")]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use skills_policy::{Access, Authorization, Capability, Policy, Request, RuleSource};
use skills_process::ProgramFinder;
use skills_sandbox::{Job, Program, ScriptType};
use tempfile::TempDir;

use crate::granted_path::open_all;
use crate::isolation::IsolationLevel;
use crate::path_rule::{PathRule, PlanContext, SymlinkPolicy};
use crate::plan::Plan;
use crate::rootfs::{BaseRootFs, MountOp, MountPoint, RootFs};
use crate::rootfs_plan::MountAttrs;
use crate::rootfs_plan::{RootFsPlan, choose_scratch_path};
use crate::user_ids::UserIds;

/// A node of the new root file system.
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

    /// Returns true if entries can be created or can exist in it.
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

/// The visible nodes of a root file system. Nodes that a mount covers are removed from it.
#[derive(Debug, Default)]
struct Model(BTreeMap<PathBuf, Node>);

impl Model {
    fn build(rootfs: &RootFs) -> Result<Self, TestCaseError> {
        let mut model = Self::default();
        let base = BaseRootFs::new(true).unwrap();
        for operation in base.operations.iter().chain(&rootfs.operations) {
            model.perform(operation)?;
        }
        Ok(model)
    }

    /// Returns the mount that contains a path, or that is mounted at it.
    fn mount_of(&self, path: &Path) -> Option<Node> {
        path.ancestors()
            .filter_map(|parent| self.0.get(parent).copied())
            .find(|node| node.is_mount())
    }

    /// Returns what an operation creates, and checks the operation's own fields.
    fn created_node(
        &self,
        operation: &MountOp,
        path: &Path,
        outer_mount: Option<Node>,
    ) -> Result<Node, TestCaseError> {
        Ok(match operation {
            MountOp::Directory(_) | MountOp::Unreadable => Node::Directory,
            MountOp::Symlink { .. } => Node::Link,
            MountOp::File { .. } => Node::File,
            MountOp::Proc { .. } | MountOp::Terminals { .. } => Node::Proc,
            MountOp::Scratch { .. } => Node::Scratch,
            MountOp::ScratchAlias { scratch, .. } => {
                let scratch = Path::new("/").join(OsStr::from_bytes(scratch.to_bytes()));
                prop_assert_eq!(self.0.get(&scratch), Some(&Node::Scratch));
                Node::Scratch
            }
            MountOp::Layer { .. } => {
                let below = self.0.get(path);
                prop_assert!(
                    matches!(
                        below,
                        Some(Node::Bind {
                            is_directory: true,
                            ..
                        })
                    ),
                    "{path:?}"
                );
                Node::Bind {
                    attributes: MountAttrs::NODEV,
                    is_directory: true,
                }
            }
            MountOp::Mask { .. } | MountOp::Withhold { .. } => Node::Bind {
                attributes: MountAttrs::READ_ONLY,
                is_directory: true,
            },
            MountOp::Bind {
                source,
                attributes,
                mount_point,
                ..
            } => {
                prop_assert_eq!(OsStr::from_bytes(source.to_bytes()), path.as_os_str());
                prop_assert_eq!(
                    *mount_point == MountPoint::Existing,
                    matches!(outer_mount, Some(Node::Bind { .. })),
                    "{:?} in {:?}",
                    path,
                    outer_mount
                );
                Node::Bind {
                    attributes: *attributes,
                    is_directory: path.is_dir(),
                }
            }
        })
    }

    fn perform(&mut self, operation: &MountOp) -> Result<(), TestCaseError> {
        let path = PathBuf::from(operation.path());
        let parent = path.parent().unwrap();
        let is_changeable =
            |node: Option<Node>| !matches!(node, Some(Node::Bind { .. } | Node::Proc));
        let outer_mount = self.mount_of(parent);
        for above in path.ancestors().skip(1) {
            prop_assert!(
                self.0.get(above).is_none_or(|node| node.can_hold()),
                "{path:?} is created below {above:?}"
            );
        }
        let is_host = outer_mount.is_some_and(|node| matches!(node, Node::Bind { .. }));
        // Other processes may have removed theirs meanwhile.
        let is_shared = SHARED.iter().any(|shared| path.starts_with(shared));
        let has_parent = parent == Path::new("/")
            || self.0.contains_key(parent)
            || is_host && (parent.exists() || is_shared);
        prop_assert!(has_parent, "{path:?} has no parent");
        let node = self.created_node(operation, &path, outer_mount)?;
        // Creating a directory that exists has no effect.
        if node == Node::Directory && self.0.get(&path).is_some_and(|known| known.can_hold()) {
            return Ok(());
        }
        // Nothing is created in mounts of the host, and nothing is created twice.
        prop_assert!(
            is_changeable(outer_mount)
                || matches!(
                    operation,
                    MountOp::Bind { .. }
                        | MountOp::Layer { .. }
                        | MountOp::Mask { .. }
                        | MountOp::Withhold { .. }
                ),
            "{path:?} is created in {outer_mount:?}"
        );
        if matches!(node, Node::Link | Node::File) {
            prop_assert!(!self.0.contains_key(&path), "{path:?} exists");
        }
        if node.is_mount() {
            self.0.retain(|known, _| !known.starts_with(&path));
        }
        self.0.insert(path, node);
        Ok(())
    }
}

/// Directories of the host, with a skill in each.
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
const SYSTEM: [&str; 4] = ["/dev", "/usr/share", "/etc", "/proc/sys"];
/// Directories in which other processes create entries meanwhile. They are only granted for reading,
/// since a plan depends on what is in a writable directory.
const SHARED: [&str; 2] = ["/tmp", "/dev/shm"];

impl Host {
    fn new() -> Self {
        let directories: Vec<TempDir> = SHARED
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

    /// Returns paths to grant: system directories, the created paths, and their parents.
    fn grantable_paths(&self) -> Vec<PathBuf> {
        let system = SYSTEM.iter().chain(&SHARED);
        let mut paths: Vec<PathBuf> = system.map(PathBuf::from).collect();
        for directory in self
            .directories
            .iter()
            .map(|directory| directory.path().canonicalize().unwrap())
        {
            let created = CREATED
                .iter()
                .chain(&["d/file", "missing/x"])
                .map(|below| directory.join(below));
            let all =
                created.flat_map(|path| path.ancestors().map(Path::to_owned).collect::<Vec<_>>());
            paths.extend(all.filter(|path| path.starts_with(&directory)));
        }
        paths.sort();
        paths.dedup();
        paths
    }
}

type PathRequest = (PathBuf, Access);

/// Returns a plan, or `None` if the policy or the backend rejects the requests.
fn plan(
    skill: &Path,
    requested: &[PathRequest],
    rules: [Capability; 2],
) -> Option<(Plan, PlanContext)> {
    // One hidden directory, and one protected root of skills.
    let host = skill.ancestors().nth(2).unwrap_or(skill);
    let request = Request::new(skill)
        .hide(host.join("d/e"))
        .protect(host.join("a/b"));
    let request = requested
        .iter()
        .fold(request, |request, (path, access)| match access {
            Access::ReadWrite if !SHARED.iter().any(|shared| path == Path::new(shared)) => {
                request.write(path)
            }
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
    let context = PlanContext {
        isolation: IsolationLevel::Namespaces,
        scratch_path: choose_scratch_path(&grants),
        mount_proc: true,
        own_network: true,
    };
    let job = Job::new(
        grants,
        Program::script(ScriptType::Shell, skill.join("main.sh")),
    );
    Plan::new(&job, &ProgramFinder::default(), &context)
        .ok()
        .map(|plan| (plan, context))
}

/// Checks that only granted paths are visible, and only those granted for writing writable.
fn check_mounts(model: &Model, plan: &Plan, writable: &[&Path]) -> Result<(), TestCaseError> {
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
        // Paths without a rule are mounted only inside writable directories.
        prop_assert!(
            plan.paths().iter().any(|rule| rule.path == *path) || is_below_writable,
            "{path:?} is visible"
        );
    }
    Ok(())
}

/// Checks that file systems in memory are only where the plan has them.
fn check_scratch(model: &Model, context: &PlanContext) -> Result<(), TestCaseError> {
    let scratches: Vec<_> = model
        .0
        .iter()
        .filter(|(_, node)| **node == Node::Scratch)
        .collect();
    prop_assert!(
        scratches
            .iter()
            .all(|(path, _)| **path == context.scratch_path || **path == Path::new("/dev/shm")),
        "{scratches:?}"
    );
    Ok(())
}

/// Checks that hooks are read-only, unless the repository or a path in it was granted.
fn check_hooks(model: &Model, writable: &[&Path]) -> Result<(), TestCaseError> {
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
    Ok(())
}

fn check(plan: &Plan, context: &PlanContext) -> Result<(), TestCaseError> {
    let sources = open_all(plan.paths(), &plan.relocated).unwrap();
    let rootfs = RootFs::new(plan.rootfs.as_ref().unwrap(), &sources).unwrap();
    let model = Model::build(&rootfs)?;
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
    check_mounts(&model, plan, &writable)?;
    check_scratch(&model, context)?;
    // The program's own directory is visible and read-only, whatever is writable around it.
    let own_dir = &plan.current_dir;
    let mount = model.mount_of(own_dir);
    prop_assert!(
        matches!(mount, Some(Node::Bind { .. })) && !mount.unwrap().is_writable(),
        "{own_dir:?} is in {mount:?}"
    );
    check_hooks(&model, &writable)?;
    // All granted paths that exist are visible.
    for rule in granted.iter().filter(|rule| rule.path.exists()) {
        prop_assert!(
            matches!(model.mount_of(&rule.path), Some(Node::Bind { .. })),
            "{:?}",
            rule.path
        );
    }
    Ok(())
}

/// The first rule is the directory of the program; the order of the others has no effect.
fn check_order(plan: &Plan, context: &PlanContext, order: &[usize]) -> Result<(), TestCaseError> {
    let mut paths = plan.paths().to_vec();
    for (index, other) in (1..paths.len()).zip(order) {
        let other = 1 + other % (paths.len() - 1);
        paths.swap(index, other);
    }
    let shuffled = RootFsPlan::new(&paths, &plan.limits, context, UserIds::sandboxed())
        .with_withheld(&plan.keys);
    prop_assert_eq!(Some(&shuffled), plan.rootfs.as_ref());
    Ok(())
}

#[test]
fn a_root_file_system_can_be_built_and_adds_no_access() {
    let host = Host::new();
    let access = prop::sample::select(vec![Access::ReadOnly, Access::ReadWrite]);
    let requested =
        prop::collection::vec((prop::sample::select(host.grantable_paths()), access), 0..6);
    let order = Just((0..64).collect::<Vec<usize>>()).prop_shuffle();
    let config = ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    proptest!(config, |(skill in prop::sample::select(host.skills()), requested in requested, order in order)| {
        let (read, write) = (Capability::Read, Capability::Write);
        let planned = plan(&skill, &requested, [read, write]);
        if let Some((plan, context)) = &planned {
            check(plan, context)?;
            check_order(plan, context, &order)?;
        }
        // Other processes may create files that look like keys meanwhile.
        let is_shared = |path: &Path| SHARED.iter().any(|shared| Path::new(shared).starts_with(path));
        if !requested.iter().any(|(path, _)| is_shared(path)) {
            prop_assert_eq!(planned, plan(&skill, &requested, [write, read]));
        }
    });
}
