//! Tests of ahead-of-time compilation.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use skills_runtime::{
    CancellationToken, ErrorKind, ExecutionOptions, Precompile, Preparation, Sandbox,
};
use skills_sandbox::{Job, PrepareFuture, Program, RunFuture, SandboxError};

use crate::fixture::Fixture;
use crate::fixture::OptionsExt as _;

/// A sandbox that reports the programs to prepare.
struct Preparer(Sender<Vec<u8>>);

impl Sandbox for Preparer {
    fn name(&self) -> &'static str {
        "preparer"
    }

    fn prepare(&self, program: Program) -> PrepareFuture<'_> {
        if let Program::Wasm(bytes) = program {
            // The receiver is alive during the test.
            let _ = self.0.send(bytes.to_vec());
        }
        Box::pin(std::future::ready(Ok(Preparation::Cached)))
    }

    fn run(&self, _: Job) -> RunFuture<'_> {
        Box::pin(std::future::ready(Err(SandboxError::invalid_program(
            "nothing runs here",
        ))))
    }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture
        .skill("one", "")
        .file("one/wasm/skill.wasm", b"first");
    fixture
        .skill("scripts", "")
        .file("scripts/scripts/a.py", "")
        .file("scripts/scripts/b.py", "");
    fixture
        .skill("two", "")
        .file("two/wasm/skill.wasm", b"second");
    fixture
}

#[tokio::test]
async fn a_skill_is_prepared_on_request() {
    let (sender, prepared) = channel();
    let (_fixture, runtime) = fixture_runtime(sender, Precompile::OnDemand);
    assert_eq!(
        runtime.executor().precompile("two").await.unwrap(),
        Preparation::Cached
    );
    assert_eq!(
        runtime.executor().precompile("scripts").await.unwrap(),
        Preparation::NotNeeded
    );
    assert_eq!(
        runtime
            .executor()
            .precompile("three")
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::UnknownSkill
    );
    assert_eq!(
        prepared.try_iter().collect::<Vec<_>>(),
        [b"second".to_vec()]
    );
}

#[test]
fn all_skills_are_prepared_after_discovery() {
    let (sender, prepared) = channel();
    let (_fixture, runtime) = fixture_runtime(sender, Precompile::AtDiscovery);
    assert_eq!(runtime.discover_skills().len(), 3);
    let next = || prepared.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!([next(), next()], [b"first".to_vec(), b"second".to_vec()]);
}

#[tokio::test]
async fn a_run_cancelled_before_its_permit_does_not_run() {
    let (sender, _prepared) = channel();
    let (_fixture, runtime) = fixture_runtime(sender, Precompile::OnDemand);
    let cancellation = CancellationToken::new();
    cancellation.cancel();
    let error = runtime
        .execute_skill(
            "one",
            ExecutionOptions::default().cancellation(cancellation),
        )
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

fn fixture_runtime(
    sender: Sender<Vec<u8>>,
    precompile: Precompile,
) -> (Fixture, skills_runtime::SkillRuntime) {
    let fixture = fixture();
    let runtime = fixture
        .recording()
        .wasm_sandbox(Arc::new(Preparer(sender)))
        .precompile(precompile)
        .build();
    (fixture, runtime)
}
