//! Host application that offers the tools of its skills to a model, without a server.
//!
//! `cargo run -p host-middleware`

use serde_json::{Value, json};
use skills_runtime::discovery::Trust;
use skills_runtime::policy::{RuleSource, Target};
use skills_runtime::{Policy, Root, Scope, SkillRuntime};
use skills_tools::{CallContext, Mount, ToolFormat, ToolSet};

/// Returns the tool calls of a fake model. A real model receives the tool definitions and each
/// result.
fn model() -> Vec<(&'static str, Value)> {
    vec![
        ("search_skills", json!({"query": "greatest common divisor"})),
        ("load_skill", json!({"name": "gcd-calculator"})),
        (
            "skills_write",
            json!({"path": "numbers.txt", "content": "12 18 30\n"}),
        ),
        (
            "skills_run",
            json!({"name": "gcd-calculator", "command": "python scripts/gcd.py 12 18 30"}),
        ),
        (
            "skill__gcd-calculator__gcd",
            json!({"numbers": [12, 18, 30], "json": true}),
        ),
        (
            "skills_bash",
            json!({"command": "cat numbers.txt | tr ' ' '+'"}),
        ),
        (
            "skills_read",
            json!({"path": "skills/gcd-calculator/../../secret"}),
        ),
    ]
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let workspace = directory.path().canonicalize()?.join("workspace");
    std::fs::create_dir(&workspace)?;

    // Programs may write to the workspace, but may not start a shell, so one call below is denied.
    let policy = Policy::default().allow(RuleSource::Invocation, Target::write(&workspace)?);
    let runtime = SkillRuntime::builder()
        .root(Root::new("examples/skills", Scope::Custom))
        .root(Root::new(directory.path().join("drafts"), Scope::User).trust(Trust::Untrusted))
        .policy(policy)
        .build();
    let tools = ToolSet::builder(runtime)
        .workspace(Mount::writable("workspace", &workspace))
        .drafts_dir(directory.path().join("drafts"))
        .build()?;

    println!(
        "{} tools for the model, {} warnings for the operator",
        tools.render(ToolFormat::OpenAi)?.len(),
        tools.warnings()?.len()
    );
    let context = CallContext::default().session("conversation-1");
    for (name, arguments) in model() {
        let result = tools.call(name, arguments, &context).await?;
        // What a program printed is apart from the words of the tool.
        let shown = result.program_output().unwrap_or(result.own_text());
        let first_line = shown.lines().next().unwrap_or_default();
        let failed = if result.is_error { "(failed) " } else { "" };
        println!("{name}: {failed}{first_line}");
    }
    tools.end_session("conversation-1");
    Ok(())
}
