//! Why a run is stopped early.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a run was stopped; also the error that it ends with.
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

/// Stop flag of a run; the first reason wins.
#[derive(Debug, Default)]
pub(crate) struct StopFlag(AtomicU8);

impl StopFlag {
    pub(crate) fn set(&self, reason: StopReason) {
        // A later reason is ignored.
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
