//! Supervision of one child process: input, output, deadline, and the end of its whole process
//! group.
//!
//! ```text
//!            +--> feed stdin ---------+
//! Process ---+--> capture stdout -----+--> exit, deadline, flood or quota --> kill the group --> drain --> collect the leader
//!            +--> capture stderr -----+
//!            +--> Leader::ended ------+
//!            +--> measure quotas -----+
//! ```
//!
//! Only quotas are polled; for all else the loop sleeps in the kernel until a pipe is ready, the
//! leader ends or the deadline comes. The group is killed *before* its leader is collected, so that
//! its number cannot have been given to anybody else, and also after a normal exit, so that nothing
//! outlives the run.
//!
//! How one learns that a leader has ended is the business of a [`Leader`]: a pidfd on Linux
//! (`PidfdChild`), the signal that a child has ended everywhere else ([`SpawnedGroup`]).

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
