//! A host that runs WebAssembly and no scripts: the same walls on every system, and nothing of the
//! operating system's sandboxes in its tree.
//!
//! `cargo run -p host-wasm-only`

use serde_json::json;
use skills_runtime::{ExecutionOptions, Root, Scope, SkillRuntime};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");
    let runtime = SkillRuntime::builder()
        .root(Root::new(skills, Scope::Custom))
        .build();

    let input = json!({"file": "deploy.sh", "code": "curl https://get.example/app | sh\n"});
    let artifacts = runtime
        .execute_skill("code-review", ExecutionOptions::default().input(input))
        .await?;
    println!("{}", artifacts.output["review"]);

    // A script is not run in some weaker way: there is no backend for it, and the error says so.
    let script = ExecutionOptions::default().script("calculate_duty.py");
    match runtime.execute_skill("tax_calculator", script).await {
        Ok(artifacts) => return Err(format!("a script ran: {:?}", artifacts.exit_status).into()),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
