//! Permissions that every interpreter needs on macOS.

use std::path::Path;

use skills_process::SCRATCH_PREFIX;

use super::protected::case_insensitive;
use crate::parameter::ProfilePath;
use crate::rule::{Filter, Operation, Rule};

/// The prefix of profile file names. Profiles of other runs are denied by this prefix.
pub(crate) const FILE_PREFIX: &str = "openskills-seatbelt-";

/// Libraries and programs of the system, and what its dynamic linker reads.
const SYSTEM_PATHS: [&str; 12] = [
    "/System",
    "/usr/lib",
    "/usr/bin",
    "/usr/sbin",
    "/usr/libexec",
    "/usr/share",
    "/bin",
    "/sbin",
    "/Library/Apple",
    DEVELOPER,
    "/private/var/db/dyld",
    "/private/var/db/timezone",
];
/// Apple's command line tools, including its Python and Git.
pub(super) const DEVELOPER: &str = "/Library/Developer/CommandLineTools";
/// All disks are visible below this directory a second time; only the linker's shared cache in it
/// belongs to the system.
const VOLUMES: &str = "/System/Volumes";
const CRYPTEXES: &str = "/System/Volumes/Preboot/Cryptexes";
/// Temporary directories; the first is a symlink to the second.
const TEMPORARY_DIRECTORIES: [&str; 2] = ["/tmp", "/private/tmp"];
/// The time zone, and the selected shell and command line tools.
const SETTINGS_PATHS: [&str; 3] = [
    "/private/etc/localtime",
    "/private/var/db/xcode_select_link",
    "/private/var/select",
];
/// Read when any path is resolved; the first three are symlinks.
const PATH_SYMLINKS: [&str; 6] = [
    "/tmp",
    "/var",
    "/etc",
    "/private",
    "/private/var",
    "/private/etc",
];
/// Directories of programs that a run with all programs may start.
const PROGRAM_DIRECTORIES: [&str; 6] = [
    "/usr/bin",
    "/bin",
    "/usr/sbin",
    "/sbin",
    "/usr/libexec",
    DEVELOPER,
];
/// CA certificates, for programs that connect to hosts; never the directory with the host's private
/// keys. The settings are those of OpenSSL.
const CERTIFICATE_PATHS: [&str; 7] = [
    "/private/etc/ssl/cert.pem",
    "/private/etc/ssl/certs",
    "/private/etc/ssl/openssl.cnf",
    "/opt/homebrew/etc/ca-certificates",
    "/opt/homebrew/etc/openssl@3/cert.pem",
    "/usr/local/etc/ca-certificates",
    "/usr/local/etc/openssl@3/cert.pem",
];
/// User names, notifications, the log and the names of temporary directories. None of these
/// services gives access to the network or to other programs.
const SERVICES: [&str; 5] = [
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.notification_center",
    "com.apple.system.logger",
    "com.apple.logd",
    "com.apple.bsd.dirhelper",
];

/// The system's files, read-only; code may be loaded from them.
pub(super) fn library_rules() -> [Rule; 2] {
    let cryptexes = Filter::Not(Box::new(subpath(CRYPTEXES)));
    [
        Rule::Allow(
            vec![Operation::FileRead, Operation::FileMapExecutable],
            subpaths(&SYSTEM_PATHS),
        ),
        // The last matching rule decides, so the exception follows the permission.
        Rule::Deny(
            vec![Operation::FileRead, Operation::FileMapExecutable],
            vec![Filter::All(vec![subpath(VOLUMES), cryptexes])],
        ),
    ]
}

/// The temporary directories, except for those of other runs. Granted paths in them are allowed
/// later.
pub(super) fn temporary_rules() -> [Rule; 2] {
    let both = || vec![Operation::FileRead, Operation::FileWrite];
    let others = temporary_filter(SCRATCH_PREFIX);
    [
        Rule::Allow(both(), subpaths(&TEMPORARY_DIRECTORIES)),
        // The scratch directories of other runs may be here.
        Rule::Deny(both(), vec![others]),
    ]
}

/// What an interpreter needs to start and run, in addition to libraries.
pub(super) fn interpreter_rules() -> Vec<Rule> {
    let mut rules = path_rules();
    rules.extend(device_rules());
    rules.extend([
        Rule::allow(
            &[Operation::MachLookup],
            SERVICES.map(Filter::GlobalName).to_vec(),
        ),
        Rule::allow(&[Operation::IpcPosixSem], Vec::new()),
        // Neither information about processes outside of the sandbox, nor signals to them.
        Rule::allow(&[Operation::ProcessInfo], vec![Filter::SameSandbox]),
        Rule::allow(&[Operation::Signal], vec![Filter::SameSandbox]),
    ]);
    rules
}

fn path_rules() -> Vec<Rule> {
    let mut existing = subpaths(&SYSTEM_PATHS);
    existing.extend(subpaths(&TEMPORARY_DIRECTORIES));
    vec![
        Rule::allow(
            &[Operation::FileRead, Operation::FileTestExistence],
            vec![literal("/")],
        ),
        Rule::allow(&[Operation::FileRead], subpaths(&SETTINGS_PATHS)),
        Rule::allow(
            &[Operation::FileReadMetadata, Operation::FileTestExistence],
            PATH_SYMLINKS.map(literal).to_vec(),
        ),
        Rule::allow(&[Operation::FileTestExistence], existing),
    ]
}

fn device_rules() -> [Rule; 3] {
    // Only the devices: a regular file of that name is not allowed.
    let device = |path| Filter::All(vec![literal(path), Filter::CharacterDevice]);
    [
        Rule::allow(
            &[
                Operation::FileRead,
                Operation::FileWriteData,
                Operation::FileIoctl,
            ],
            ["/dev/null", "/dev/dtracehelper"].map(device).to_vec(),
        ),
        Rule::allow(
            &[Operation::FileRead],
            ["/dev/zero", "/dev/random", "/dev/urandom"]
                .map(device)
                .to_vec(),
        ),
        Rule::allow(
            &[Operation::FileRead, Operation::FileWriteData],
            // These are descriptors that the process has anyway.
            vec![subpath("/dev/fd")],
        ),
    ]
}

/// All programs of the system.
pub(super) fn program_filters() -> Vec<Filter> {
    subpaths(&PROGRAM_DIRECTORIES)
}

/// What is needed to verify the certificate of a host.
pub(super) fn certificate_rule() -> Rule {
    Rule::Allow(vec![Operation::FileRead], subpaths(&CERTIFICATE_PATHS))
}

/// Returns true for a system path, which no run may write.
pub(super) fn is_system_path(path: &Path) -> bool {
    SYSTEM_PATHS.iter().any(|system| path.starts_with(system))
}

/// Returns true if a path is in a temporary directory.
pub(super) fn is_temporary(path: &Path) -> bool {
    TEMPORARY_DIRECTORIES
        .iter()
        .any(|temporary| path.starts_with(temporary))
}

/// Rules denied regardless of grants.
pub(super) fn hard_denials() -> [Rule; 3] {
    [
        // The arguments and the environment of other programs of the same user.
        Rule::Deny(
            vec![Operation::SysctlRead],
            vec![Filter::SysctlPrefix("kern.procargs")],
        ),
        // The profile of another run is read after it was written: a process that changes it in
        // between controls the rules of that run.
        Rule::Deny(
            vec![Operation::FileRead, Operation::FileWrite],
            vec![temporary_filter(FILE_PREFIX)],
        ),
        // Such a file would give its rights to processes outside of the sandbox.
        Rule::Deny(vec![Operation::FileWriteSetugid], Vec::new()),
    ]
}

/// All paths in a temporary directory with this name prefix, in any spelling.
fn temporary_filter(prefix: &str) -> Filter {
    // The directory has two names, and its file system ignores case.
    let [private, directory, prefix] = ["/private", "/tmp/", prefix].map(case_insensitive);
    Filter::Regex(format!("^({private})?{directory}{prefix}"))
}

pub(super) fn literal(path: &'static str) -> Filter {
    Filter::Literal(ProfilePath::System(path))
}

pub(super) fn subpath(path: &'static str) -> Filter {
    Filter::Subpath(ProfilePath::System(path))
}

fn subpaths(paths: &[&'static str]) -> Vec<Filter> {
    paths.iter().copied().map(subpath).collect()
}
