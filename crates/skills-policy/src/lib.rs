//! Decides what a program may do: a [`Request`] and [`Rules`] in, a [`Decision`] out.
//!
//! ```text
//! allowed-tools --Request::tool--> Request --Rules::decide--> Granted(Grants) | Denied(Denial)
//! ```
//!
//! Nothing is granted that no rule allows, and a deny rule wins over every allow rule. What every program gets, without asking, is
//! little: it may read its own directory and write a private scratch directory. It gets no network and starts no other program.
//!
//! [`Grants`] are proof: only [`Rules::decide`] makes ones that grant anything, so whoever holds them was allowed.
//!
//! ```compile_fail,E0451
//! // No field is public and there is no constructor: grants cannot be written down, only decided.
//! let grants = skills_policy::Grants { files: vec![], ..skills_policy::Grants::none() };
//! ```
//!
//! This crate must never know skills, YAML, files, or how anything is enforced. It cannot read prose, so prose cannot argue with it.
//!
//! ```
//! use skills_policy::{Capability, Decision, Request, Rules};
//!
//! let request = Request::new("/skills/deploy").tool("Read", None).tool("Bash", Some("git:*"));
//! let Decision::Denied(denial) = Rules::default().decide(&request) else { panic!("spawning is denied by default") };
//! assert_eq!(denial.refusals()[0].to_string(), "spawn (asked by `Bash(git:*)`) is denied: no rule allows it");
//!
//! let Decision::Granted(grants) = Rules::default().allow(Capability::Spawn, "user").decide(&request) else { panic!("it is allowed") };
//! assert!(grants.spawn().allows_program("git") && !grants.spawn().allows_program("curl"));
//! ```

mod capability;
mod decision;
mod grants;
mod limits;
mod request;
mod rules;

pub use capability::Capability;
pub use decision::{Decision, Denial, Refusal};
pub use grants::{Access, FileGrant, Grants, Network, Spawn};
pub use limits::Limits;
pub use request::Request;
pub use rules::Rules;
