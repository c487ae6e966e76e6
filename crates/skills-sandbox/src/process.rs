//! Supervision of one child process: input, output, deadline, and the end of its whole process group.
//!
//! ```text
//!          +--> feed stdin ---------+
//! Child ---+--> capture stdout -----+--> exit, deadline or flood --> kill the group --> drain --> reap
//!          +--> capture stderr -----+
//!          +--> pidfd readable -----+
//! ```
//!
//! Nothing polls: the loop sleeps in the kernel until a pipe or the pidfd is ready or the deadline comes. The group is killed
//! *before* its leader is reaped, so that its number cannot have been given to anybody else, and also after a normal exit, so that
//! nothing outlives the run.

mod pipe;
mod reap;
mod supervise;

pub use supervise::{Child, Supervised, supervise};
