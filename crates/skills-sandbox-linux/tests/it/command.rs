//! Programs of the machine, as the grants name them.

use std::fs;

use skills_policy::{Authorization, Capability, Policy, Request, RuleSource};
use skills_sandbox::{Job, Program, Sandbox, Termination};
use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, isolations};

/// A job that works on the workspace, which may be written, and may start what `ask` asks for.
fn job(skill: &Skill, name: &str, ask: impl FnOnce(Request) -> Request) -> Job {
    let workspace = skill.path("workspace");
    let request = ask(Request::for_host_command(&workspace)
        .write(&workspace)
        .limits(skill.limits.clone()));
    let rules = Policy::default()
        .allow(RuleSource::Invocation, Capability::Spawn)
        .allow(RuleSource::Invocation, Capability::Write);
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("allowed")
    };
    Job::new(grants, Program::command(name))
}

#[tokio::test]
async fn a_command_gets_its_words_as_they_are_and_works_on_the_workspace() {
    for tier in isolations() {
        let skill = Skill::new(tier);
        let odd = "-n a; $(id) 'b' \"c\"\n";
        let outcome = skill
            .run(
                job(&skill, "printf", |request| request.spawn("printf"))
                    .arg("%s|")
                    .arg(odd),
            )
            .await;
        assert_eq!(
            (outcome.stdout.text(), outcome.stderr.text()),
            (format!("{odd}|"), String::new())
        );
        let outcome = skill
            .run(job(&skill, "touch", |request| request.spawn("touch")).arg("made"))
            .await;
        assert_eq!(
            outcome.termination,
            Termination::Exited { code: 0 },
            "{}",
            outcome.stderr.text()
        );
        assert!(skill.path("workspace").join("made").is_file());
    }
}

#[tokio::test]
async fn only_what_was_granted_starts() {
    for tier in isolations() {
        let skill = Skill::new(tier);
        let error = skill
            .sandbox()
            .run(job(&skill, "ls", |request| request.spawn("cat")))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the linux sandbox rejects the job: program `ls` is not granted"
        );
        let error = skill
            .sandbox()
            .run(job(&skill, "no-such-program", |request| {
                request.spawn_any()
            }))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("program `no-such-program` not found (searched /usr/bin"),
            "{error}"
        );
        // A shell of which nothing more is granted starts nothing more.
        let alone = job(&skill, "sh", |request| request.spawn("sh"))
            .arg("-c")
            .arg("echo here; ls; echo $?");
        let outcome = skill.run(alone).await;
        assert!(
            outcome.stdout.text().starts_with("here\n12"),
            "{} {}",
            outcome.stdout.text(),
            outcome.stderr.text()
        );
        let any = job(&skill, "sh", |request| request.spawn_any())
            .arg("-c")
            .arg("echo a b | tr a-z A-Z > out; cat out");
        let outcome = skill.run(any).await;
        assert_eq!(outcome.stdout.text(), "A B\n", "{}", outcome.stderr.text());
    }
}

#[tokio::test]
async fn a_directory_to_start_in_is_one_that_was_granted() {
    for tier in isolations() {
        let skill = Skill::new(tier);
        let below = skill.path("workspace").join("below");
        fs::create_dir(&below).unwrap();
        let outcome = skill
            .run(job(&skill, "pwd", |request| request.spawn("pwd")).current_dir(&below))
            .await;
        assert_eq!(
            outcome.stdout.text().trim_end(),
            below.to_string_lossy(),
            "{}",
            outcome.stderr.text()
        );
        let outside =
            job(&skill, "pwd", |request| request.spawn("pwd")).current_dir(skill.path("scratch"));
        let error = skill.sandbox().run(outside).await.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("the working directory is not granted"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_tree_of_its_own_has_other_names_as_well() {
    if !isolations().contains(&IsolationMode::Namespaces) {
        return;
    }
    let skill = Skill::new(IsolationMode::Namespaces);
    fs::write(skill.path("workspace").join("note"), "found").unwrap();
    let job = job(&skill, "cat", |request| request.spawn("cat"))
        .path_alias("/workspace", skill.path("workspace"));
    let outcome = skill.run(job.arg("/workspace/note")).await;
    assert_eq!(outcome.stdout.text(), "found", "{}", outcome.stderr.text());
}
