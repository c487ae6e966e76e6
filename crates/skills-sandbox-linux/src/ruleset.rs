//! Turns path rules into a Landlock ruleset.

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError, Ruleset, RulesetAttr,
    RulesetCreatedAttr, Scope,
};
use skills_sandbox::SandboxError;

use crate::kernel::LandlockVersion;
use crate::plan::{PathRule, Right};

/// Makes the ruleset; nothing is restricted until a process applies it.
///
/// Every right that the kernel knows is handled, so whatever no rule gives is refused, and a right that the kernel turns out not to know is
/// an error rather than a gap.
pub(crate) fn ruleset(paths: &[PathRule], version: LandlockVersion) -> Result<OwnedFd, SandboxError> {
    let abi = abi(version);
    let failed =
        |error: &dyn std::fmt::Display| SandboxError::unavailable("Landlock", error.to_string(), "report this with the kernel's version");
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset = ruleset.handle_access(AccessFs::from_all(abi)).map_err(|error| failed(&error))?;
    if abi >= ABI::V4 {
        ruleset = ruleset.handle_access(AccessNet::from_all(abi)).map_err(|error| failed(&error))?;
    }
    if version.scopes() {
        ruleset = ruleset.scope(Scope::from_all(abi)).map_err(|error| failed(&error))?;
    }
    let mut created = ruleset.create().map_err(|error| failed(&error))?;
    for rule in paths {
        let file = match PathFd::new(&rule.path) {
            Ok(file) => file,
            Err(PathFdError::OpenCall { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(&error)),
        };
        let rights = if rule.path.is_dir() { rights(rule.right, abi) } else { rights(rule.right, abi) & AccessFs::from_file(abi) };
        created = created.add_rule(PathBeneath::new(file, rights)).map_err(|error| failed(&error))?;
    }
    Option::<OwnedFd>::from(created).ok_or_else(|| failed(&"the kernel made no ruleset"))
}

fn rights(right: Right, abi: ABI) -> BitFlags<AccessFs> {
    match right {
        Right::Read => AccessFs::ReadFile | AccessFs::ReadDir,
        Right::Execute => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        Right::Device => AccessFs::ReadFile | AccessFs::WriteFile,
        Right::Write => {
            let denied = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
            AccessFs::from_all(abi) & !denied
        }
    }
}

fn abi(version: LandlockVersion) -> ABI {
    match version.0 {
        0..=3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    }
}
