//! Many runs, and runs that are dropped.

use std::path::Path;
use std::sync::Arc;

use skills_policy::Grants;
use skills_sandbox::{Job, Program, Sandbox, Termination};
use skills_sandbox_wasm::WasmSandbox;
use tempfile::TempDir;

use super::fixture::{Fixture, Generation};
use super::programs;

/// More than there are instance slots.
const RUNS: usize = 1_000;

fn job(bytes: &Arc<[u8]>) -> Job {
    Job::new(Grants::none(), Program::Wasm(Arc::clone(bytes)))
}

fn sandbox() -> (WasmSandbox, TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    (WasmSandbox::new(scratch.path()), scratch)
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_40_a_thousand_concurrent_runs_all_get_a_slot() {
    for &generation in Generation::ALL {
        let (sandbox, scratch) = sandbox();
        let bytes: Arc<[u8]> = Arc::from(programs::nothing(generation));
        let mut tasks = Vec::new();
        for _ in 0..RUNS {
            let (sandbox, job) = (sandbox.clone(), job(&bytes));
            tasks.push(tokio::spawn(async move {
                sandbox.run(job).await.map(|outcome| outcome.termination)
            }));
        }
        for task in tasks {
            assert_eq!(
                task.await.unwrap().unwrap(),
                Termination::Exited { code: 0 },
                "{generation:?}"
            );
        }
        assert_eq!(
            entries(scratch.path()),
            0,
            "{generation:?}: scratch directories are gone"
        );
    }
}

#[tokio::test]
async fn case_41_a_dropped_run_releases_everything() {
    for &generation in Generation::ALL {
        let (sandbox, scratch) = sandbox();
        let (endless, nothing): (Arc<[u8]>, Arc<[u8]>) = (
            programs::endless(generation).into(),
            programs::nothing(generation).into(),
        );
        // More often than there are instance slots.
        for _ in 0..200 {
            tokio::select! {
                biased;
                outcome = sandbox.run(job(&endless)) => panic!("{generation:?}: it never ends by itself: {}", outcome.unwrap().termination),
                outcome = sandbox.run(job(&nothing)) => assert!(outcome.unwrap().termination.is_success()),
            }
        }
        assert_eq!(
            entries(scratch.path()),
            0,
            "{generation:?}: scratch directories are gone"
        );
    }
}

#[tokio::test]
async fn case_41_a_run_dropped_while_waiting_releases_everything() {
    for &generation in Generation::ALL {
        let (sandbox, scratch) = sandbox();
        let sleep = || job(&generation.guest()).arg("sleep");
        let input = || job(&generation.guest()).arg("input");
        assert!(sandbox.run(input()).await.unwrap().termination.is_success());
        for _ in 0..20 {
            tokio::select! {
                biased;
                outcome = sandbox.run(sleep()) => panic!("{generation:?}: it never ends by itself: {}", outcome.unwrap().termination),
                outcome = sandbox.run(input()) => assert!(outcome.unwrap().termination.is_success()),
            }
        }
        assert_eq!(
            entries(scratch.path()),
            0,
            "{generation:?}: scratch directories are gone"
        );
    }
}

/// A later caller gets the compiled program, or compiles it.
#[tokio::test]
async fn case_41_a_run_dropped_during_compilation_does_not_affect_others() {
    for &generation in Generation::ALL {
        let (sandbox, scratch) = sandbox();
        let input = || job(&generation.guest()).arg("input");
        let nothing: Arc<[u8]> = programs::nothing(generation).into();
        tokio::select! {
            biased;
            _ = sandbox.run(input()) => skills_test_support::skip_part(format!("{generation:?}"), "compiled before the run could be dropped"),
            outcome = sandbox.run(job(&nothing)) => assert!(outcome.unwrap().termination.is_success()),
        }
        let outcome = sandbox.run(input()).await.unwrap();
        assert_eq!(outcome.stdout.text(), "ok: 0 bytes\n", "{generation:?}");
        assert_eq!(
            entries(scratch.path()),
            0,
            "{generation:?}: scratch directories are gone"
        );
        Fixture::new(generation).still_works().await;
    }
}
