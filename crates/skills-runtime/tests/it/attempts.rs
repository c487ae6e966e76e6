//! Further attempts of a run, after an approver allowed what the sandbox stopped.

use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skills_runtime::audit::{AuditError, AuditSink, Disposition, Event};
use skills_runtime::policy::{
    Answer, AnswerFuture, Question, Rule, RuleSource, SpawnGrant, approver_fn,
};
use skills_runtime::policy::{Approver, Effect};
use skills_runtime::{
    ExecutionArtifacts, ExecutionOptions, InputStream, Policy, Refusals, Remedy, SkillRuntime,
    Termination, Workspace, format_question_in_full,
};
use skills_sandbox::{Evidence, Job, Refusal, RefusedOperation};

use crate::fixture::Fixture;

/// Keeps the records; each start gets the number of the records before it.
#[derive(Default)]
struct Log(Mutex<Vec<Event>>);

impl AuditSink for Log {
    fn record(&self, event: &Event) -> Result<(), AuditError> {
        self.0.lock().unwrap().push(event.clone());
        Ok(())
    }

    fn record_start(&self, event: &Event) -> Result<Option<u64>, AuditError> {
        let mut records = self.0.lock().unwrap();
        records.push(event.clone());
        Ok(Some(records.len() as u64))
    }
}

/// Answers each question, and keeps its text.
struct Asked {
    answer: Answer,
    questions: Mutex<Vec<String>>,
    /// Whether each question offered to allow any program.
    offers_all: Mutex<Vec<bool>>,
}

impl Approver for Asked {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        let text = format_question_in_full(question).unwrap();
        self.questions.lock().unwrap().push(text);
        let offers_all = question.offers_all_programs;
        self.offers_all.lock().unwrap().push(offers_all);
        Box::pin(async move { Ok(Some(self.answer)) })
    }
}

struct Scene {
    fixture: Fixture,
    asked: Arc<Asked>,
    log: Arc<Log>,
}

impl Scene {
    /// A skill with a script that starts the programs in order; each has to be granted.
    fn new(answer: Answer, programs: &'static [&'static str]) -> Self {
        let fixture = Fixture::new();
        fixture
            .skill("pdf", "")
            .file("pdf/scripts/fill.sh", "true")
            .file("work/form.pdf", "");
        let sandbox = Arc::clone(&fixture.sandbox);
        let act = move |job: &Job| {
            let is_granted = |program: &&str| match job.grants().spawn() {
                SpawnGrant::Programs(granted) => granted.contains(*program),
                SpawnGrant::Any => true,
                _ => false,
            };
            let missing = programs.iter().find(|program| !is_granted(program));
            let mut refusals = Refusals::default();
            if let Some(name) = missing {
                let name = (*name).to_owned();
                let operation = RefusedOperation::StartProgram { name };
                refusals.add(Refusal::new(operation, Evidence::Kernel));
            }
            let code = i32::from(missing.is_some());
            *sandbox.refusals.lock().unwrap() = refusals;
            *sandbox.termination.lock().unwrap() = Some(Termination::Exited { code });
        };
        *fixture.sandbox.act.lock().unwrap() = Some(Box::new(act));
        let asked = Asked {
            answer,
            questions: Mutex::default(),
            offers_all: Mutex::default(),
        };
        Self {
            asked: Arc::new(asked),
            log: Arc::default(),
            fixture,
        }
    }

    fn runtime(&self, policy: Policy) -> SkillRuntime {
        let builder = self.fixture.recording().policy(policy);
        let builder = builder.approver(self.asked.clone());
        builder.audit(self.log.clone()).build()
    }

    async fn run(&self, options: ExecutionOptions) -> ExecutionArtifacts {
        let runtime = self.runtime(Policy::default());
        runtime.execute_skill("pdf", options).await.unwrap()
    }

    /// Lets the program do something first.
    fn act_before(&self, first: impl Fn(&Job) + Send + 'static) {
        let mut current = self.fixture.sandbox.act.lock().unwrap();
        let before = current.take().unwrap();
        *current = Some(Box::new(move |job: &Job| {
            first(job);
            before(job);
        }));
    }

    fn questions(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.questions.lock().unwrap())
    }

    /// Returns a line for each record.
    fn records(&self) -> Vec<String> {
        let records = std::mem::take(&mut *self.log.0.lock().unwrap());
        let lines = records.iter().map(|event| {
            let disposition = match event.disposition {
                Disposition::Started => "started",
                Disposition::Granted => "granted",
                Disposition::Denied => "denied",
                _ => "failed",
            };
            let termination = event.termination.as_deref().unwrap_or_default();
            let (attempt, of, start) = (event.attempt, event.of, event.start);
            format!("{disposition} {attempt:?} of {of:?}, start {start:?}: {termination}")
        });
        lines.collect()
    }
}

fn thrice() -> ExecutionOptions {
    ExecutionOptions {
        max_attempts: 3,
        ..ExecutionOptions::default()
    }
}

/// Each refusal is one question. The last attempt has all that was allowed, and each has its record.
#[tokio::test]
async fn a_run_is_repeated_with_what_an_approver_allows() {
    let scene = Scene::new(Answer::AllowOnce, &["pdftotext", "qpdf"]);
    let artifacts = scene.run(thrice()).await;
    assert!(artifacts.exit_status.is_success(), "{artifacts:?}");
    let questions = scene.questions();
    assert_eq!(questions.len(), 2, "{questions:?}");
    assert!(questions[0].contains("wants to spawn `pdftotext`"));
    assert!(
        questions[1].contains("wants to spawn `qpdf`")
            && questions[1].contains("allowed  spawn `pdftotext`"),
        "{questions:?}"
    );
    assert_eq!(scene.fixture.sandbox.jobs().len(), 3);
    assert_eq!(
        scene.records(),
        [
            "started None of None, start None: ",
            "granted None of None, start Some(1): exit code 1",
            "started Some(2) of Some(1), start None: ",
            "granted Some(2) of Some(1), start Some(3): exit code 1",
            "started Some(3) of Some(1), start None: ",
            "granted Some(3) of Some(1), start Some(5): exit code 0",
        ]
    );
    // `once` ends with the run.
    let artifacts = scene.run(ExecutionOptions::default()).await;
    assert!(!artifacts.exit_status.is_success());
}

#[tokio::test]
async fn without_attempts_nobody_is_asked_after_a_refusal() {
    let scene = Scene::new(Answer::AllowOnce, &["pdftotext"]);
    let artifacts = scene.run(ExecutionOptions::default()).await;
    assert!(!artifacts.exit_status.is_success());
    assert_eq!(scene.questions(), Vec::<String>::new());
    assert_eq!(scene.records().len(), 2);
}

/// More attempts than three are not made, whatever a caller wants and a program tries.
#[tokio::test]
async fn attempts_end() {
    let scene = Scene::new(Answer::AllowOnce, &["a", "b", "c", "d", "e"]);
    let options = ExecutionOptions {
        max_attempts: u32::MAX,
        ..ExecutionOptions::default()
    };
    let artifacts = scene.run(options).await;
    assert!(!artifacts.exit_status.is_success());
    assert_eq!(scene.fixture.sandbox.jobs().len(), 3);
    assert_eq!(scene.questions().len(), 2);
}

/// A script that starts one program after the other takes one answer, which ends with the run.
#[tokio::test]
async fn any_program_can_be_allowed_at_once() {
    let scene = Scene::new(Answer::AllowAllPrograms, &["a", "b", "c", "d", "e"]);
    let artifacts = scene.run(thrice()).await;
    assert!(artifacts.exit_status.is_success(), "{artifacts:?}");
    assert_eq!(scene.questions().len(), 1);
    let jobs = scene.fixture.sandbox.jobs();
    assert_eq!(jobs.len(), 2);
    assert_eq!(*jobs[1].grants().spawn(), SpawnGrant::Any);
    let artifacts = scene.run(ExecutionOptions::default()).await;
    assert!(!artifacts.exit_status.is_success());
}

/// An approver cannot give more than the policy: the answer is not offered, and means `once`.
#[tokio::test]
async fn any_program_is_not_allowed_against_the_policy() {
    let rules = [
        (Effect::Deny, RuleSource::Admin),
        (Effect::Ask, RuleSource::Admin),
        (Effect::Ask, RuleSource::User),
    ];
    for (effect, source) in rules {
        let rule = Rule::parse(effect, source, "spawn:rm").unwrap();
        let scene = Scene::new(Answer::AllowAllPrograms, &["a", "b", "c"]);
        let runtime = scene.runtime(Policy::default().rule(rule));
        let artifacts = runtime.execute_skill("pdf", thrice()).await.unwrap();
        assert!(!artifacts.exit_status.is_success());
        assert_eq!(scene.questions().len(), 2);
        assert_eq!(*scene.asked.offers_all.lock().unwrap(), [false, false]);
        for job in scene.fixture.sandbox.jobs() {
            assert_ne!(*job.grants().spawn(), SpawnGrant::Any);
        }
    }
}

#[tokio::test]
async fn a_denial_keeps_the_result_of_the_attempt() {
    let scene = Scene::new(Answer::Deny, &["pdftotext"]);
    *scene.fixture.sandbox.stderr.lock().unwrap() = b"cannot fork".to_vec();
    let artifacts = scene.run(thrice()).await;
    assert_eq!(artifacts.stderr.head(), b"cannot fork");
    assert_eq!(scene.questions().len(), 1);
    let records = scene.records();
    assert!(
        records[2].starts_with("denied Some(2) of Some(1), start None: permission denied: "),
        "{records:?}"
    );
    assert_eq!(records.len(), 3);
}

/// Lets the program change its workspace before it is stopped.
fn change_in_workspace(
    scene: &Scene,
    options: &mut ExecutionOptions,
    change: fn(&Path) -> std::io::Result<()>,
) {
    let work = scene.fixture.path("work");
    options.workspace = Workspace::Directory(work.clone());
    options.writable_paths = vec![work.clone()];
    scene.act_before(move |_| change(&work).unwrap());
}

/// The answer is kept for later runs, and the run is not repeated.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "stands in for the program")]
#[tokio::test]
async fn a_run_with_effects_is_not_repeated() {
    type Change = fn(&Scene, &mut ExecutionOptions);
    let cases: [(&str, Change); 7] = [
        ("It changed 1 file. ", |scene, options| {
            change_in_workspace(scene, options, |work| {
                std::fs::write(work.join("out.txt"), "x")
            });
        }),
        ("It may have written files. ", |scene, options| {
            change_in_workspace(scene, options, |work| {
                std::fs::remove_file(work.join("form.pdf"))
            });
        }),
        ("It may have written files. ", |scene, options| {
            change_in_workspace(scene, options, |work| std::fs::create_dir(work.join("new")));
        }),
        ("It may have written files. ", |scene, options| {
            change_in_workspace(scene, options, |work| {
                std::os::unix::fs::symlink("form.pdf", work.join("link"))
            });
        }),
        ("It may have written files. ", |scene, options| {
            options.writable_paths = vec![scene.fixture.path("work")];
        }),
        ("It connected to a.example. ", |scene, _| {
            let connections = vec![("a.example".to_owned(), 1).into()];
            *scene.fixture.sandbox.connections.lock().unwrap() = connections;
        }),
        ("It could read input. ", |scene, options| {
            let input = InputStream::new(std::io::repeat(7).take((1 << 20) + 1));
            options.input_stream = Some(input.clone());
            scene.act_before(move |_| {
                let mut reader = input.take().unwrap().unwrap();
                std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
            });
        }),
    ];
    for (expected, change) in cases {
        let scene = Scene::new(Answer::AllowAlways, &["pdftotext"]);
        let mut options = thrice();
        change(&scene, &mut options);
        let written = options.writable_paths.iter();
        let rules = written.map(|path| {
            let rule = format!("write:{}", path.display());
            Rule::parse(Effect::Allow, RuleSource::Invocation, &rule).unwrap()
        });
        let policy = Policy::default().with_rules(rules);
        let artifacts = scene.runtime(policy).execute_skill("pdf", options).await;
        let artifacts = artifacts.unwrap();
        assert!(!artifacts.exit_status.is_success());
        let questions = scene.questions();
        assert!(
            questions.len() == 1 && questions[0].starts_with(expected),
            "{questions:?}"
        );
        assert_eq!(scene.fixture.sandbox.jobs().len(), 1, "{expected}");
        // Without a store the answer lasts for the session.
        assert_eq!(artifacts.explanation.remedies, [Remedy::StartAgain]);
        let records = scene.records();
        assert!(
            records[2].ends_with("not started again: the attempt before has effects"),
            "{records:?}"
        );
    }
}

/// Output that was passed on cannot be taken back.
#[tokio::test]
async fn a_run_whose_output_was_given_is_not_repeated() {
    let scene = Scene::new(Answer::AllowAlways, &["pdftotext"]);
    *scene.fixture.sandbox.stdout.lock().unwrap() = b"page 1".to_vec();
    let runtime = scene.runtime(Policy::default());
    let mut run = runtime.executor().start("pdf", thrice());
    while run.next_event().await.is_some() {}
    assert!(!run.outcome().await.unwrap().exit_status.is_success());
    assert!(scene.questions()[0].starts_with("It printed output. "));
    assert_eq!(scene.fixture.sandbox.jobs().len(), 1);
    // Captured output is dropped with its attempt.
    let artifacts = scene.run(thrice()).await;
    assert!(artifacts.exit_status.is_success());
}

/// Refusals are not asked if only the program reports them, a rule denies them, or it succeeded.
#[tokio::test]
async fn only_observed_refusals_of_a_failure_are_asked() {
    let scene = Scene::new(Answer::AllowOnce, &["pdftotext"]);
    let deny = Rule::parse(Effect::Deny, RuleSource::Project, "spawn:pdftotext").unwrap();
    let runtime = scene.runtime(Policy::default().rule(deny));
    let _ = runtime.execute_skill("pdf", thrice()).await.unwrap();
    assert_eq!(scene.records().len(), 2, "a rule decides");
    let says = |evidence: Evidence, code: i32| {
        let sandbox = Arc::clone(&scene.fixture.sandbox);
        let act = move |_: &Job| {
            let mut refusals = Refusals::default();
            let name = "pdftotext".to_owned();
            refusals.add(Refusal::new(
                RefusedOperation::StartProgram { name },
                evidence,
            ));
            *sandbox.refusals.lock().unwrap() = refusals;
            *sandbox.termination.lock().unwrap() = Some(Termination::Exited { code });
        };
        *scene.fixture.sandbox.act.lock().unwrap() = Some(Box::new(act));
    };
    says(Evidence::ProgramOutput, 1);
    let _ = scene.run(thrice()).await;
    says(Evidence::Kernel, 0);
    let _ = scene.run(thrice()).await;
    assert_eq!(scene.questions(), Vec::<String>::new());
    assert_eq!(scene.records().len(), 4);
}

#[tokio::test]
async fn a_reached_limit_is_raised_for_the_run() {
    let scene = Scene::new(Answer::AllowOnce, &[]);
    let sandbox = Arc::clone(&scene.fixture.sandbox);
    let act = move |job: &Job| {
        let limit = job.grants().limits().wall_time;
        let limit_ms = u64::try_from(limit.as_millis()).unwrap();
        let termination = if limit.as_secs() < 300 {
            Termination::TimedOut { limit_ms }
        } else {
            Termination::Exited { code: 0 }
        };
        *sandbox.termination.lock().unwrap() = Some(termination);
    };
    *scene.fixture.sandbox.act.lock().unwrap() = Some(Box::new(act));
    let artifacts = scene.run(thrice()).await;
    assert!(artifacts.exit_status.is_success(), "{artifacts:?}");
    let questions = scene.questions();
    assert!(
        questions[0].contains("wants to run for 300 s"),
        "{questions:?}"
    );
}

/// The second attempt does not open `SKILL.md` again.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_further_attempt_reads_the_skill_no_more() {
    use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};

    let scene = Scene::new(Answer::AllowOnce, &["pdftotext"]);
    let opened = Arc::new(Inotify::init(InitFlags::IN_NONBLOCK).unwrap());
    let document = scene.fixture.path("pdf/SKILL.md");
    let flags = AddWatchFlags::IN_OPEN;
    opened.add_watch(&document, flags).unwrap();
    let opens = Arc::new(AtomicUsize::new(0));
    let (watched, counted) = (Arc::clone(&opened), Arc::clone(&opens));
    let approver = approver_fn(move |question: Question| {
        assert!(question.is_after_refusal());
        let events = watched.read_events().map_or(0, |events| events.len());
        counted.store(events, Ordering::Relaxed);
        async { Some(Answer::AllowOnce) }
    });
    let builder = scene.fixture.recording().approver(Arc::new(approver));
    let runtime = builder.audit(scene.log.clone()).build();
    let artifacts = runtime.execute_skill("pdf", thrice()).await.unwrap();
    assert!(artifacts.exit_status.is_success());
    assert!(
        opens.load(Ordering::Relaxed) > 0,
        "the first attempt reads it"
    );
    let later = opened.read_events().map_or(0, |events| events.len());
    assert_eq!(later, 0);
}
