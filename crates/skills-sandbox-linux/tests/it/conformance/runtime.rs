//! The backend itself: cases 94 to 100.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::task::Poll;

use skills_process::ProgramFinder;
use skills_sandbox::{EnforcementReport, Sandbox, SandboxErrorKind, ScriptType};
use skills_sandbox_conformance::AttemptResult;
use skills_sandbox_linux::{IsolationMode, SetupStep};
use skills_test_support::host_process::marked_lines;
use skills_test_support::skip_part;

use super::host;
use super::observations::Observations;
use super::scene::{create_scene, has_node};
use crate::skill::Skill;

pub(crate) async fn run(observations: &mut Observations) {
    no_restrictions(observations).await;
    faults(observations).await;
    many(observations);
    thread_ends(observations).await;
    interpreters(observations).await;
    observations.observe(100, "this is not macOS", AttemptResult::NotApplicable);
    observations.finish_group("runtime");
    reports_match_results(observations).await;
}

/// On a host without sandbox support nothing runs in any mode, and the error has a hint.
async fn no_restrictions(observations: &mut Observations) {
    for isolation in [
        IsolationMode::BestAvailable,
        IsolationMode::Namespaces,
        IsolationMode::LandlockOnly,
    ] {
        let skill = create_scene(observations.mode).tool("Write");
        let job = skill.job("main.py", "open('../workspace/ran', 'w')");
        let sandbox = skill
            .sandbox()
            .isolation_mode(isolation)
            .without_restrictions();
        let errors = [
            sandbox.probe().map(|_| ()),
            sandbox.check_grants(&skill.grants()),
            sandbox.run(job).await.map(|_| ()),
        ];
        for error in errors {
            let has_hint = error.as_ref().is_err_and(|error| {
                error.kind() == SandboxErrorKind::Unavailable && error.hint().is_some()
            });
            let shown = format!("{isolation:?}: {error:?}");
            observations.check(
                94,
                &shown,
                AttemptResult::Rejected,
                has_hint && !skill.path("workspace/ran").exists() && skill.leftovers() == 0,
            );
        }
    }
}

/// If any setup step fails, the program does not run.
async fn faults(observations: &mut Observations) {
    for step in SetupStep::ALL {
        let namespace_steps = [
            SetupStep::Identity,
            SetupStep::Root,
            SetupStep::RootFs,
            SetupStep::Proc,
            SetupStep::Pivot,
            SetupStep::Network,
            SetupStep::Init,
        ];
        if !observations.has_namespaces() && namespace_steps.contains(&step) {
            continue;
        }
        let skill = create_scene(observations.mode).tool("Write");
        let skill = if step == SetupStep::Network {
            skill.tool("WebFetch(domain:skills.example)")
        } else {
            skill
        };
        let job = skill.job("main.py", "open('../workspace/ran', 'w')");
        let failed = skill.sandbox().fault(step).run(job).await;
        let is_so =
            failed.is_err() && !skill.path("workspace/ran").exists() && skill.leftovers() == 0;
        observations.check(
            95,
            &format!("{step:?}: {failed:?}"),
            AttemptResult::Rejected,
            is_so,
        );
    }
}

fn many(observations: &mut Observations) {
    let output = host::command("many", observations.mode)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let lines = marked_lines(&String::from_utf8_lossy(&output.stdout));
    let shown = format!("{lines:?} {}", String::from_utf8_lossy(&output.stderr));
    observations.check(
        96,
        &shown,
        AttemptResult::Succeeded,
        lines == ["mixed 0", "nothing left", "memory true"],
    );
}

/// Starts a run on a thread that exits while the script still runs.
async fn thread_ends(observations: &mut Observations) {
    let skill = create_scene(observations.mode).tool("Write");
    let script = "import sys, time\nopen('../workspace/started', 'w')\nwhile not __import__('os').path.exists('../workspace/go'): time.sleep(0.01)\nprint('went on')";
    let (job, sandbox) = (skill.job("main.py", script), skill.sandbox());
    let runtime = tokio::runtime::Handle::current();
    let begun = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let begin = || {
                runtime.block_on(async {
                    let mut run = sandbox.run(job);
                    let started = skill.path("workspace/started");
                    std::future::poll_fn(|context| match run.as_mut().poll(context) {
                        Poll::Ready(output) => panic!("the run ended early: {output:?}"),
                        Poll::Pending if started.exists() => Poll::Ready(()),
                        Poll::Pending => {
                            std::thread::sleep(std::time::Duration::from_millis(2));
                            context.waker().wake_by_ref();
                            Poll::Pending
                        }
                    })
                    .await;
                    Some(run)
                })
            };
            scope.spawn(begin).join().unwrap()
        })
    });
    std::fs::write(skill.path("workspace/go"), "").unwrap();
    let output = begun.unwrap().await.unwrap();
    observations.check(
        97,
        &format!("{:?}", output.termination),
        AttemptResult::Succeeded,
        output.stdout.text() == "went on\n" && output.termination.is_success(),
    );
}

/// The cases that test each restriction of a report.
const CASES_OF_RESTRICTIONS: [(&str, &[u8]); 13] = [
    ("files", &[1, 2, 4, 5, 6, 7, 10, 16, 17, 19, 20, 102]),
    ("metadata", &[8, 9]),
    ("signals", &[50]),
    (
        "network",
        &[
            32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 104,
        ],
    ),
    ("processes", &[58, 60]),
    ("protected", &[21]),
    ("privileges", &[59, 80]),
    ("system-calls", &[51, 74, 82, 83, 84, 85, 86, 90, 101]),
    ("memory", &[61, 62]),
    ("scratch", &[63]),
    ("time", &[52, 53, 57, 65, 66]),
    ("host-death", &[55]),
    ("environment", &[68, 70, 71]),
];

/// Each restriction that a report calls enforced must have been tested by cases above, and all of
/// them must have been blocked.
async fn reports_match_results(observations: &mut Observations) {
    let mut reports: Vec<EnforcementReport> = Vec::new();
    for tools in [
        &[][..],
        &["Write"],
        &["Bash"],
        &["Bash(cat:*)"],
        &["WebFetch(domain:skills.example)"],
    ] {
        let skill = tools
            .iter()
            .fold(create_scene(observations.mode), |skill, tool| {
                skill.tool(tool)
            });
        if let Ok(output) = skill.sandbox().run(skill.job("main.sh", ":")).await {
            reports.push(output.enforcement);
        }
    }
    observations.check_reports(&reports, &CASES_OF_RESTRICTIONS);
}

async fn interpreters(observations: &mut Observations) {
    let stage = tempfile::tempdir().unwrap();
    let mut pythons = vec![
        PathBuf::from("/usr/bin/python3"),
        PathBuf::from("/usr/local/bin/python3"),
        "/opt/conda/bin/python3".into(),
    ];
    pythons.extend(pythons_below("/root/.pyenv/versions"));
    pythons.extend(pythons_below("/opt/pyenv/versions"));
    pythons.extend(pythons_below("/root/.local/share/uv/python"));
    pythons.retain(|python| is_modern(python));
    let venv = stage.path().canonicalize().unwrap().join("venv");
    let made = Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .stderr(Stdio::null())
        .status();
    match made.is_ok_and(|made| made.success()) {
        true => pythons.push(venv.join("bin/python3")),
        false => skip_part("virtual environment", "/usr/bin/python3 -m venv fails"),
    }
    assert!(!pythons.is_empty(), "no Python found");
    for python in &pythons {
        let mut skill = create_scene(observations.mode);
        skill.limits.memory_bytes = 512 << 20;
        let job = skill.job("main.py", "import ssl, json, sqlite3, sys, ctypes, decimal, zlib\nprint(json.dumps([sys.prefix, sqlite3.connect(':memory:').execute('select 1').fetchone()]))");
        let sandbox = skill.sandbox().program_finder(
            ProgramFinder::default().override_interpreter(ScriptType::Python, python),
        );
        let output = sandbox.run(job).await;
        let streams = output.map(|output| (output.stdout.text(), output.stderr.text()));
        let prefix = python
            .parent()
            .and_then(Path::parent)
            .unwrap()
            .display()
            .to_string();
        let is_so = streams
            .as_ref()
            .is_ok_and(|(out, _)| out.contains(&prefix) && out.contains("[1]"));
        observations.check(
            99,
            &format!("{}: {streams:?}", python.display()),
            AttemptResult::Succeeded,
            is_so,
        );
    }
    let skill = Skill::new(observations.mode);
    if has_node() {
        let output =
            skill.run(skill.job("main.js", "console.log(require('crypto').createHash('sha256').update('x').digest('hex').length)")).await;
        observations.check(
            99,
            &format!("{output:?}"),
            AttemptResult::Succeeded,
            output.stdout.text() == "64\n",
        );
    }
}

fn pythons_below(directory: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join("bin/python3"))
}

/// Returns whether a Python is recent and complete enough: one that cannot run the script without a
/// sandbox proves nothing.
fn is_modern(python: &Path) -> bool {
    let check = "import sys, ssl, json, sqlite3, ctypes, decimal, zlib\nsys.exit(sys.version_info < (3, 8))";
    python.exists()
        && Command::new(python)
            .args(["-I", "-c", check])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}
