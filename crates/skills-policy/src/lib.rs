//! Decides what a program may do: a [`Request`] and [`Policy`] in, a [`Authorization`] out.
//!
//! ```text
//! allowed-tools --Request::tool--> Request --Rules--> stored approvals --> a question --> Granted(Grants) | Denied(Denial)
//!                                            deny first  for this content    or no answer: denied
//! ```
//!
//! Nothing is granted that no rule, approval or answer allows, and a deny rule wins over
//! everything. What every program gets, without asking, is little: it may read its own directory
//! and write a private scratch directory. It gets no network, starts no other program and sees no
//! variable of the host.
//!
//! [`Policy::authorize`] decides by rules alone; [`PermissionManager::authorize`] asks an
//! [`Approver`] where they are silent. Each thing that was asked for has a [`PermissionDecision`]
//! that names the rule.
//!
//! [`Grants`] are proof: only decisions make ones that grant anything, so whoever holds them was
//! allowed.
//!
//! ```compile_fail,E0451
//! // No field is public and there is no constructor: grants cannot be written down, only decided.
//! let grants = skills_policy::Grants { files: vec![], ..skills_policy::Grants::none() };
//! ```
//!
//! This crate must never know skills, YAML, files, or how anything is enforced. It cannot read
//! prose, so prose cannot argue with it.
//!
//! ```
//! use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource};
//!
//! let request = Request::new("/skills/deploy").allowed_tool("Read", None).allowed_tool("Bash", Some("git:*"));
//! let Authorization::Denied(denial) = Policy::default().authorize(&request) else { panic!("spawning is denied by default") };
//! assert_eq!(denial.to_string(), "may not start git (asked by Bash(git:*)): no rule allows it, and there was nobody to ask");
//!
//! let rule = Rule::parse(Effect::Allow, RuleSource::User, "spawn:git")?.origin("policy.toml");
//! let policy = Policy::default().rule(rule);
//! let Authorization::Granted(grants) = policy.authorize(&request) else { panic!("it is allowed") };
//! assert!(grants.spawn().allows_program("git") && !grants.spawn().allows_program("curl"));
//! assert_eq!(grants.decisions()[0].reason().to_string(), "by the rule `allow spawn:git (user, policy.toml)`");
//! # Ok::<(), skills_policy::PolicyError>(())
//! ```

mod approval;
mod authorization;
mod capability;
mod decision;
mod error;
#[cfg(feature = "toml")]
mod file;
mod grants;
mod host;
mod limits;
mod path;
mod permission;
mod permission_manager;
mod policy;
mod protected;
mod request;
mod rule;
mod session_approvals;
mod target;
mod variable;

pub use approval::{
    Approval, ApprovalFuture, ApprovalRequest, ApprovalResponse, ApprovalStore, Approver, BoxError,
    ContentStatus, NullApprovalStore,
};
pub use authorization::{Authorization, Denial};
pub use capability::Capability;
pub use decision::{Decision, DecisionReason, PermissionDecision};
pub use error::PolicyError;
#[cfg(feature = "toml")]
pub use file::PolicyFile;
pub use grants::{Access, FileGrant, Grants, NetworkGrant, SpawnGrant};
pub use host::{HostFilter, HostPattern};
pub use limits::ResourceLimits;
pub use permission::Permission;
pub use permission_manager::{Evaluation, PendingApproval, PermissionManager};
pub use policy::{ApprovalMode, NewContentPolicy, Policy};
pub use protected::{PROTECTED_PATHS, fold_name, innermost_protected_name, may_lead_to_protected};
pub use request::{Request, VariableSource};
pub use rule::{Effect, Rule, RuleSource};
pub use target::Target;
pub use variable::{VariablePattern, is_unsafe_variable, is_variable_name};
