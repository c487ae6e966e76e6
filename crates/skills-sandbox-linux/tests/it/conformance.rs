//! The table of escape attempts, answered for both tiers by scripts that make the attempts and by
//! looks from outside at what came of them.

mod answers;
mod attempts;
mod environment;
mod filesystem;
mod host;
mod network;
mod network_hosts;
mod output;
mod privilege;
mod proc;
mod processes;
mod races;
mod resources;
mod runtime;
mod scene;
mod unix_sockets;

use skills_sandbox::conformance::{BackendVariant, assert_conforms};
use skills_sandbox_linux::IsolationMode;
use skills_test_support::skip_part;

use crate::skill::skip_without;
use answers::Answers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_isolated_tier_answers_as_the_table_says() {
    answer(BackendVariant::LinuxNamespaces, IsolationMode::Namespaces).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_landlock_tier_answers_as_the_table_says() {
    answer(BackendVariant::LinuxLandlock, IsolationMode::LandlockOnly).await;
}

async fn answer(column: BackendVariant, tier: IsolationMode) {
    if skip_without(tier) {
        return;
    }
    let mut answers = Answers::new(column, tier);
    filesystem::answer(&mut answers).await;
    races::answer(&mut answers).await;
    proc::answer(&mut answers).await;
    network::answer(&mut answers).await;
    network_hosts::answer(&mut answers).await;
    unix_sockets::answer(&mut answers).await;
    processes::answer(&mut answers).await;
    resources::answer(&mut answers).await;
    environment::answer(&mut answers).await;
    output::answer(&mut answers).await;
    privilege::answer(&mut answers).await;
    runtime::answer(&mut answers).await;
    let answers = answers.finish();
    for (number, skipped) in answers
        .iter()
        .filter_map(|(number, answer)| Some((number, answer.as_ref().err()?)))
    {
        skip_part(format!("case {number}, {column}"), &skipped.reason);
    }
    assert_conforms(column, &answers);
}
