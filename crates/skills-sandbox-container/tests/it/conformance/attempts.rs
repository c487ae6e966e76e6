//! Runs many attempts in one script.

use skills_sandbox::{EnforcementReport, Job, RunOutput, Sandbox};
use skills_sandbox_conformance::attempts::{
    AttemptOutput, parse_output, paths_prelude, python_script,
};
use skills_sandbox_container::ContainerSandbox;
use skills_test_support::scene::populate;

use crate::skill::Skill;

/// Creates a skill with its surroundings.
pub(crate) fn create_scene() -> Skill {
    let skill = Skill::new();
    populate(&skill.path(""));
    skill
}

/// Returns Python assignments with the paths around the skill.
pub(crate) fn python_paths(skill: &Skill) -> String {
    paths_prelude(&skill.path(""))
}

/// Returns the sandbox of a skill. The test of the table starts with a check for an engine.
pub(crate) fn sandbox(skill: &Skill) -> ContainerSandbox {
    skill.sandbox().unwrap()
}

/// Runs Python expressions or statements of cases, after `prelude`.
pub(crate) async fn python<C: AsRef<str>>(
    skill: &Skill,
    prelude: &str,
    attempts: &[(u8, C)],
) -> (Vec<AttemptOutput>, EnforcementReport) {
    let job = skill.job("main.py", &python_script(prelude, attempts));
    run_attempts(&sandbox(skill), job, attempts).await
}

/// Runs a job with the script of some attempts.
pub(crate) async fn run_attempts<C: AsRef<str>>(
    sandbox: &ContainerSandbox,
    job: Job,
    attempts: &[(u8, C)],
) -> (Vec<AttemptOutput>, EnforcementReport) {
    let output = sandbox.run(job).await.unwrap();
    let (text, errors) = (output.stdout.text(), output.stderr.text());
    assert!(
        output.termination.is_success(),
        "{:?}\n{text}\n{errors}",
        output.termination
    );
    let outputs = parse_output(&text, attempts).unwrap_or_else(|error| panic!("{error}\n{errors}"));
    (outputs, output.enforcement)
}

/// Runs a Python script.
pub(crate) async fn script(skill: &Skill, text: &str) -> RunOutput {
    skill.run(&sandbox(skill), skill.job("main.py", text)).await
}

/// Runs shell commands. Each must be valid as a condition of `if`.
pub(crate) async fn shell<C: AsRef<str>>(
    skill: &Skill,
    attempts: &[(u8, C)],
) -> Vec<AttemptOutput> {
    let mut script = String::new();
    for (index, (_, code)) in attempts.iter().enumerate() {
        script.push_str(&format!(
            "if {} ; then printf '{index}\\tok\\t\\n'; else printf '{index}\\terror\\t%s\\n' $?; fi\n",
            code.as_ref()
        ));
    }
    let job = skill.job("main.sh", &script);
    run_attempts(&sandbox(skill), job, attempts).await.0
}

/// Splits attempts into those whose code contains one of some texts, and the others.
pub(crate) fn split_off(
    tried: Vec<AttemptOutput>,
    texts: &[&str],
) -> (Vec<AttemptOutput>, Vec<AttemptOutput>) {
    tried
        .into_iter()
        .partition(|tried| texts.iter().any(|text| tried.code.contains(text)))
}
