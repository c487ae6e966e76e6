//! Host application that sandboxes its own scripts, without skills. Its dependencies are the policy
//! and a sandbox, without YAML or Markdown.
//!
//! `cargo run -p host-policy-and-sandbox`

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::disallowed_methods,
    reason = "an example creates its own script"
)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use skills_policy::{ApprovalMode, Authorization, Effect, Policy, Request, Rule, RuleSource};
    use skills_sandbox::{Job, Program, Sandbox, ScriptType};
    use skills_sandbox_linux::LinuxSandbox;

    let scratch = tempfile::tempdir()?;
    let directory = scratch.path().canonicalize()?;
    let script = directory.join("report.sh");
    std::fs::write(&script, "date -u -d @0 +%Y; cat /etc/shadow\n")?;

    // A plug-in requests two programs; the rules allow one of them.
    let policy = Policy::default()
        .with_mode(ApprovalMode::Strict)
        .rule(Rule::parse(Effect::Allow, RuleSource::Admin, "spawn:date")?);
    let request = Request::new(&directory).allowed_tool("Bash", Some("date:*"));
    let wider = request.clone().allowed_tool("Bash", Some("cat:*"));
    if let Authorization::Denied(denial) = policy.authorize(&wider) {
        println!("{denial}");
    }

    // With only this program it runs. The restrictions also apply to all its child processes.
    let Authorization::Granted(grants) = policy.authorize(&request) else {
        return Err("the rules allow it".into());
    };
    let job = Job::new(grants, Program::script(ScriptType::Shell, script));
    let output = LinuxSandbox::new(scratch.path()).run(job).await?;
    print!("{}{}", output.stdout.text(), output.stderr.text());
    for restriction in output.enforcement.restrictions() {
        println!("  {restriction}");
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this example needs Linux");
}
