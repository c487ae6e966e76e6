//! The stack of the child until it executes its program.

use std::io;
use std::ptr::NonNull;

const STACK_BYTES: usize = 128 * 1024;
const GUARD_BYTES: usize = 4096;

/// A stack with an inaccessible page below it, so that an overflow ends the child instead of
/// writing to memory of the host.
pub(crate) struct Stack(NonNull<libc::c_void>);

#[expect(
    unsafe_code,
    reason = "a child that shares the parent's memory needs a separate stack"
)]
impl Stack {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice overlaps no existing
        // memory.
        let bottom = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            )
        };
        if bottom == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self(
            NonNull::new(bottom).ok_or_else(|| io::Error::other("the kernel mapped page zero"))?,
        );
        // SAFETY: the first page of the mapping that was just created and is not in use yet.
        if unsafe { libc::mprotect(stack.0.as_ptr(), GUARD_BYTES, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    /// Returns the address after the highest byte, aligned to a page: stacks grow down.
    pub(crate) fn top(&self) -> *mut libc::c_void {
        // SAFETY: one past the end of the mapping, whose length is `STACK_BYTES`.
        unsafe { self.0.as_ptr().byte_add(STACK_BYTES) }
    }
}

#[expect(
    unsafe_code,
    reason = "raw pointers are `Send` only by a promise of their owner"
)]
// SAFETY: the mapping belongs to this value alone and to no thread.
unsafe impl Send for Stack {}

#[expect(
    unsafe_code,
    reason = "raw pointers are `Sync` only by a promise of their owner"
)]
// SAFETY: a shared reference gives only the address, which never changes.
unsafe impl Sync for Stack {}

#[expect(unsafe_code, reason = "a manual mapping is unmapped manually")]
impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` created. No process runs on it any more: the child has
        // executed its program or exited.
        unsafe { libc::munmap(self.0.as_ptr(), STACK_BYTES) };
    }
}
