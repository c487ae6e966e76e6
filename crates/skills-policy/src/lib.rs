//! Decides what a program may do: a [`Request`] and a [`Policy`] in, an [`Authorization`] out.
//!
//! ```text
//! allowed-tools --Request::allowed_tool--> Request
//!                                             |
//!     Policy: deny rules, ask rules, allow rules, mode
//!                                             |
//!     ApprovalStore, approvals of the session (for exactly this content)
//!                                             |
//!     Approver: Question -> Answer (none: denied)
//!                                             |
//!                         Granted(Grants) | Denied(Denial)
//! ```
//!
//! Nothing is granted that no rule, approval or answer allows, and a `deny` rule overrides
//! everything. Without any rule a program gets little: it may read its skill directory and write a
//! private scratch directory. It has no network, spawns no other program and gets no variable of
//! the host.
//!
//! [`Policy::authorize`] decides by rules alone; [`PermissionManager::authorize`] additionally uses
//! stored approvals and asks an [`Approver`]. Each requested permission has a
//! [`PermissionDecision`] that names the rule or answer that decided.
//!
//! [`Grants`] are proof of authorization: only decisions create grants that allow anything.
//!
//! ```compile_fail,E0451
//! // No field is public and there is no constructor: grants cannot be written, only decided.
//! let grants = skills_policy::Grants { files: vec![], ..skills_policy::Grants::none() };
//! ```
//!
//! This crate must not know skills, YAML, files, or how grants are enforced. It does not read
//! prose, so text of a skill cannot influence a decision.
//!
//! ```
//! use skills_policy::{Authorization, Effect, Policy, Request, Rule, RuleSource};
//!
//! let request = Request::new("/skills/deploy")
//!     .allowed_tool("Read", None)
//!     .allowed_tool("Bash", Some("git:*"));
//! let Authorization::Denied(denial) = Policy::default().authorize(&request) else {
//!     panic!("spawning is denied by default")
//! };
//! assert_eq!(
//!     denial.to_string(),
//!     "permission denied: spawn `git` (requested by `Bash(git:*)`): \
//!      no rule allows it and no approver is available"
//! );
//!
//! let rule = Rule::parse(Effect::Allow, RuleSource::User, "spawn:git")?.origin("policy.toml");
//! let policy = Policy::default().rule(rule);
//! let Authorization::Granted(grants) = policy.authorize(&request) else {
//!     panic!("a rule allows it")
//! };
//! assert!(grants.spawn().allows_program("git") && !grants.spawn().allows_program("curl"));
//! assert_eq!(
//!     grants.decisions()[0].explanation(),
//!     "granted by rule `allow spawn:git (user, policy.toml)`"
//! );
//! # Ok::<(), skills_policy::PolicyError>(())
//! ```

mod answer;
mod approval;
mod approval_mode;
mod authorization;
mod capability;
mod decision;
mod earlier_attempt;
mod error;
mod evaluation_result;
mod executed_files;
#[cfg(feature = "toml")]
mod file;
mod free_program;
mod grants;
mod host;
mod install_policy;
mod key_paths;
mod limits;
mod numeric_address;
mod package;
mod path;
mod permission;
mod permission_manager;
mod policy;
mod protected_paths;
mod question;
mod refused_permissions;
mod request;
mod requester;
mod rule;
mod rule_matching;
mod rule_requests;
mod sandbox_choice;
mod secret;
mod sensitive;
mod session_approvals;
mod suggestion;
mod target;
mod variable;

pub use answer::Answer;
pub use approval::{
    AnswerFuture, Approval, ApprovalStore, Approver, BoxError, NullApprovalStore, approver_fn,
};
pub use approval_mode::{ApprovalMode, NewContentPolicy, RecordMode};
pub use authorization::{Authorization, Denial};
pub use capability::Capability;
pub use decision::{Decision, DecisionReason, MissingPath, PermissionDecision};
pub use earlier_attempt::EarlierAttempt;
pub use error::PolicyError;
#[cfg(feature = "toml")]
pub use file::PolicyFile;
pub use free_program::FreeProgram;
pub use grants::{Access, FileGrant, Grants, NetworkGrant, SpawnGrant};
pub use host::{HostFilter, HostPattern};
pub use install_policy::{InstallPolicy, SignatureIdentity};
pub use key_paths::{ends_key_path, is_key_by_content, key_part, key_path};
pub use limits::ResourceLimits;
pub use package::PackagePattern;
pub use permission::Permission;
pub use permission_manager::{Evaluation, PendingQuestion, PermissionManager};
pub use policy::Policy;
pub use protected_paths::{
    ends_executed_path, file_reader, fold_name, innermost_protected_name, may_lead_to_protected,
    protected_paths,
};
pub use question::{ContentStatus, Coverage, Question, RaisedLimit, RunEffects, Subject};
pub use request::{Request, VariableSource};
pub use rule::{Effect, Rule, RuleSource};
pub use sandbox_choice::{SandboxChoice, SandboxRequirement};
pub use secret::Secret;
pub use sensitive::{host_caution, path_caution};
pub use target::Target;
pub use variable::{VariablePattern, is_unsafe_variable, is_variable_name};
