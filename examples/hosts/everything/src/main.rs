//! A host with everything: somebody who approves, secrets, a record of every run, a workspace for
//! files, and a forked session.
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
    let place = tempfile::tempdir()?;
    make_skill(&place.path().join("skills/summary"))?;
    let log = Arc::new(AuditLog::open(place.path().join("audit.jsonl"))?);

    // An administrator forbids the network whatever anybody says; everything else that is not
    // allowed is asked for.
    let rules = Policy::default().rule(
        Rule::new(Effect::Deny, RuleSource::Admin, Capability::Network).origin("administrator"),
    );
    let runtime = SkillRuntime::builder()
        .root(Root::new(place.path().join("skills"), Scope::User))
        .policy(rules)
        .approver(Arc::new(ask))
        .approval_store(Arc::new(FileApprovalStore::new(
            place.path().join("approvals.json"),
        )))
        .secrets(Secrets::from_env_text("SIGNING_KEY='correct horse'\nOTHER_KEY=not-declared\n").0)
        .audit(log.clone())
        .build();

    // The skill wants a forked session: what happens in it stays there, and a summary comes out.
    let mut session = runtime.start_session("summary", None)?;
    let report = InputFile {
        name: "report.txt".to_owned(),
        content: b"three short words".to_vec(),
    };
    let artifacts = session
        .execute(ExecutionOptions::default().workspace(Workspace::Private(vec![report])))
        .await?;
    println!("{:?}: {}", artifacts.exit_status, artifacts.output);
    for file in &artifacts.output_files.files {
        println!(
            "made {}: {}",
            file.path,
            String::from_utf8_lossy(file.content.as_deref().unwrap_or_default())
        );
    }
    if let SessionEnd::Finished(summary) = session.finish(json!("three words")).await? {
        println!(
            "{} (forked: {}) says {}",
            summary.skill, summary.is_forked, summary.summary
        );
    }

    let records = verify(&log.files()?)?;
    println!(
        "{} record, {} problems",
        records.records,
        records.problems.len()
    );
    Ok(())
}

/// Stands for a dialogue, which would show all of the question: agrees to secrets for good and to
/// nothing else.
fn ask(question: &ApprovalRequest) -> ApprovalResponse {
    println!(
        "{} wants to run {}",
        question.name,
        question.command.join(" ")
    );
    question
        .pending
        .iter()
        .for_each(|verdict| println!("  and to {}", verdict.permission()));
    let is_secret = |verdict: &skills_runtime::policy::PermissionDecision| {
        verdict.permission().capability() == Capability::Environment
    };
    // A question may be about the content alone, for powers that rules would give it.
    let is_about_secrets =
        !question.requires_content_approval && question.pending.iter().all(is_secret);
    if is_about_secrets {
        ApprovalResponse::AllowAlways
    } else {
        ApprovalResponse::Deny
    }
}

#[expect(clippy::disallowed_methods, reason = "an example makes its own skill")]
fn make_skill(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory.join("scripts"))?;
    let text = "---\nname: summary\ndescription: Counts the words of a report.\ncontext: fork\nrequires:\n  env: [SIGNING_KEY]\n---\n# Summary\n";
    std::fs::write(directory.join("SKILL.md"), text)?;
    std::fs::write(directory.join("scripts/count.py"), SCRIPT)
}
