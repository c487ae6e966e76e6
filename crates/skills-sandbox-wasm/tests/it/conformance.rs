//! The table of escape attempts, answered by programs that make the attempts and by looks from
//! outside at what came of them. What no call of WASI could do is not tried.

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
async fn webassembly_answers_as_the_table_says() {
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
