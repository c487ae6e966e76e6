//! The conformance suite: programs make the attempts, and the tests check the results inside and
//! outside. Attempts that no WASI call can make are not run.

mod answers;
mod files;
mod hosts;
mod kernel;
mod killed;
mod links;
mod network;
mod output;
mod resources;
mod runtime;
mod scene;

use skills_sandbox::conformance::{BackendVariant, assert_conforms};

use answers::Answers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webassembly_matches_the_conformance_table() {
    let mut answers = Answers::default();
    files::answer(&mut answers).await;
    links::answer(&mut answers).await;
    kernel::answer(&mut answers).await;
    network::answer(&mut answers).await;
    hosts::answer(&mut answers).await;
    killed::answer(&mut answers).await;
    resources::answer(&mut answers).await;
    output::answer(&mut answers).await;
    runtime::answer(&mut answers).await;
    assert_conforms(BackendVariant::Wasm, &answers.finish());
}
