//! The rules.

use crate::config::Config;
use crate::language::Language;
use crate::mask::{Masked, mask};

/// One place where a rule is broken; lines count from 1.
pub struct Finding {
    pub line: usize,
    pub rule: &'static str,
}

/// Looks at a file with all rules for its language.
pub fn run(source: &str, language: Language, config: &Config) -> Vec<Finding> {
    let masked = mask(source, language);
    let mut findings = Vec::new();
    for (index, raw) in source.lines().enumerate() {
        let line = Line { index, raw, masked: &masked, code: masked.code[index].as_str() };
        let mut report = |rule| findings.push(Finding { line: index + 1, rule });
        any_language(&line, config, &mut report);
        match language {
            Language::Rust => rust(&line, &mut report),
            Language::Python => python(&line, &mut report),
            Language::Script => script(&line, &mut report),
            Language::Go => go(&line, &mut report),
            Language::Shell => shell(&line, &mut report),
            Language::Other => {}
        }
    }
    if language == Language::Rust {
        // Tests may panic.
        let tests = masked.code.iter().position(|code| code.trim() == "#[cfg(test)]").unwrap_or(usize::MAX);
        findings.retain(|finding| finding.line <= tests || !matches!(finding.rule, "unwrap" | "panic-macro" | "debug-output"));
    }
    if language == Language::Shell && !masked.code.iter().any(|code| code.trim_start().starts_with("set -") && code.contains('e')) {
        findings.push(Finding { line: 1, rule: "no-strict-mode" });
    }
    long_functions(&masked, language, config, &mut findings);
    findings
}

struct Line<'a> {
    index: usize,
    raw: &'a str,
    masked: &'a Masked,
    code: &'a str,
}

impl Line<'_> {
    fn has(&self, needle: &str) -> bool {
        self.code.contains(needle)
    }

    /// Says whether `word` stands in the code with no letter, digit or underscore around it.
    fn has_word(&self, word: &str) -> bool {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        self.code.match_indices(word).any(|(at, _)| {
            !is_part(self.code[..at].chars().next_back()) && !is_part(self.code[at + word.len()..].chars().next())
        })
    }

    fn comment(&self) -> &str {
        &self.masked.comments[self.index]
    }
}

fn any_language(line: &Line<'_>, config: &Config, report: &mut impl FnMut(&'static str)) {
    if line.raw.chars().count() > config.max_line_length {
        report("long-line");
    }
    if ["TODO", "FIXME", "XXX"].iter().any(|mark| line.comment().contains(mark)) {
        report("todo");
    }
    if line.raw.contains("-----BEGIN") && line.raw.contains("PRIVATE KEY-----") {
        report("private-key");
    }
    if is_secret(line) {
        report("hardcoded-secret");
    }
}

/// A name such as `api_key`, an assignment, and a literal that is long enough to be one and is no placeholder.
fn is_secret(line: &Line<'_>) -> bool {
    let code = line.code.to_ascii_lowercase();
    let Some((name, _)) = code.split_once(['=', ':']) else { return false };
    let names = ["password", "passwd", "secret", "api_key", "apikey", "access_token", "auth_token"];
    if !names.iter().any(|secret| name.trim_end().trim_end_matches(['"', '\'']).ends_with(secret)) {
        return false;
    }
    let after = &line.raw[line.raw.find(['=', ':']).unwrap_or(0)..];
    let literal = after.split(['"', '\'']).nth(1).unwrap_or_default();
    let placeholder = literal.starts_with(['$', '<', '{']) || literal.to_ascii_lowercase().contains("example");
    literal.len() >= 8 && !literal.contains(' ') && !placeholder
}

fn rust(line: &Line<'_>, report: &mut impl FnMut(&'static str)) {
    if line.has(".unwrap()") || line.has(".expect(") {
        report("unwrap");
    }
    if line.has_word("dbg!") || line.has("dbg!(") {
        report("debug-output");
    }
    if ["panic!(", "todo!(", "unimplemented!("].iter().any(|name| line.has(name)) {
        report("panic-macro");
    }
    let is_block = line.has("unsafe {") || line.has("unsafe impl");
    let above = line.index.checked_sub(1).map_or("", |above| line.masked.comments[above].as_str());
    let reasoned = |comment: &str| comment.contains("SAFETY") || comment.contains("Safety");
    let block_above = (0..line.index).rev().take_while(|above| !line.masked.comments[*above].is_empty());
    if is_block && !reasoned(line.comment()) && !reasoned(above) && !block_above.into_iter().any(|at| reasoned(&line.masked.comments[at])) {
        report("unsafe-without-reason");
    }
}

fn python(line: &Line<'_>, report: &mut impl FnMut(&'static str)) {
    let code = line.code.trim();
    if code == "except:" || code.starts_with("except:") {
        report("bare-except");
    }
    if code.starts_with("def ") && ["=[]", "= []", "={}", "= {}", "=set()", "= set()"].iter().any(|default| code.contains(default)) {
        report("mutable-default");
    }
    if (line.has_word("eval") && line.has("eval(")) || (line.has_word("exec") && line.has("exec(")) {
        report("eval");
    }
    if line.has("shell=True") || line.has("os.system(") {
        report("shell-true");
    }
    if line.has("== None") || line.has("!= None") {
        report("none-comparison");
    }
    if line.has("pdb.set_trace(") || line.has_word("breakpoint()") {
        report("debug-output");
    }
}

fn script(line: &Line<'_>, report: &mut impl FnMut(&'static str)) {
    let strict = line.code.replace("===", "").replace("!==", "");
    if strict.contains("==") || strict.contains("!=") {
        report("loose-equality");
    }
    if line.code.trim_start().starts_with("var ") {
        report("var");
    }
    if line.has_word("eval") && line.has("eval(") {
        report("eval");
    }
    if line.has(".innerHTML =") || line.has(".innerHTML=") || line.has("document.write(") {
        report("inner-html");
    }
    if line.has("console.log(") || line.has_word("debugger") {
        report("debug-output");
    }
}

fn go(line: &Line<'_>, report: &mut impl FnMut(&'static str)) {
    if line.has("_ = err") || line.has(", _ := ") || line.has(", _ = ") {
        report("ignored-error");
    }
    if line.has("panic(") {
        report("panic-macro");
    }
    if line.has("fmt.Println(") {
        report("debug-output");
    }
}

fn shell(line: &Line<'_>, report: &mut impl FnMut(&'static str)) {
    let downloads = line.has("curl ") || line.has("wget ");
    let into_shell = ["| sh", "|sh", "| bash", "|bash", "| sudo"].iter().any(|pipe| line.has(pipe));
    if downloads && into_shell {
        report("pipe-to-shell");
    }
    if line.has_word("eval") {
        report("eval");
    }
    // Outside quotes, as the argument of a command.
    let removes = ["rm ", "cd ", "cp ", "mv "].iter().any(|command| line.code.trim_start().starts_with(command));
    if removes && line.code.split_whitespace().any(|word| word.starts_with('$')) {
        report("unquoted-variable");
    }
}

/// Functions by indentation: from the line that opens one to the next line that is not deeper.
fn long_functions(masked: &Masked, language: Language, config: &Config, findings: &mut Vec<Finding>) {
    let starts: &[&str] = match language {
        Language::Rust => &["fn ", "pub fn ", "pub(crate) fn ", "async fn ", "pub async fn ", "unsafe fn "],
        Language::Python => &["def ", "async def "],
        Language::Script => &["function ", "async function ", "export function "],
        Language::Go => &["func "],
        Language::Shell | Language::Other => return,
    };
    let indent = |code: &str| code.len() - code.trim_start().len();
    for (index, code) in masked.code.iter().enumerate() {
        if !starts.iter().any(|start| code.trim_start().starts_with(start)) {
            continue;
        }
        let own = indent(code);
        let body = masked.code[index + 1..].iter();
        let length = body.take_while(|line| line.trim().is_empty() || indent(line) > own || line.trim_start().starts_with(')')).count();
        if length > config.max_function_lines {
            findings.push(Finding { line: index + 1, rule: "long-function" });
        }
    }
}
