//! The conformance table of escape attempts, for both isolation levels. Scripts make the attempts,
//! and the host process checks their effects.

mod attempts;
mod environment;
mod filesystem;
mod host;
mod network;
mod network_hosts;
mod observations;
mod output;
mod privilege;
mod proc;
mod processes;
mod races;
mod resources;
mod runtime;
pub(crate) mod scene;
mod unix_sockets;

use skills_sandbox_conformance::{BackendVariant, assert_conforms};
use skills_sandbox_linux::IsolationMode;
use skills_test_support::skip_part;

use crate::skill::skip_without;
use observations::Observations;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_namespaces_level_matches_the_conformance_table() {
    run_all(BackendVariant::LinuxNamespaces, IsolationMode::Namespaces).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_landlock_level_matches_the_conformance_table() {
    run_all(BackendVariant::LinuxLandlock, IsolationMode::LandlockOnly).await;
}

async fn run_all(column: BackendVariant, mode: IsolationMode) {
    if skip_without(mode) {
        return;
    }
    let mut observations = Observations::new(column, mode);
    filesystem::run(&mut observations).await;
    races::run(&mut observations).await;
    proc::run(&mut observations).await;
    network::run(&mut observations).await;
    network_hosts::run(&mut observations).await;
    unix_sockets::run(&mut observations).await;
    processes::run(&mut observations).await;
    resources::run(&mut observations).await;
    environment::run(&mut observations).await;
    output::run(&mut observations).await;
    privilege::run(&mut observations).await;
    runtime::run(&mut observations).await;
    let observations = observations.into_inner();
    for line in observations.unexpected() {
        eprintln!("{line}");
    }
    let observations = observations.finish();
    for (number, skipped) in observations
        .iter()
        .filter_map(|(number, result)| Some((number, result.as_ref().err()?)))
    {
        skip_part(format!("case {number}, {column}"), &skipped.reason);
    }
    assert_conforms(column, &observations);
}
