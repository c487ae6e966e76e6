//! Detects the features of the kernel that the product needs.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::OnceLock;

use libc::{AT_EMPTY_PATH, AT_FDCWD, AT_RECURSIVE, c_int, c_uint};

use super::attempt::{Step, attempt, check, write};

/// The oldest Landlock ABI that is sufficient without namespaces: Linux 6.2.
const MIN_LANDLOCK_ABI: u32 = 3;

/// Succeeds if a process can have its own user, mount and PID namespaces, and a seccomp filter.
///
/// # Errors
/// With the system call that fails.
pub fn namespaces() -> Result<(), String> {
    static DETECTED: OnceLock<Result<(), String>> = OnceLock::new();
    DETECTED
        .get_or_init(|| attempt(NAMESPACES, &ChildData::new()?))
        .clone()
}

/// Succeeds if a process can be restricted by Landlock, ABI 3 or newer, and a seccomp filter.
///
/// # Errors
/// With the system call that fails, or the version that is too old.
pub fn landlock() -> Result<(), String> {
    static DETECTED: OnceLock<Result<(), String>> = OnceLock::new();
    DETECTED
        .get_or_init(|| match landlock_version() {
            0 => Err("the kernel has no Landlock".to_owned()),
            version if version < MIN_LANDLOCK_ABI => Err(format!(
                "the kernel has Landlock ABI {version}, at least {MIN_LANDLOCK_ABI} is required"
            )),
            _ => attempt(LANDLOCK, &()),
        })
        .clone()
}

/// Returns the Landlock ABI version of the kernel; 0 without Landlock.
#[must_use]
pub fn landlock_version() -> u32 {
    const VERSION: c_uint = 1;
    // SAFETY: with a null attribute, size 0 and the version flag the call only returns a number.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    };
    u32::try_from(version).unwrap_or(0)
}

/// Data of the child, which cannot allocate.
struct ChildData {
    user_map: String,
    group_map: String,
    /// An existing directory, over which a new root is mounted.
    directory: CString,
}

impl ChildData {
    fn new() -> Result<Self, String> {
        // SAFETY: these calls only return a number.
        let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
        let directory = CString::new(std::env::temp_dir().as_os_str().as_bytes())
            .map_err(|error| error.to_string())?;
        Ok(Self {
            user_map: format!("{user} {user} 1"),
            group_map: format!("{group} {group} 1"),
            directory,
        })
    }
}

const NAMESPACES: &[Step<ChildData>] = &[
    ("unshare", |_| {
        let flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS;
        // SAFETY: takes no memory.
        check(unsafe { libc::unshare(flags) }).map(drop)
    }),
    ("setgroups", |_| write("/proc/self/setgroups", b"deny")),
    ("uid_map", |data| {
        write("/proc/self/uid_map", data.user_map.as_bytes())
    }),
    ("gid_map", |data| {
        write("/proc/self/gid_map", data.group_map.as_bytes())
    }),
    ("mount", |_| {
        let flags = libc::MS_REC | libc::MS_PRIVATE;
        // SAFETY: the strings are constant, and null where the kind of change takes none.
        check(unsafe { libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), flags, ptr::null()) })
            .map(drop)
    }),
    ("open_tree", copy_and_restrict_a_mount),
    ("move_mount", mount_a_new_root),
    ("pivot_root", enter_the_new_root),
    ("fork", fork_in_the_pid_namespace),
    ("no_new_privs", |_| no_new_privileges()),
    ("seccomp", |_| filter()),
];

const LANDLOCK: &[Step<()>] = &[
    ("no_new_privs", |()| no_new_privileges()),
    ("landlock", |()| restrict()),
    ("seccomp", |()| filter()),
];

fn copy_and_restrict_a_mount(_: &ChildData) -> Result<(), c_int> {
    const OPEN_TREE_CLONE: c_uint = 1;
    let flags = OPEN_TREE_CLONE | AT_RECURSIVE as c_uint | libc::O_CLOEXEC as c_uint;
    // SAFETY: the strings are constant, the structure is plain data, and its size is its own.
    unsafe {
        let tree = check(libc::syscall(
            libc::SYS_open_tree,
            AT_FDCWD,
            c"/".as_ptr(),
            flags,
        ))?;
        let mut change: libc::mount_attr = std::mem::zeroed();
        change.attr_set = libc::MOUNT_ATTR_RDONLY;
        let size = size_of::<libc::mount_attr>();
        check(libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            c"".as_ptr(),
            AT_EMPTY_PATH,
            &raw const change,
            size,
        ))
        .map(drop)
    }
}

fn mount_a_new_root(data: &ChildData) -> Result<(), c_int> {
    const FSCONFIG_CMD_CREATE: c_uint = 6;
    const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
    // SAFETY: all strings are valid, and null where the command takes none.
    unsafe {
        let context = check(libc::syscall(libc::SYS_fsopen, c"tmpfs".as_ptr(), 0))?;
        let none = ptr::null::<u8>();
        check(libc::syscall(
            libc::SYS_fsconfig,
            context,
            FSCONFIG_CMD_CREATE,
            none,
            none,
            0,
        ))?;
        let root = check(libc::syscall(libc::SYS_fsmount, context, 0, 0))?;
        let target = data.directory.as_ptr();
        check(libc::syscall(
            libc::SYS_move_mount,
            root,
            c"".as_ptr(),
            AT_FDCWD,
            target,
            MOVE_MOUNT_F_EMPTY_PATH,
        ))
        .map(drop)
    }
}

fn enter_the_new_root(data: &ChildData) -> Result<(), c_int> {
    // SAFETY: all strings are valid.
    unsafe {
        check(libc::chdir(data.directory.as_ptr()))?;
        check(libc::syscall(
            libc::SYS_pivot_root,
            c".".as_ptr(),
            c".".as_ptr(),
        ))?;
        check(libc::umount2(c".".as_ptr(), libc::MNT_DETACH)).map(drop)
    }
}

/// Forks, since the next child is the first process of the new PID namespace.
fn fork_in_the_pid_namespace(_: &ChildData) -> Result<(), c_int> {
    // SAFETY: the child ends at once, and its parent waits for it.
    unsafe {
        let child = check(libc::fork())?;
        if child == 0 {
            libc::_exit(0);
        }
        check(libc::waitpid(child, ptr::null_mut(), 0)).map(drop)
    }
}

fn no_new_privileges() -> Result<(), c_int> {
    // SAFETY: takes no memory.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map(drop)
}

/// Restricts creating directories with Landlock.
fn restrict() -> Result<(), c_int> {
    const MAKE_DIRECTORY: u64 = 1 << 7;
    let handled = MAKE_DIRECTORY;
    // SAFETY: the attribute is a structure whose first field has this size, which is given.
    unsafe {
        let ruleset = check(libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const handled,
            size_of::<u64>(),
            0,
        ))?;
        check(libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0)).map(drop)
    }
}

/// Installs a seccomp filter that allows everything.
fn filter() -> Result<(), c_int> {
    const RETURN: u16 = 0x06;
    let mut allow = libc::sock_filter {
        code: RETURN,
        jt: 0,
        jf: 0,
        k: libc::SECCOMP_RET_ALLOW,
    };
    let program = libc::sock_fprog {
        len: 1,
        filter: &raw mut allow,
    };
    // SAFETY: the program is valid and read before the call returns.
    check(unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_changes_nothing_of_its_parent() {
        let status = || std::fs::read_to_string("/proc/self/status").unwrap();
        let of = |name: &str| {
            status()
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap()
                .to_owned()
        };
        let before = (
            of("NoNewPrivs:"),
            of("Seccomp:"),
            std::fs::read_link("/proc/self/ns/user").unwrap(),
        );
        let _ = (namespaces(), landlock());
        assert_eq!(
            (
                of("NoNewPrivs:"),
                of("Seccomp:"),
                std::fs::read_link("/proc/self/ns/user").unwrap()
            ),
            before
        );
    }

    #[test]
    fn results_are_consistent() {
        assert_eq!(
            crate::host::sandbox().is_ok(),
            namespaces().is_ok() || landlock().is_ok()
        );
        assert!(landlock().is_err() || landlock_version() >= MIN_LANDLOCK_ABI);
    }
}
