//! The table of escape attempts, answered for both tiers by scripts that make the attempts and by looks from outside at what came of them.

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
use skills_sandbox_linux::Isolation;

use crate::skill::lacks;
use answers::Answers;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_isolated_tier_answers_as_the_table_says() {
    answer(BackendVariant::LinuxNamespaces, Isolation::Isolated).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_landlock_tier_answers_as_the_table_says() {
    answer(BackendVariant::LinuxLandlock, Isolation::Landlock).await;
}

async fn answer(column: BackendVariant, tier: Isolation) {
    if lacks(tier) {
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
    assert_conforms(column, &answers.finish());
}
