//! The first line of a script, by which the kernel starts its interpreter.

use std::path::{Path, PathBuf};

use crate::regular_file::{Symlink, read_start};

/// Maximum length of the first line, in bytes (Linux).
const MAX_BYTES: u64 = 256;

/// The first line of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shebang {
    /// The program that the kernel starts.
    pub(super) path: PathBuf,
    /// The name of the program that `env` then searches.
    pub(super) searched_name: Option<String>,
}

impl Shebang {
    /// Reads the first line of a file; `None` if it is not a script.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let start = read_start(path, Symlink::Follow, MAX_BYTES).ok()?;
        let line = start.split(|byte| *byte == b'\n').next()?;
        Self::parse(std::str::from_utf8(line).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("#!")?.split_whitespace();
        let path = PathBuf::from(words.next()?);
        if !path.is_absolute() {
            return None;
        }
        let is_env = path.file_name().is_some_and(|name| name == "env");
        // Options of `env`, and the variables that it sets, come before the program.
        let mut words = words.filter(|word| !word.starts_with('-') && !word.contains('='));
        Some(Self {
            searched_name: is_env.then(|| words.next().map(str::to_owned)).flatten(),
            path,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_and_what_env_searches_are_parsed() {
        let parsed = |line| {
            let shebang = Shebang::parse(line)?;
            let path = shebang.path.to_str().unwrap().to_owned();
            Some([path, shebang.searched_name.unwrap_or_default()].join(" "))
        };
        let lines = [
            "#!/bin/sh",
            "#! /usr/bin/python3 -I",
            "#!/usr/bin/env node",
            "#!/usr/bin/env -S A=1 deno run",
            "#!/usr/bin/env",
            "#!python",
            "#!",
            "echo",
        ];
        let all: Vec<String> = lines.map(|line| parsed(line).unwrap_or_default()).into();
        assert_eq!(
            all,
            [
                "/bin/sh ",
                "/usr/bin/python3 ",
                "/usr/bin/env node",
                "/usr/bin/env deno",
                "/usr/bin/env ",
                "",
                "",
                ""
            ]
        );
    }
}
