//! The smallest host: finds skills, shows them to a model, runs one in a sandbox.
//!
//! `cargo run -p skills-runtime --example embed`

use serde_json::json;
use skills_runtime::{Budget, ExecutionOptions, SkillRuntime};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");
    let runtime = SkillRuntime::from_directory(skills);

    // What goes into the model's system prompt.
    let budget = Budget::for_context_window(Some(200_000));
    print!("{}", runtime.prompt().section(budget).text());

    // The model chose a skill and read its instructions; now it wants a calculation.
    let input = json!({"cif_price": 10_000, "hs_code": "85423100"});
    let options = ExecutionOptions::script("calculate_duty.py", input);
    let artifacts = runtime.execute_skill("tax_calculator", options).await?;
    println!("{:?}: {}", artifacts.exit_status, artifacts.output);
    Ok(())
}
