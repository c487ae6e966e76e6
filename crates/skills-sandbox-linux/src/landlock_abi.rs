//! What this kernel offers.

use skills_sandbox::SandboxError;

/// The oldest Landlock that is enough alone: before ABI 3 a file outside the grants can be
/// truncated.
const MIN_STANDALONE_ABI: u32 = 3;
/// The newest Landlock whose rights this crate knows and asks for.
const MAX_KNOWN_ABI: u32 = 7;

/// The version of Landlock to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LandlockAbi(pub(crate) u32);

impl LandlockAbi {
    /// Asks the kernel; once per process.
    pub(crate) fn detect() -> Result<Self, SandboxError> {
        static OFFERED: std::sync::OnceLock<i64> = std::sync::OnceLock::new();
        Self::from_kernel(*OFFERED.get_or_init(kernel_abi))
    }

    fn from_kernel(offered: i64) -> Result<Self, SandboxError> {
        match u32::try_from(offered) {
            Ok(version) if version > 0 => Ok(Self(version.min(MAX_KNOWN_ABI))),
            _ => Err(SandboxError::unavailable(
                "Landlock",
                "the kernel was built or started without it",
                "add `landlock` to the kernel's `lsm=` list, or use a skill with a WebAssembly module",
            )),
        }
    }

    /// Succeeds when it is enough without namespaces.
    pub(crate) fn check_standalone(self) -> Result<(), SandboxError> {
        let Self(version) = self;
        if version >= MIN_STANDALONE_ABI {
            return Ok(());
        }
        let reason = format!(
            "the kernel offers ABI {version}, at least {MIN_STANDALONE_ABI} is needed without user namespaces"
        );
        Err(SandboxError::unavailable(
            "Landlock",
            reason,
            "use Linux 6.2 or newer, or a skill with a WebAssembly module",
        ))
    }

    /// Says whether signals and abstract sockets stay inside the sandbox.
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
    fn refuses_what_is_too_old_and_says_what_to_do() {
        assert_eq!(LandlockAbi::from_kernel(9).ok(), Some(LandlockAbi(7)));
        assert_eq!(LandlockAbi::from_kernel(3).ok(), Some(LandlockAbi(3)));
        let old = LandlockAbi::from_kernel(2)
            .unwrap()
            .check_standalone()
            .unwrap_err();
        insta::assert_snapshot!(old, @"cannot run in a sandbox: Landlock is unavailable: the kernel offers ABI 2, at least 3 is needed without user namespaces; use Linux 6.2 or newer, or a skill with a WebAssembly module");
        let none = LandlockAbi::from_kernel(-1).unwrap_err();
        insta::assert_snapshot!(none, @"cannot run in a sandbox: Landlock is unavailable: the kernel was built or started without it; add `landlock` to the kernel's `lsm=` list, or use a skill with a WebAssembly module");
    }
}
