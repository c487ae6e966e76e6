//! The runtime itself: cases 95 to 100.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::task::Poll;

use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::interpreter::ProgramFinder;
use skills_sandbox::{EnforcementReport, EnforcementStatus, ErrorKind, Sandbox, ScriptType};
use skills_sandbox_linux::{IsolationMode, SetupStep};
use skills_test_support::skip_part;

use super::answers::Answers;
use super::host;
use super::scene::{has_node, planted};
use crate::skill::Skill;

pub(crate) async fn answer(answers: &mut Answers) {
    no_wall(answers).await;
    faults(answers).await;
    many(answers);
    thread_ends(answers).await;
    interpreters(answers).await;
    answers.observe(100, "this is no macOS", AttemptResult::NotApplicable);
    answers.through("runtime");
    honest(answers).await;
}

/// A machine that has nothing: whatever is asked for, nothing runs, and it is said what is missing
/// and how to get it.
async fn no_wall(answers: &mut Answers) {
    for isolation in [
        IsolationMode::BestAvailable,
        IsolationMode::Namespaces,
        IsolationMode::LandlockOnly,
    ] {
        let skill = planted(answers.tier).tool("Write");
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
            let is_told = error.as_ref().is_err_and(|error| {
                error.kind() == ErrorKind::Unavailable && error.hint().is_some()
            });
            let shown = format!("{isolation:?}: {error:?}");
            answers.holds(
                94,
                &shown,
                AttemptResult::Rejected,
                is_told && !skill.path("workspace/ran").exists() && skill.leftovers() == 0,
            );
        }
    }
}

/// No step may fail and the program run all the same.
async fn faults(answers: &mut Answers) {
    for step in SetupStep::ALL {
        let of_isolation = [
            SetupStep::Identity,
            SetupStep::Root,
            SetupStep::RootFs,
            SetupStep::Proc,
            SetupStep::Pivot,
            SetupStep::Network,
        ];
        if !answers.is_isolated() && of_isolation.contains(&step) {
            continue;
        }
        let skill = planted(answers.tier).tool("Write");
        let skill = if step == SetupStep::Network {
            skill.tool("WebFetch(domain:skills.example)")
        } else {
            skill
        };
        let job = skill.job("main.py", "open('../workspace/ran', 'w')");
        let failed = skill.sandbox().fault(step).run(job).await;
        let is_so =
            failed.is_err() && !skill.path("workspace/ran").exists() && skill.leftovers() == 0;
        answers.holds(
            95,
            &format!("{step:?}: {failed:?}"),
            AttemptResult::Rejected,
            is_so,
        );
    }
}

fn many(answers: &mut Answers) {
    let output = host::command("many", answers.tier)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = host::said(&String::from_utf8_lossy(&output.stdout));
    let shown = format!("{said:?} {}", String::from_utf8_lossy(&output.stderr));
    answers.holds(
        96,
        &shown,
        AttemptResult::Succeeded,
        said == ["mixed 0", "nothing left", "memory true"],
    );
}

/// A run is begun on a thread that ends while the script still runs.
async fn thread_ends(answers: &mut Answers) {
    let skill = planted(answers.tier).tool("Write");
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
                        Poll::Ready(outcome) => panic!("it waits for us: {outcome:?}"),
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
    let outcome = begun.unwrap().await.unwrap();
    answers.holds(
        97,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        outcome.stdout.text() == "went on\n" && outcome.termination.is_success(),
    );
}

/// The cases that put each wall of a report to the test.
const PROVOKED: [(&str, &[u8]); 13] = [
    ("files", &[1, 2, 4, 5, 6, 7, 10, 16, 17, 19, 20]),
    ("metadata", &[8, 9]),
    ("signals", &[50]),
    (
        "network",
        &[
            32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48,
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

/// Whatever a report calls enforced must have been attacked above, and have held.
async fn honest(answers: &mut Answers) {
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
            .fold(planted(answers.tier), |skill, tool| skill.tool(tool));
        if let Ok(outcome) = skill.sandbox().run(skill.job("main.sh", ":")).await {
            reports.push(outcome.enforcement);
        }
    }
    let provoked: BTreeMap<&str, &[u8]> = PROVOKED.into();
    for layer in reports
        .iter()
        .flat_map(EnforcementReport::restrictions)
        .filter(|layer| layer.status() == EnforcementStatus::Enforced)
    {
        let cases = provoked.get(layer.name()).copied().unwrap_or_default();
        let held = cases
            .iter()
            .all(|case| answers.of(*case).is_some_and(AttemptResult::is_blocked));
        answers.holds(
            98,
            &format!("{layer}, provoked by {cases:?}"),
            AttemptResult::Succeeded,
            held && !cases.is_empty(),
        );
    }
}

async fn interpreters(answers: &mut Answers) {
    let stage = tempfile::tempdir().unwrap();
    let mut pythons = vec![
        PathBuf::from("/usr/bin/python3"),
        PathBuf::from("/usr/local/bin/python3"),
        "/opt/conda/bin/python3".into(),
    ];
    pythons.extend(below("/root/.pyenv/versions"));
    pythons.extend(below("/opt/pyenv/versions"));
    pythons.extend(below("/root/.local/share/uv/python"));
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
    assert!(!pythons.is_empty(), "there is no Python at all");
    for python in &pythons {
        let mut skill = planted(answers.tier);
        skill.limits.memory_bytes = 512 << 20;
        let job = skill.job("main.py", "import ssl, json, sqlite3, sys, ctypes, decimal, zlib\nprint(json.dumps([sys.prefix, sqlite3.connect(':memory:').execute('select 1').fetchone()]))");
        let sandbox = skill.sandbox().program_finder(
            ProgramFinder::default().override_interpreter(ScriptType::Python, python),
        );
        let outcome = sandbox.run(job).await;
        let said = outcome.map(|outcome| (outcome.stdout.text(), outcome.stderr.text()));
        let prefix = python
            .parent()
            .and_then(Path::parent)
            .unwrap()
            .display()
            .to_string();
        let is_so = said
            .as_ref()
            .is_ok_and(|(out, _)| out.contains(&prefix) && out.contains("[1]"));
        answers.holds(
            99,
            &format!("{}: {said:?}", python.display()),
            AttemptResult::Succeeded,
            is_so,
        );
    }
    let skill = Skill::new(answers.tier);
    if has_node() {
        let outcome =
            skill.run(skill.job("main.js", "console.log(require('crypto').createHash('sha256').update('x').digest('hex').length)")).await;
        answers.holds(
            99,
            &format!("{outcome:?}"),
            AttemptResult::Succeeded,
            outcome.stdout.text() == "64\n",
        );
    }
}

fn below(directory: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().join("bin/python3"))
}

/// Old ones, and those that cannot do without the sandbox what they are asked to do in it, say
/// nothing about it.
fn is_modern(python: &Path) -> bool {
    let check = "import sys, ssl, json, sqlite3, ctypes, decimal, zlib\nsys.exit(sys.version_info < (3, 8))";
    python.exists()
        && Command::new(python)
            .args(["-I", "-c", check])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
}
