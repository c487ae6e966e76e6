//! Host programs, as the grants name them.

use std::fs;

use skills_policy::{Authorization, Capability, Permission, Policy, Request, RuleSource, Target};
use skills_sandbox::{Job, Program, Sandbox, Termination};
use skills_sandbox_linux::IsolationMode;

use crate::skill::{Skill, supported_modes};

/// Returns a job whose working directory is the writable workspace, with the programs that
/// `request_spawn` adds to the request.
fn job(skill: &Skill, name: &str, request_spawn: impl FnOnce(Request) -> Request) -> Job {
    let workspace = skill.path("workspace");
    let request = request_spawn(
        Request::for_host_command(&workspace)
            .write(&workspace)
            .limits(skill.limits.clone()),
    );
    // Rules for exactly what is requested: what a rule allows is also requested.
    let allow_requested = |rules: Policy, permission: &Permission| match permission {
        Permission::Program(name) => {
            rules.allow(RuleSource::Invocation, Target::program(name).unwrap())
        }
        Permission::AnyProgram => rules.allow(RuleSource::Invocation, Capability::Spawn),
        _ => rules,
    };
    let rules = request.permissions().iter().fold(
        Policy::default().allow(RuleSource::Invocation, Capability::Write),
        allow_requested,
    );
    let Authorization::Granted(grants) = rules.authorize(&request) else {
        panic!("allowed")
    };
    Job::new(grants, Program::command(name))
}

#[tokio::test]
async fn a_command_gets_its_arguments_unchanged_and_writes_to_the_workspace() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let special = "-n a; $(id) 'b' \"c\"\n";
        let output = skill
            .run(
                job(&skill, "printf", |request| request.spawn("printf"))
                    .arg("%s|")
                    .arg(special),
            )
            .await;
        assert_eq!(
            (output.stdout.text(), output.stderr.text()),
            (format!("{special}|"), String::new())
        );
        let output = skill
            .run(job(&skill, "touch", |request| request.spawn("touch")).arg("made"))
            .await;
        assert_eq!(
            output.termination,
            Termination::Exited { code: 0 },
            "{}",
            output.stderr.text()
        );
        assert!(skill.path("workspace").join("made").is_file());
    }
}

#[tokio::test]
async fn only_granted_programs_start() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let error = skill
            .sandbox()
            .run(job(&skill, "ls", |request| request.spawn("cat")))
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot run the job in the linux sandbox: program `ls` is not granted"
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
                .contains("program `no-such-program` not found (searched /usr/local/bin"),
            "{error}"
        );
        // With a grant for the shell only, it cannot start other programs.
        let alone = job(&skill, "sh", |request| request.spawn("sh"))
            .arg("-c")
            .arg("echo here; ls; echo $?");
        let output = skill.run(alone).await;
        assert!(
            output.stdout.text().starts_with("here\n12"),
            "{} {}",
            output.stdout.text(),
            output.stderr.text()
        );
        let any = job(&skill, "sh", |request| request.spawn_any())
            .arg("-c")
            .arg("echo a b | tr a-z A-Z > out; cat out");
        let output = skill.run(any).await;
        assert_eq!(output.stdout.text(), "A B\n", "{}", output.stderr.text());
    }
}

#[tokio::test]
async fn the_working_directory_must_be_granted() {
    for mode in supported_modes() {
        let skill = Skill::new(mode);
        let below = skill.path("workspace").join("below");
        fs::create_dir(&below).unwrap();
        let output = skill
            .run(job(&skill, "pwd", |request| request.spawn("pwd")).current_dir(&below))
            .await;
        assert_eq!(
            output.stdout.text().trim_end(),
            below.to_string_lossy(),
            "{}",
            output.stderr.text()
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
async fn aliases_are_symlinks_with_namespaces() {
    if !supported_modes().contains(&IsolationMode::Namespaces) {
        return;
    }
    let skill = Skill::new(IsolationMode::Namespaces);
    fs::write(skill.path("workspace").join("note"), "found").unwrap();
    let job = job(&skill, "cat", |request| request.spawn("cat"))
        .path_alias("/workspace", skill.path("workspace"));
    let output = skill.run(job.arg("/workspace/note")).await;
    assert_eq!(output.stdout.text(), "found", "{}", output.stderr.text());
}
