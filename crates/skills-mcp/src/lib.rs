//! Serves skills and their tools over the Model Context Protocol.
//!
//! `rmcp` is used in this crate alone. It must never know the files of skills or the policy.

#[cfg(feature = "http")]
mod http;
mod principal;

#[cfg(feature = "http")]
pub use crate::http::{Bound, Http, HttpError, HttpErrorKind, Token, TokenError};
pub use crate::principal::Principal;
