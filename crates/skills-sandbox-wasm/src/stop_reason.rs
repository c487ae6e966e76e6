//! Why a run is to stop before its end.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// A reason why a run was stopped; the error that it ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StopReason {
    Deadline = 1,
    Cancelled = 2,
    OutputLimit = 3,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::OutputLimit => "too much output",
        })
    }
}

impl std::error::Error for StopReason {}

/// Shared by all that may stop a run and all that look whether it is to stop; the first reason
/// stays.
#[derive(Debug, Default)]
pub(crate) struct StopFlag(AtomicU8);

impl StopFlag {
    pub(crate) fn set(&self, reason: StopReason) {
        // Whoever comes second says nothing new.
        let _ = self
            .0
            .compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn reason(&self) -> Option<StopReason> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            1 => Some(StopReason::Deadline),
            2 => Some(StopReason::Cancelled),
            _ => Some(StopReason::OutputLimit),
        }
    }
}
