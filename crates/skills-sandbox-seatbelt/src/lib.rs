//! Writes the seatbelt profile that confines a script on macOS.
//!
//! ```text
//! Grants + interpreter + script --Profile::new--> Profile (rules as data) --Display--> text for `sandbox-exec -f`
//! ```
//!
//! The profile is that of the OpenSkills flow: everything denied, then the system's libraries, temporary directories, the skill
//! read-only, granted directories, the interpreter; network and processes only with a grant. It differs where the flow is unsafe:
//! only the one interpreter may be executed, hosts by name are refused because a profile cannot name them, and no text of a path can
//! end a string or start a rule.
//!
//! Computing a profile starts nothing and works on every system. This crate does not run `sandbox-exec` yet: on macOS, native scripts
//! are refused and WebAssembly runs.
//!
//! This crate must never know what a skill is.
//!
//! ```
//! use skills_policy::{Decision, Request, Rules};
//! use skills_sandbox_seatbelt::Profile;
//!
//! let Decision::Granted(grants) = Rules::default().decide(&Request::new("/skills/pdf")) else { panic!("granted") };
//! let profile = Profile::new(&grants, "/usr/bin/python3".as_ref(), "/skills/pdf/scripts/run.py".as_ref())?;
//! assert!(profile.to_string().contains("(allow file-read* (subpath \"/skills/pdf\"))"));
//! # Ok::<(), skills_sandbox_seatbelt::ProfileError>(())
//! ```

mod error;
mod profile;
mod quote;
mod rule;

pub use error::ProfileError;
pub use profile::Profile;
pub use rule::{Filter, Operation, Rule};
