//! Host application with an approver, secrets, an audit log, a private workspace and a forked
//! session.
//!
//! `cargo run -p host-everything`

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use skills_runtime::audit::{AuditLog, verify};
use skills_runtime::policy::{Capability, Effect, Question, Rule, RuleSource, Subject};
use skills_runtime::{
    Answer, ExecutionOptions, FileApprovalStore, HookDecision, InputFile, Policy, Root, Scope,
    Secrets, SessionEnd, SkillRuntime, Workspace, format_question,
};

const SCRIPT: &str = "import json, os\n\
                      folder = os.environ['SKILL_WORKSPACE']\n\
                      words = len(open(folder + '/report.txt').read().split())\n\
                      open(folder + '/summary.json', 'w').write(json.dumps({'words': words}))\n\
                      print(json.dumps({'words': words, 'signed_with': os.environ['SIGNING_KEY']}))\n";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    create_skill(&directory.path().join("skills/summary"))?;
    let log = Arc::new(AuditLog::open(directory.path().join("audit.jsonl"))?);

    // A rule of the administrator denies the network, which no approval can override. Everything
    // else that no rule allows needs approval.
    let policy = Policy::default().rule(
        Rule::new(Effect::Deny, RuleSource::Admin, Capability::Network).origin("administrator"),
    );
    let runtime = SkillRuntime::builder()
        .root(Root::new(directory.path().join("skills"), Scope::User))
        .policy(policy)
        .approver(Arc::new(ask))
        .approval_store(Arc::new(FileApprovalStore::new(
            directory.path().join("approvals.json"),
        )))
        .secrets(Secrets::from_env_text("SIGNING_KEY='correct horse'\nOTHER_KEY=not-declared\n").0)
        .audit(log.clone())
        .build();

    // The skill requests a forked session: its events are dropped, and only a summary is returned.
    let mut session = runtime.start_session("summary", None)?;
    let options = ExecutionOptions {
        workspace: Workspace::Private(vec![InputFile::new("report.txt", "three short words")]),
        ..ExecutionOptions::default()
    };
    let artifacts = session.execute(options).await?;
    println!("{:?}: {}", artifacts.exit_status, artifacts.output);
    for file in &artifacts.output_files.files {
        let content = file.content.as_deref().unwrap_or_default();
        println!(
            "created {}: {}",
            file.path,
            String::from_utf8_lossy(content)
        );
    }
    // The hooks of the skill decide about the tools of the agent.
    let read = json!({"path": "report.txt"});
    if session.before_tool("Read", &read).await?.decision == HookDecision::Continue {
        session
            .after_tool("Read", &read, &json!("three short words"))
            .await?;
    }
    if let SessionEnd::Finished(summary) = session.finish(json!("three words")).await? {
        println!("{} returned {}", summary.skill, summary.summary);
    }

    let verified = verify(&log.files()?)?;
    assert!(verified.problems.is_empty());
    println!("audit log: {} records", verified.records);
    Ok(())
}

/// Stands in for a dialog, which must show the whole question. Approves secrets
/// permanently and denies everything else.
fn ask(question: &Question) -> Answer {
    println!("{}", format_question(question));
    let is_secret = |subject: &Subject| {
        matches!(subject, Subject::Permission(decision)
            if decision.permission().capability() == Capability::Environment)
    };
    if question.subjects.iter().all(is_secret) {
        Answer::AllowAlways
    } else {
        Answer::Deny
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an example creates its own skill"
)]
fn create_skill(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory.join("scripts"))?;
    let text = "---\nname: summary\ndescription: Counts the words of a report.\ncontext: fork\nrequires:\n  env: [SIGNING_KEY]\n---\n# Summary\n";
    std::fs::write(directory.join("SKILL.md"), text)?;
    std::fs::write(directory.join("scripts/count.py"), SCRIPT)
}
