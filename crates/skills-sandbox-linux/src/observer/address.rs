//! The address of a `connect` call, copied once.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::{c_int, seccomp_notif};
use nix::errno::Errno;

use super::program::read_memory;

/// The longest address that the kernel takes.
const MAX_ADDRESS_BYTES: usize = size_of::<libc::sockaddr_storage>();
const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();

/// A copy of an address. What the program does with its own memory afterwards has no effect on it.
pub(super) struct CopiedAddress {
    bytes: [u8; MAX_ADDRESS_BYTES],
    length: usize,
}

impl CopiedAddress {
    /// Copies the address of a `connect` call.
    ///
    /// # Errors
    /// With the error of the call: `EINVAL` for a length that no address has, and `EFAULT` for
    /// memory that cannot be read.
    pub(super) fn read(notification: &seccomp_notif) -> Result<Self, Errno> {
        let [_, address, length, ..] = notification.data.args;
        // The kernel takes the length as a signed number of 32 bits.
        let length = usize::try_from(length as c_int).map_err(|_| Errno::EINVAL)?;
        let mut bytes = [0; MAX_ADDRESS_BYTES];
        let target = bytes.get_mut(..length).ok_or(Errno::EINVAL)?;
        if length < FAMILY_BYTES {
            return Err(Errno::EINVAL);
        }
        let address = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
        match read_memory(notification.pid, address, target) {
            Ok(read) if read == length => Ok(Self { bytes, length }),
            _ => Err(Errno::EFAULT),
        }
    }

    /// Returns the bytes, at least those of the family.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns the path of a local address, as the kernel reads it. `None` for an abstract name,
    /// for an address without a name, and for other families.
    ///
    /// # Errors
    /// With `EINVAL` for a local address that is too long.
    pub(super) fn local_path(&self) -> Result<Option<&Path>, Errno> {
        let (family, name) = self.bytes().split_at(FAMILY_BYTES);
        if family != (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes() {
            return Ok(None);
        }
        if self.length > size_of::<libc::sockaddr_un>() {
            return Err(Errno::EINVAL);
        }
        let path = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok((!path.is_empty()).then(|| Path::new(OsStr::from_bytes(path))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(family: c_int, name: &[u8]) -> CopiedAddress {
        let mut bytes = [0; MAX_ADDRESS_BYTES];
        bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        bytes[2..2 + name.len()].copy_from_slice(name);
        CopiedAddress {
            bytes,
            length: 2 + name.len(),
        }
    }

    #[test]
    fn a_path_ends_as_the_kernel_ends_it() {
        let path = |name: &[u8]| {
            let address = address(libc::AF_UNIX, name);
            address.local_path().map(|path| path.map(Path::to_owned))
        };
        assert_eq!(path(b"/tmp/s"), Ok(Some("/tmp/s".into())));
        assert_eq!(path(b"/tmp/s\0/../x"), Ok(Some("/tmp/s".into())));
        // Abstract, and without a name.
        assert_eq!(path(b"\0/tmp/s"), Ok(None));
        assert_eq!(path(b""), Ok(None));
        assert_eq!(path(&[b'a'; 108]).map(|path| path.is_some()), Ok(true));
        assert_eq!(path(&[b'a'; 109]), Err(Errno::EINVAL));
        let internet = address(libc::AF_INET, b"/tmp/s");
        assert_eq!(internet.local_path(), Ok(None));
    }
}
