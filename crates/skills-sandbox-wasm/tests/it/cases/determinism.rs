//! Reproducible runs.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use skills_policy::Grants;
use skills_sandbox::{Job, Program, RunOutput, Sandbox, Termination};
use skills_sandbox_wasm::{WasmProfile, WasmSandbox};
use tempfile::TempDir;

use super::fixture::Generation;
use super::programs;

/// A sandbox per profile, so that each guest is compiled once for each.
static REPEATABLE: LazyLock<(WasmSandbox, TempDir)> =
    LazyLock::new(|| sandbox(WasmProfile::Deterministic { seed: 1 }));
static OTHERWISE: LazyLock<(WasmSandbox, TempDir)> =
    LazyLock::new(|| sandbox(WasmProfile::Deterministic { seed: 2 }));
static FAST: LazyLock<(WasmSandbox, TempDir)> = LazyLock::new(|| sandbox(WasmProfile::Fast));

fn sandbox(profile: WasmProfile) -> (WasmSandbox, TempDir) {
    let scratch = tempfile::tempdir().unwrap();
    (WasmSandbox::new(scratch.path()).profile(profile), scratch)
}

async fn run(sandbox: &WasmSandbox, bytes: Arc<[u8]>, arguments: &[&str]) -> RunOutput {
    let job = Job::new(Grants::none(), Program::Wasm(bytes));
    sandbox
        .run(
            arguments
                .iter()
                .fold(job, |job, argument| job.arg(*argument)),
        )
        .await
        .unwrap()
}

/// Returns the lines that may differ between two runs: clocks, random numbers.
async fn entropy(sandbox: &WasmSandbox, generation: Generation) -> Vec<String> {
    let outcome = run(sandbox, generation.guest(), &["entropy"]).await;
    assert_eq!(
        outcome.termination,
        Termination::Exited { code: 0 },
        "{generation:?}"
    );
    outcome.stdout.text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn case_42_the_same_seed_gives_the_same_output() {
    for &generation in Generation::ALL {
        let first = entropy(&REPEATABLE.0, generation).await;
        assert_eq!(first.len(), 4, "{first:?}");
        assert_eq!(
            first,
            entropy(&REPEATABLE.0, generation).await,
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn case_42_another_seed_gives_other_numbers() {
    for &generation in Generation::ALL {
        let (one, other) = (
            entropy(&REPEATABLE.0, generation).await,
            entropy(&OTHERWISE.0, generation).await,
        );
        assert!(
            one[2] != other[2] && one[3] != other[3],
            "{generation:?}: {one:?} {other:?}"
        );
    }
}

/// Without this, the previous cases would prove nothing.
#[tokio::test]
async fn case_42_without_a_seed_runs_differ() {
    for &generation in Generation::ALL {
        let (one, other) = (
            entropy(&FAST.0, generation).await,
            entropy(&FAST.0, generation).await,
        );
        assert!(
            one.iter().zip(&other).all(|(one, other)| one != other),
            "{generation:?}: {one:?} {other:?}"
        );
    }
}

#[tokio::test]
async fn case_42_the_same_fuel_is_counted() {
    for &generation in Generation::ALL {
        let mut counted = Vec::new();
        for _ in 0..2 {
            let outcome = run(&REPEATABLE.0, generation.guest(), &["entropy"]).await;
            counted.push(outcome.enforcement.field_value("steps").map(str::to_owned));
        }
        assert!(
            counted[0].is_some() && counted[0] == counted[1],
            "{generation:?}: {counted:?}"
        );
    }
}

/// NaN has many bit patterns, and machines differ in which one they produce.
#[tokio::test]
async fn case_42_nan_is_canonical() {
    let probes = [
        "(f32.div (local.get $zero) (local.get $zero))",
        "(f32.sqrt (f32.sub (local.get $zero) (f32.const 1)))",
        "(f32.add (f32.reinterpret_i32 (i32.const 0x7fe00001)) (local.get $zero))",
        "(f32.min (f32.reinterpret_i32 (i32.const 0xffc12345)) (local.get $zero))",
    ];
    for &generation in Generation::ALL {
        for probe in probes {
            let core = format!(
                r#"(func $form (param $zero f32) (result i32) (i32.reinterpret_f32 {probe}))
                   (func (export "run") (result i32) (i32.ne (call $form (f32.const 0)) (i32.const 0x7fc00000)))"#
            );
            let bytes = programs::command(generation, &core).into();
            assert_eq!(
                run(&REPEATABLE.0, bytes, &[]).await.termination,
                Termination::Exited { code: 0 },
                "{generation:?}: {probe}"
            );
        }
    }
}

/// A program with counted fuel is stopped at its deadline as well.
#[tokio::test]
async fn case_42_an_endless_loop_is_stopped() {
    for &generation in Generation::ALL {
        let running = run(&REPEATABLE.0, programs::endless(generation).into(), &[]);
        tokio::select! {
            biased;
            outcome = running => panic!("{generation:?}: it never ends by itself: {}", outcome.termination),
            outcome = run(&REPEATABLE.0, programs::nothing(generation).into(), &[]) => assert!(outcome.termination.is_success()),
        }
        let fixture =
            super::fixture::Fixture::with_wall_time(generation, Duration::from_secs(1)).await;
        let outcome = REPEATABLE
            .0
            .run(fixture.job_of(programs::endless(generation)))
            .await
            .unwrap();
        assert_eq!(
            outcome.termination,
            Termination::TimedOut { limit_ms: 1_000 },
            "{generation:?}"
        );
    }
}
