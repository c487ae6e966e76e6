//! Looks at the files: lengths, crate docs, test files that nobody runs, words that must not stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command::{output, workspace_dir};

/// How many lines a file may have before its tests.
const MAX_LINES: usize = 600;
/// How many lines a file of integration tests may have; tests are read one by one.
const MAX_TEST_LINES: usize = 1_000;
/// What may stand at the top of the project.
const ALLOWED_TOP_LEVEL: [&str; 22] = [
    ".cargo",
    ".ci",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "README.zh.md",
    "SECURITY.md",
    "clippy.toml",
    "crates",
    "deny.toml",
    "docs",
    "examples",
    "fuzz",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "xtask",
    ".github",
];
/// The page with the holes of other runtimes.
const THREAT_MODEL: &str = "docs/threat-model.md";
/// Words that mark unfinished or hidden work, written so that this file does not hold them.
const FORBIDDEN_WORDS: [(&str, &str); 5] = [
    ("#[al", "low("),
    ("#![al", "low("),
    ("#[ig", "nore"),
    ("TO", "DO"),
    ("FIX", "ME"),
];

pub(crate) fn problems() -> Result<Vec<String>> {
    let root = workspace_dir();
    let files = output(Command::new("git").current_dir(&root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let files: Vec<PathBuf> = files
        .split_terminator('\0')
        .map(PathBuf::from)
        .filter(|file| root.join(file).is_file())
        .collect();
    let mut problems = Vec::new();
    problems.extend(unknown_tests(&root, &files)?);
    for file in &files {
        let top = file
            .components()
            .next()
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .unwrap_or_default();
        if !ALLOWED_TOP_LEVEL.contains(&top.as_str()) {
            problems.push(format!("{top}: does not belong at the top of the project"));
        }
        if file.extension().is_some_and(|extension| extension == "rs")
            && !file.starts_with("examples")
        {
            problems.extend(source_problems(file, &fs::read_to_string(root.join(file))?));
        }
        problems.extend(undeclared_test(&root, file)?);
    }
    Ok(problems)
}

/// The threat model names a test for each hole; a name that no function has promises what nobody
/// checks.
fn unknown_tests(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let table = fs::read_to_string(root.join(THREAT_MODEL))?;
    let named = table.lines().filter_map(|line| {
        line.strip_suffix("` |")?
            .rsplit_once("| `")
            .map(|(_, name)| format!("fn {name}("))
    });
    let mut unknown: Vec<String> = named.collect();
    if unknown.is_empty() {
        return Ok(vec![format!("{THREAT_MODEL}: names no test")]);
    }
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
    {
        let text = fs::read_to_string(root.join(file))?;
        unknown.retain(|name| !text.contains(name.as_str()));
    }
    Ok(unknown
        .into_iter()
        .map(|name| format!("{THREAT_MODEL}: there is no test `{name}…)`"))
        .collect())
}

fn source_problems(file: &Path, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let lines = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count();
    let is_test = file.components().any(|part| part.as_os_str() == "tests");
    let max_lines = if is_test { MAX_TEST_LINES } else { MAX_LINES };
    if lines > max_lines {
        problems.push(format!(
            "{}: {lines} lines before its tests, at most {max_lines}",
            file.display()
        ));
    }
    let is_root = file.ends_with("src/lib.rs") || file.ends_with("src/main.rs");
    if is_root && !text.starts_with("//!") {
        problems.push(format!(
            "{}: a crate begins with its documentation",
            file.display()
        ));
    }
    for (start, end) in FORBIDDEN_WORDS {
        let word = format!("{start}{end}");
        if let Some(line) = text.lines().position(|line| line.contains(&word)) {
            problems.push(format!("{}:{}: `{word}`", file.display(), line + 1));
        }
    }
    problems
}

/// A file beside `tests/it/main.rs` that is not declared there never runs.
fn undeclared_test(root: &Path, file: &Path) -> Result<Option<String>> {
    let Some(directory) = file
        .parent()
        .filter(|directory| directory.ends_with("tests/it"))
    else {
        return Ok(None);
    };
    let (Some(stem), Some("rs")) = (file.file_stem(), file.extension().and_then(|e| e.to_str()))
    else {
        return Ok(None);
    };
    let stem = stem.to_string_lossy();
    let main = fs::read_to_string(root.join(directory).join("main.rs"))?;
    let declared = stem == "main"
        || main
            .lines()
            .any(|line| line.trim() == format!("mod {stem};"));
    Ok((!declared).then(|| {
        format!(
            "{}: not declared in main.rs, so it never runs",
            file.display()
        )
    }))
}
