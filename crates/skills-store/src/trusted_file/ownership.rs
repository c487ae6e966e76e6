//! Who can change a file or directory.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Group, User, getegid, geteuid};

use super::error::{OVERFLOW_USER, Problem, TrustError, Writers};

const STICKY: u32 = 0o1000;
const GROUP_WRITE: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const GROUP_AND_OTHERS: u32 = 0o077;
/// The user and the group of the administrator.
const ROOT: u32 = 0;

/// Where a directory is in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    OnTheWay,
    End,
}

/// Checks a directory of a path by its metadata.
pub(super) fn check_directory(
    path: &Path,
    at: &Path,
    found: &Metadata,
    place: Place,
) -> Result<(), TrustError> {
    if !(place == Place::OnTheWay && is_of_unknown_root(found)) {
        check_owner(path, at, found)?;
    }
    // Others cannot replace what is in a sticky directory and belongs to the user.
    if place == Place::OnTheWay && found.mode() & STICKY != 0 {
        return Ok(());
    }
    check_writers(path, at, found)
}

/// Checks a symlink in a directory that was checked, by its metadata.
pub(super) fn check_link(
    path: &Path,
    at: &Path,
    found: &Metadata,
    directory: &Path,
) -> Result<(), TrustError> {
    // Elsewhere, only those who can write the directory can replace a link, and its owner does not matter.
    if metadata(path, directory)?.mode() & STICKY == 0 {
        return Ok(());
    }
    check_owner(path, at, found)
}

/// Checks an open file. `at` is its resolved path.
pub(super) fn check_file(path: &Path, at: &Path, found: &Metadata) -> Result<(), TrustError> {
    check_owner(path, at, found)?;
    check_writers(path, at, found)
}

/// Checks that the group and others have no access to a file.
pub(super) fn check_private(path: &Path, found: &Metadata) -> Result<(), TrustError> {
    let mode = found.mode() & 0o7777;
    if mode & GROUP_AND_OTHERS == 0 {
        return Ok(());
    }
    Err(TrustError::new(path, path, Problem::Exposed { mode }))
}

pub(super) fn metadata(path: &Path, at: &Path) -> Result<Metadata, TrustError> {
    at.symlink_metadata()
        .map_err(|error| TrustError::io(path, at, error))
}

fn check_owner(path: &Path, at: &Path, found: &Metadata) -> Result<(), TrustError> {
    let (owner, user) = (found.uid(), geteuid().as_raw());
    if is_trusted_user(owner) {
        return Ok(());
    }
    let is_directory = found.is_dir();
    Err(TrustError::new(
        path,
        at,
        Problem::Owner {
            owner,
            user,
            is_directory,
        },
    ))
}

fn is_trusted_user(user: u32) -> bool {
    user == ROOT || user == geteuid().as_raw()
}

/// Returns true for a directory of a user whom this user namespace does not know, where the root of the
/// host is such a user: the directories above a home directory then belong to it.
fn is_of_unknown_root(found: &Metadata) -> bool {
    let is_unknown = |found: &Metadata| found.uid() == OVERFLOW_USER;
    is_unknown(found)
        && Path::new("/")
            .symlink_metadata()
            .is_ok_and(|root| is_unknown(&root))
}

fn check_writers(path: &Path, at: &Path, found: &Metadata) -> Result<(), TrustError> {
    let mode = found.mode() & 0o7777;
    let writers = if mode & OTHERS_WRITE != 0 {
        Some(Writers::Everyone)
    } else if mode & GROUP_WRITE == 0 {
        // The mask of an access control list, too.
        None
    } else {
        match listed_writers(at) {
            Some(writers) => writers
                .into_iter()
                .map(|writers| match writers {
                    Writers::Group(_) => Writers::Group(found.gid()),
                    listed => listed,
                })
                .find(|writers| !is_trusted(writers)),
            None => Some(Writers::Group(found.gid())).filter(|writers| !is_trusted(writers)),
        }
    };
    match writers {
        Some(writers) => Err(TrustError::new(
            path,
            at,
            Problem::Writable { mode, writers },
        )),
        None => Ok(()),
    }
}

fn is_trusted(writers: &Writers) -> bool {
    match writers {
        Writers::Everyone => false,
        Writers::Group(group) | Writers::ListedGroup(group) => is_trusted_group(*group),
        Writers::ListedUser(user) => is_trusted_user(*user),
    }
}

fn is_trusted_group(group: u32) -> bool {
    group == ROOT || is_private_group(Gid::from_raw(group))
}

/// Returns true for the private group of the user, which many systems give each user: the primary one,
/// with the name of the user and without another member.
fn is_private_group(group: Gid) -> bool {
    let user = geteuid();
    // The list of members does not contain those with it as primary group.
    if has_other_user(&local_users(), user.as_raw(), group.as_raw()) {
        return false;
    }
    match (User::from_uid(user), Group::from_gid(group)) {
        (Ok(Some(user)), Ok(Some(found))) => {
            user.gid == group && is_named_like(&user.name, &found.name, &found.mem)
        }
        // A container that runs as a user without a name.
        (Ok(None), Ok(None)) => user.as_raw() == group.as_raw() && getegid() == group,
        _ => false,
    }
}

fn is_named_like(user: &str, group: &str, members: &[String]) -> bool {
    group == user && members.iter().all(|member| member == user)
}

/// Returns the local users, one a line; those of a directory service cannot all be listed.
fn local_users() -> String {
    const MAX_BYTES: u64 = 4 << 20;
    let file = super::open_untrusted(Path::new("/etc/passwd"), MAX_BYTES);
    let bytes = file.ok().and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    });
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// Returns true if a group is the primary one of another user. `users` has lines as `/etc/passwd`:
/// name, password, user and group, and more fields.
fn has_other_user(users: &str, user: u32, group: u32) -> bool {
    users.lines().any(|line| {
        let mut ids = line
            .split(':')
            .skip(2)
            .map(|field| field.parse::<u32>().ok());
        let (other, primary) = (ids.next().flatten(), ids.next().flatten());
        primary == Some(group) && other != Some(user)
    })
}

/// Returns who may write by the access control list of an entry, with the group of the entry as
/// [`Writers::Group`]; `None` if it has no list.
#[cfg(target_os = "linux")]
fn listed_writers(at: &Path) -> Option<Vec<Writers>> {
    const MAX_BYTES: usize = 64 << 10;
    let mut bytes = vec![0_u8; MAX_BYTES];
    let read = rustix::fs::lgetxattr(at, "system.posix_acl_access", bytes.as_mut_slice()).ok()?;
    Some(parse_list(&bytes[..read]))
}

/// Other systems have other lists, which are not read.
#[cfg(not(target_os = "linux"))]
fn listed_writers(_at: &Path) -> Option<Vec<Writers>> {
    None
}

/// Parses an access control list as the kernel stores it: a version, then entries of a kind, a mode and
/// an id. The mask is not applied: without write access in it, the list does not matter.
#[cfg(target_os = "linux")]
fn parse_list(bytes: &[u8]) -> Vec<Writers> {
    const USER: u16 = 0x02;
    const GROUP_OF_ENTRY: u16 = 0x04;
    const GROUP: u16 = 0x08;
    const WRITE: u16 = 0x02;
    let entries = bytes.get(4..).unwrap_or_default().as_chunks::<8>().0.iter();
    entries
        .filter_map(|[kind0, kind1, mode0, mode1, id @ ..]| {
            let kind = u16::from_le_bytes([*kind0, *kind1]);
            let id = u32::from_le_bytes(*id);
            if u16::from_le_bytes([*mode0, *mode1]) & WRITE == 0 {
                return None;
            }
            match kind {
                USER => Some(Writers::ListedUser(id)),
                GROUP => Some(Writers::ListedGroup(id)),
                GROUP_OF_ENTRY => Some(Writers::Group(id)),
                _ => None,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_group_has_the_name_of_its_user_and_no_other_member() {
        let members = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(is_named_like("ada", "ada", &[]));
        assert!(is_named_like("ada", "ada", &members(&["ada"])));
        assert!(!is_named_like("ada", "ada", &members(&["ada", "bob"])));
        assert!(!is_named_like("ada", "users", &[]));
    }

    #[test]
    fn a_group_that_is_the_primary_one_of_another_user_is_not_private() {
        let users = "root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nbroken\n\n";
        assert!(!has_other_user(users, 1000, 1000));
        assert!(!has_other_user("", 1000, 1000));
        let users = format!("{users}bob:x:1001:1000::/home/bob:/bin/sh\n");
        assert!(has_other_user(&users, 1000, 1000));
        assert!(!has_other_user(&users, 1001, 1001));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn writers_of_an_access_control_list_are_found() {
        let entry = |kind: u16, mode: u16, id: u32| {
            [
                &kind.to_le_bytes()[..],
                &mode.to_le_bytes()[..],
                &id.to_le_bytes()[..],
            ]
            .concat()
        };
        let list = [
            2_u32.to_le_bytes().to_vec(),
            entry(0x01, 6, u32::MAX),
            entry(0x02, 6, 1001),
            entry(0x02, 4, 1002),
            entry(0x04, 4, u32::MAX),
            entry(0x08, 7, 50),
            entry(0x10, 7, u32::MAX),
            entry(0x20, 4, u32::MAX),
        ];
        assert_eq!(
            parse_list(&list.concat()),
            [Writers::ListedUser(1001), Writers::ListedGroup(50)]
        );
        assert_eq!(
            parse_list(&[&[2, 0, 0, 0][..], &entry(0x04, 7, u32::MAX)].concat()),
            [Writers::Group(u32::MAX)]
        );
        assert_eq!(parse_list(&[]), []);
    }
}
