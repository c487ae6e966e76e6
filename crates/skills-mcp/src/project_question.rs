//! The question whether the skills of a project may be used, which its user has not trusted.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value};
use skills_tools::WaitingSkills;
use skills_tools::runtime::{Answer, Approver};

use crate::Server;
use crate::caller::Caller;
use crate::elicitation::ElicitationApprover;
use crate::server::Tenancy;

/// The project of a server, and how the answer of its user is kept.
pub(crate) struct Project {
    /// Its canonical path.
    pub(crate) directory: PathBuf,
    pub(crate) record: Box<RecordTrust>,
}

/// Stores that the user trusts skills with their present content.
pub(crate) type RecordTrust =
    dyn Fn(&WaitingSkills) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync;

/// Whether the user of a connection was asked, whatever the answer was: a project that changes its
/// skills cannot make a client ask again and again.
#[derive(Default)]
pub(crate) struct ProjectQuestion(AtomicBool);

/// The part of a call that decides whether it asks.
pub(crate) struct AskingCall<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Map<String, Value>,
    /// Whether the client sent an answer with the call.
    pub(crate) has_response: bool,
}

impl AskingCall<'_> {
    /// Returns true if a model looks for skills.
    fn is_about_skills(&self) -> bool {
        let path = || self.arguments.get("path").and_then(Value::as_str);
        match self.tool {
            "search_skills" | "load_skill" => true,
            "skills_ls" => path().is_some_and(|path| path.trim_matches('/') == "skills"),
            _ => false,
        }
    }
}

impl ProjectQuestion {
    /// Asks the user once per connection, if skills wait, and activates those of a positive answer. The
    /// approver [has the prompt](ElicitationApprover::unresolved) if the client shows it and calls again.
    ///
    /// One user of several does not decide for the others, and over HTTP without a session it is not known
    /// who was asked.
    pub(crate) async fn ask(
        &self,
        server: &Server,
        caller: &Caller,
        call: AskingCall<'_>,
        approver: &ElicitationApprover,
        context: &RequestContext<RoleServer>,
    ) {
        let inner = &server.inner;
        let Some(project) = &inner.project else {
            return;
        };
        let can_ask = caller.supports_elicitation
            && caller.session.is_some()
            && inner.tenancy == Tenancy::SingleUser;
        let is_open = || call.has_response || !self.0.load(Ordering::Relaxed);
        if !can_ask || !call.is_about_skills() || !is_open() {
            return;
        }
        let waiting = server.run_blocking(|server| server.tools().waiting_skills());
        let Ok(Some(waiting)) = waiting.await else {
            return;
        };
        if waiting.skills().is_empty() {
            return;
        }
        // Of two calls at the same time, one asks.
        let was_asked = self.0.swap(true, Ordering::Relaxed);
        if was_asked && !call.has_response {
            return;
        }
        let question = waiting.question(&project.directory);
        let answer = tokio::select! {
            answer = approver.ask(&question) => answer,
            () = context.ct.cancelled() => return,
            () = inner.cancel_calls.cancelled() => return,
        };
        match answer {
            Ok(Some(Answer::AllowAlways)) => trust(server, waiting).await,
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "no answer about the skills of the project"),
        }
    }
}

async fn trust(server: &Server, waiting: WaitingSkills) {
    let trust = move |server: &Server| {
        let project = server.inner.project.as_ref();
        if let Some(Err(error)) = project.map(|project| (project.record)(&waiting)) {
            tracing::warn!("the answer about the skills of the project is not kept: {error}");
        }
        server.tools().trust_skills(&waiting);
    };
    if let Err(error) = server.run_blocking(trust).await {
        tracing::warn!("cannot trust the skills of the project: {}", error.message);
    }
}
