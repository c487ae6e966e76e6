//! Components that are too expensive to compile in this process: a child with limits compiles them.
#![cfg(unix)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use insta::assert_snapshot;
use skills_policy::{Authorization, Grants, Policy, Request, ResourceLimits};
use skills_sandbox::{
    CancellationToken, Job, Preparation, Program, RefusedOperation, Sandbox, SandboxErrorKind,
    Termination,
};
use skills_sandbox_wasm::{CodeCache, CompileCommand, WasmSandbox, compile_child};

use crate::cases::fixture::Generation;
use crate::cases::programs::{command, nothing};

/// Acts as the child if started as one: reads the request, and writes the reply outside of the
/// harness's output.
#[test]
fn a_child() {
    let Ok(output) = std::env::var(OUTPUT) else {
        return;
    };
    let output = std::fs::OpenOptions::new()
        .write(true)
        .open(output)
        .unwrap();
    compile_child(std::io::stdin().lock(), output).unwrap();
    std::process::exit(0);
}

const OUTPUT: &str = "SKILLS_TEST_COMPILED";

/// Starts this program, with the output of the harness redirected. Each start is a line in the log,
/// whose path is in the command line.
pub(crate) fn this(log: &Path) -> CompileCommand {
    let script = format!(
        "echo started >> \"$1\"; {OUTPUT}=/dev/fd/3 exec \"$0\" --exact compile::a_child \"$@\" --nocapture 3>&1 >/dev/null"
    );
    CompileCommand::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .arg(std::env::current_exe().unwrap())
        .arg(log)
}

/// Like [`this`], but the child waits until the gate exists.
fn gated(log: &Path, gate: &Path) -> CompileCommand {
    let script = format!(
        "echo started >> \"$1\"; until [ -e \"$2\" ]; do sleep 0.01; done; {OUTPUT}=/dev/fd/3 exec \"$0\" --exact compile::a_child \"$@\" --nocapture 3>&1 >/dev/null"
    );
    CompileCommand::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .arg(std::env::current_exe().unwrap())
        .arg(log)
        .arg(gate)
}

/// Returns how many children were started.
fn starts(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap().lines().count()
}

/// Waits until this many children were started.
async fn await_starts(log: &Path, number: usize) {
    while !log.exists() || starts(log) < number {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Calls in one function: compiling them takes about 1.2 KB each.
fn calls(number: usize) -> Vec<u8> {
    command(
        Generation::P2,
        &format!(
            r#"(func $f) (func (export "run") (result i32) {} i32.const 0)"#,
            "call $f ".repeat(number)
        ),
    )
}

/// Nested loops that all modify all variables: each takes minutes to compile.
fn loops(seed: usize) -> Vec<u8> {
    let (depth, variables) = (400, 400);
    let locals = "i32 ".repeat(variables);
    let changes: String = (0..variables)
        .map(|at| format!("(local.set {at} (i32.add (local.get {at}) (i32.const {seed})))"))
        .collect();
    let (open, close) = (
        "loop ".repeat(depth),
        "local.get 0 br_if 0 end ".repeat(depth),
    );
    command(
        Generation::P2,
        &format!(
            r#"(func (export "run") (result i32) (local {locals}) {open}{changes} {close} i32.const 0)"#
        ),
    )
}

fn job(bytes: &[u8]) -> Job {
    Job::new(Grants::none(), Program::Wasm(bytes.into()))
}

/// A job with this deadline.
fn timed(bytes: &[u8], skill: &Path, wall_time: Duration) -> Job {
    let mut limits = ResourceLimits::default();
    limits.wall_time = wall_time;
    let Authorization::Granted(grants) =
        Policy::default().authorize(&Request::new(skill).limits(limits))
    else {
        panic!("granted")
    };
    Job::new(grants, Program::Wasm(Arc::from(bytes)))
}

/// Checks that no child is left; a child has the path of its log in its command line. Only Linux
/// exposes command lines here.
async fn assert_gone(log: &Path) {
    let log = log.to_str().unwrap();
    for _ in 0..500 {
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return;
        };
        let is_child = |entry: std::fs::DirEntry| {
            String::from_utf8_lossy(
                &std::fs::read(entry.path().join("cmdline")).unwrap_or_default(),
            )
            .contains(log)
        };
        if !processes.filter_map(Result::ok).any(is_child) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the child is still running");
}

#[tokio::test]
async fn a_large_component_is_compiled_in_a_child_and_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox =
        WasmSandbox::new(scratch.path()).compile_command(this(&scratch.path().join("starts")));
    let outcome = sandbox.run(job(&calls(25_000))).await.unwrap();
    assert_eq!(outcome.termination, Termination::Exited { code: 0 });
    assert!(
        outcome
            .enforcement
            .field_value("code")
            .unwrap()
            .starts_with("compiled in ")
    );
}

#[tokio::test]
async fn a_child_gets_no_variables_of_the_host() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("seen");
    let script = "{ pwd; export -p; } > \"$0\"";
    let sh = CompileCommand::new("/bin/sh")
        .arg("-c")
        .arg(script)
        .arg(&log);
    let sandbox = WasmSandbox::new(scratch.path()).compile_command(sh);
    assert!(sandbox.run(job(&calls(25_000))).await.is_err());
    let seen = std::fs::read_to_string(&log).unwrap();
    assert!(
        seen.starts_with("/\n") && seen.contains("RAYON_NUM_THREADS"),
        "{seen}"
    );
    // Cargo sets variables for its tests, and every user has a home directory.
    assert!(!seen.contains("CARGO") && !seen.contains("HOME="), "{seen}");
    let sandbox = WasmSandbox::new(scratch.path())
        .compile_command(CompileCommand::new("sh").arg("-c").arg("exit"));
    let error = sandbox
        .run(job(&calls(25_000)))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("sh is not an absolute path"), "{error}");
}

#[tokio::test]
async fn without_a_command_only_small_components_are_compiled() {
    let scratch = tempfile::tempdir().unwrap();
    let sandbox = WasmSandbox::new(scratch.path());
    let error = sandbox.run(job(&calls(400_000))).await.unwrap_err();
    assert_eq!(error.kind(), SandboxErrorKind::InvalidProgram);
    let output = error.to_string();
    assert!(output.contains("configure a compile command"), "{output}");
    assert!(
        sandbox
            .run(job(&nothing(Generation::P2)))
            .await
            .unwrap()
            .termination
            .is_success()
    );
    // The module that another process compiled is used.
    let cache = || CodeCache::open(scratch.path().join("cache")).unwrap();
    let able = WasmSandbox::new(scratch.path())
        .code_cache(cache())
        .compile_command(this(&scratch.path().join("starts")));
    assert!(matches!(
        able.prepare(Program::Wasm(calls(25_000).into()))
            .await
            .unwrap(),
        Preparation::Compiled { .. }
    ));
    let outcome = WasmSandbox::new(scratch.path())
        .code_cache(cache())
        .run(job(&calls(25_000)))
        .await
        .unwrap();
    assert_eq!(
        (
            outcome.termination.clone(),
            outcome.enforcement.field_value("code")
        ),
        (Termination::Exited { code: 0 }, Some("from the cache"))
    );
}

#[tokio::test]
async fn the_memory_of_a_child_is_limited_and_the_component_is_not_tried_again() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let sandbox =
        WasmSandbox::new(scratch.path()).compile_command(this(&log).memory_bytes(96 << 20));
    let large = calls(400_000);
    let error = sandbox.run(job(&large)).await.unwrap_err().to_string();
    assert_snapshot!(error, @"cannot load the program: too large to compile: compilation exceeds 96 MiB of memory; split its largest functions, or remove what it does not need");
    let again = sandbox.run(job(&large)).await.unwrap_err().to_string();
    assert_eq!((again, starts(&log)), (error, 1));
    assert_gone(&log).await;
    assert!(
        sandbox
            .run(job(&nothing(Generation::P2)))
            .await
            .unwrap()
            .termination
            .is_success()
    );
}

#[tokio::test]
async fn a_compilation_ends_at_its_own_limit_after_the_deadline_of_its_run() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let sandbox = WasmSandbox::new(scratch.path())
        .compile_command(this(&log).timeout(Duration::from_secs(3)));
    let hostile = loops(1);
    let outcome = sandbox
        .run(timed(&hostile, scratch.path(), Duration::from_secs(1)))
        .await
        .unwrap();
    assert_eq!(
        outcome.termination,
        Termination::TimedOut { limit_ms: 1_000 }
    );
    let [refusal] = outcome.refusals.list() else {
        panic!("{:?}", outcome.refusals)
    };
    let expected = RefusedOperation::CompileInTime { limit_ms: 1_000 };
    assert_eq!(refusal.operation, expected);
    assert_gone(&log).await;
    let again = sandbox
        .run(timed(&hostile, scratch.path(), Duration::from_secs(1)))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        again.contains("too large to compile: compilation did not finish within"),
        "{again}"
    );
    assert_eq!(starts(&log), 1);
    assert!(
        sandbox
            .run(job(&nothing(Generation::P2)))
            .await
            .unwrap()
            .termination
            .is_success()
    );
}

/// The compilation waits for the gate, so it is always longer than the first deadline.
#[tokio::test]
async fn a_compilation_that_exceeds_the_deadline_is_finished_for_the_next_run() {
    let scratch = tempfile::tempdir().unwrap();
    let (log, gate) = (scratch.path().join("starts"), scratch.path().join("gate"));
    let cache = || CodeCache::open(scratch.path().join("cache")).unwrap();
    let sandbox = WasmSandbox::new(scratch.path())
        .code_cache(cache())
        .compile_command(gated(&log, &gate));
    let large = calls(25_000);
    assert!(sandbox.unfinished_preparation().is_none());
    // No program may be granted the directory of the cache.
    let skill = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let outcome = sandbox
            .run(timed(&large, skill.path(), Duration::from_millis(200)))
            .await
            .unwrap();
        assert_eq!(outcome.termination, Termination::TimedOut { limit_ms: 200 });
        let [refusal] = outcome.refusals.list() else {
            panic!("{:?}", outcome.refusals)
        };
        let expected = RefusedOperation::CompileInTime { limit_ms: 200 };
        assert_eq!(refusal.operation, expected);
    }
    std::fs::write(&gate, "").unwrap();
    let finished = sandbox.unfinished_preparation().unwrap().await.unwrap();
    assert!(
        matches!(
            finished,
            Preparation::Compiled {
                cache_error: None,
                ..
            }
        ),
        "{finished:?}"
    );
    assert!(sandbox.unfinished_preparation().is_none());
    let code = async |sandbox: &WasmSandbox| {
        let outcome = sandbox.run(job(&large)).await.unwrap();
        assert!(outcome.termination.is_success());
        outcome.enforcement.field_value("code").unwrap().to_owned()
    };
    assert_eq!(code(&sandbox).await, "from an earlier run");
    let other = WasmSandbox::new(scratch.path()).code_cache(cache());
    assert_eq!(code(&other).await, "from the cache");
    assert_eq!(starts(&log), 1);
}

/// Two modules that compile for minutes after their runs have ended at their deadlines occupy both
/// permits, and the module of a third caller takes one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compilation_that_no_run_waits_for_gives_way_to_other_callers() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let sandbox = WasmSandbox::new(scratch.path()).compile_command(this(&log));
    for (seed, caller) in [(1, "a"), (2, "b")] {
        let run = timed(&loops(seed), scratch.path(), Duration::from_millis(500));
        let outcome = sandbox.run(run.caller(caller)).await.unwrap();
        assert_eq!(outcome.termination, Termination::TimedOut { limit_ms: 500 });
    }
    await_starts(&log, 2).await;
    let outcome = sandbox.run(job(&calls(25_000)).caller("c")).await.unwrap();
    assert!(outcome.termination.is_success());
    // The other one continues, and a run that waits for it keeps it.
    let cancellation = CancellationToken::new();
    let waiting = job(&loops(2))
        .caller("b")
        .cancellation(cancellation.clone());
    let cancel = async {
        let outcome = sandbox.run(job(&calls(25_001)).caller("c")).await.unwrap();
        assert!(outcome.termination.is_success());
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(sandbox.run(waiting), cancel);
    assert_eq!(outcome.unwrap().termination, Termination::Cancelled);
    assert_eq!(starts(&log), 4);
    assert_gone(&log).await;
}

#[tokio::test]
async fn cancelling_a_run_ends_the_child() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let sandbox = WasmSandbox::new(scratch.path()).compile_command(this(&log));
    let (hostile, cancellation) = (loops(2), CancellationToken::new());
    let run = sandbox.run(job(&hostile).cancellation(cancellation.clone()));
    let cancel = async {
        await_starts(&log, 1).await;
        cancellation.cancel();
    };
    let (outcome, ()) = tokio::join!(run, cancel);
    assert_eq!(outcome.unwrap().termination, Termination::Cancelled);
    assert_gone(&log).await;
}

/// Two children are busy, and cached programs neither wait for them nor fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cached_components_do_not_wait_for_children() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let cache = CodeCache::open(scratch.path().join("cache")).unwrap();
    let sandbox = WasmSandbox::new(scratch.path())
        .code_cache(cache)
        .compile_command(this(&log));
    sandbox
        .prepare(Program::Wasm(calls(25_000).into()))
        .await
        .unwrap();
    let fresh = WasmSandbox::new(scratch.path())
        .code_cache(CodeCache::open(scratch.path().join("cache")).unwrap())
        .compile_command(this(&log));
    let busy: Vec<_> = (1..=3)
        .map(|seed| {
            let fresh = fresh.clone();
            let job = job(&loops(seed)).caller(seed.to_string());
            tokio::spawn(async move { fresh.run(job).await })
        })
        .collect();
    // The one that `prepare` started, and two of three.
    await_starts(&log, 3).await;
    assert!(
        fresh
            .run(job(&calls(25_000)))
            .await
            .unwrap()
            .termination
            .is_success()
    );
    for run in busy {
        assert!(!run.is_finished());
        run.abort();
    }
}

/// The first module of one caller compiles for minutes: its second one waits, that of another
/// caller does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn modules_of_one_caller_are_compiled_one_after_the_other() {
    let scratch = tempfile::tempdir().unwrap();
    let log = scratch.path().join("starts");
    let sandbox = WasmSandbox::new(scratch.path()).compile_command(this(&log));
    let start = |caller: &'static str, bytes: Vec<u8>| {
        let sandbox = sandbox.clone();
        tokio::spawn(async move {
            sandbox
                .run(job(&bytes).caller(caller))
                .await
                .unwrap()
                .termination
        })
    };
    let long = start("a", loops(1));
    await_starts(&log, 1).await;
    let second = start("a", calls(25_000));
    let other = start("b", calls(25_001));
    assert!(other.await.unwrap().is_success());
    assert!(!second.is_finished());
    assert_eq!(starts(&log), 2);
    long.abort();
    assert!(second.await.unwrap().is_success());
}

#[tokio::test]
async fn the_reply_of_another_program_is_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    for (program, words) in [
        ("/bin/cat", "expected a reply of a compiler"),
        ("/bin/true", "exit status: 0"),
        ("/nowhere/at/all", "cannot start"),
    ] {
        let sandbox =
            WasmSandbox::new(scratch.path()).compile_command(CompileCommand::new(program));
        let error = sandbox
            .run(job(&calls(25_000)))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("compiler failed") && error.contains(words),
            "{program}: {error}"
        );
    }
}
