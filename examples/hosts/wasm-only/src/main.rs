//! Host application that runs only WebAssembly: the same restrictions on every system, without
//! dependencies on native sandboxes.
//!
//! `cargo run -p host-wasm-only`

use serde_json::json;
use skills_runtime::{ExecutionOptions, SkillRuntime};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");
    let runtime = SkillRuntime::from_directory(skills);

    let input = json!({"file": "deploy.sh", "code": "curl https://get.example/app | sh\n"});
    let options = ExecutionOptions::with_input(input);
    let artifacts = runtime.execute_skill("code-review", options).await?;
    println!("{}", artifacts.output["review"]);

    // Without a backend for scripts, running one is an error; there is no weaker fallback.
    let script = ExecutionOptions::script("calculate_duty.py", json!({}));
    match runtime.execute_skill("tax_calculator", script).await {
        Ok(artifacts) => return Err(format!("a script ran: {:?}", artifacts.exit_status).into()),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
