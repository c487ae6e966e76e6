//! Lists of system calls and of their commands.

use libc::c_long;

/// Calls that fail if the restriction of files does not cover metadata.
pub(super) const METADATA_CALLS: &[c_long] = &[
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    // Without a PID namespace a run is killed as a process group, which no process may leave.
    libc::SYS_setsid,
    libc::SYS_setpgid,
];
#[cfg(target_arch = "x86_64")]
pub(super) const METADATA_X86_64: &[c_long] = &[libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const METADATA_X86_64: &[c_long] = &[];

/// Calls that have no effect and report success: modes of files. Landlock does not cover modes, so
/// these calls cannot be allowed for some files only. But the libraries of all languages set mode
/// and times when they copy a file, and fail if they cannot.
pub(super) const IGNORED_CALLS: &[c_long] = &[libc::SYS_fchmod, libc::SYS_fchmodat, SYS_FCHMODAT2];
#[cfg(target_arch = "x86_64")]
pub(super) const IGNORED_X86_64: &[c_long] = &[libc::SYS_chmod];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const IGNORED_X86_64: &[c_long] = &[];

/// Calls that set the times of a path, with the index of the argument with the times. Given times
/// are ignored like modes. "Now" is denied, since programs use it to learn whether a file exists
/// before they create it.
pub(super) const TIME_CALLS: &[(c_long, u8)] = &[(libc::SYS_utimensat, 2)];
#[cfg(target_arch = "x86_64")]
pub(super) const TIME_CALLS_X86_64: &[(c_long, u8)] = &[
    (libc::SYS_utime, 1),
    (libc::SYS_utimes, 1),
    (libc::SYS_futimesat, 2),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const TIME_CALLS_X86_64: &[(c_long, u8)] = &[];

/// The calls that create hard links.
#[cfg(target_arch = "x86_64")]
pub(super) const LINK_CALLS: &[c_long] = &[libc::SYS_link, libc::SYS_linkat];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const LINK_CALLS: &[c_long] = &[libc::SYS_linkat];

/// Calls that create a process, other than `clone` and `clone3`.
#[cfg(target_arch = "x86_64")]
pub(super) const FORKS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const FORKS: &[c_long] = &[];

// Newer than the tables of the `libc` crate. The numbers are the same on every architecture.
pub(super) const SYS_FCHMODAT2: c_long = 452;
pub(super) const SYS_STATMOUNT: c_long = 457;
pub(super) const SYS_LISTMOUNT: c_long = 458;
pub(super) const SYS_OPEN_TREE_ATTR: c_long = 467;
pub(super) const SYS_SETXATTRAT: c_long = 463;
pub(super) const SYS_REMOVEXATTRAT: c_long = 466;
pub(super) const SYS_FILE_SETATTR: c_long = 469;

/// Commands to a terminal that insert characters into the input of its other users, change its line
/// discipline or take the messages of the console, and commands that change the flags, project,
/// version, verity or encryption of a file. The kernel accepts the latter on descriptors that are
/// only readable.
pub(super) const DENIED_COMMANDS: [u32; 10] = [
    0x5412,      // TIOCSTI
    0x541c,      // TIOCLINUX
    0x5423,      // TIOCSETD
    0x541d,      // TIOCCONS
    0x4008_6602, // FS_IOC_SETFLAGS
    0x401c_5820, // FS_IOC_FSSETXATTR
    0x4008_7602, // FS_IOC_SETVERSION
    0x4008_6604, // EXT4_IOC_SETVERSION
    0x4080_6685, // FS_IOC_ENABLE_VERITY
    0x800c_6613, // FS_IOC_SET_ENCRYPTION_POLICY
];
/// Commands that allocate space for a file, like `fallocate`.
pub(super) const ALLOCATING_COMMANDS: [u32; 3] = [
    0x4030_5828, // FS_IOC_RESVSP
    0x4030_582a, // FS_IOC_RESVSP64
    0x4030_5839, // FS_IOC_ZERO_RANGE
];
/// The bits of a socket's type without its flags.
pub(super) const SOCKET_KIND_BITS: u32 = 0xf;
/// The option that returns a descriptor of the process at the other end of a local socket.
pub(super) const SO_PEERPIDFD: u32 = 77;
pub(super) const NEW_NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Calls that set the mode of a file: the index of the argument with the mode, and that of the
/// flags on which its meaning depends.
pub(super) const MODE_CALLS: &[(c_long, u8, Option<u8>)] = &[
    (libc::SYS_openat, 3, Some(2)),
    (libc::SYS_mknodat, 2, None),
    (libc::SYS_fchmod, 1, None),
    (libc::SYS_fchmodat, 2, None),
    (SYS_FCHMODAT2, 2, None),
];
#[cfg(target_arch = "x86_64")]
pub(super) const MODE_CALLS_X86_64: &[(c_long, u8, Option<u8>)] = &[
    (libc::SYS_open, 2, Some(1)),
    (libc::SYS_creat, 1, None),
    (libc::SYS_mknod, 1, None),
    (libc::SYS_chmod, 1, None),
];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const MODE_CALLS_X86_64: &[(c_long, u8, Option<u8>)] = &[];

/// Calls that create a node, with the index of the argument with its mode.
pub(super) const NODE_CALLS: &[(c_long, u8)] = &[(libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
pub(super) const NODE_CALLS_X86_64: &[(c_long, u8)] = &[(libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const NODE_CALLS_X86_64: &[(c_long, u8)] = &[];
