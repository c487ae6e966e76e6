//! A host that confines scripts of its own and knows no skills: a policy and a sandbox, without
//! YAML or Markdown in its tree.
//!
//! `cargo run -p host-policy-and-sandbox`

#[cfg(target_os = "linux")]
#[tokio::main(flavor = "current_thread")]
#[expect(clippy::disallowed_methods, reason = "an example makes its own script")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    use skills_policy::{ApprovalMode, Authorization, Effect, Policy, Request, Rule, RuleSource};
    use skills_sandbox::{Job, Program, Sandbox, ScriptType};
    use skills_sandbox_linux::LinuxSandbox;

    let place = tempfile::tempdir()?;
    let directory = place.path().canonicalize()?;
    let script = directory.join("report.sh");
    std::fs::write(&script, "date -u -d @0 +%Y; cat /etc/shadow\n")?;

    // A plug-in asks for two programs; the rules know one of them.
    let rules = Policy::default()
        .with_mode(ApprovalMode::Strict)
        .rule(Rule::parse(Effect::Allow, RuleSource::Admin, "spawn:date")?);
    let wanted = Request::new(&directory).allowed_tool("Bash", Some("date:*"));
    if let Authorization::Denied(denial) =
        rules.authorize(&wanted.clone().allowed_tool("Bash", Some("cat:*")))
    {
        println!("denied: {denial}");
    }

    // With the one it runs, behind walls that hold whatever it starts.
    let Authorization::Granted(grants) = rules.authorize(&wanted) else {
        return Err("the rules allow it".into());
    };
    let sandbox = LinuxSandbox::new(place.path());
    if let Err(error) = sandbox.probe() {
        println!("nothing runs here: {error}");
        return Ok(());
    }
    let outcome = sandbox
        .run(Job::new(grants, Program::script(ScriptType::Shell, script)))
        .await?;
    print!("{}{}", outcome.stdout.text(), outcome.stderr.text());
    for layer in outcome.enforcement.restrictions() {
        println!("  {layer}");
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("scripts are confined on Linux only so far");
}
