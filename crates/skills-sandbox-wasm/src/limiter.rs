//! Counts memory over all memories of a run.

use wasmtime::{ResourceLimiter, Result};

/// The most elements that all tables of a run may hold together; a table of a Rust program has some hundred.
const MAX_TABLE_ELEMENTS: usize = 1_000_000;

/// Grants memory up to a total and remembers a refusal: a program that gets no memory ends in ways that do not say why.
pub(crate) struct Limiter {
    limit_bytes: usize,
    used_bytes: usize,
    table_elements: usize,
    pub(crate) refused: bool,
}

impl Limiter {
    pub(crate) fn new(limit_bytes: u64) -> Self {
        let limit_bytes = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        Self { limit_bytes, used_bytes: 0, table_elements: 0, refused: false }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let used = self.used_bytes.saturating_add(desired.saturating_sub(current));
        let granted = used <= self.limit_bytes;
        if granted {
            self.used_bytes = used;
        }
        self.refused |= !granted;
        Ok(granted)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> Result<bool> {
        let elements = self.table_elements.saturating_add(desired.saturating_sub(current));
        let granted = elements <= MAX_TABLE_ELEMENTS;
        if granted {
            self.table_elements = elements;
        }
        Ok(granted)
    }
}
