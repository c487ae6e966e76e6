//! Runs many attempts in one script of each language.

use skills_sandbox::{EnforcementReport, RunOutput, Sandbox};
use skills_sandbox_conformance::attempts::{AttemptOutput, parse_output, python_script};
use skills_sandbox_linux::LinuxSandbox;

use crate::skill::Skill;

const NODE: &str = r"const fs = require('fs'), net = require('net'), dgram = require('dgram'), child = require('child_process'), dns = require('dns');
const connect = (options) => new Promise((done, fail) => { const s = net.connect(options, () => done('connected')); s.on('error', fail); });
const attempts = [];
async function all() {
    for (const [index, attempt] of attempts.entries()) {
        try { console.log([index, 'ok', JSON.stringify(await attempt())].join('\t')); }
        catch (error) { console.log([index, typeof error.code === 'string' ? 'error' : 'mistake', error.code ?? String(error)].join('\t')); }
    }
    process.exit(0);
}
";

/// Runs Python expressions or statements of cases, after `prelude`.
pub(crate) async fn python<C: AsRef<str>>(
    skill: &Skill,
    prelude: &str,
    attempts: &[(u8, C)],
) -> (Vec<AttemptOutput>, EnforcementReport) {
    python_in(&skill.sandbox(), skill, prelude, attempts).await
}

/// Does the same as [`python`] in a given sandbox.
pub(crate) async fn python_in<C: AsRef<str>>(
    sandbox: &LinuxSandbox,
    skill: &Skill,
    prelude: &str,
    attempts: &[(u8, C)],
) -> (Vec<AttemptOutput>, EnforcementReport) {
    let script = python_script(prelude, attempts);
    parse(
        sandbox.run(skill.job("main.py", &script)).await.unwrap(),
        attempts,
    )
}

/// Runs Node expressions.
pub(crate) async fn node<C: AsRef<str>>(skill: &Skill, attempts: &[(u8, C)]) -> Vec<AttemptOutput> {
    let functions = attempts
        .iter()
        .map(|(_, code)| format!("attempts.push(() => {});\n", code.as_ref()))
        .collect::<String>();
    parse(
        skill
            .run(skill.job("main.js", &format!("{NODE}{functions}all();\n")))
            .await,
        attempts,
    )
    .0
}

/// Runs shell commands that start no program. Each must be valid as a condition of `if`.
pub(crate) async fn shell<C: AsRef<str>>(
    skill: &Skill,
    attempts: &[(u8, C)],
) -> Vec<AttemptOutput> {
    let mut script = String::new();
    for (index, (_, code)) in attempts.iter().enumerate() {
        script
            .push_str(&format!("if {} ; then printf '{index}\\tok\\t\\n'; else printf '{index}\\terror\\t%s\\n' $?; fi\n", code.as_ref()));
    }
    parse(skill.run(skill.job("main.sh", &script)).await, attempts).0
}

fn parse<C: AsRef<str>>(
    output: RunOutput,
    attempts: &[(u8, C)],
) -> (Vec<AttemptOutput>, EnforcementReport) {
    let (text, errors) = (output.stdout.text(), output.stderr.text());
    assert!(
        output.termination.is_success(),
        "{:?}\n{text}\n{errors}",
        output.termination
    );
    let outputs = parse_output(&text, attempts).unwrap_or_else(|error| panic!("{error}\n{errors}"));
    (outputs, output.enforcement)
}
