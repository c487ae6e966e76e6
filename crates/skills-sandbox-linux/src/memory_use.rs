//! Whether a process uses the memory of the host process.

use std::sync::atomic::{AtomicI32, Ordering};

/// Not 0 while a process that `clone` created uses the memory of this process. The kernel clears it
/// when the process executes a program or exits (`CLONE_CHILD_CLEARTID`).
#[derive(Default)]
pub(crate) struct MemoryUse(AtomicI32);

impl MemoryUse {
    /// Marks the memory as used, before the process is created.
    pub(crate) fn begin(&self) {
        self.0.store(-1, Ordering::Release);
    }

    /// Marks the memory as not used, since no process was created.
    pub(crate) fn cancel(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Returns the address that the kernel clears.
    pub(crate) fn as_ptr(&self) -> *mut i32 {
        self.0.as_ptr()
    }

    /// Blocks until the process no longer uses the memory of this process.
    #[expect(
        unsafe_code,
        reason = "no wrapper waits for a number that the kernel clears"
    )]
    pub(crate) fn wait(&self) {
        loop {
            let value = self.0.load(Ordering::Acquire);
            if value == 0 {
                return;
            }
            // SAFETY: the address is that of a living number; without a timeout. Interrupted and
            // late calls are repeated.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.0.as_ptr(),
                    libc::FUTEX_WAIT,
                    value,
                    std::ptr::null::<u8>(),
                )
            };
        }
    }
}
