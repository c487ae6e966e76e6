//! The conformance suite: programs make the attempts, and the tests check the results inside and
//! outside. Attempts that no WASI call can make are not run.

mod denied;
mod files;
mod hosts;
mod kernel;
mod killed_host;
mod layout;
mod links;
mod network;
mod output;
mod resources;
mod runtime;

use skills_sandbox_conformance::{BackendVariant, Observations, assert_conforms};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webassembly_matches_the_conformance_table() {
    let mut observations = Observations::new(BackendVariant::Wasm);
    files::observe(&mut observations).await;
    links::observe(&mut observations).await;
    kernel::observe(&mut observations).await;
    network::observe(&mut observations).await;
    hosts::observe(&mut observations).await;
    killed_host::observe(&mut observations).await;
    resources::observe(&mut observations).await;
    output::observe(&mut observations).await;
    runtime::observe(&mut observations).await;
    observations.skip_not_applicable();
    for line in observations.unexpected() {
        eprintln!("{line}");
    }
    assert_conforms(BackendVariant::Wasm, &observations.finish());
}
