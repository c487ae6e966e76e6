//! The backend itself: cases 92 and 94 to 100.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use skills_sandbox::{EnforcementReport, Sandbox, SandboxErrorKind};
use skills_sandbox_conformance::attempts::quoted;
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::host;
use skills_test_support::host_process::marked_lines;

use super::attempts::{create_scene, sandbox, script};
use super::host as host_process;
use crate::engine_proxy::{Answer, EngineProxy};
use crate::skill::Skill;

pub(crate) async fn observe(observations: &mut Observations) {
    nested(observations).await;
    no_restrictions(observations).await;
    faults(observations).await;
    many(observations);
    thread_ends(observations).await;
    interpreters(observations).await;
    observations.observe(100, "this is not macOS", AttemptResult::NotApplicable);
    reports_match_results(observations).await;
}

/// A host process in a container cannot reach the engine. It must return an error and run nothing.
async fn nested(observations: &mut Observations) {
    let mut skill = create_scene().workspace();
    skill.limits.memory_bytes = 1 << 30;
    let program = std::env::current_exe().unwrap();
    fs::copy(&program, skill.path("skill/host")).unwrap();
    // The image need not have all libraries of this test.
    for library in libraries_of(&program) {
        let name = Path::new(&library).file_name().unwrap();
        fs::copy(&library, skill.path("skill").join(name)).unwrap();
    }
    fs::write(
        skill.path("skill/inner.sh"),
        "echo inner > ../workspace/inner",
    )
    .unwrap();
    let (socket, image) = host::container_engine().unwrap();
    let command = host_process::command("");
    let arguments: Vec<String> = command
        .get_args()
        .map(|argument| quoted(argument.to_str().unwrap()))
        .collect();
    let text = format!(
        "export SKILLS_TEST_TASK=nested LD_LIBRARY_PATH=. SKILLS_TEST_CONTAINER_SOCKET={} SKILLS_TEST_CONTAINER_IMAGE={image}\nexec ./host {}",
        socket.display(),
        arguments.join(" ")
    );
    let output = skill
        .run(&sandbox(&skill), skill.job("main.sh", &text))
        .await;
    let lines = marked_lines(&output.stdout.text());
    let has = |start: &str| lines.iter().any(|line| line.starts_with(start));
    observations.check(
        92,
        &format!(
            "{:?} {lines:?} {}",
            output.termination,
            output.stderr.text()
        ),
        AttemptResult::Rejected,
        has("unavailable: ")
            && has("rejected: ")
            && output.termination.is_success()
            && !skill.path("workspace/inner").exists(),
    );
}

fn libraries_of(program: &Path) -> Vec<String> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let words = text.split_whitespace().filter(|word| word.starts_with('/'));
    words
        .filter(|word| word.contains("libgcc"))
        .map(str::to_owned)
        .collect()
}

fn sandbox_behind(proxy: &EngineProxy, skill: &Skill) -> ContainerSandbox {
    let (_, image) = host::container_engine().unwrap();
    ContainerSandbox::new(
        proxy.socket(),
        image.parse().unwrap(),
        skill.path("scratch"),
    )
}

/// With an engine without a system call filter or limits nothing runs, and the error has a hint.
async fn no_restrictions(observations: &mut Observations) {
    let without_filter = r#"{"SecurityOptions":["name=seccomp,profile=unconfined"],"MemoryLimit":true,"PidsLimit":true}"#;
    let without_limits = r#"{"SecurityOptions":["name=seccomp,profile=default"],"MemoryLimit":false,"PidsLimit":true}"#;
    for info in [without_filter, without_limits] {
        let skill = create_scene().workspace();
        let created = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&created);
        let proxy = EngineProxy::start(&skill.path("outside/proxy.sock"), move |request| {
            if request.contains("/containers/create") {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            if request.ends_with("/info") {
                Answer::Json(info.to_owned())
            } else {
                Answer::Forward
            }
        });
        let sandbox = sandbox_behind(&proxy, &skill);
        let job = skill.job("main.py", "open('../workspace/ran', 'w')");
        let errors = [
            sandbox.probe().map(|_| ()),
            sandbox.run(job).await.map(|_| ()),
        ];
        for error in errors {
            let has_hint = error.as_ref().is_err_and(|error| {
                error.kind() == SandboxErrorKind::Unavailable && error.hint().is_some()
            });
            let is_nothing_run =
                created.load(Ordering::Relaxed) == 0 && !skill.path("workspace/ran").exists();
            observations.check(
                94,
                &format!("{error:?}"),
                AttemptResult::Rejected,
                has_hint && is_nothing_run,
            );
        }
    }
}

/// Requests of a run, each of which fails once.
const STEPS: [&str; 7] = [
    "GET /images/",
    "POST /containers/create",
    "HEAD /containers/",
    "POST …/start",
    "GET …/json",
    "POST …/exec",
    "POST /exec/",
];

/// If any request to the engine fails, the program does not run, and no container is left.
async fn faults(observations: &mut Observations) {
    for step in STEPS {
        let skill = create_scene().workspace();
        let proxy = EngineProxy::start(&skill.path("outside/proxy.sock"), move |request| {
            if matches_step(request, step) {
                Answer::Status(500)
            } else {
                Answer::Forward
            }
        });
        let sandbox = sandbox_behind(&proxy, &skill);
        let job = skill.job("main.py", "open('../workspace/ran', 'w')");
        let failed = sandbox.run(job).await;
        observations.check(
            95,
            &format!("{step}: {failed:?}"),
            AttemptResult::Rejected,
            failed.is_err() && !skill.path("workspace/ran").exists(),
        );
    }
}

/// Compares a request such as `POST /containers/x/exec` with a step.
fn matches_step(request: &str, step: &str) -> bool {
    let path = request.split('?').next().unwrap_or_default();
    match step {
        "POST …/start" => path.starts_with("POST /containers/") && path.ends_with("/start"),
        "POST …/exec" => path.ends_with("/exec"),
        "GET …/json" => path.starts_with("GET /containers/") && path != "GET /containers/json",
        _ => path.starts_with(step),
    }
}

fn many(observations: &mut Observations) {
    let output = host_process::command("many")
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let lines = marked_lines(&String::from_utf8_lossy(&output.stdout));
    let what = format!("{lines:?} {}", String::from_utf8_lossy(&output.stderr));
    observations.check(
        96,
        &what,
        AttemptResult::Succeeded,
        lines == ["mixed 0", "nothing left", "memory true"],
    );
}

/// Starts a run on a thread that exits while the script still runs.
async fn thread_ends(observations: &mut Observations) {
    let skill = create_scene().workspace();
    let text = "import os, time\nopen('../workspace/started', 'w')\nwhile not os.path.exists('../workspace/go'): time.sleep(0.01)\nprint('went on')";
    let (job, sandbox) = (skill.job("main.py", text), sandbox(&skill));
    let runtime = tokio::runtime::Handle::current();
    let started = skill.path("workspace/started");
    let run = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let begin = || {
                runtime.block_on(async {
                    let mut run = sandbox.run(job);
                    let poll =
                        |context: &mut std::task::Context<'_>| match run.as_mut().poll(context) {
                            Poll::Ready(output) => panic!("the run ended early: {output:?}"),
                            Poll::Pending if started.exists() => Poll::Ready(()),
                            Poll::Pending => {
                                std::thread::sleep(std::time::Duration::from_millis(2));
                                context.waker().wake_by_ref();
                                Poll::Pending
                            }
                        };
                    std::future::poll_fn(poll).await;
                    // A future as the result of another would have to be awaited.
                    Some(run)
                })
            };
            scope.spawn(begin).join().unwrap()
        })
    });
    fs::write(skill.path("workspace/go"), "").unwrap();
    let output = run.unwrap().await.unwrap();
    observations.check(
        97,
        &format!("{:?}", output.termination),
        AttemptResult::Succeeded,
        output.stdout.text() == "went on\n" && output.termination.is_success(),
    );
}

async fn interpreters(observations: &mut Observations) {
    let skill = create_scene();
    let text = "import ssl, json, ctypes, decimal, zlib, subprocess\n\
                print(json.dumps([zlib.crc32(b'x'), str(decimal.Decimal('0.1') + 1), subprocess.run(['/bin/sh', '-c', 'echo $((2 + 3))'], capture_output=True, text=True).stdout]))";
    let output = script(&skill, text).await;
    observations.check(
        99,
        &format!("{} {}", output.stdout.text(), output.stderr.text()),
        AttemptResult::Succeeded,
        output.stdout.text() == "[2363233923, \"1.1\", \"5\\n\"]\n",
    );
}

/// The cases that test each restriction of a report.
const CASES_OF_RESTRICTIONS: [(&str, &[u8]); 9] = [
    (
        "files",
        &[
            1, 2, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 18, 19, 20, 21, 23, 102,
        ],
    ),
    (
        "network",
        &[
            32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 103, 104,
        ],
    ),
    ("privileges", &[12, 31, 59, 80, 81]),
    ("system-calls", &[51, 74, 82, 83, 84, 85, 86, 89, 90, 101]),
    ("signals", &[26, 29, 50]),
    ("cpu", &[65]),
    ("memory", &[61, 62]),
    ("scratch", &[63]),
    ("time", &[52, 53, 57, 65, 66]),
];

/// Each restriction that a report calls enforced must have been tested by cases above, and all of
/// them must have been blocked.
async fn reports_match_results(observations: &mut Observations) {
    let mut reports: Vec<EnforcementReport> = Vec::new();
    for skill in [
        create_scene(),
        create_scene().workspace(),
        create_scene().allow("network:skills.example"),
    ] {
        reports.push(script(&skill, "").await.enforcement);
    }
    observations.check_reports(&reports, &CASES_OF_RESTRICTIONS);
}
