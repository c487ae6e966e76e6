//! One row of the table, and the sets of results that rows expect.

use crate::{AttemptResult, BackendVariant};

/// A row without its category; results are in the order of [`BackendVariant::ALL`].
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) number: u8,
    pub(super) name: &'static str,
    pub(super) attempt: &'static str,
    pub(super) expected: [&'static [AttemptResult]; BackendVariant::ALL.len()],
    pub(super) requirement: Option<&'static str>,
}

pub(super) const fn row(
    number: u8,
    name: &'static str,
    attempt: &'static str,
    expected: [&'static [AttemptResult]; BackendVariant::ALL.len()],
) -> Row {
    Row {
        number,
        name,
        attempt,
        expected,
        requirement: None,
    }
}

impl Row {
    pub(super) const fn requires(mut self, what: &'static str) -> Self {
        self.requirement = Some(what);
        self
    }
}

pub(super) const DENIED: &[AttemptResult] = &[AttemptResult::Denied];
pub(super) const NO_EFFECT: &[AttemptResult] = &[AttemptResult::NoEffect];
pub(super) const CONTAINED: &[AttemptResult] = &[AttemptResult::Contained];
pub(super) const SUCCEEDED: &[AttemptResult] = &[AttemptResult::Succeeded];
pub(super) const REPORTED: &[AttemptResult] = &[AttemptResult::Reported];
pub(super) const REJECTED: &[AttemptResult] = &[AttemptResult::Rejected];
pub(super) const NOT_APPLICABLE: &[AttemptResult] = &[AttemptResult::NotApplicable];
/// Contained if the host has the mechanism; otherwise the report says that it is unavailable.
pub(super) const CONTAINED_OR_REPORTED: &[AttemptResult] =
    &[AttemptResult::Contained, AttemptResult::Reported];
/// Denied to other users; root may create files in directories that only the run has.
pub(super) const DENIED_OR_CONTAINED: &[AttemptResult] =
    &[AttemptResult::Denied, AttemptResult::Contained];
/// No effect if the kernel is recent enough; otherwise the report says that the restriction is
/// unavailable.
pub(super) const NO_EFFECT_OR_REPORTED: &[AttemptResult] =
    &[AttemptResult::NoEffect, AttemptResult::Reported];
