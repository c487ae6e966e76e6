//! The runtime: cases 95 to 98.

use std::fs;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use skills_sandbox::Sandbox;
use skills_sandbox_conformance::{AttemptResult, Observations};
use skills_sandbox_wasm::WasmSandbox;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::layout::create_layout;
use crate::cases::fixture::Generation;

pub(crate) async fn observe(observations: &mut Observations) {
    for &generation in Generation::ALL {
        failing(observations, generation).await;
    }
    many(observations).await;
    thread_ends(observations).await;
    reports_match_results(observations).await;
}

/// A part that a run requires is missing or replaced; then nothing runs.
async fn failing(observations: &mut Observations, generation: Generation) {
    type Break = fn(&crate::cases::fixture::Fixture);
    let breaks: [(&str, Break); 4] = [
        ("no skill", |fixture| {
            fs::remove_dir_all(fixture.path("skill")).unwrap()
        }),
        ("no workspace", |fixture| {
            fs::remove_dir_all(fixture.path("workspace")).unwrap()
        }),
        ("a file for a directory", |fixture| {
            fs::remove_dir_all(fixture.path("workspace")).unwrap();
            fs::write(fixture.path("workspace"), "file").unwrap();
        }),
        ("another directory", |fixture| {
            fs::rename(fixture.path("workspace"), fixture.path("moved")).unwrap();
            std::os::unix::fs::symlink("moved", fixture.path("workspace")).unwrap();
        }),
    ];
    for (what, make) in breaks {
        let fixture = create_layout(generation).writable();
        make(&fixture);
        let failed = fixture.run_job(fixture.job(&["list", "/skill"])).await;
        observations.check(
            95,
            &format!("{what}: {failed:?}"),
            AttemptResult::Rejected,
            failed.is_err(),
        );
    }
    // The scratch directory cannot be created: writing to it fails, and no other directory is used
    // instead.
    let fixture = create_layout(generation);
    fs::write(fixture.path("nowhere"), "file").unwrap();
    let ran = WasmSandbox::new(fixture.path("nowhere"))
        .run(fixture.job(&["write", "/work/x"]))
        .await
        .map(|outcome| outcome.stdout.text());
    observations.check(
        95,
        &format!("no scratch: {ran:?}"),
        AttemptResult::Rejected,
        !ran.is_ok_and(|output| output.starts_with("ok: ")),
    );
}

async fn many(observations: &mut Observations) {
    let fixture = Arc::new({
        let mut fixture = create_layout(Generation::P2);
        fixture.limits.wall_time = Duration::from_secs(300);
        fixture
    });
    let (sandbox, places) = (
        WasmSandbox::new(fixture.path("scratch")),
        Arc::new(Semaphore::new(64)),
    );
    let mut runs = JoinSet::new();
    for number in 0..1_000 {
        let (fixture, sandbox, places) =
            (Arc::clone(&fixture), sandbox.clone(), Arc::clone(&places));
        runs.spawn(async move {
            let _place = places.acquire_owned().await.unwrap();
            let own = number.to_string();
            let job = if number % 2 == 0 {
                fixture.job(&["echo", &own]).stdin(own.clone().into_bytes())
            } else {
                fixture.job(&["write", "/work/x"])
            };
            let output = sandbox.run(job).await.unwrap().stdout.text();
            output
                == if number % 2 == 0 {
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
    let left = fs::read_dir(fixture.path("scratch")).unwrap().count();
    observations.check(
        96,
        &format!("{right} right, {left} left"),
        AttemptResult::Succeeded,
        (right, left) == (1_000, 0),
    );
}

/// A run is started on a thread that ends while the program still runs.
async fn thread_ends(observations: &mut Observations) {
    let fixture = create_layout(Generation::P2).writable();
    let sandbox = WasmSandbox::new(fixture.path("scratch"));
    let job = fixture.job(&["wait", "/workspace/began", "/workspace/go"]);
    let runtime = tokio::runtime::Handle::current();
    let begun = tokio::task::block_in_place(|| {
        std::thread::scope(|scope| {
            let begin = || {
                runtime.block_on(async {
                    let mut run = sandbox.run(job);
                    std::future::poll_fn(|context| match run.as_mut().poll(context) {
                        Poll::Ready(outcome) => panic!("it waits for us: {outcome:?}"),
                        Poll::Pending if fixture.path("workspace/began").exists() => {
                            Poll::Ready(())
                        }
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
    fs::write(fixture.path("workspace/go"), "").unwrap();
    let outcome = begun.unwrap().await.unwrap();
    let is_so = outcome.stdout.text() == "went on\n" && outcome.termination.is_success();
    observations.check(
        97,
        &format!("{:?}", outcome.termination),
        AttemptResult::Succeeded,
        is_so,
    );
}

/// The cases that test each restriction of a report.
const CASES_OF_RESTRICTIONS: [(&str, &[u8]); 7] = [
    (
        "files",
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 16, 17, 18, 19, 20, 21, 102,
        ],
    ),
    ("network", &[32, 33, 34, 35, 36, 37, 39, 40, 41, 42, 43, 47]),
    ("processes", &[26, 29, 58, 59]),
    ("memory", &[61]),
    ("disk", &[63, 64]),
    ("time", &[65, 66]),
    ("environment", &[68, 69, 70, 71]),
];

/// Each restriction that a report calls enforced must have been tested by cases above.
async fn reports_match_results(observations: &mut Observations) {
    for &generation in Generation::ALL {
        let output = create_layout(generation)
            .writable()
            .run(&["list", "/skill"])
            .await;
        observations.check_reports(&[output.enforcement], &CASES_OF_RESTRICTIONS);
    }
}
