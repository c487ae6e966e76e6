//! Components that were too expensive to compile, so that they are not tried repeatedly.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::LoadError;
use crate::code_cache::CacheKey;

/// The maximum number of entries.
const MAX_REJECTIONS: usize = 256;
/// How much more time than the insufficient time must be available for another attempt: twice as
/// much, since the load of a host varies.
const RETRY_TIME_FACTOR: u32 = 2;

/// The components whose compilation was killed, by content, each with the exceeded limit.
#[derive(Default)]
pub(super) struct CompileRejections(Mutex<VecDeque<(CacheKey, LoadError)>>);

impl CompileRejections {
    pub(super) fn add(&self, key: CacheKey, error: LoadError) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(other, _)| *other != key);
        if known.len() >= MAX_REJECTIONS {
            // The oldest is forgotten, and may be tried once more.
            known.pop_front();
        }
        known.push_back((key, error));
    }

    /// Fails with the limit that was exceeded before, unless much more time is available now.
    pub(super) fn check(&self, key: &CacheKey, deadline: Option<Instant>) -> Result<(), LoadError> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, error)) = known.iter().find(|(other, _)| other == key) else {
            return Ok(());
        };
        let has_more_time = match error {
            LoadError::CompileTimeout { limit } => deadline.is_none_or(|deadline| {
                deadline.saturating_duration_since(Instant::now())
                    >= limit.saturating_mul(RETRY_TIME_FACTOR)
            }),
            // The memory that a component needs does not depend on the run.
            _ => false,
        };
        if has_more_time {
            Ok(())
        } else {
            Err(error.clone())
        }
    }
}
