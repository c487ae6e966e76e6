//! Supervision of one child process: input, output, deadline, and termination of its whole process
//! group.
//!
//! ```text
//!            +--> feed stdin ---------+
//! Process ---+--> capture stdout -----+--> exit or exceeded limit --> kill the group --> drain --> reap the leader
//!            +--> capture stderr -----+
//!            +--> Leader::wait_exit --+
//!            +--> measure quotas -----+
//! ```
//!
//! Only quotas are polled; otherwise the loop sleeps in the kernel until a pipe is ready, the
//! leader ends or the deadline expires. The group is killed *before* its leader is reaped, so that
//! its PID cannot be reused, and also after a normal exit, so that no process survives the run.
//!
//! A [`Leader`] abstracts how the end of a leader is detected: a pidfd on Linux (`PidfdChild`),
//! `SIGCHLD` everywhere else ([`SpawnedGroup`]).

#[cfg(target_os = "linux")]
mod deleted_files;
mod group;
mod leader;
#[cfg(target_os = "linux")]
mod pidfd;
mod pipe;
mod quota;
mod supervise;

pub use group::{GroupLeader, SpawnedGroup};
pub use leader::{Leader, LeaderStatus, Pipes, Process};
#[cfg(target_os = "linux")]
pub use pidfd::{PidfdChild, PidfdLeader};
pub use supervise::{Bounds, SupervisedOutput, supervise};
