//! Runs many attempts in one script of each language.

use skills_sandbox::{EnforcementReport, RunOutput, Sandbox};
use skills_sandbox_linux::LinuxSandbox;

use crate::skill::Skill;

/// An attempt with its value or error.
#[derive(Debug)]
pub(crate) struct AttemptOutput {
    pub(crate) case: u8,
    pub(crate) code: String,
    pub(crate) result: Result<String, String>,
}

/// The prelude of Python attempts. Only errors of the system count as failing; a mistake in an
/// attempt must not look like a restriction.
const PYTHON: &str = r#"import ctypes, errno, fcntl, mmap, os, resource, signal, socket, stat, subprocess, sys, time
home = os.environ['HOME']
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    answer = libc.syscall(ctypes.c_long(number), *arguments)
    if answer < 0: raise OSError(ctypes.get_errno(), '')
    return answer
def named(name, *arguments):
    answer = getattr(libc, name)(*arguments)
    if answer < 0: raise OSError(ctypes.get_errno(), '')
    return answer
def write(path, text='x'):
    with open(path, 'w') as file: file.write(text)
def attempt(index, code):
    try:
        try: value = eval(compile(code, 'attempt', 'eval'), globals())
        except SyntaxError: value = exec(code, globals())
        print(index, 'ok', ascii(value), sep='\t', flush=True)
    except OSError as e: print(index, 'error', errno.errorcode.get(e.errno, str(e.errno)), sep='\t', flush=True)
    except (subprocess.SubprocessError, EOFError) as e: print(index, 'error', type(e).__name__, sep='\t', flush=True)
    except BaseException as e: print(index, 'mistake', ascii(e), sep='\t', flush=True)
"#;

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
    let mut script = format!("{PYTHON}{prelude}\n");
    for (index, (_, code)) in attempts.iter().enumerate() {
        script.push_str(&format!("attempt({index}, {})\n", quoted(code.as_ref())));
    }
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
    let lines = text
        .lines()
        .map(|line| line.splitn(3, '\t').collect::<Vec<_>>());
    let mut found: Vec<(usize, Result<String, String>)> = Vec::new();
    for line in lines {
        let [index, kind, value] = line.as_slice() else {
            panic!("{line:?} in\n{text}")
        };
        let index: usize = index.parse().unwrap();
        match *kind {
            "ok" => found.push((index, Ok((*value).to_owned()))),
            "error" => found.push((index, Err((*value).to_owned()))),
            _ => panic!("a mistake in {:?}: {value}", attempts[index].1.as_ref()),
        }
    }
    assert_eq!(found.len(), attempts.len(), "{text}\n{errors}");
    let tried = found.into_iter().map(|(index, result)| AttemptOutput {
        case: attempts[index].0,
        code: attempts[index].1.as_ref().to_owned(),
        result,
    });
    (tried.collect(), output.enforcement)
}

/// Quotes a text for Python and for the shells of these scripts.
pub(crate) fn quoted(text: &str) -> String {
    format!(
        "'{}'",
        text.replace('\\', "\\\\")
            .replace('\'', "\\'")
            .replace('\n', "\\n")
    )
}

/// Adds the number of their case to attempts.
pub(crate) fn with_case<'a>(case: u8, codes: &'a [&'a str]) -> impl Iterator<Item = (u8, &'a str)> {
    codes.iter().map(move |code| (case, *code))
}
