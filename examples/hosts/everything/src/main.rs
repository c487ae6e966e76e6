//! Host application with an approver, secrets, an audit log, a private workspace and a forked
//! session.
//!
//! `cargo run -p host-everything`

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use skills_runtime::audit::{AuditLog, verify};
use skills_runtime::policy::{ApprovalRequest, Capability, Effect, Rule, RuleSource};
use skills_runtime::{
    ApprovalResponse, ExecutionOptions, FileApprovalStore, InputFile, Policy, Root, Scope, Secrets,
    SessionEnd, SkillRuntime, Workspace,
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
    let report = InputFile {
        name: "report.txt".to_owned(),
        content: b"three short words".to_vec(),
    };
    let artifacts = session
        .execute(ExecutionOptions {
            workspace: Workspace::Private(vec![report]),
            ..ExecutionOptions::default()
        })
        .await?;
    println!("{:?}: {}", artifacts.exit_status, artifacts.output);
    for file in &artifacts.output_files.files {
        println!(
            "created {}: {}",
            file.path,
            String::from_utf8_lossy(file.content.as_deref().unwrap_or_default())
        );
    }
    if let SessionEnd::Finished(summary) = session.finish(json!("three words")).await? {
        println!(
            "{} (forked: {}) returned {}",
            summary.skill, summary.is_forked, summary.summary
        );
    }

    let records = verify(&log.files()?)?;
    println!(
        "audit log: {} records, {} problems",
        records.records,
        records.problems.len()
    );
    Ok(())
}

/// Stands in for an approval prompt, which must show the whole request. Approves secrets
/// permanently and denies everything else.
fn ask(request: &ApprovalRequest) -> ApprovalResponse {
    println!(
        "Allow `{}` to run {}?",
        request.name,
        request.command.join(" ")
    );
    request
        .pending
        .iter()
        .for_each(|decision| println!("  requests {}", decision.permission()));
    let is_secret = |decision: &skills_runtime::policy::PermissionDecision| {
        decision.permission().capability() == Capability::Environment
    };
    // A request can also be about a new version of the skill, for permissions that rules grant.
    let is_about_secrets =
        !request.requires_content_approval && request.pending.iter().all(is_secret);
    if is_about_secrets {
        ApprovalResponse::AllowAlways
    } else {
        ApprovalResponse::Deny
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
