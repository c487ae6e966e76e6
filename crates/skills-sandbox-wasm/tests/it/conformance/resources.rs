//! Programs, memory, disk, time, variables: cases 58, 59 and 61 to 72.

use std::fs::{self, File};
use std::time::Duration;

use skills_policy::{Authorization, Policy, Request, RuleSource, VariablePattern, VariableSource};
use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::{Job, Program, Termination};

use super::answers::Answers;
use super::scene::{asked_for, everywhere, planted, words};
use crate::cases::fixture;
use crate::cases::lab::{Generation, kind};

pub(crate) async fn answer(answers: &mut Answers) {
    programs(answers).await;
    terminals(answers).await;
    for &generation in Generation::ALL {
        memory(answers, generation).await;
        disk(answers, generation).await;
        time(answers, generation).await;
        crash(answers, generation).await;
        variables(answers, generation).await;
    }
}

/// Only the standard library of WASI 0.2 has calls for this.
async fn programs(answers: &mut Answers) {
    let lab = planted(Generation::P2).writing();
    answers.denied(58, &lab, &words(&[&["spawn"]])).await;
    answers
        .denied(59, &lab, &words(&[&["spawn"], &["thread"]]))
        .await;
}

async fn memory(answers: &mut Answers, generation: Generation) {
    let mut lab = planted(generation);
    lab.limits.memory_bytes = 32 << 20;
    let pages = 20 * 16;
    let run = r#"(func (export "run") (result i32) i32.const 0)"#;
    let several = fixture::command(
        generation,
        &format!("(memory {pages}) (memory {pages}) {run}"),
    );
    let at_once = fixture::command(generation, &format!("(memory 65536) {run}"));
    for outcome in [
        lab.run(&["allocate"]).await,
        lab.run_bytes(&several).await.unwrap(),
        lab.run_bytes(&at_once).await.unwrap(),
    ] {
        let is_stopped = outcome.termination
            == Termination::MemoryLimit {
                limit_bytes: 32 << 20,
            };
        answers.holds(
            61,
            &format!("{:?}", outcome.termination),
            AttemptResult::Contained,
            is_stopped,
        );
    }
}

async fn disk(answers: &mut Answers, generation: Generation) {
    let mut lab = planted(generation).writing();
    (lab.limits.scratch_bytes, lab.limits.file_bytes) = (8 << 20, 16 << 20);
    let mut attempts = words(&[
        &["pour", "/work/big", "15000000"],
        &["pour", "/workspace/big", "15000000"],
    ]);
    if generation == Generation::P2 {
        attempts.push(vec!["litter", "/work/.", "70000"]);
    }
    for attempt in attempts {
        let said = lab.attempt(&attempt).await;
        answers.holds(
            63,
            &format!("{attempt:?}: {said}"),
            AttemptResult::Contained,
            said.starts_with("refused: "),
        );
    }
    let written = fs::metadata(lab.path("workspace/big")).unwrap().len();
    answers.holds(
        63,
        &format!("{written} bytes in the workspace"),
        AttemptResult::Contained,
        written <= 8 << 20,
    );

    lab.limits.file_bytes = 1 << 20;
    let large = words(&[
        &["pour", "/work/large", "2000000"],
        &["pour", "/workspace/large", "2000000"],
        &["resize", "/workspace/large", "2000000"],
        &["resize", "/workspace/large", "18446744073709551615"],
    ]);
    answers.denied(64, &lab, &large).await;
    let length = fs::metadata(lab.path("workspace/large")).unwrap().len();
    answers.holds(
        64,
        &format!("a file of {length} bytes"),
        AttemptResult::Denied,
        length <= 1 << 20,
    );
    let ending = lab.run(&["open", "/skill/data.txt"]).await.termination;
    answers.holds(
        64,
        &format!("too many files: {ending}"),
        AttemptResult::Denied,
        kind(&ending) == "handle-limit",
    );
}

async fn time(answers: &mut Answers, generation: Generation) {
    let mut lab = planted(generation);
    lab.limits.wall_time = Duration::from_secs(1);
    for (case, action) in [(65, "spin"), (66, "sleep")] {
        let outcome = lab.run(&[action]).await;
        let is_late = outcome.termination == Termination::TimedOut { limit_ms: 1_000 };
        let is_timely = outcome.duration >= Duration::from_secs(1)
            && outcome.duration < Duration::from_secs(60);
        answers.holds(
            case,
            &format!("{:?} after {:?}", outcome.termination, outcome.duration),
            AttemptResult::Contained,
            is_late && is_timely,
        );
    }
}

async fn crash(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation).writing();
    let before = lab.tree("");
    let ending = lab.run(&["panic"]).await.termination;
    answers.holds(
        67,
        &format!("{ending}"),
        AttemptResult::NoEffect,
        kind(&ending) == "trapped" && before == lab.tree(""),
    );
}

async fn variables(answers: &mut Answers, generation: Generation) {
    let lab = planted(generation);
    assert!(
        std::env::vars_os().next().is_some(),
        "the host has an environment"
    );
    let said = lab.attempt(&["environment"]).await;
    answers.holds(68, &said, AttemptResult::Denied, said.is_empty());
    let all: VariablePattern = "*".parse().unwrap();
    for name in [
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "PYTHONPATH",
        "NODE_OPTIONS",
        "PATH",
        "HOME",
        "BASH_ENV",
        "IFS",
    ] {
        let request = Request::new(lab.path("skill")).variable(name, VariableSource::Secret);
        // Even if rules allow all variables, none of these can be set by a skill.
        let Authorization::Granted(grants) = Policy::default()
            .allow(RuleSource::User, all.clone())
            .authorize(&request)
        else {
            answers.observe(69, name, AttemptResult::Denied);
            continue;
        };
        let job = Job::new(grants, Program::Wasm(generation.guest())).secret_env(name, "/evil");
        answers.holds(69, name, AttemptResult::Denied, job.is_err());
    }
}

/// Attempts of the WASI 0.2 guest only.
async fn terminals(answers: &mut Answers) {
    let lab = planted(Generation::P2);
    let open = File::open(lab.path("secret.txt")).unwrap();
    let said = lab.attempt(&["directories"]).await;
    answers.holds(
        70,
        &said,
        AttemptResult::Denied,
        said == "ok: /skill /workspace /work",
    );
    let numbers = (0..32)
        .flat_map(|number| {
            [
                format!("/dev/fd/{number}"),
                format!("/proc/self/fd/{number}"),
            ]
        })
        .collect::<Vec<_>>();
    answers.denied(70, &lab, &asked_for(&numbers)).await;
    drop(open);
    let said = lab.attempt(&["terminals"]).await;
    answers.holds(71, &said, AttemptResult::Denied, said == "0 of 3");
    answers
        .denied(
            71,
            &lab,
            &everywhere(&["raw-read"], &["/dev/tty", "/dev/console", "/dev/pts/0"]),
        )
        .await;
}
