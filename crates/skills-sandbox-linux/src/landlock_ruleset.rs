//! Converts opened paths to a Landlock ruleset.

use std::borrow::Borrow;
use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use skills_sandbox::SandboxError;

use crate::granted_path::OpenedPath;
use crate::landlock_abi::LandlockAbi;
use crate::local_sockets::LocalSockets;
use crate::path_rule::PathAccess;
use crate::rootfs::path_c_string;
use crate::rootfs_plan::RootFsPlan;
use crate::run_network::RunNetwork;

/// A rule for a path that exists only in the new root file system, so the child has to add it.
pub(crate) struct DeferredRule {
    pub(crate) path: CString,
    pub(crate) rights: u64,
}

/// Builds the ruleset. Nothing is restricted until a process applies it.
///
/// All access rights of the ABI are handled, except for ports in a network namespace, so everything
/// that no rule allows is denied. A right
/// that the kernel turns out not to have is an error instead of a gap (`HardRequirement`).
pub(crate) fn build_ruleset<S: Borrow<OpenedPath>>(
    sources: impl IntoIterator<Item = Result<S, SandboxError>>,
    network: RunNetwork,
    version: LandlockAbi,
) -> Result<RulesetCreated, SandboxError> {
    let abi = abi(version);
    let mut ruleset = create_ruleset(network, version).map_err(|error| setup_error(&error))?;
    for source in sources {
        let source = source?;
        let source = source.borrow();
        // Landlock only adds access, so exceptions inside a granted directory need mounts.
        if source.access().is_exception() {
            continue;
        }
        ruleset = add_path(ruleset, source, abi).map_err(|error| setup_error(&error))?;
    }
    Ok(ruleset)
}

/// Allows the terminal of the program, by its open slave side.
pub(crate) fn add_terminal(
    ruleset: RulesetCreated,
    slave: &OwnedFd,
    version: LandlockAbi,
) -> Result<RulesetCreated, SandboxError> {
    let abi = abi(version);
    let rights = access_rights(PathAccess::Terminal, abi) & AccessFs::from_file(abi);
    ruleset
        .add_rule(PathBeneath::new(slave, rights))
        .map_err(|error| setup_error(&error))
}

/// Returns the descriptor of a ruleset.
pub(crate) fn finish_ruleset(ruleset: RulesetCreated) -> Result<OwnedFd, SandboxError> {
    let descriptor: Option<OwnedFd> = ruleset.into();
    descriptor.ok_or_else(|| setup_error(&"the kernel created no ruleset"))
}

fn create_ruleset(
    network: RunNetwork,
    version: LandlockAbi,
) -> Result<RulesetCreated, RulesetError> {
    let abi = abi(version);
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset = ruleset.handle_access(AccessFs::from_all(abi))?;
    // Landlock restricts ports, not addresses. A network namespace has no address but its own, on
    // which processes of the run may use any port.
    if abi >= ABI::V4 && !network.is_separate() {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
    }
    if version.has_scoping() {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    ruleset.create()
}

fn add_path(
    ruleset: RulesetCreated,
    source: &OpenedPath,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    let rights = access_rights(source.access(), abi);
    // The kernel rejects rights of directories, such as creating files, for other files.
    let rights = if source.is_directory() {
        rights
    } else {
        rights & AccessFs::from_file(abi)
    };
    ruleset.add_rule(PathBeneath::new(source.file(), rights))
}

/// Returns rules for the new root file system: the program may list its root, read the files that
/// were created for it, write to the scratch directory and bind local sockets, if it may have any.
pub(crate) fn deferred_rules(
    version: LandlockAbi,
    rootfs: &RootFsPlan,
    local_sockets: LocalSockets,
) -> Result<Vec<DeferredRule>, SandboxError> {
    let abi = abi(version);
    let list = BitFlags::from(AccessFs::ReadDir);
    let read = list | AccessFs::ReadFile;
    let mut paths = vec![(Path::new("/"), list), (Path::new("/etc"), read)];
    paths.extend(
        rootfs
            .scratch()
            .map(|scratch| (scratch, access_rights(PathAccess::Write, abi))),
    );
    let written = access_rights(PathAccess::Write, abi);
    paths.extend(rootfs.layer().map(|layer| (layer, written)));
    paths.extend(rootfs.has_proc().then_some((Path::new("/proc"), read)));
    let terminals = list | access_rights(PathAccess::Terminal, abi);
    paths.extend(rootfs.terminals().map(|path| (path, terminals)));
    if local_sockets == LocalSockets::Supervised {
        // Also in what is mounted there. Programs expect it in `/tmp` itself, and only processes of
        // the run listen.
        let bind = BitFlags::from(AccessFs::MakeSock);
        paths.extend(rootfs.scratch().map(|path| (path, bind)));
    }
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

/// Converts an error of the `landlock` crate, which does not expose the error number.
fn setup_error(error: &dyn std::fmt::Display) -> SandboxError {
    // EMFILE or ENOMEM does not mean that Landlock is unavailable.
    let last = std::io::Error::last_os_error();
    if matches!(
        last.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM)
    ) {
        return SandboxError::setup("creating a Landlock ruleset", last);
    }
    SandboxError::unavailable(
        "Landlock",
        error.to_string(),
        "report this with the version of the kernel",
    )
}

fn access_rights(access: PathAccess, abi: ABI) -> BitFlags<AccessFs> {
    match access {
        PathAccess::Read | PathAccess::ReadPublic => AccessFs::ReadFile | AccessFs::ReadDir,
        PathAccess::Execute => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        PathAccess::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        PathAccess::Terminal => {
            (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev)
                & AccessFs::from_all(abi)
        }
        PathAccess::Protected | PathAccess::Hidden | PathAccess::Withheld => BitFlags::empty(),
        PathAccess::List => AccessFs::ReadDir.into(),
        PathAccess::Create => {
            // A file that is moved or linked to another directory could be read there.
            let denied =
                AccessFs::ReadFile | AccessFs::RemoveDir | AccessFs::RemoveFile | AccessFs::Refer;
            access_rights(PathAccess::Write, abi) & !denied
        }
        PathAccess::ReadDevice => AccessFs::ReadFile.into(),
        PathAccess::Write => {
            // Executing needs a grant for that program, which a file that the program wrote never
            // has. Devices give access to hardware and to other interfaces of the kernel. Programs
            // of the host would connect to a socket of the run in a directory that they use.
            let denied = AccessFs::Execute
                | AccessFs::MakeChar
                | AccessFs::MakeBlock
                | AccessFs::MakeSock
                | AccessFs::IoctlDev;
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
