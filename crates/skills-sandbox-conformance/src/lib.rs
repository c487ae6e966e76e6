//! The conformance suite of sandbox backends: one table of escape attempts, and the check of their
//! results.
//!
//! ```text
//! CASES: 101 attempts --tests of a backend--> number -> AttemptResult | SkippedCase --check--> Ok | Mismatch
//! ```
//!
//! The table holds the required result of each attempt in each [`BackendVariant`]. A backend
//! makes the attempts, of which [`attempts`] has those that Python can make, and reports results that it
//! observed ([`Observations`]). A missing result fails like a wrong one, so no backend can omit a case.
//!
//! ```
//! use std::collections::BTreeMap;
//! use skills_sandbox_conformance::{AttemptResult, BackendVariant, CASES, check};
//!
//! let variant = BackendVariant::LinuxNamespaces;
//! let mut results: BTreeMap<u8, _> = CASES
//!     .iter()
//!     .map(|case| (case.number, Ok(case.expected(variant)[0])))
//!     .collect();
//! assert_eq!(check(variant, &results), Ok(()));
//! results.insert(1, Ok(AttemptResult::Succeeded));
//! let mismatches = check(variant, &results).unwrap_err();
//! assert_eq!(mismatches[0].to_string(), "1 read-secrets: expected denied, but it succeeds");
//! ```

mod attempt_result;
pub mod attempts;
mod case;
mod cases;
mod check;
mod observations;

pub use attempt_result::AttemptResult;
pub use case::{BackendVariant, Case, Category};
pub use cases::CASES;
pub use check::{Mismatch, SkippedCase, assert_conforms, check};
pub use observations::Observations;
