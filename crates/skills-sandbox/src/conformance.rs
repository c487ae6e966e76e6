//! The one table of escape attempts that every backend answers, and the check of its answers.
//!
//! ```text
//! CASES: 101 attempts --a backend's tests make them--> number -> Answer, or why it was skipped --check--> Ok | what differs
//! ```
//!
//! The table says what must come of each attempt in each [`BackendVariant`]; how an attempt is made
//! is the backend's to know, and what it answers must have been observed. A case without an answer
//! is a failure like a wrong one, so no backend can forget one.
//!
//! ```
//! use std::collections::BTreeMap;
//! use skills_sandbox::conformance::{Answer, CASES, Column, check};
//!
//! let mut answers: BTreeMap<u8, _> = CASES.iter().map(|case| (case.number, Ok(case.expected(Column::Isolated)[0]))).collect();
//! assert_eq!(check(Column::Isolated, &answers), Ok(()));
//! answers.insert(1, Ok(Answer::Works));
//! let mismatches = check(Column::Isolated, &answers).unwrap_err();
//! assert_eq!(mismatches[0].to_string(), "1 read-secrets: expected denied, but it works");
//! ```

mod attempt_result;
mod case;
mod cases;
mod check;

pub use attempt_result::AttemptResult;
pub use case::{BackendVariant, Case, Category};
pub use cases::CASES;
pub use check::{Mismatch, Skipped, assert_conforms, check};
