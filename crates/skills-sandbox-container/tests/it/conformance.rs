//! The conformance table of escape attempts, in containers. Scripts make the attempts, and the host
//! process checks their effects. A container takes a second to start, so each makes many.

mod attempts;
mod environment;
mod files;
mod granted;
mod host;
mod hosts;
mod output;
mod processes;
mod resources;
mod runtime;
mod system;

use skills_sandbox_conformance::{BackendVariant, Observations, assert_conforms};
use skills_test_support::skip_part;

use crate::skill::Skill;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn containers_match_the_conformance_table() {
    if Skill::new().sandbox().is_none() {
        return;
    }
    let mut observations = Observations::new(BackendVariant::Container);
    files::observe(&mut observations).await;
    granted::observe(&mut observations).await;
    system::observe(&mut observations).await;
    hosts::observe(&mut observations).await;
    processes::observe(&mut observations).await;
    resources::observe(&mut observations).await;
    environment::observe(&mut observations).await;
    output::observe(&mut observations).await;
    runtime::observe(&mut observations).await;
    for line in observations.unexpected() {
        eprintln!("{line}");
    }
    let observations = observations.finish();
    for (number, result) in &observations {
        if let Err(skipped) = result {
            skip_part(format!("case {number}, container"), &skipped.reason);
        }
    }
    assert_conforms(BackendVariant::Container, &observations);
}
