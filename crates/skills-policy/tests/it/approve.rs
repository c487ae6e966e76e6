//! Asking, remembering, and asking again.

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use insta::assert_snapshot;
use skills_policy::{
    Answer, Answering, Approval, ApprovalStore, Approver, AskError, Capability, Content, Decision, Effect, Examined, Layer, Limits, Mode,
    NewContent, Origin, Pending, PermissionManager, Question, Request, Rule, Rules,
};

/// Everything here is ready at once.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nobody wakes this"),
    }
}

/// Gives the same answer always, and remembers what it was asked.
pub(crate) struct Host {
    answer: Result<Option<Answer>, &'static str>,
    asked: Mutex<Vec<Question>>,
}

impl Host {
    pub(crate) fn new(answer: Answer) -> Arc<Self> {
        Self::with(Ok(Some(answer)))
    }

    pub(crate) fn with(answer: Result<Option<Answer>, &'static str>) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    pub(crate) fn last(&self) -> Question {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

impl Approver for Host {
    fn ask<'a>(&'a self, question: &'a Question) -> Answering<'a> {
        self.asked.lock().unwrap().push(question.clone());
        Box::pin(std::future::ready(self.answer.map_err(AskError::from)))
    }
}

#[derive(Default)]
pub(crate) struct Memory(Mutex<Vec<Approval>>);

impl ApprovalStore for Memory {
    fn load(&self, directory: &Path) -> Result<Option<Approval>, AskError> {
        Ok(self.0.lock().unwrap().iter().find(|approval| approval.directory == directory).cloned())
    }

    fn save(&self, approval: &Approval) -> Result<(), AskError> {
        let mut all = self.0.lock().unwrap();
        all.retain(|known| known.directory != approval.directory);
        all.push(approval.clone());
        Ok(())
    }
}

pub(crate) fn deploy(digest: &str) -> Request {
    let request = Request::new("/skills/deploy").named("deploy").content(digest).command(["scripts/run.sh", "--now"]);
    request.tool("Bash", Some("git:*")).tool("Write", None).workspace("/w").variable("API_KEY", Origin::Secret).declares("variable API_KEY")
}

pub(crate) fn pending(manager: &PermissionManager, request: &Request) -> Pending {
    match manager.examine(request) {
        Examined::Open(pending) => *pending,
        Examined::Decided(decision) => panic!("{decision:?}"),
    }
}

pub(crate) fn outcome(decision: &Decision) -> String {
    match decision {
        Decision::Granted(_) => "granted".to_owned(),
        Decision::Denied(denial) => denial.to_string(),
    }
}

#[test]
fn a_question_says_everything() {
    let host = Host::new(Answer::Once);
    let manager = PermissionManager::default().approver(host.clone());
    let decision = block_on(manager.decide(&deploy("sha256:1").tool("Read", None), None));
    assert_eq!(outcome(&decision), "granted");
    insta::assert_json_snapshot!(host.last());
}

#[test]
fn a_question_shows_the_limits_of_the_run() {
    let host = Host::new(Answer::Once);
    let mut asked = Limits::default();
    (asked.memory_bytes, asked.open_files) = (u64::MAX, 7);
    let request = deploy("1").limits(asked);
    let Decision::Granted(grants) = block_on(PermissionManager::default().approver(host.clone()).decide(&request, None)) else {
        panic!("the answer is yes")
    };
    assert_eq!(host.last().limits, *grants.limits());
    assert_eq!((host.last().limits.memory_bytes, host.last().limits.open_files), (2 << 30, 7));
}

#[test]
fn no_callback_no_answer_a_failed_and_a_panicking_one_deny() {
    let ask = |manager: PermissionManager| outcome(&block_on(manager.decide(&Request::new("/s").tool("Bash", None), None)));
    assert_snapshot!(ask(PermissionManager::default()), @"may not start programs (asked by Bash): no rule allows it, and there was nobody to ask");
    let with = |answer| ask(PermissionManager::default().approver(Host::with(answer)));
    assert_snapshot!(with(Ok(None)), @"may not start programs (asked by Bash): whoever was asked gave no answer");
    assert_snapshot!(with(Err("the terminal is gone")), @"may not start programs (asked by Bash): asking failed: the terminal is gone");
    assert_snapshot!(with(Ok(Some(Answer::Deny))), @"may not start programs (asked by Bash): the answer was `deny`");
    let panicking = PermissionManager::default().approver(Arc::new(|_: &Question| -> Answer { panic!("on purpose") }));
    assert_snapshot!(ask(panicking), @"may not start programs (asked by Bash): asking failed: whoever was asked panicked");
}

#[test]
fn strict_mode_asks_nobody() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::new(Rules::default().mode(Mode::Strict)).approver(host.clone());
    assert!(matches!(block_on(manager.decide(&deploy("1"), None)), Decision::Denied(_)));
    assert_eq!(host.asked(), 0);
    assert!(matches!(manager.preview(&deploy("1")), Decision::Denied(_)));
}

#[test]
fn once_session_and_always_last_as_long_as_they_say() {
    for (answer, asked_again, asked_by_next_host) in
        [(Answer::Once, true, true), (Answer::Session, false, true), (Answer::Always, false, false)]
    {
        let (host, store) = (Host::new(answer), Arc::new(Memory::default()));
        let manager = || PermissionManager::default().approver(host.clone()).store(store.clone());
        let first = manager();
        let _ = block_on(first.decide(&deploy("1"), None));
        assert_eq!(outcome(&block_on(first.decide(&deploy("1"), None))), "granted");
        assert_eq!(host.asked() == 2, asked_again, "{answer}");
        let before = host.asked();
        assert_eq!(outcome(&block_on(manager().decide(&deploy("1"), None))), "granted");
        assert_eq!(host.asked() > before, asked_by_next_host, "{answer}");
    }
}

#[test]
fn changed_content_asks_again_and_shows_what_grew() {
    let (host, store) = (Host::new(Answer::Always), Arc::new(Memory::default()));
    let manager = PermissionManager::default().approver(host.clone()).store(store);
    let _ = block_on(manager.decide(&deploy("1"), None));
    assert_eq!(host.last().content, Content::New);
    let grown = Request::new("/skills/deploy").named("deploy").content("2").tool("Bash", Some("git:*")).tool("Bash", Some("curl:*"));
    let _ = block_on(manager.decide(&grown, None));
    let Content::Changed { grown, shrunk } = host.last().content else { panic!("it changed") };
    assert_eq!((grown.join(", ").as_str(), shrunk.join(", ").as_str()), ("Bash(curl:*)", "Write, variable API_KEY"));
    // The content of before is not approved any more: what an update replaced does not come back unasked.
    let before = host.asked();
    let _ = block_on(manager.decide(&deploy("1"), None));
    assert_eq!(host.asked(), before + 1);
}

#[test]
fn known_content_that_wants_more_asks_for_that_only() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::default().approver(host.clone());
    let _ = block_on(manager.decide(&deploy("1"), None));
    let _ = block_on(manager.decide(&deploy("1").tool("Bash", Some("curl:*")), None));
    assert_eq!((host.last().open.len(), host.last().content), (1, Content::Known));
    assert!(matches!(block_on(manager.decide(&deploy("1").tool("Bash", Some("curl:*")), None)), Decision::Granted(_)));
    assert_eq!(host.asked(), 2);
}

#[test]
fn an_approval_is_for_one_directory() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::default().approver(host.clone());
    let at = |directory: &str| Request::new(directory).content("1").tool("Bash", None);
    let _ = block_on(manager.decide(&at("/a"), None));
    let _ = block_on(manager.decide(&at("/b"), None));
    assert_eq!(host.asked(), 2);
}

#[test]
fn an_answer_for_the_session_is_for_one_session() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::default().approver(host.clone());
    let asks = |request: Request| {
        let before = host.asked();
        assert!(matches!(block_on(manager.decide(&request, None)), Decision::Granted(_)));
        host.asked() > before
    };
    let (one, two) = (|| Some("one".to_owned()), || Some("two".to_owned()));
    assert!(asks(deploy("1").session(one())) && !asks(deploy("1").session(one())));
    // The host is no session of anybody, and what is answered for it is answered for nobody else.
    assert!(asks(deploy("1").session(two())) && asks(deploy("1")));
    assert!(!asks(deploy("1").session(two())) && !asks(deploy("1")));
    // So it is for words, and for what rules would give content.
    assert!(asks(deploy("1").made_up("ls").session(one())) && asks(deploy("1").made_up("ls").session(two())));
    manager.forget_session("one");
    assert!(asks(deploy("1").session(one())) && asks(deploy("1").made_up("ls").session(one())));
    assert!(!asks(deploy("1").session(two())) && !asks(deploy("1")) && !asks(deploy("1").made_up("ls").session(two())));
}

#[test]
fn content_that_one_session_approved_is_new_to_another() {
    let host = Host::new(Answer::Session);
    let rules = Rules::default().allow(Layer::User, Capability::Spawn);
    let manager = PermissionManager::new(rules).approver(host.clone());
    let request = |session: &str| Request::new("/s").content("1").tool("Bash", None).session(Some(session.to_owned()));
    for (session, asked) in [("one", 1), ("one", 1), ("two", 2), ("two", 2)] {
        assert!(matches!(block_on(manager.decide(&request(session), None)), Decision::Granted(_)));
        assert_eq!(host.asked(), asked, "{session}");
    }
    assert_eq!((host.last().content, host.last().asks_for_content), (Content::New, true));
}

#[test]
fn an_answer_after_the_end_of_its_session_holds_for_one_run() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::default().approver(host.clone());
    let request = deploy("1").session(Some("one".to_owned()));
    let open = pending(&manager, &request);
    manager.forget_session("one");
    assert!(matches!(block_on(manager.ask(open, None)), Decision::Granted(_)));
    let _ = pending(&manager, &request);
    // Whoever is asked in the session of now is not asked again.
    assert!(matches!(block_on(manager.decide(&request, None)), Decision::Granted(_)));
    assert!(matches!(manager.examine(&request), Examined::Decided(_)));
    assert_eq!(host.asked(), 2);
}

#[test]
fn an_answer_for_good_is_for_all_sessions_and_is_not_forgotten_with_one() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::default().approver(host.clone()).store(Arc::new(Memory::default()));
    let _ = block_on(manager.decide(&deploy("1").session(Some("one".to_owned())), None));
    manager.forget_session("one");
    assert!(matches!(block_on(manager.decide(&deploy("1").session(Some("two".to_owned())), None)), Decision::Granted(_)));
    assert_eq!(host.asked(), 1);
}

#[test]
fn without_a_digest_nothing_lasts() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::default().approver(host.clone());
    for _ in 0..2 {
        assert_eq!(outcome(&block_on(manager.decide(&Request::new("/s").tool("Bash", None), None))), "granted");
    }
    assert_eq!(host.asked(), 2);
    assert_snapshot!(host.last().notes.join("\n"), @"its content has no digest, so an answer holds for this run only, and a change until it is given is not noticed");
}

#[test]
fn new_content_is_asked_for_when_a_rule_would_give_it_power() {
    let standing = Rules::default().rule(Rule::parse(Effect::Allow, Layer::User, "spawn:git").unwrap());
    let git = |digest: &str| Request::new("/s").content(digest).tool("Bash", Some("git:*"));
    let ask = |rules: &Rules, request: &Request| {
        let host = Host::new(Answer::Deny);
        let decision = block_on(PermissionManager::new(rules.clone()).approver(host.clone()).decide(request, None));
        format!("asked {}, {}", host.asked(), outcome(&decision))
    };
    assert_snapshot!(ask(&standing, &git("1")), @"asked 1, nobody approved its content for what rules would give it: the answer was `deny`");
    assert_eq!(ask(&standing, &Request::new("/s").content("1").tool("Read", None)), "asked 0, granted");
    assert_eq!(ask(&standing.clone().new_content(NewContent::Allow), &git("1")), "asked 0, granted");
    // Whoever starts the run says so for what is there now.
    assert_eq!(ask(&Rules::default().allow(Layer::Session, Capability::Spawn), &git("1")), "asked 0, granted");
    let always = Rules::default().new_content(NewContent::Ask);
    assert_snapshot!(ask(&always, &Request::new("/s").content("1")), @"asked 1, nobody approved its content for what rules would give it: the answer was `deny`");
    let manager = PermissionManager::new(standing.mode(Mode::Strict)).store(Arc::new(Memory::default()));
    assert_snapshot!(outcome(&manager.preview(&git("1"))), @"nobody approved its content for what rules would give it: nobody is asked in strict mode");
    assert!(matches!(manager.approve(pending(&manager, &git("1"))), Ok(Decision::Granted(_))));
    assert!(matches!(manager.preview(&git("1")), Decision::Granted(_)));
    assert!(matches!(manager.preview(&git("2")), Decision::Denied(_)));
}

/// Where all new content is asked for, one answer is enough for what it then wants.
#[test]
fn approved_content_is_not_new_any_more() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::new(Rules::default().new_content(NewContent::Ask)).approver(host.clone());
    for (digest, asked) in [("1", 1), ("1", 1), ("2", 2), ("1", 2)] {
        assert_eq!(outcome(&block_on(manager.decide(&Request::new("/s").content(digest), None))), "granted");
        assert_eq!(host.asked(), asked, "{digest}");
    }
    assert_eq!(manager.rules().unapproved(), NewContent::Ask);
}

/// An answer about a command of the caller is for this command and this content.
#[test]
fn an_answer_about_a_command_is_for_that_command() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::default().approver(host.clone());
    let asks = |request: Request| {
        let before = host.asked();
        assert_eq!(outcome(&block_on(manager.decide(&request, None))), "granted");
        host.asked() > before
    };
    let run = |digest: &str, words: &str| Request::new("/s").content(digest).made_up(words).tool("Bash", None);
    assert!(asks(run("1", "ls")) && !asks(run("1", "ls")));
    assert!(asks(run("1", "rm")) && asks(run("2", "ls")) && asks(run("", "")));
    assert!(asks(Request::new("/t").content("1").made_up("ls").tool("Bash", None)));
    assert!(asks(Request::new("/s").content("1").tool("Bash", None)));
    for _ in 0..2 {
        assert!(asks(Request::new("/s").made_up("ls").tool("Bash", None)), "without a digest no answer lasts");
    }
    assert!(!asks(run("1", "ls")));
}

#[test]
fn an_answer_about_a_command_is_never_stored() {
    for (answer, asked_again) in [(Answer::Once, true), (Answer::Session, false), (Answer::Always, false)] {
        let (host, store) = (Host::new(answer), Arc::new(Memory::default()));
        let manager = PermissionManager::default().approver(host.clone()).store(store.clone());
        let request = Request::new("/s").content("1").made_up("ls").tool("Bash", None);
        let decision = block_on(manager.decide(&request, None));
        assert_eq!(outcome(&decision), "granted");
        let holds_shorter = decision.verdicts()[0].reason().to_string().contains("holds for the session at most");
        assert_eq!(holds_shorter, answer == Answer::Always);
        let _ = block_on(manager.decide(&request, None));
        assert_eq!(host.asked() == 2, asked_again, "{answer}");
        assert!(store.0.lock().unwrap().is_empty(), "{answer}");
    }
}

/// Trusting what skills declare is older than the content, as a standing rule is.
#[test]
fn new_content_is_asked_for_when_trust_would_give_it_power() {
    let host = Host::new(Answer::Session);
    let manager = PermissionManager::new(Rules::default().mode(Mode::Trusted)).approver(host.clone());
    let run = |tool: &str| block_on(manager.decide(&Request::new("/s").content("1").workspace("/w").tool(tool, None), None));
    for (tool, asked) in [("Read", 0), ("Bash", 1), ("Bash", 1), ("Write", 2)] {
        assert_eq!(outcome(&run(tool)), "granted");
        assert_eq!(host.asked(), asked, "{tool}");
    }
    assert!(host.last().asks_for_content && host.last().open.is_empty());
}

#[test]
fn content_without_a_digest_is_not_compared_with_what_was_approved() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::default().approver(host.clone()).store(Arc::new(Memory::default()));
    let bash = || Request::new("/s").tool("Bash", None);
    for (request, content) in [(bash().content("1"), Content::New), (bash(), Content::New)] {
        let _ = block_on(manager.decide(&request, None));
        assert_eq!(host.last().content, content);
    }
    assert_eq!(host.asked(), 2);
}

#[test]
fn approving_beforehand_is_an_answer_for_good() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    assert!(matches!(manager.approve(pending(&manager, &deploy("1"))), Ok(Decision::Granted(_))));
    assert!(matches!(block_on(PermissionManager::default().store(store).decide(&deploy("1"), None)), Decision::Granted(_)));
    let without_digest = pending(&manager, &Request::new("/s").tool("Bash", None));
    assert_eq!(manager.approve(without_digest).unwrap_err().to_string(), "the content has no digest");
    let forbidden = PermissionManager::new(Rules::default().deny(Layer::Admin, Capability::Spawn));
    assert!(matches!(forbidden.examine(&deploy("1")), Examined::Decided(decision) if matches!(*decision, Decision::Denied(_))));
}

/// What holds for the session does not become permanent because something else is answered for good, nor does it come back after it was revoked.
#[test]
fn each_answer_is_about_what_was_asked() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let any = |request: &Request, answer: Answer| block_on(manager.decide(request, Some(&answer)));
    let bash = Request::new("/s").content("1").tool("Bash", None);
    assert!(matches!(any(&bash, Answer::Session), Decision::Granted(_)));
    assert!(matches!(any(&bash.clone().variable("KEY", Origin::Secret), Answer::Always), Decision::Granted(_)));
    let stored = store.load(Path::new("/s")).unwrap().unwrap();
    assert_eq!(stored.permissions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["see the variable KEY"]);
    store.0.lock().unwrap().clear();
    let next = PermissionManager::default().store(store.clone());
    assert!(matches!(next.preview(&bash), Decision::Denied(_)));
}

/// Hosts that rules list are approved one by one: a rule that goes must not make the approval mean all of them.
#[test]
fn an_approval_never_means_more_later() {
    let store = Arc::new(Memory::default());
    let search = Request::new("/s").content("1").tool("WebSearch", None);
    let asks = Rules::default().rule(Rule::parse(Effect::Ask, Layer::User, "network").unwrap());
    let lists = asks.clone().rule(Rule::parse(Effect::Allow, Layer::User, "network:api.example.com").unwrap());
    let decision = block_on(PermissionManager::new(lists).store(store.clone()).decide(&search, Some(&Answer::Always)));
    assert_eq!(decision.verdicts()[0].permission().to_string(), "reach api.example.com");
    assert!(matches!(PermissionManager::new(asks).store(store).preview(&search), Decision::Denied(_)));
}

#[test]
fn nobody_is_asked_about_more_than_anybody_reads() {
    let ask = |things: usize| {
        let host = Host::new(Answer::Always);
        let request = (0..things).fold(Request::new("/s"), |request, n| request.tool("Bash", Some(&format!("program{n}:*"))));
        (outcome(&block_on(PermissionManager::default().approver(host.clone()).decide(&request, None))), host.asked())
    };
    assert_eq!(ask(64), ("granted".to_owned(), 1));
    let (said, asked) = ask(65);
    assert_eq!(asked, 0);
    assert!(said.contains("it asks for 65 things") && said.ends_with("and 55 things more"));
}

/// A rule of the session is about what is there now, whatever other rules say the same.
#[test]
fn a_rule_of_the_session_speaks_for_new_content() {
    let both = Rules::default().allow(Layer::User, Capability::Spawn).allow(Layer::Session, Capability::Spawn);
    assert!(matches!(PermissionManager::new(both).preview(&Request::new("/s").content("1").tool("Bash", None)), Decision::Granted(_)));
}

#[test]
fn a_store_that_fails_approves_nothing_and_is_not_silent() {
    struct Broken;
    impl ApprovalStore for Broken {
        fn load(&self, _: &Path) -> Result<Option<Approval>, AskError> {
            Err("the disk is gone".into())
        }
        fn save(&self, _: &Approval) -> Result<(), AskError> {
            Err("the disk is gone".into())
        }
    }
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::default().approver(host.clone()).store(Arc::new(Broken));
    let decision = block_on(manager.decide(&deploy("1"), None));
    assert_eq!(outcome(&decision), "granted");
    assert_snapshot!(decision.verdicts()[0].reason(), @"the answer was `always`, which could not be stored: the disk is gone");
    assert_snapshot!(host.last().notes.join("\n"), @"stored approvals cannot be read: the disk is gone");
    assert_eq!(outcome(&block_on(manager.decide(&deploy("1"), None))), "granted");
    assert_eq!(host.asked(), 1);
    let alone = PermissionManager::default().store(Arc::new(Broken));
    assert!(outcome(&alone.preview(&deploy("1"))).ends_with("; stored approvals cannot be read: the disk is gone"));
}

#[test]
fn without_a_store_an_answer_for_good_holds_for_the_session() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::default().approver(host.clone());
    let decision = block_on(manager.decide(&deploy("1"), None));
    assert_snapshot!(decision.verdicts()[0].reason(), @"the answer was `always`, which could not be stored: this host keeps no approvals");
    assert!(matches!(manager.preview(&deploy("1")), Decision::Granted(_)));
    assert!(manager.approve(pending(&manager, &deploy("2"))).is_err());
    assert!(matches!(manager.preview(&deploy("2")), Decision::Denied(_)));
}

#[test]
fn a_denial_says_whether_the_content_was_refused() {
    let content = |rules: Rules| match PermissionManager::new(rules).preview(&Request::new("/s").content("1").tool("Bash", None)) {
        Decision::Denied(denial) => denial.content().map(str::to_owned),
        Decision::Granted(_) => panic!("nobody approved it"),
    };
    assert_eq!(content(Rules::default()), None);
    assert_eq!(content(Rules::default().allow(Layer::User, Capability::Spawn)).as_deref(), Some("there was nobody to ask"));
}

#[test]
fn what_is_denied_anyway_is_not_asked_for() {
    let host = Host::new(Answer::Always);
    let manager = PermissionManager::new(Rules::default().deny(Layer::Admin, Capability::Write)).approver(host.clone());
    let decision = block_on(manager.decide(&deploy("1"), None));
    assert_eq!(host.asked(), 0);
    assert_snapshot!(outcome(&decision).replace("; ", "\n"), @r"
    may not write /w (asked by Write): by the rule `deny write (admin)`
    may not start git (asked by Bash(git:*)): nobody was asked, since something else is denied
    may not see the variable API_KEY (asked by its requirements): nobody was asked, since something else is denied
    ");
}

#[test]
fn the_approver_of_a_run_goes_before_the_hosts() {
    let host = Host::new(Answer::Deny);
    let manager = PermissionManager::default().approver(host.clone());
    assert!(matches!(block_on(manager.decide(&deploy("1"), Some(&Answer::Once))), Decision::Granted(_)));
    assert_eq!(host.asked(), 0);
}

#[test]
fn approvals_survive_writing_and_reading() {
    let store = Arc::new(Memory::default());
    let manager = PermissionManager::default().store(store.clone());
    let _ = manager.approve(pending(&manager, &deploy("sha256:1").tool("WebFetch", Some("domain:*.example"))));
    let approval = store.load(&PathBuf::from("/skills/deploy")).unwrap().unwrap();
    let text = serde_json::to_string(&approval).unwrap();
    assert_eq!(serde_json::from_str::<Approval>(&text).unwrap(), approval);
    insta::assert_snapshot!(text);
}
