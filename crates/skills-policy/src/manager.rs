//! Rules, approvals and whoever is asked, together.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use crate::answers::{Answers, Put};
use crate::approval::NoStore;
use crate::rules::Ruling;
use crate::{
    Answer, Approval, ApprovalStore, Approver, AskError, Content, Decision, Denial, Fate, HostPattern, Layer, Mode, NewContent, Permission,
    Question, Reason, Request, Rules, Verdict,
};

/// The most things that somebody is asked about at once. Whoever wants more is denied: nobody reads it.
const MAX_OPEN: usize = 64;

/// Decides by rules, stored approvals and answers, in this order.
///
/// Defaults: the default [`Rules`], nobody to ask, no store. Then everything that would have to be asked for is denied. Of each session
/// the answers for at most 200 contents are remembered, and of more its oldest is forgotten; of all sessions together 10,000, and of more the oldest of the
/// session that has most.
#[must_use]
pub struct PermissionManager {
    rules: Rules,
    approver: Option<Arc<dyn Approver>>,
    store: Arc<dyn ApprovalStore>,
    answers: Answers,
}

/// What rules and approvals come to.
#[derive(Debug)]
#[must_use]
pub enum Examined {
    /// They decide.
    Decided(Box<Decision>),
    /// Somebody has to be asked.
    Open(Box<Pending>),
}

/// A decision that an answer is missing to.
#[derive(Debug)]
pub struct Pending {
    request: Request,
    ruling: Ruling,
    question: Question,
    /// Whether the content itself has to be approved.
    is_content_open: bool,
    /// Why stored approvals do not count.
    trouble: Vec<String>,
    put: Put,
}

impl Pending {
    /// Returns what is to be asked.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }
}

impl Default for PermissionManager {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}

impl PermissionManager {
    /// Decides by these rules.
    pub fn new(rules: Rules) -> Self {
        Self { rules, approver: None, store: Arc::new(NoStore), answers: Answers::default() }
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

    /// Decides, and asks where that is needed: `approver`, else the manager's own.
    pub async fn decide(&self, request: &Request, approver: Option<&dyn Approver>) -> Decision {
        match self.examine(request) {
            Examined::Decided(decision) => *decision,
            Examined::Open(pending) => self.ask(*pending, approver).await,
        }
    }

    /// Says what would be decided if nobody was asked.
    pub fn preview(&self, request: &Request) -> Decision {
        match self.examine(request) {
            Examined::Decided(decision) => *decision,
            Examined::Open(pending) => self.without_answer(*pending),
        }
    }

    /// Applies rules, then approvals.
    pub fn examine(&self, request: &Request) -> Examined {
        let put = self.answers.put();
        let mut ruling = self.rules.examine(request);
        let is_open = |verdict: &Verdict| verdict.fate == Fate::Open;
        let open = ruling.verdicts.iter().filter(|verdict| is_open(verdict)).count();
        let is_denied = ruling.verdicts.iter().any(|verdict| verdict.fate == Fate::Denied);
        if is_denied || open > MAX_OPEN {
            // Nothing of it will run, so nobody is asked about the rest.
            let reason = if is_denied { Reason::Moot } else { Reason::TooMany { things: open } };
            ruling.verdicts.iter_mut().filter(|verdict| is_open(verdict)).for_each(|verdict| verdict.settle(Fate::Denied, reason.clone()));
            return Examined::Decided(Box::new(self.rules.conclude(request, ruling)));
        }
        if open == 0 && !self.asks_for_content(&ruling, &[]) {
            return Examined::Decided(Box::new(self.rules.conclude(request, ruling)));
        }
        let mut notes = Vec::new();
        let stored = self.store.load(&request.directory).unwrap_or_else(|error| {
            notes.push(format!("stored approvals cannot be read: {error}"));
            None
        });
        let approved = self.approved(request, stored.as_ref());
        let is_content_open = self.asks_for_content(&ruling, &approved) && self.asks_for_content(&ruling, &self.answered(request));
        let of_words = self.answered(request);
        for verdict in ruling.verdicts.iter_mut().filter(|verdict| is_open(verdict)) {
            let by_content = if request.is_made_up(&verdict.permission) { &[][..] } else { &approved };
            if by_content.iter().chain(&of_words).any(|approval| approval.covers(&verdict.permission)) {
                verdict.settle(Fate::Granted, Reason::Approved);
            }
        }
        if !is_content_open && !ruling.verdicts.iter().any(is_open) {
            return Examined::Decided(Box::new(self.rules.conclude(request, ruling)));
        }
        let trouble = notes.clone();
        let mut question = self.question(request, &ruling, stored.as_ref(), &approved, notes);
        question.asks_for_content = is_content_open;
        Examined::Open(Box::new(Pending { request: request.clone(), ruling, question, is_content_open, trouble, put }))
    }

    /// Asks `approver`, else the manager's own, and decides by the answer.
    pub async fn ask(&self, pending: Pending, approver: Option<&dyn Approver>) -> Decision {
        let approver = approver.or(self.approver.as_deref());
        let (fate, reason) = match approver {
            _ if self.rules.undecided() == Mode::Strict => (Fate::Denied, Reason::Strict),
            None => (Fate::Denied, Reason::NobodyAsked),
            Some(approver) => match caught(approver, &pending.question).await {
                Ok(Some(Answer::Deny)) => (Fate::Denied, Reason::Answered { answer: Answer::Deny, not_stored: None }),
                Ok(Some(answer)) => (Fate::Granted, self.remember(&pending, answer)),
                Ok(None) => (Fate::Denied, Reason::NoAnswer),
                Err(error) => (Fate::Denied, Reason::AskingFailed { error: error.to_string() }),
            },
        };
        self.settle(pending, fate, &reason)
    }

    /// Decides without an answer, because none came in time.
    pub fn unanswered(&self, pending: Pending) -> Decision {
        self.settle(pending, Fate::Denied, &Reason::NoAnswer)
    }

    /// Forgets what was answered for a [session](Request::session). The answer to a question that is open then
    /// holds for its own run alone.
    pub fn forget_session(&self, session: &str) {
        self.answers.forget(session);
    }

    fn without_answer(&self, pending: Pending) -> Decision {
        self.settle(pending, Fate::Denied, &self.rules.silence())
    }

    /// Approves for good what was asked, as an answer of [`Answer::Always`] would, without running anything. Works in strict mode too.
    ///
    /// # Errors
    /// When there is no digest, or the store fails.
    pub fn approve(&self, pending: Pending) -> Result<Decision, AskError> {
        if pending.request.words.is_some() {
            return Err("a command is approved when it is to run, not beforehand".into());
        }
        let approval = self.approval(&pending, Answer::Always).ok_or("the content has no digest")?;
        self.store.save(&approval)?;
        let reason = Reason::Answered { answer: Answer::Always, not_stored: None };
        Ok(self.settle(pending, Fate::Granted, &reason))
    }

    /// Whether the content has to be asked for: nobody approved it at all, or not for a power that rules would give it now.
    fn asks_for_content(&self, ruling: &Ruling, approved: &[Approval]) -> bool {
        let is_known = |verdict: &Verdict| approved.iter().any(|approval| approval.has_seen(&verdict.permission));
        match self.rules.unapproved() {
            NewContent::Ask if approved.is_empty() => true,
            NewContent::Ask | NewContent::AskWithPower => {
                ruling.verdicts.iter().any(|verdict| is_standing_power(verdict) && !is_known(verdict))
            }
            NewContent::Allow => false,
        }
    }

    /// The approvals for just this content.
    fn approved(&self, request: &Request, stored: Option<&Approval>) -> Vec<Approval> {
        let stored = stored.filter(|approval| is_for(approval, request)).cloned();
        stored.into_iter().chain(self.answers.of(request.session.as_deref(), |approval| is_for(approval, request))).collect()
    }

    /// The answers of the request's session to just these words.
    fn answered(&self, request: &Request) -> Vec<Approval> {
        let Some(words) = request.words_for_content() else { return Vec::new() };
        self.answers.of(request.session.as_deref(), |approval| approval.digest == words && approval.directory == request.directory)
    }

    fn question(
        &self,
        request: &Request,
        ruling: &Ruling,
        stored: Option<&Approval>,
        approved: &[Approval],
        mut notes: Vec<String>,
    ) -> Question {
        let with = |fate: Fate| ruling.verdicts.iter().filter(|verdict| verdict.fate == fate).cloned().collect::<Vec<_>>();
        let content = match stored {
            _ if !approved.is_empty() => Content::Known,
            Some(before) if request.digest.is_some() => changed(before, request),
            _ => Content::New,
        };
        if request.digest.is_none() {
            let note = "its content has no digest, so an answer holds for this run only, and a change until it is given is not noticed";
            notes.push(note.to_owned());
        }
        if with(Fate::Open).iter().any(|verdict| verdict.permission == Permission::Host(HostPattern::ANY)) {
            notes.push("all hosts could be reached".to_owned());
        }
        if with(Fate::Open).iter().any(|verdict| matches!(verdict.permission, Permission::WriteProtected { .. })) {
            notes.push("DANGEROUS: what is written to a protected path can run outside of any sandbox later".to_owned());
        }
        Question {
            name: request.name.clone(),
            directory: request.directory.clone(),
            digest: request.digest.clone(),
            is_digest_of_words: !request.is_home,
            command: request.command.clone(),
            is_made_up: request.words.is_some(),
            open: with(Fate::Open),
            granted: with(Fate::Granted),
            content,
            asks_for_content: false,
            limits: self.rules.limits(request),
            notes,
        }
    }

    /// Keeps an answer for as long as it should hold; what cannot be stored holds for the session.
    fn remember(&self, pending: &Pending, answer: Answer) -> Reason {
        let mut not_stored = None;
        if answer == Answer::Always && pending.request.words.is_some() {
            not_stored = Some("an answer to a command holds for the session at most".to_owned());
        } else if answer == Answer::Always
            && let Some(approval) = self.approval(pending, answer)
        {
            not_stored = self.store.save(&approval).err().map(|error| error.to_string());
        }
        if (answer == Answer::Session || not_stored.is_some())
            && let Some(approval) = self.approval(pending, Answer::Session)
        {
            self.answers.keep(pending.request.session.as_deref(), pending.put, approval);
        }
        Reason::Answered { answer, not_stored }
    }

    /// What was asked; for good, with what is stored for just this content. What holds for the session never becomes permanent by another answer.
    fn approval(&self, pending: &Pending, answer: Answer) -> Option<Approval> {
        let request = &pending.request;
        let digest = if request.words.is_some() { request.words_for_content() } else { request.digest.clone() }?;
        let mut permissions: BTreeSet<Permission> = pending.question.open.iter().map(|verdict| verdict.permission.clone()).collect();
        let stored = if answer == Answer::Always { self.store.load(&request.directory).ok().flatten() } else { None };
        let is_dangerous = |verdict: &&Verdict| verdict.permission.capability().is_dangerous();
        let mut granted: BTreeSet<Permission> =
            pending.question.granted.iter().filter(is_dangerous).map(|verdict| verdict.permission.clone()).collect();
        if let Some(stored) = stored.filter(|stored| is_for(stored, request)) {
            permissions.extend(stored.permissions);
            granted.extend(stored.granted);
        }
        let (name, directory, declared) = (request.name.clone(), request.directory.clone(), request.declared());
        Some(Approval { name, directory, digest, permissions, granted, declared })
    }

    fn settle(&self, pending: Pending, fate: Fate, reason: &Reason) -> Decision {
        let Pending { request, mut ruling, is_content_open, trouble, .. } = pending;
        for verdict in ruling.verdicts.iter_mut().filter(|verdict| verdict.fate == Fate::Open) {
            verdict.settle(fate, reason.clone());
        }
        if fate == Fate::Denied && is_content_open {
            return Decision::Denied(Denial { verdicts: ruling.verdicts, content: Some(reason.to_string()), notes: trouble });
        }
        match self.rules.conclude(&request, ruling) {
            Decision::Denied(denial) => Decision::Denied(Denial { notes: trouble, ..denial }),
            granted => granted,
        }
    }
}

fn is_for(approval: &Approval, request: &Request) -> bool {
    request.digest.as_deref() == Some(approval.digest.as_str()) && approval.directory == request.directory
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

fn changed(before: &Approval, request: &Request) -> Content {
    let now = request.declared();
    Content::Changed {
        grown: now.difference(&before.declared).cloned().collect(),
        shrunk: before.declared.difference(&now).cloned().collect(),
    }
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
