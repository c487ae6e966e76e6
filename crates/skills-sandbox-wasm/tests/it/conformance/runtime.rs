//! The runtime: cases 95 to 98.

use std::fs;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use skills_sandbox::conformance::AttemptResult;
use skills_sandbox::{EnforcementStatus, Sandbox};
use skills_sandbox_wasm::WasmSandbox;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::answers::Answers;
use super::scene::planted;
use crate::cases::lab::Generation;

pub(crate) async fn answer(answers: &mut Answers) {
    for &generation in Generation::ALL {
        failing(answers, generation).await;
    }
    many(answers).await;
    thread_ends(answers).await;
    honest(answers).await;
}

/// A part that a run requires is missing or replaced; then nothing runs.
async fn failing(answers: &mut Answers, generation: Generation) {
    type Break = fn(&crate::cases::lab::Lab);
    let breaks: [(&str, Break); 4] = [
        ("no skill", |lab| {
            fs::remove_dir_all(lab.path("skill")).unwrap()
        }),
        ("no workspace", |lab| {
            fs::remove_dir_all(lab.path("workspace")).unwrap()
        }),
        ("a file for a directory", |lab| {
            fs::remove_dir_all(lab.path("workspace")).unwrap();
            fs::write(lab.path("workspace"), "file").unwrap();
        }),
        ("another directory", |lab| {
            fs::rename(lab.path("workspace"), lab.path("moved")).unwrap();
            std::os::unix::fs::symlink("moved", lab.path("workspace")).unwrap();
        }),
    ];
    for (what, make) in breaks {
        let lab = planted(generation).writing();
        make(&lab);
        let failed = lab.run_job(lab.job(&["list", "/skill"])).await;
        answers.holds(
            95,
            &format!("{what}: {failed:?}"),
            AttemptResult::Rejected,
            failed.is_err(),
        );
    }
    // The scratch directory cannot be created: writing to it fails, and no other directory is used
    // instead.
    let lab = planted(generation);
    fs::write(lab.path("nowhere"), "file").unwrap();
    let ran = WasmSandbox::new(lab.path("nowhere"))
        .run(lab.job(&["write", "/work/x"]))
        .await
        .map(|outcome| outcome.stdout.text());
    answers.holds(
        95,
        &format!("no scratch: {ran:?}"),
        AttemptResult::Rejected,
        !ran.is_ok_and(|said| said.starts_with("ok: ")),
    );
}

async fn many(answers: &mut Answers) {
    let lab = Arc::new({
        let mut lab = planted(Generation::P2);
        lab.limits.wall_time = Duration::from_secs(300);
        lab
    });
    let (sandbox, places) = (
        WasmSandbox::new(lab.path("scratch")),
        Arc::new(Semaphore::new(64)),
    );
    let mut runs = JoinSet::new();
    for number in 0..1_000 {
        let (lab, sandbox, places) = (Arc::clone(&lab), sandbox.clone(), Arc::clone(&places));
        runs.spawn(async move {
            let _place = places.acquire_owned().await.unwrap();
            let own = number.to_string();
            let job = if number % 2 == 0 {
                lab.job(&["echo", &own]).stdin(own.clone().into_bytes())
            } else {
                lab.job(&["write", "/work/x"])
            };
            let said = sandbox.run(job).await.unwrap().stdout.text();
            said == if number % 2 == 0 {
                format!("{own} [{own:?}]\n")
            } else {
                "ok: written\n".to_owned()
            }
        });
    }
    let right = runs
        .join_all()
        .await
        .into_iter()
        .filter(|is_right| *is_right)
        .count();
    let left = fs::read_dir(lab.path("scratch")).unwrap().count();
    answers.holds(
        96,
        &format!("{right} right, {left} left"),
        AttemptResult::Succeeded,
        (right, left) == (1_000, 0),
    );
}

/// A run is started on a thread that ends while the program still runs.
async fn thread_ends(answers: &mut Answers) {
    let lab = planted(Generation::P2).writing();
    let sandbox = WasmSandbox::new(lab.path("scratch"));
    let job = lab.job(&["wait", "/workspace/began", "/workspace/go"]);
    let runtime = tokio::runtime::Handle::current();
    let begun = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let begin = || {
                runtime.block_on(async {
                    let mut run = sandbox.run(job);
                    std::future::poll_fn(|context| match run.as_mut().poll(context) {
                        Poll::Ready(outcome) => panic!("it waits for us: {outcome:?}"),
                        Poll::Pending if lab.path("workspace/began").exists() => Poll::Ready(()),
                        Poll::Pending => {
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
    fs::write(lab.path("workspace/go"), "").unwrap();
    let outcome = begun.unwrap().await.unwrap();
    let is_so = outcome.stdout.text() == "went on\n" && outcome.termination.is_success();
    answers.holds(
        97,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
}

/// The cases that test each restriction of a report.
const PROVOKED: [(&str, &[u8]); 7] = [
    (
        "files",
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 16, 17, 18, 19, 20, 21],
    ),
    ("network", &[32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 47]),
    ("processes", &[26, 29, 58, 59]),
    ("memory", &[61]),
    ("disk", &[63, 64]),
    ("time", &[65, 66]),
    ("environment", &[68, 69, 70, 71]),
];

/// Every restriction that a report calls enforced must have been attacked above, and have held.
async fn honest(answers: &mut Answers) {
    for &generation in Generation::ALL {
        let report = planted(generation)
            .writing()
            .run(&["list", "/skill"])
            .await
            .enforcement;
        for layer in report
            .restrictions()
            .iter()
            .filter(|layer| layer.status() == EnforcementStatus::Enforced)
        {
            let cases = PROVOKED
                .iter()
                .find(|(name, _)| *name == layer.name())
                .map_or(&[][..], |(_, cases)| cases);
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
}
