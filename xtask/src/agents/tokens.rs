//! Counts tokens with the encoding `o200k_base`.
//!
//! By a package of npm, which the agents come from anyway: a library in Rust would make the build of
//! this program, which CI compiles first, take several times as long.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The package and the version that was used last.
pub(crate) const PACKAGE: (&str, &str) = ("gpt-tokenizer", "4.0.0");

/// Reads a JSON array of texts and prints an array of counts.
const PROGRAM: &str = r#"
const { countTokens } = require("gpt-tokenizer/encoding/o200k_base");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const options = { disallowedSpecial: new Set() };
console.log(JSON.stringify(texts.map((text) => countTokens(text, options))));
"#;

/// Counts tokens with the packages in a `node_modules`.
pub(crate) struct Counter<'a> {
    node_modules: &'a Path,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(node_modules: &'a Path) -> Self {
        Self { node_modules }
    }

    /// Returns the number of tokens of each text.
    pub(crate) fn count(&self, texts: &[String]) -> Result<Vec<usize>> {
        let mut child = Command::new(self.node_modules.join(".bin/node"))
            .current_dir(self.node_modules)
            .args(["-e", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        child
            .stdin
            .take()
            .context("the tokenizer has no input")?
            .write_all(&serde_json::to_vec(texts)?)?;
        let result = child.wait_with_output()?;
        ensure!(
            result.status.success(),
            "the tokenizer ended with {}: is the package `{}` installed?",
            result.status,
            PACKAGE.0
        );
        Ok(serde_json::from_slice(&result.stdout)?)
    }
}
