//! The Landlock ABI version of the kernel.

use skills_sandbox::SandboxError;

/// The oldest ABI that is sufficient without namespaces: before ABI 3 any writable file of the host
/// can be truncated.
const MIN_STANDALONE_ABI: u32 = 3;
/// The newest ABI whose access rights this crate uses.
const MAX_KNOWN_ABI: u32 = 7;

/// The ABI version to use: that of the kernel, but at most the newest one that this crate knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LandlockAbi(pub(crate) u32);

impl LandlockAbi {
    /// Returns the ABI, detected once per process.
    ///
    /// # Errors
    /// Fails if the kernel has no Landlock, or it is disabled.
    pub(crate) fn detect() -> Result<Self, SandboxError> {
        static KERNEL_ABI: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
        Self::from_kernel(*KERNEL_ABI.get_or_init(kernel_abi))
    }

    fn from_kernel(result: i64) -> Result<Self, SandboxError> {
        match u32::try_from(result) {
            Ok(version) if version > 0 => Ok(Self(version.min(MAX_KNOWN_ABI))),
            _ => Err(SandboxError::unavailable(
                "Landlock",
                "the kernel was built or started without it",
                "add `landlock` to the kernel's `lsm=` list, or use a skill with a WebAssembly module",
            )),
        }
    }

    /// Checks that the ABI is sufficient without namespaces.
    ///
    /// # Errors
    /// Fails if it is older than ABI 3.
    pub(crate) fn check_standalone(self) -> Result<(), SandboxError> {
        let Self(version) = self;
        if version >= MIN_STANDALONE_ABI {
            return Ok(());
        }
        let reason = format!(
            "the kernel has ABI {version}, but without user namespaces at least ABI {MIN_STANDALONE_ABI} is required"
        );
        Err(SandboxError::unavailable(
            "Landlock",
            reason,
            "use Linux 6.2 or newer, or a skill with a WebAssembly module",
        ))
    }

    /// Returns true if Landlock can keep signals and abstract sockets inside the sandbox.
    pub(crate) fn has_scoping(self) -> bool {
        self.0 >= 6
    }
}

#[expect(
    unsafe_code,
    reason = "no wrapper of this system call asks for the version alone"
)]
fn kernel_abi() -> i64 {
    const CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with a null attribute, size 0 and the version flag the call only returns a number.
    unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0usize,
            CREATE_RULESET_VERSION,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_abi_is_rejected_with_a_hint() {
        assert_eq!(LandlockAbi::from_kernel(9).ok(), Some(LandlockAbi(7)));
        assert_eq!(LandlockAbi::from_kernel(3).ok(), Some(LandlockAbi(3)));
        let old = LandlockAbi::from_kernel(2)
            .unwrap()
            .check_standalone()
            .unwrap_err();
        insta::assert_snapshot!(old, @"cannot run in a sandbox: Landlock is unavailable: the kernel has ABI 2, but without user namespaces at least ABI 3 is required");
        let none = LandlockAbi::from_kernel(-1).unwrap_err();
        insta::assert_snapshot!(none, @"cannot run in a sandbox: Landlock is unavailable: the kernel was built or started without it");
    }
}
