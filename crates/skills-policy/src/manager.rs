//! Rules, approvals and whoever is asked, together.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use crate::approval::NoStore;
use crate::rules::Ruling;
use crate::{
    Answer, Approval, ApprovalStore, Approver, AskError, Content, Decision, Denial, Fate, Layer, Mode, NewContent, Permission, Question,
    Reason, Request, Rules, Verdict,
};

/// Decides by rules, stored approvals and answers, in this order.
///
/// Defaults: the default [`Rules`], nobody to ask, no store. Then everything that would have to be asked for is denied.
#[must_use]
pub struct PermissionManager {
    rules: Rules,
    approver: Option<Arc<dyn Approver>>,
    store: Arc<dyn ApprovalStore>,
    session: Mutex<Vec<Approval>>,
}

/// What is left to ask.
struct Open {
    ruling: Ruling,
    question: Question,
    /// Whether the content itself has to be approved.
    is_content_open: bool,
}

impl Default for PermissionManager {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl PermissionManager {
    /// Decides by these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, approver: None, store: Arc::new(NoStore), session: Mutex::default() }
    }

    /// Asks this one.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// Keeps approvals here.
    pub fn store(mut self, store: Arc<dyn ApprovalStore>) -> Self {
        self.store = store;
        self
    }

    /// Returns the rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Says whether the digest of the content matters to the decision. Without power and without a question it does not.
    #[must_use]
    pub fn needs_content(&self, request: &Request) -> bool {
        let ruling = self.rules.examine(request);
        ruling.verdicts.iter().any(|verdict| verdict.fate == Fate::Open) || self.asks_for_content(&ruling)
    }

    /// Says what would have to be asked; nothing when rules and approvals decide.
    #[must_use]
    pub fn question(&self, request: &Request) -> Option<Question> {
        if self.rules.undecided() == Mode::Strict {
            return None;
        }
        self.examine(request).err().map(|open| open.question)
    }

    /// Decides, and asks where that is needed: `approver`, else the manager's own.
    pub async fn decide(&self, request: &Request, approver: Option<&dyn Approver>) -> Decision {
        let open = match self.examine(request) {
            Ok(decision) => return decision,
            Err(open) => open,
        };
        let approver = approver.or(self.approver.as_deref());
        let (fate, reason) = match approver {
            _ if self.rules.undecided() == Mode::Strict => (Fate::Denied, Reason::Strict),
            None => (Fate::Denied, Reason::NobodyAsked),
            Some(approver) => match caught(approver, &open.question).await {
                Ok(Some(Answer::Deny)) => (Fate::Denied, Reason::Answered { answer: Answer::Deny, not_stored: None }),
                Ok(Some(answer)) => (Fate::Granted, self.remember(request, &open, answer)),
                Ok(None) => (Fate::Denied, Reason::NoAnswer),
                Err(error) => (Fate::Denied, Reason::AskingFailed { error: error.to_string() }),
            },
        };
        self.settle(request, open, fate, &reason)
    }

    /// Says what would be decided if nobody was asked.
    pub fn preview(&self, request: &Request) -> Decision {
        match self.examine(request) {
            Ok(decision) => decision,
            Err(open) => {
                let reason = if self.rules.undecided() == Mode::Strict { Reason::Strict } else { Reason::NobodyAsked };
                self.settle(request, open, Fate::Denied, &reason)
            }
        }
    }

    /// Approves, as an answer of [`Answer::Always`] would, all that the rules leave open, without running anything.
    ///
    /// # Errors
    /// When there is no digest, or the store fails. What rules forbid is not approved: then the decision says so.
    pub fn approve(&self, request: &Request) -> Result<Decision, AskError> {
        let open = match self.examine(request) {
            Ok(Decision::Denied(denial)) => return Ok(Decision::Denied(denial)),
            Ok(Decision::Granted(_)) => None,
            Err(open) => Some(open),
        };
        let wanted = open.as_ref().map_or(&[][..], |open| &open.question.open);
        self.store.save(&self.approval(request, wanted).ok_or("the content has no digest")?)?;
        Ok(self.preview(request))
    }

    /// Applies rules, then approvals.
    fn examine(&self, request: &Request) -> Result<Decision, Box<Open>> {
        let mut ruling = self.rules.examine(request);
        if ruling.verdicts.iter().any(|verdict| verdict.fate == Fate::Denied) {
            // Nothing of it will run, so nobody is asked about the rest.
            let open = ruling.verdicts.iter_mut().filter(|verdict| verdict.fate == Fate::Open);
            open.for_each(|verdict| verdict.settle(Fate::Denied, Reason::Moot));
            return Ok(self.rules.conclude(request, ruling));
        }
        let may_ask = self.asks_for_content(&ruling) || ruling.verdicts.iter().any(|verdict| verdict.fate == Fate::Open);
        if !may_ask {
            return Ok(self.rules.conclude(request, ruling));
        }
        let mut notes = Vec::new();
        let stored = self.store.load(&request.directory).unwrap_or_else(|error| {
            notes.push(format!("stored approvals cannot be read: {error}"));
            None
        });
        let approved = self.approved(request, stored.as_ref());
        let is_content_open = approved.is_empty() && self.asks_for_content(&ruling);
        for verdict in ruling.verdicts.iter_mut().filter(|verdict| verdict.fate == Fate::Open) {
            if approved.iter().any(|approval| approval.covers(&verdict.permission)) {
                verdict.settle(Fate::Granted, Reason::Approved);
            }
        }
        if !is_content_open && ruling.verdicts.iter().all(|verdict| verdict.fate == Fate::Granted) {
            return Ok(self.rules.conclude(request, ruling));
        }
        let question = self.ask(request, &ruling, stored.as_ref(), !approved.is_empty(), notes);
        Err(Box::new(Open { ruling, question, is_content_open }))
    }

    /// Whether content that was never approved has to be asked for.
    fn asks_for_content(&self, ruling: &Ruling) -> bool {
        match self.rules.content() {
            NewContent::Ask => true,
            NewContent::AskWithPower => ruling.verdicts.iter().any(is_standing_power),
            NewContent::Allow => false,
        }
    }

    /// The approvals for just this content.
    fn approved(&self, request: &Request, stored: Option<&Approval>) -> Vec<Approval> {
        let Some(digest) = &request.digest else { return Vec::new() };
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let is_this = |approval: &&Approval| approval.digest == *digest && approval.directory == request.directory;
        stored.into_iter().chain(session.iter()).filter(is_this).cloned().collect()
    }

    fn ask(&self, request: &Request, ruling: &Ruling, stored: Option<&Approval>, is_known: bool, mut notes: Vec<String>) -> Question {
        let with = |fate: Fate| ruling.verdicts.iter().filter(|verdict| verdict.fate == fate).cloned().collect::<Vec<_>>();
        let content = match stored {
            _ if is_known => Content::Known,
            Some(before) if request.digest.is_some() => changed(before, &ruling.verdicts),
            _ => Content::New,
        };
        if request.digest.is_none() {
            notes.push("its content has no digest, so an answer holds for this run only".to_owned());
        }
        if ruling.verdicts.iter().any(|verdict| verdict.permission == Permission::ListedHosts) && ruling.listed_hosts.is_empty() {
            notes.push("no rule lists hosts, so all of them could be reached".to_owned());
        }
        Question {
            name: request.name.clone(),
            directory: request.directory.clone(),
            digest: request.digest.clone(),
            command: request.command.clone(),
            open: with(Fate::Open),
            granted: with(Fate::Granted),
            content,
            limits: self.rules.limits(request),
            notes,
        }
    }

    /// Keeps an answer for as long as it should hold; what cannot be stored holds for the session.
    fn remember(&self, request: &Request, open: &Open, answer: Answer) -> Reason {
        let mut not_stored = None;
        if let (Answer::Session | Answer::Always, Some(approval)) = (answer, self.approval(request, &open.question.open)) {
            let is_stored = answer == Answer::Always && {
                not_stored = self.store.save(&approval).err().map(|error| error.to_string());
                not_stored.is_none()
            };
            if !is_stored {
                self.session.lock().unwrap_or_else(PoisonError::into_inner).push(approval);
            }
        }
        Reason::Answered { answer, not_stored }
    }

    /// What was approved before for this content, and `wanted` on top.
    fn approval(&self, request: &Request, wanted: &[Verdict]) -> Option<Approval> {
        let (digest, directory) = (request.digest.clone()?, request.directory.clone());
        let stored = self.store.load(&directory).ok().flatten();
        let before = self.approved(request, stored.as_ref()).into_iter().flat_map(|approval| approval.permissions);
        let permissions = before.chain(wanted.iter().map(|verdict| verdict.permission.clone())).collect();
        let asked_for = request.permissions().into_iter().filter(|permission| permission.capability().is_dangerous()).collect();
        Some(Approval { name: request.name.clone(), directory, digest, permissions, asked_for })
    }

    fn settle(&self, request: &Request, open: Box<Open>, fate: Fate, reason: &Reason) -> Decision {
        let Open { mut ruling, is_content_open, .. } = *open;
        for verdict in ruling.verdicts.iter_mut().filter(|verdict| verdict.fate == Fate::Open) {
            verdict.settle(fate, reason.clone());
        }
        if fate == Fate::Denied && is_content_open {
            return Decision::Denied(Denial { verdicts: ruling.verdicts, content: Some(reason.to_string()) });
        }
        self.rules.conclude(request, ruling)
    }
}

/// A power that a rule gives which was written before this run.
fn is_standing_power(verdict: &Verdict) -> bool {
    let standing = match &verdict.reason {
        Reason::Rule { layer, .. } => *layer != Layer::Session,
        Reason::Trusted => true,
        _ => false,
    };
    standing && verdict.fate == Fate::Granted && verdict.permission.capability().is_dangerous()
}

fn changed(before: &Approval, verdicts: &[Verdict]) -> Content {
    let is_dangerous = |permission: &&Permission| permission.capability().is_dangerous();
    let now: Vec<&Permission> = verdicts.iter().map(|verdict| &verdict.permission).filter(is_dangerous).collect();
    let grown = now.iter().filter(|asked| !before.asked_for.iter().any(|old| old.covers(asked))).map(|asked| (*asked).clone());
    let shrunk = before.asked_for.iter().filter(|old| !now.iter().any(|asked| asked.covers(old))).cloned();
    Content::Changed { grown: grown.collect(), shrunk: shrunk.collect() }
}

/// Asks; a panic is an error like any other.
async fn caught(approver: &dyn Approver, question: &Question) -> Result<Option<Answer>, AskError> {
    let panicked = |_| AskError::from("whoever was asked panicked");
    let mut answering = catch_unwind(AssertUnwindSafe(|| approver.ask(question))).map_err(panicked)?;
    poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
        Ok(poll) => poll,
        Err(payload) => Poll::Ready(Err(panicked(payload))),
    })
    .await
}
