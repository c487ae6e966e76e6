//! Checks files: lengths, crate docs, undeclared tests, forbidden words.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use regex_lite::Regex;

use crate::command::{versioned_files, workspace_dir};

/// Maximum lines of a file before its tests.
const MAX_LINES: usize = 600;
/// Maximum lines of a file of integration tests, which are read one by one.
const MAX_TEST_LINES: usize = 1_000;
/// The files and directories at the root of the project.
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
/// The page that names a test for each attack.
const THREAT_MODEL: &str = "docs/threat-model.md";
/// Words that mark unfinished or hidden work, split so that this file does not contain them.
const FORBIDDEN_WORDS: [(&str, &str); 5] = [
    ("#[al", "low("),
    ("#![al", "low("),
    ("#[ig", "nore"),
    ("TO", "DO"),
    ("FIX", "ME"),
];

/// Variables of the compiler that contain paths, and the files that may use them. The paths are those
/// of the clone that built a program: other users may not be able to read it, and it may be gone.
const PATHS_OF_THE_BUILD: [(&str, &str); 3] = [
    // `SKILLS_TEST_BINARY` overrides it.
    (
        "CARGO_BIN_EXE_skills",
        "crates/skills-cli/tests/it/skills.rs",
    ),
    // A cache that is kept, for tests that no other user runs.
    (
        "CARGO_TARGET_TMPDIR",
        "crates/skills-build/tests/it/real.rs",
    ),
    // An example for readers, which cargo runs where it built it.
    (
        "CARGO_MANIFEST_DIR",
        "crates/skills-runtime/examples/embed.rs",
    ),
];

pub(crate) fn problems() -> Result<Vec<String>> {
    let root = workspace_dir();
    // New files are checked before they are committed, and ignored ones never.
    let files = versioned_files(&root)?;
    let files: Vec<PathBuf> = files
        .split_terminator('\0')
        .map(PathBuf::from)
        // A deleted file is listed until the deletion is staged.
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
            problems.push(format!("{top}: unexpected at the root of the project"));
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

/// Every test named in the threat model must exist.
fn unknown_tests(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let table = fs::read_to_string(root.join(THREAT_MODEL))?;
    let named = table.lines().filter_map(|line| {
        line.strip_suffix("` |")?
            .rsplit_once("| `")
            .map(|(_, name)| format!("fn {name}("))
    });
    let mut unknown: Vec<String> = named.collect();
    // If the format of the table changes, nothing would be checked any more.
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
        .map(|name| format!("{THREAT_MODEL}: test `{name}…)` does not exist"))
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
            "{}: {lines} lines before its tests, at most {max_lines} are allowed",
            file.display()
        ));
    }
    let is_root = file.ends_with("src/lib.rs") || file.ends_with("src/main.rs");
    if is_root && !text.starts_with("//!") {
        problems.push(format!(
            "{}: must start with the documentation of the crate",
            file.display()
        ));
    }
    problems.extend(paths_of_the_build(file, text));
    for (start, end) in FORBIDDEN_WORDS {
        let word = format!("{start}{end}");
        if let Some(line) = text.lines().position(|line| line.contains(&word)) {
            problems.push(format!("{}:{}: `{word}`", file.display(), line + 1));
        }
    }
    problems
}

/// Tests find files with `skills_test_support::source_tree`, which has a value at run time.
fn paths_of_the_build(file: &Path, text: &str) -> Vec<String> {
    let Ok(variable) = Regex::new(r#"env!\s*\(\s*"(\w+)""#) else {
        return vec!["tidy: invalid expression".to_owned()];
    };
    variable
        .captures_iter(text)
        .map(|captures| captures[1].to_owned())
        // Name and version of the package; everything else can be a path.
        .filter(|name| !name.starts_with("CARGO_PKG_"))
        .filter(|name| {
            !PATHS_OF_THE_BUILD
                .iter()
                .any(|(allowed, path)| allowed == name && file == Path::new(path))
        })
        .map(|name| {
            format!(
                "{}: `{name}` at compile time; tests use `skills_test_support::source_tree`",
                file.display()
            )
        })
        .collect()
}

/// A file next to `tests/it/main.rs` that is not declared there never runs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_build_is_a_problem_in_every_spelling() {
        let problems = |file: &str, text: &str| paths_of_the_build(Path::new(file), text);
        for text in [
            "Path::new(env!(\"CARGO_MANIFEST_DIR\")).join(AUTHORITY)",
            "include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/a\"))",
            "option_env!(\n    \"OUT_DIR\"\n)",
            "std::env! (\"CARGO_BIN_EXE_skills\", \"no command\")",
        ] {
            assert_eq!(
                problems("crates/a/tests/it/main.rs", text).len(),
                1,
                "{text}"
            );
        }
        let allowed = [
            ("crates/a/src/lib.rs", "env!(\"CARGO_PKG_VERSION\")"),
            (
                "crates/skills-cli/tests/it/skills.rs",
                "env!(\"CARGO_BIN_EXE_skills\")",
            ),
        ];
        for (file, text) in allowed {
            assert_eq!(problems(file, text), [""; 0]);
        }
    }
}
