//! Turns sources into a Landlock ruleset.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};
use skills_sandbox::SandboxError;

use crate::granted_path::OpenedPath;
use crate::landlock_abi::LandlockAbi;
use crate::plan::PathAccess;
use crate::rootfs::path_c_string;
use crate::rootfs_plan::RootFsPlan;

/// A rule for a path that exists only in the program's own file tree, so that the child has to add
/// it.
pub(crate) struct DeferredRule {
    pub(crate) path: CString,
    pub(crate) rights: u64,
}

/// Makes the ruleset; nothing is restricted until a process applies it.
///
/// Every right that the kernel knows is handled, so whatever no rule gives is refused, and a right
/// that the kernel turns out not to know is an error rather than a gap.
pub(crate) fn build_ruleset(
    sources: &[OpenedPath],
    listener: Option<u16>,
    version: LandlockAbi,
) -> Result<OwnedFd, SandboxError> {
    let abi = abi(version);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset = ruleset
        .handle_access(AccessFs::from_all(abi))
        .map_err(|error| setup_error(&error))?;
    if abi >= ABI::V4 {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(abi))
            .map_err(|error| setup_error(&error))?;
    }
    if version.has_scoping() {
        ruleset = ruleset
            .scope(Scope::from_all(abi))
            .map_err(|error| setup_error(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| setup_error(&error))?;
    let gives_rights = |source: &&OpenedPath| {
        !matches!(source.access(), PathAccess::Protected | PathAccess::Hidden)
    };
    for source in sources.iter().filter(gives_rights) {
        let rights = access_rights(source.access(), abi);
        let rights = if source.is_directory() {
            rights
        } else {
            rights & AccessFs::from_file(abi)
        };
        created = created
            .add_rule(PathBeneath::new(source.file(), rights))
            .map_err(|error| setup_error(&error))?;
    }
    if let (Some(port), true) = (listener, abi >= ABI::V4) {
        created = created
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .map_err(|error| setup_error(&error))?;
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| setup_error(&"the kernel made no ruleset"))
}

/// Lists the rules for what is the program's own: it may list its root, read what was made for it,
/// and write its scratch space.
pub(crate) fn deferred_rules(
    version: LandlockAbi,
    view: &RootFsPlan,
) -> Result<Vec<DeferredRule>, SandboxError> {
    let abi = abi(version);
    let list = BitFlags::from(AccessFs::ReadDir);
    let read = list | AccessFs::ReadFile;
    let mut paths = vec![(Path::new("/"), list), (Path::new("/etc"), read)];
    paths.extend(
        view.scratch()
            .map(|scratch| (scratch, access_rights(PathAccess::Write, abi))),
    );
    paths.extend(view.has_proc().then_some((Path::new("/proc"), read)));
    paths
        .into_iter()
        .map(|(path, rights)| {
            Ok(DeferredRule {
                path: path_c_string(path)?,
                rights: rights.bits(),
            })
        })
        .collect()
}

/// Having nothing left is no lack of Landlock.
fn setup_error(error: &dyn std::fmt::Display) -> SandboxError {
    let last = std::io::Error::last_os_error();
    if matches!(
        last.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)
    ) {
        return SandboxError::setup("making a Landlock ruleset", last);
    }
    SandboxError::unavailable(
        "Landlock",
        error.to_string(),
        "report this with the kernel's version",
    )
}

fn access_rights(right: PathAccess, abi: ABI) -> BitFlags<AccessFs> {
    match right {
        PathAccess::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        PathAccess::Execute => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        PathAccess::Protected | PathAccess::Hidden => BitFlags::empty(),
        PathAccess::ReadDevice => AccessFs::ReadFile.into(),
        PathAccess::Write => {
            let denied =
                AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
            AccessFs::from_all(abi) & !denied
        }
    }
}

fn abi(version: LandlockAbi) -> ABI {
    match version.0 {
        0..=1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    }
}
