//! Why a run is to stop before its end.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// A reason why a run was stopped; the error that it ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Reason {
    Deadline = 1,
    Cancelled = 2,
    Flooded = 3,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Flooded => "too much output",
        })
    }
}

impl std::error::Error for Reason {}

/// Shared by all that may stop a run and all that look whether it is to stop; the first reason
/// stays.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicU8);

impl Stop {
    pub(crate) fn set(&self, reason: Reason) {
        // Whoever comes second says nothing new.
        let _ = self
            .0
            .compare_exchange(0, reason as u8, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn reason(&self) -> Option<Reason> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Reason::Deadline),
            2 => Some(Reason::Cancelled),
            _ => Some(Reason::Flooded),
        }
    }
}
