//! Programs, memory, disk, time, variables: cases 58, 59 and 61 to 72.

use std::fs::{self, File};
use std::time::Duration;

use skills_sandbox::Termination;
use skills_sandbox_conformance::{AttemptResult, Observations};

use super::denied::check_denied;
use super::layout::{asked_for, create_layout, everywhere, words};
use crate::cases::fixture::{Generation, kind};
use crate::cases::programs;

pub(crate) async fn observe(observations: &mut Observations) {
    programs(observations).await;
    terminals(observations).await;
    for &generation in Generation::ALL {
        memory(observations, generation).await;
        disk(observations, generation).await;
        time(observations, generation).await;
        crash(observations, generation).await;
        variables(observations, generation).await;
    }
}

/// Only the standard library of WASI 0.2 has calls for this.
async fn programs(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2).writable();
    check_denied(observations, 58, &fixture, &words(&[&["spawn"]])).await;
    check_denied(
        observations,
        59,
        &fixture,
        &words(&[&["spawn"], &["thread"]]),
    )
    .await;
}

async fn memory(observations: &mut Observations, generation: Generation) {
    let mut fixture = create_layout(generation);
    fixture.limits.memory_bytes = 32 << 20;
    let pages = 20 * 16;
    let run = r#"(func (export "run") (result i32) i32.const 0)"#;
    let several = programs::command(
        generation,
        &format!("(memory {pages}) (memory {pages}) {run}"),
    );
    let at_once = programs::command(generation, &format!("(memory 65536) {run}"));
    for outcome in [
        fixture.run(&["allocate"]).await,
        fixture.run_bytes(&several).await.unwrap(),
        fixture.run_bytes(&at_once).await.unwrap(),
    ] {
        let is_stopped = outcome.termination
            == Termination::MemoryLimit {
                limit_bytes: 32 << 20,
            };
        observations.check(
            61,
            &format!("{:?}", outcome.termination),
            AttemptResult::Contained,
            is_stopped,
        );
    }
}

async fn disk(observations: &mut Observations, generation: Generation) {
    let mut fixture = create_layout(generation).writable();
    (fixture.limits.scratch_bytes, fixture.limits.file_bytes) = (8 << 20, 16 << 20);
    let mut attempts = words(&[
        &["pour", "/work/big", "15000000"],
        &["pour", "/workspace/big", "15000000"],
    ]);
    if generation == Generation::P2 {
        attempts.push(vec!["litter", "/work/.", "70000"]);
    }
    for attempt in attempts {
        let output = fixture.attempt(&attempt).await;
        observations.check(
            63,
            &format!("{attempt:?}: {output}"),
            AttemptResult::Contained,
            output.starts_with("refused: "),
        );
    }
    let written = fs::metadata(fixture.path("workspace/big")).unwrap().len();
    observations.check(
        63,
        &format!("{written} bytes in the workspace"),
        AttemptResult::Contained,
        written <= 8 << 20,
    );

    fixture.limits.file_bytes = 1 << 20;
    let large = words(&[
        &["pour", "/work/large", "2000000"],
        &["pour", "/workspace/large", "2000000"],
        &["resize", "/workspace/large", "2000000"],
        &["resize", "/workspace/large", "18446744073709551615"],
    ]);
    check_denied(observations, 64, &fixture, &large).await;
    let length = fs::metadata(fixture.path("workspace/large")).unwrap().len();
    observations.check(
        64,
        &format!("a file of {length} bytes"),
        AttemptResult::Denied,
        length <= 1 << 20,
    );
    let ending = fixture.run(&["open", "/skill/data.txt"]).await.termination;
    observations.check(
        64,
        &format!("too many files: {ending}"),
        AttemptResult::Denied,
        kind(&ending) == "handle-limit",
    );
}

async fn time(observations: &mut Observations, generation: Generation) {
    let mut fixture = create_layout(generation);
    fixture.limits.wall_time = Duration::from_secs(1);
    for (case, action) in [(65, "spin"), (66, "sleep")] {
        let outcome = fixture.run(&[action]).await;
        let is_late = outcome.termination == Termination::TimedOut { limit_ms: 1_000 };
        let is_timely = outcome.duration >= Duration::from_secs(1)
            && outcome.duration < Duration::from_secs(60);
        observations.check(
            case,
            &format!("{:?} after {:?}", outcome.termination, outcome.duration),
            AttemptResult::Contained,
            is_late && is_timely,
        );
    }
}

async fn crash(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation).writable();
    let before = fixture.tree("");
    let ending = fixture.run(&["panic"]).await.termination;
    observations.check(
        67,
        &format!("{ending}"),
        AttemptResult::NoEffect,
        kind(&ending) == "trapped" && before == fixture.tree(""),
    );
}

async fn variables(observations: &mut Observations, generation: Generation) {
    let fixture = create_layout(generation);
    assert!(
        std::env::vars_os().next().is_some(),
        "the host has an environment"
    );
    let output = fixture.attempt(&["environment"]).await;
    observations.check(68, &output, AttemptResult::Denied, output.is_empty());
    observations.check_unsafe_variables(&fixture.path("skill"));
}

/// Attempts of the WASI 0.2 guest only.
async fn terminals(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2);
    let open = File::open(fixture.path("secret.txt")).unwrap();
    let output = fixture.attempt(&["directories"]).await;
    observations.check(
        70,
        &output,
        AttemptResult::Denied,
        output == "ok: /skill /workspace /work",
    );
    let numbers = (0..32)
        .flat_map(|number| {
            [
                format!("/dev/fd/{number}"),
                format!("/proc/self/fd/{number}"),
            ]
        })
        .collect::<Vec<_>>();
    check_denied(observations, 70, &fixture, &asked_for(&numbers)).await;
    drop(open);
    let output = fixture.attempt(&["terminals"]).await;
    observations.check(71, &output, AttemptResult::Denied, output == "0 of 3");
    check_denied(
        observations,
        71,
        &fixture,
        &everywhere(&["raw-read"], &["/dev/tty", "/dev/console", "/dev/pts/0"]),
    )
    .await;
}
