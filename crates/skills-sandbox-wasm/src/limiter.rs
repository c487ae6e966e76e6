//! Counts memory, tables and instances over all of a run.

use wasmtime::{ResourceLimiter, Result};

/// The maximum number of elements of all tables of a run together; a table of a Rust program has
/// some hundred.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;
/// The maximum number of instances, tables and memories of a run, each. A component with a script
/// engine and its parts has some dozens.
const MAX_INSTANCES: usize = 1_000;

/// Grants memory up to a total and records a rejection, since programs without memory end in ways
/// that do not show the cause.
pub(crate) struct Limiter {
    limit_bytes: usize,
    used_bytes: usize,
    table_elements: usize,
    rejected: Option<RejectedGrowth>,
}

/// The first rejected growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectedGrowth {
    Memory,
    Table,
}

impl Limiter {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        let limit_bytes = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        Self {
            limit_bytes,
            used_bytes: 0,
            table_elements: 0,
            rejected: None,
        }
    }

    pub(crate) fn rejected_growth(&self) -> Option<RejectedGrowth> {
        self.rejected
    }

    /// The peak memory use; memory of a program never shrinks.
    pub(crate) fn peak_bytes(&self) -> usize {
        self.used_bytes
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        let is_within = grow(&mut self.used_bytes, current, desired, self.limit_bytes);
        if !is_within {
            // Growing fails without a trap, and the program may continue with what it has.
            self.rejected.get_or_insert(RejectedGrowth::Memory);
        }
        Ok(is_within)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> Result<bool> {
        let elements = &mut self.table_elements;
        let is_within = grow(elements, current, desired, MAX_TABLE_ELEMENTS);
        if !is_within {
            self.rejected.get_or_insert(RejectedGrowth::Table);
        }
        Ok(is_within)
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_INSTANCES
    }

    fn memories(&self) -> usize {
        MAX_INSTANCES
    }
}

/// Adds the growth of one memory or table to the total, and returns true, if the total is within
/// the limit then.
fn grow(total: &mut usize, current: usize, desired: usize, limit: usize) -> bool {
    let grown = total.saturating_add(desired.saturating_sub(current));
    let is_within = grown <= limit;
    if is_within {
        *total = grown;
    }
    is_within
}
