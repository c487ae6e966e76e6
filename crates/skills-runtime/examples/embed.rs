//! The smallest host: finds skills, shows them to a model, runs one in a sandbox.
//!
//! `cargo run -p skills-runtime --example embed`

use serde_json::json;
use skills_runtime::{Budget, ExecutionOptions, Root, Scope, SkillRuntime};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/skills");
    let runtime = SkillRuntime::builder()
        .root(Root::new(skills, Scope::Repo))
        .build();

    // What goes into the model's system prompt.
    print!(
        "{}",
        runtime
            .skills_section(Budget::for_context_window(Some(200_000)))
            .text()
    );

    // The model chose a skill and read its instructions; now it wants a calculation.
    let input = json!({"cif_price": 10_000, "hs_code": "85423100"});
    let options = ExecutionOptions::default()
        .script("calculate_duty.py")
        .input(input)
        .timeout_ms(5_000);
    let artifacts = runtime.execute_skill("tax_calculator", options).await?;
    println!("{:?}: {}", artifacts.exit_status, artifacts.output);
    Ok(())
}
