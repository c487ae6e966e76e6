//! Questions, stored approvals and approvals of sessions.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use insta::assert_snapshot;
use skills_policy::{
    Answer, AnswerFuture, Approval, ApprovalMode, ApprovalStore, Approver, Authorization, BoxError,
    Capability, ContentStatus, Decision, Effect, Evaluation, NewContentPolicy, PendingQuestion,
    PermissionManager, Policy, Question, Request, ResourceLimits, Rule, RuleSource, SpawnGrant,
    VariableSource,
};

/// Returns the value of a future that is ready at once.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("all futures of these tests are ready at once"),
    }
}

/// An approver that always gives the same response and records the requests.
pub(crate) struct Host {
    answer: Result<Option<Answer>, &'static str>,
    asked: Mutex<Vec<Question>>,
}

impl Host {
    pub(crate) fn new(answer: Answer) -> Arc<Self> {
        Self::with(Ok(Some(answer)))
    }

    pub(crate) fn with(answer: Result<Option<Answer>, &'static str>) -> Arc<Self> {
        Arc::new(Self {
            answer,
            asked: Mutex::default(),
        })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Question {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

impl Approver for Host {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        self.asked.lock().unwrap().push(question.clone());
        Box::pin(std::future::ready(self.answer.map_err(BoxError::from)))
    }
}

#[derive(Default)]
pub(crate) struct Memory(pub(crate) Mutex<Vec<Approval>>);

impl ApprovalStore for Memory {
    fn load(&self, directory: &Path) -> Result<Option<Approval>, BoxError> {
        Ok(self
            .0
            .lock()
            .unwrap()
            .iter()
            .find(|approval| approval.directory == directory)
            .cloned())
    }

    fn save(&self, approval: &Approval) -> Result<(), BoxError> {
        let mut all = self.0.lock().unwrap();
        all.retain(|known| known.directory != approval.directory);
        all.push(approval.clone());
        Ok(())
    }
}

/// A store on a disk that fails.
struct Broken;
impl ApprovalStore for Broken {
    fn load(&self, _: &Path) -> Result<Option<Approval>, BoxError> {
        Err("the disk is gone".into())
    }
    fn save(&self, _: &Approval) -> Result<(), BoxError> {
        Err("the disk is gone".into())
    }
}

pub(crate) fn deploy(digest: &str) -> Request {
    let request = Request::new("/skills/deploy")
        .display_name("deploy")
        .content_digest(digest)
        .command(["scripts/run.sh", "--now"]);
    request
        .allowed_tool("Bash", Some("git:*"))
        .allowed_tool("Write", None)
        .workspace("/w")
        .variable("API_KEY", VariableSource::Secret)
        .declare("variable API_KEY")
}

pub(crate) fn pending(manager: &PermissionManager, request: &Request) -> PendingQuestion {
    match manager.evaluate(request) {
        Evaluation::NeedsApproval(pending) => *pending,
        Evaluation::Decided(decision) => panic!("{decision:?}"),
    }
}

pub(crate) fn outcome(decision: &Authorization) -> String {
    match decision {
        Authorization::Granted(_) => "granted".to_owned(),
        Authorization::Denied(denial) => denial.to_string(),
    }
}

#[test]
fn a_question_is_complete() {
    let host = Host::new(Answer::AllowOnce);
    let manager = PermissionManager::default().approver(host.clone());
    let decision =
        block_on(manager.authorize(&deploy("sha256:1").allowed_tool("Read", None), None));
    assert_eq!(outcome(&decision), "granted");
    insta::assert_json_snapshot!(host.last());
}

#[test]
fn a_question_contains_the_effective_limits() {
    let host = Host::new(Answer::AllowOnce);
    let mut asked = ResourceLimits::default();
    (asked.memory_bytes, asked.open_files) = (u64::MAX, 7);
    let request = deploy("1").limits(asked);
    let Authorization::Granted(grants) = block_on(
        PermissionManager::default()
            .approver(host.clone())
            .authorize(&request, None),
    ) else {
        panic!("the approver allows it")
    };
    assert_eq!(host.last().limits, *grants.limits());
    assert_eq!(
        (
            host.last().limits.memory_bytes,
            host.last().limits.open_files
        ),
        (u64::MAX, 7)
    );
}

#[test]
fn a_missing_silent_failing_or_panicking_approver_denies() {
    let ask = |manager: PermissionManager| {
        outcome(&block_on(manager.authorize(
            &Request::new("/s").allowed_tool("Bash", None),
            None,
        )))
    };
    assert_snapshot!(ask(PermissionManager::default()), @"permission denied: spawn any program (requested by `Bash`): no rule allows it and no approver is available");
    let with = |answer| ask(PermissionManager::default().approver(Host::with(answer)));
    assert_snapshot!(with(Ok(None)), @"permission denied: spawn any program (requested by `Bash`): the approver did not respond");
    assert_snapshot!(with(Err("the terminal is gone")), @"permission denied: spawn any program (requested by `Bash`): the approver failed: the terminal is gone");
    assert_snapshot!(with(Ok(Some(Answer::Deny))), @"permission denied: spawn any program (requested by `Bash`): the approver responded `deny`");
    let panicking = PermissionManager::default()
        .approver(Arc::new(|_: &Question| -> Answer { panic!("on purpose") }));
    assert_snapshot!(ask(panicking), @"permission denied: spawn any program (requested by `Bash`): the approver failed: it panicked");
}

#[test]
fn strict_mode_asks_no_approver() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::new(Policy::default().with_mode(ApprovalMode::Strict))
        .approver(host.clone());
    assert!(matches!(
        block_on(manager.authorize(&deploy("1"), None)),
        Authorization::Denied(_)
    ));
    assert_eq!(host.asked(), 0);
    assert!(matches!(
        manager.preview(&deploy("1")),
        Authorization::Denied(_)
    ));
}

#[test]
fn each_approval_response_has_its_documented_lifetime() {
    for (answer, asked_again, asked_by_next_host) in [
        (Answer::AllowOnce, true, true),
        (Answer::AllowSession, false, true),
        (Answer::AllowAlways, false, false),
    ] {
        let (host, store) = (Host::new(answer), Arc::new(Memory::default()));
        let manager = || {
            PermissionManager::default()
                .approver(host.clone())
                .store(store.clone())
        };
        let first = manager();
        let _ = block_on(first.authorize(&deploy("1"), None));
        assert_eq!(
            outcome(&block_on(first.authorize(&deploy("1"), None))),
            "granted"
        );
        assert_eq!(host.asked() == 2, asked_again, "{answer}");
        let before = host.asked();
        assert_eq!(
            outcome(&block_on(manager().authorize(&deploy("1"), None))),
            "granted"
        );
        assert_eq!(host.asked() > before, asked_by_next_host, "{answer}");
    }
}

#[test]
fn changed_content_needs_approval_and_lists_added_privileges() {
    let (host, store) = (Host::new(Answer::AllowAlways), Arc::new(Memory::default()));
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(store);
    let _ = block_on(manager.authorize(&deploy("1"), None));
    assert_eq!(host.last().content, ContentStatus::New);
    let grown = Request::new("/skills/deploy")
        .display_name("deploy")
        .content_digest("2")
        .allowed_tool("Bash", Some("git:*"))
        .allowed_tool("Bash", Some("curl:*"));
    let _ = block_on(manager.authorize(&grown, None));
    let ContentStatus::Changed {
        added: grown,
        removed: shrunk,
    } = host.last().content
    else {
        panic!("the content changed")
    };
    assert_eq!(
        (grown.join(", ").as_str(), shrunk.join(", ").as_str()),
        ("Bash(curl:*)", "Write, variable API_KEY")
    );
    // The earlier content is not approved any more: a downgrade needs approval too.
    let before = host.asked();
    let _ = block_on(manager.authorize(&deploy("1"), None));
    assert_eq!(host.asked(), before + 1);
}

#[test]
fn approved_content_asks_for_new_permissions_only() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::default().approver(host.clone());
    let _ = block_on(manager.authorize(&deploy("1"), None));
    let _ = block_on(manager.authorize(&deploy("1").allowed_tool("Bash", Some("curl:*")), None));
    assert_eq!(
        (host.last().permissions().count(), host.last().content),
        (1, ContentStatus::Approved)
    );
    assert!(matches!(
        block_on(manager.authorize(&deploy("1").allowed_tool("Bash", Some("curl:*")), None)),
        Authorization::Granted(_)
    ));
    assert_eq!(host.asked(), 2);
}

#[test]
fn an_approval_is_for_one_directory() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::default().approver(host.clone());
    let at = |directory: &str| {
        Request::new(directory)
            .content_digest("1")
            .allowed_tool("Bash", None)
    };
    let _ = block_on(manager.authorize(&at("/a"), None));
    let _ = block_on(manager.authorize(&at("/b"), None));
    assert_eq!(host.asked(), 2);
}

#[test]
fn a_session_approval_applies_to_one_session() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::default().approver(host.clone());
    let asks = |request: Request| {
        let before = host.asked();
        assert!(matches!(
            block_on(manager.authorize(&request, None)),
            Authorization::Granted(_)
        ));
        host.asked() > before
    };
    let (one, two) = (|| Some("one".to_owned()), || Some("two".to_owned()));
    assert!(asks(deploy("1").session(one())) && !asks(deploy("1").session(one())));
    // The host application is a session of its own: its approvals apply in no other one.
    assert!(asks(deploy("1").session(two())) && asks(deploy("1")));
    assert!(!asks(deploy("1").session(two())) && !asks(deploy("1")));
    // The same applies to commands, and to privileges that rules grant new content.
    assert!(
        asks(deploy("1").ad_hoc("sort").session(one()))
            && asks(deploy("1").ad_hoc("sort").session(two()))
    );
    manager.clear_session("one");
    assert!(asks(deploy("1").session(one())) && asks(deploy("1").ad_hoc("sort").session(one())));
    assert!(
        !asks(deploy("1").session(two()))
            && !asks(deploy("1"))
            && !asks(deploy("1").ad_hoc("sort").session(two()))
    );
}

#[test]
fn managers_with_different_policies_share_the_approvals_of_sessions() {
    let host = Host::new(Answer::AllowSession);
    let first = PermissionManager::default().approver(host.clone());
    let allowed = Policy::default().allow(RuleSource::Invocation, Capability::Write);
    let second = first.with_policy(allowed.clone());
    assert_eq!(second.policy(), &allowed);
    assert_ne!(first.policy(), &allowed);
    let request = deploy("1").session(Some("one".to_owned()));
    for (manager, asked) in [(&first, 1), (&second, 1)] {
        let authorization = block_on(manager.authorize(&request, None));
        assert!(matches!(authorization, Authorization::Granted(_)));
        assert_eq!(host.asked(), asked);
    }
    second.clear_session("one");
    let _ = block_on(first.authorize(&request, None));
    assert_eq!(host.asked(), 2);
}

#[test]
fn content_approved_in_one_session_is_new_in_another() {
    let host = Host::new(Answer::AllowSession);
    let rules = Policy::default().allow(RuleSource::User, Capability::Spawn);
    let manager = PermissionManager::new(rules).approver(host.clone());
    let request = |session: &str| {
        Request::new("/s")
            .content_digest("1")
            .allowed_tool("Bash", None)
            .session(Some(session.to_owned()))
    };
    for (session, asked) in [("one", 1), ("one", 1), ("two", 2), ("two", 2)] {
        assert!(matches!(
            block_on(manager.authorize(&request(session), None)),
            Authorization::Granted(_)
        ));
        assert_eq!(host.asked(), asked, "{session}");
    }
    assert_eq!(
        (host.last().content, host.last().is_about_content()),
        (ContentStatus::New, true)
    );
}

#[test]
fn a_response_after_the_end_of_its_session_covers_one_run() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::default().approver(host.clone());
    let request = deploy("1").session(Some("one".to_owned()));
    let open = pending(&manager, &request);
    manager.clear_session("one");
    assert!(matches!(
        block_on(manager.ask(open, None)),
        Authorization::Granted(_)
    ));
    let _ = pending(&manager, &request);
    // In the new session of the same name one response is sufficient.
    assert!(matches!(
        block_on(manager.authorize(&request, None)),
        Authorization::Granted(_)
    ));
    assert!(matches!(manager.evaluate(&request), Evaluation::Decided(_)));
    assert_eq!(host.asked(), 2);
}

#[test]
fn a_permanent_approval_applies_to_all_sessions() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Memory::default()));
    let _ = block_on(manager.authorize(&deploy("1").session(Some("one".to_owned())), None));
    manager.clear_session("one");
    assert!(matches!(
        block_on(manager.authorize(&deploy("1").session(Some("two".to_owned())), None)),
        Authorization::Granted(_)
    ));
    assert_eq!(host.asked(), 1);
}

#[test]
fn without_a_digest_approvals_cover_one_run() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default().approver(host.clone());
    for _ in 0..2 {
        assert_eq!(
            outcome(&block_on(manager.authorize(
                &Request::new("/s").allowed_tool("Bash", None),
                None
            ))),
            "granted"
        );
    }
    assert_eq!(host.asked(), 2);
    assert_snapshot!(host.last().notes.join("\n"), @"the content has no digest: an approval covers this run only, and changes before the response are not detected");
}

#[test]
fn new_content_needs_approval_if_a_rule_grants_it_a_privilege() {
    let standing =
        Policy::default().rule(Rule::parse(Effect::Allow, RuleSource::User, "spawn:git").unwrap());
    let git = |digest: &str| {
        Request::new("/s")
            .content_digest(digest)
            .allowed_tool("Bash", Some("git:*"))
    };
    let ask = |rules: &Policy, request: &Request| {
        let host = Host::new(Answer::Deny);
        let decision = block_on(
            PermissionManager::new(rules.clone())
                .approver(host.clone())
                .authorize(request, None),
        );
        format!("asked {}, {}", host.asked(), outcome(&decision))
    };
    assert_snapshot!(ask(&standing, &git("1")), @"asked 1, permission denied: this content of the skill has not been approved: the approver responded `deny`");
    assert_eq!(
        ask(
            &standing,
            &Request::new("/s")
                .content_digest("1")
                .allowed_tool("Read", None)
        ),
        "asked 0, granted"
    );
    assert_eq!(
        ask(
            &standing.clone().with_new_content(NewContentPolicy::Allow),
            &git("1")
        ),
        "asked 0, granted"
    );
    // A rule of the invocation is newer than the content.
    assert_eq!(
        ask(
            &Policy::default().allow(RuleSource::Invocation, Capability::Spawn),
            &git("1")
        ),
        "asked 0, granted"
    );
    let always = Policy::default().with_new_content(NewContentPolicy::Ask);
    assert_snapshot!(ask(&always, &Request::new("/s").content_digest("1")), @"asked 1, permission denied: this content of the skill has not been approved: the approver responded `deny`");
    let manager = PermissionManager::new(standing.with_mode(ApprovalMode::Strict))
        .store(Arc::new(Memory::default()));
    assert_snapshot!(outcome(&manager.preview(&git("1"))), @"permission denied: this content of the skill has not been approved: strict mode requests no approval");
    assert!(matches!(
        manager.approve_permanently(pending(&manager, &git("1"))),
        Ok(Authorization::Granted(_))
    ));
    assert!(matches!(
        manager.preview(&git("1")),
        Authorization::Granted(_)
    ));
    assert!(matches!(
        manager.preview(&git("2")),
        Authorization::Denied(_)
    ));
}

/// If all new content needs approval, one response covers the content and its permissions.
#[test]
fn approved_content_is_no_longer_new() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::new(Policy::default().with_new_content(NewContentPolicy::Ask))
        .approver(host.clone());
    for (digest, asked) in [("1", 1), ("1", 1), ("2", 2), ("1", 2)] {
        assert_eq!(
            outcome(&block_on(
                manager.authorize(&Request::new("/s").content_digest(digest), None)
            )),
            "granted"
        );
        assert_eq!(host.asked(), asked, "{digest}");
    }
    assert_eq!(manager.policy().new_content(), NewContentPolicy::Ask);
}

/// Trusted mode is older than the content, as a standing rule is.
#[test]
fn new_content_needs_approval_if_trusted_mode_grants_it_a_privilege() {
    let host = Host::new(Answer::AllowSession);
    let manager = PermissionManager::new(Policy::default().with_mode(ApprovalMode::Trusted))
        .approver(host.clone());
    let run = |tool: &str| {
        block_on(
            manager.authorize(
                &Request::new("/s")
                    .content_digest("1")
                    .workspace("/w")
                    .allowed_tool(tool, None),
                None,
            ),
        )
    };
    for (tool, asked) in [("Read", 0), ("Bash", 1), ("Bash", 1), ("Write", 2)] {
        assert_eq!(outcome(&run(tool)), "granted");
        assert_eq!(host.asked(), asked, "{tool}");
    }
    assert!(host.last().is_about_content() && host.last().permissions().next().is_none());
}

#[test]
fn content_without_a_digest_is_not_compared_with_approvals() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Memory::default()));
    let bash = || Request::new("/s").allowed_tool("Bash", None);
    for (request, content) in [
        (bash().content_digest("1"), ContentStatus::New),
        (bash(), ContentStatus::New),
    ] {
        let _ = block_on(manager.authorize(&request, None));
        assert_eq!(host.last().content, content);
    }
    assert_eq!(host.asked(), 2);
}

#[test]
fn approving_without_a_run_is_permanent() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    assert!(matches!(
        manager.approve_permanently(pending(&manager, &deploy("1"))),
        Ok(Authorization::Granted(_))
    ));
    assert!(matches!(
        block_on(
            PermissionManager::default()
                .store(store)
                .authorize(&deploy("1"), None)
        ),
        Authorization::Granted(_)
    ));
    let without_digest = pending(&manager, &Request::new("/s").allowed_tool("Bash", None));
    assert_eq!(
        manager
            .approve_permanently(without_digest)
            .unwrap_err()
            .to_string(),
        "the content has no digest"
    );
    let forbidden =
        PermissionManager::new(Policy::default().deny(RuleSource::Admin, Capability::Spawn));
    assert!(
        matches!(forbidden.evaluate(&deploy("1")), Evaluation::Decided(decision) if matches!(*decision, Authorization::Denied(_)))
    );
}

/// An approval for the session does not become permanent by a permanent approval of something else.
#[test]
fn a_permanent_approval_does_not_include_session_approvals() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let any =
        |request: &Request, answer: Answer| block_on(manager.authorize(request, Some(&answer)));
    let bash = Request::new("/s")
        .content_digest("1")
        .allowed_tool("Bash", None);
    assert!(matches!(
        any(&bash, Answer::AllowSession),
        Authorization::Granted(_)
    ));
    assert!(matches!(
        any(
            &bash.clone().variable("KEY", VariableSource::Secret),
            Answer::AllowAlways
        ),
        Authorization::Granted(_)
    ));
    let stored = store.load(Path::new("/s")).unwrap().unwrap();
    assert_eq!(
        stored
            .permissions
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["read variable `KEY`"]
    );
    store.0.lock().unwrap().clear();
    let next = PermissionManager::default().store(store.clone());
    assert!(matches!(next.preview(&bash), Authorization::Denied(_)));
}

/// Listed hosts are approved one by one: removing a rule must not widen the approval to all hosts.
#[test]
fn an_approval_of_listed_hosts_does_not_widen() {
    let store = Arc::new(Memory::default());
    let search = Request::new("/s")
        .content_digest("1")
        .allowed_tool("WebSearch", None);
    let asks =
        Policy::default().rule(Rule::parse(Effect::Ask, RuleSource::User, "network").unwrap());
    let lists = asks
        .clone()
        .rule(Rule::parse(Effect::Allow, RuleSource::User, "network:api.example.com").unwrap());
    let decision = block_on(
        PermissionManager::new(lists)
            .store(store.clone())
            .authorize(&search, Some(&Answer::AllowAlways)),
    );
    assert_eq!(
        decision.decisions()[0].permission().to_string(),
        "connect to `api.example.com`"
    );
    assert!(matches!(
        PermissionManager::new(asks).store(store).preview(&search),
        Authorization::Denied(_)
    ));
}

#[test]
fn requests_with_too_many_permissions_are_denied() {
    let ask = |things: usize| {
        let host = Host::new(Answer::AllowAlways);
        let request = (0..things).fold(Request::new("/s"), |request, n| {
            request.allowed_tool("Bash", Some(&format!("program{n}:*")))
        });
        (
            outcome(&block_on(
                PermissionManager::default()
                    .approver(host.clone())
                    .authorize(&request, None),
            )),
            host.asked(),
        )
    };
    assert_eq!(ask(64), ("granted".to_owned(), 1));
    let (message, asked) = ask(65);
    assert_eq!(asked, 0);
    assert!(
        message.contains("65 permissions need it, limit 64")
            && message.ends_with("and 55 more permissions")
    );
}

/// A rule of the invocation is newer than the content, also if other rules say the same.
#[test]
fn a_rule_of_the_invocation_applies_to_new_content() {
    let both = Policy::default()
        .allow(RuleSource::User, Capability::Spawn)
        .allow(RuleSource::Invocation, Capability::Spawn);
    assert!(matches!(
        PermissionManager::new(both).preview(
            &Request::new("/s")
                .content_digest("1")
                .allowed_tool("Bash", None)
        ),
        Authorization::Granted(_)
    ));
}

#[test]
fn a_failing_store_approves_nothing_and_is_reported() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default()
        .approver(host.clone())
        .store(Arc::new(Broken));
    let decision = block_on(manager.authorize(&deploy("1"), None));
    assert_eq!(outcome(&decision), "granted");
    assert_snapshot!(decision.decisions().last().unwrap().reason(), @"the approver responded `always`, which could not be stored: the disk is gone");
    assert_snapshot!(host.last().notes.join("\n"), @"cannot read stored approvals: the disk is gone");
    assert_eq!(
        outcome(&block_on(manager.authorize(&deploy("1"), None))),
        "granted"
    );
    assert_eq!(host.asked(), 1);
    let alone = PermissionManager::default().store(Arc::new(Broken));
    assert!(
        outcome(&alone.preview(&deploy("1")))
            .ends_with("; cannot read stored approvals: the disk is gone")
    );
}

#[test]
fn without_a_store_a_permanent_approval_lasts_for_the_session() {
    let host = Host::new(Answer::AllowAlways);
    let manager = PermissionManager::default().approver(host.clone());
    let decision = block_on(manager.authorize(&deploy("1"), None));
    assert_snapshot!(decision.decisions().last().unwrap().reason(), @"the approver responded `always`, which could not be stored: no approval store is configured");
    assert!(matches!(
        manager.preview(&deploy("1")),
        Authorization::Granted(_)
    ));
    assert!(
        manager
            .approve_permanently(pending(&manager, &deploy("2")))
            .is_err()
    );
    assert!(matches!(
        manager.preview(&deploy("2")),
        Authorization::Denied(_)
    ));
}

/// A run that a person refused must not be tried again with less.
#[test]
fn a_denial_says_whether_an_approver_was_asked() {
    let was_asked = |policy: Policy, approver: Option<&dyn Approver>| {
        let request = Request::new("/s").content_digest("1").spawn("git");
        let manager = PermissionManager::new(policy);
        match block_on(manager.authorize(&request, approver)) {
            Authorization::Denied(denial) => denial.was_asked(),
            Authorization::Granted(_) => panic!("nothing allows it"),
        }
    };
    let silent = Host::with(Ok(None));
    let failing = Host::with(Err("broken"));
    // A client that has no way to ask: this is not a refusal.
    assert!(!was_asked(Policy::default(), Some(&*failing)));
    for approver in [&Answer::Deny as &dyn Approver, &*silent] {
        // By the permission, and by the content alone.
        assert!(was_asked(Policy::default(), Some(approver)));
        let rule = Policy::default().allow(RuleSource::User, Capability::Spawn);
        assert!(was_asked(rule, Some(approver)));
        let denied = Policy::default().deny(RuleSource::User, Capability::Spawn);
        assert!(!was_asked(denied, Some(approver)));
        let strict = Policy::default().with_mode(ApprovalMode::Strict);
        assert!(!was_asked(strict, Some(approver)));
    }
    assert!(!was_asked(Policy::default(), None));
}

#[test]
fn a_denial_of_content_has_a_content_reason() {
    let content = |rules: Policy| match PermissionManager::new(rules).preview(
        &Request::new("/s")
            .content_digest("1")
            .allowed_tool("Bash", None),
    ) {
        Authorization::Denied(denial) => denial.content_reason().map(str::to_owned),
        Authorization::Granted(_) => panic!("it was not approved"),
    };
    assert_eq!(content(Policy::default()), None);
    assert_eq!(
        content(Policy::default().allow(RuleSource::User, Capability::Spawn)).as_deref(),
        Some("no approver is available")
    );
}

#[test]
fn no_approver_is_asked_about_a_denied_request() {
    let host = Host::new(Answer::AllowAlways);
    let manager =
        PermissionManager::new(Policy::default().deny(RuleSource::Admin, Capability::Write))
            .approver(host.clone());
    let decision = block_on(manager.authorize(&deploy("1"), None));
    assert_eq!(host.asked(), 0);
    assert_snapshot!(outcome(&decision).replace("; ", "\n"), @r"
    permission denied: write `/w` (requested by `Write`): denied by rule `deny write (admin)`
    spawn `git` (requested by `Bash(git:*)`): approval was not requested because another permission is denied
    read variable `API_KEY` (requested by its requirements): approval was not requested because another permission is denied
    ");
}

#[test]
fn the_approver_of_a_run_replaces_that_of_the_manager() {
    let host = Host::new(Answer::Deny);
    let manager = PermissionManager::default().approver(host.clone());
    assert!(matches!(
        block_on(manager.authorize(&deploy("1"), Some(&Answer::AllowOnce))),
        Authorization::Granted(_)
    ));
    assert_eq!(host.asked(), 0);
}

#[test]
fn approvals_are_serialized_and_deserialized() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let _ = manager.approve_permanently(pending(
        &manager,
        &deploy("sha256:1").allowed_tool("WebFetch", Some("domain:*.example")),
    ));
    let approval = store
        .load(&PathBuf::from("/skills/deploy"))
        .unwrap()
        .unwrap();
    let text = serde_json::to_string(&approval).unwrap();
    assert_eq!(serde_json::from_str::<Approval>(&text).unwrap(), approval);
    insta::assert_snapshot!(text);
}

/// A request that goes on without what nothing allows gets what was approved, and is still denied
/// by all that others than the skill ask for, by content that has to be approved, and without its
/// approvals.
#[test]
fn only_unapproved_tools_of_the_skill_are_omitted() {
    let manager = |policy: Policy| PermissionManager::new(policy);
    let granted = |manager: &PermissionManager, request: &Request| {
        let decision = manager.preview(&request.clone().omit_ungranted());
        matches!(decision, Authorization::Granted(_))
    };
    let deploy = |digest: &str| {
        let request = Request::new("/skills/deploy").content_digest(digest);
        request.allowed_tool("Bash", Some("git:*"))
    };
    let many = (0..100).fold(deploy("1"), |request, index| {
        request.allowed_tool("Bash", Some(&format!("p{index}:*")))
    });
    let plain = manager(Policy::default());
    assert!(granted(&plain, &deploy("1")) && granted(&plain, &many));
    for request in [
        deploy("1").spawn("other"),
        deploy("1").hook("PreToolUse: check"),
        deploy("1").variable("API_KEY", VariableSource::Secret),
        deploy("1").required_program("make"),
    ] {
        assert!(!granted(&plain, &request), "{request:?}");
    }
    let deny = Rule::parse(Effect::Deny, RuleSource::Admin, "spawn").unwrap();
    let denied = manager(Policy::default().rule(deny));
    let Authorization::Granted(grants) = denied.preview(&deploy("1").omit_ungranted()) else {
        panic!("only the skill asks for programs")
    };
    assert_eq!(*grants.spawn(), SpawnGrant::None);
    let asks = manager(Policy::default().with_new_content(NewContentPolicy::Ask));
    assert!(!granted(&asks, &deploy("1")));
    let broken = manager(Policy::default()).store(Arc::new(Broken));
    assert!(!granted(&broken, &deploy("1")));

    let approved = manager(Policy::default()).store(Arc::new(Memory::default()));
    let Evaluation::NeedsApproval(pending) =
        approved.evaluate_in_advance(&deploy("1").omit_ungranted())
    else {
        panic!("an approval in advance includes what the skill asks for")
    };
    let _ = approved.approve_permanently(*pending).unwrap();
    let Authorization::Granted(grants) = approved.preview(&deploy("1").omit_ungranted()) else {
        panic!("it was approved")
    };
    assert!(
        grants
            .decisions()
            .iter()
            .all(|decision| decision.decision() == Decision::Allow)
    );
}
