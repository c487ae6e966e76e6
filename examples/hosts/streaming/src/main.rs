//! Host application that runs a skill from memory: it answers a question from another task, shows
//! output as it comes, and asks the program to end. `cargo run -p host-streaming`

use std::sync::Arc;
use std::time::Duration;

use skills_runtime::discovery::{MemorySkill, MemorySource, SourceRoot, TreePath};
use skills_runtime::policy::{Question, approver_fn};
use skills_runtime::{Answer, ExecutionOptions, RunEvent, Scope, SkillRuntime, format_question};
use tokio::sync::{mpsc, oneshot};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let document = "---\nname: clock\ndescription: Ticks.\nallowed-tools: Bash(sleep:*)\n---\n";
    let script = "trap 'echo bye; exit' TERM\nwhile :; do echo tick; sleep 0.1; done\n";
    let clock = MemorySkill::new(TreePath::new("clock")?)
        .file(TreePath::new("SKILL.md")?, document)
        .file(TreePath::new("scripts/tick.sh")?, script);
    let source = Arc::new(MemorySource::new("app", [clock]));
    // Sends each question to the task that has the user; without an answer it is denied.
    let (asker, mut questions) = mpsc::unbounded_channel();
    let approver = approver_fn(move |question: Question| {
        let (answer, answered) = oneshot::channel::<Answer>();
        let _ = asker.send((format_question(&question), answer));
        async { answered.await.ok() }
    });
    let root = SourceRoot::new(source, Scope::System, "/tmp");
    let builder = SkillRuntime::builder().source(root);
    let runtime = builder.approver(Arc::new(approver)).build();
    let mut run = runtime
        .executor()
        .start("clock", ExecutionOptions::default());
    loop {
        tokio::select! {
            Some((question, answer)) = questions.recv() => {
                println!("{question}");
                let _ = answer.send(Answer::AllowOnce);
            }
            event = run.next_event() => match event {
                Some(RunEvent::Output { bytes, .. }) => {
                    print!("{}", String::from_utf8_lossy(&bytes));
                    run.cancel(Duration::from_secs(2));
                }
                Some(_) => {}
                None => break,
            },
        }
    }
    println!("{:?}", run.outcome().await?.exit_status);
    Ok(())
}
