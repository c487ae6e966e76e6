//! What runs a script: the program of its first line, else that of its extension.

use skills_discovery::SkillFiles;
use skills_sandbox::{ScriptType, Shebang};

use crate::launcher::without_launcher;

/// The maximum length of the name of an interpreter that is not in the table.
const MAX_NAME_BYTES: usize = 64;

/// What runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptLanguage {
    /// A language; the sandbox selects its interpreter.
    Known(ScriptType),
    /// A program of the host that the first line names. It is searched by its name, and a rule or an
    /// approval must allow to spawn it.
    Other {
        /// The name without a directory.
        program: String,
        /// The arguments before the path of the script.
        args: Vec<String>,
    },
}

impl ScriptLanguage {
    /// Returns what runs a file of a skill. The first line decides before the extension. `None` if
    /// neither names a program, or if the file cannot be read.
    #[must_use]
    pub fn of_file(files: &SkillFiles, path: &str) -> Option<Self> {
        let start = files.read_start(path, Shebang::MAX_BYTES).ok()?;
        Self::of_start(path, &start)
    }

    /// Returns what runs a script that begins with these bytes.
    pub(crate) fn of_start(path: &str, start: &[u8]) -> Option<Self> {
        let of_extension = ScriptType::from_path(path.as_ref());
        let Some(shebang) = Shebang::parse(start) else {
            return of_extension.map(Self::Known);
        };
        let mut words = shebang.command();
        if words.is_empty() {
            return of_extension.map(Self::Known);
        }
        words.push(path.to_owned());
        let (program, args) = match without_launcher(&words) {
            [program, args @ .., _script] => (program, args),
            // `uv run --script`: the launcher starts Python with the script itself.
            _ => return Some(Self::Known(ScriptType::Python)),
        };
        let program = program.rsplit('/').next().unwrap_or_default();
        match (ScriptType::from_interpreter(program), of_extension) {
            // Node runs these as TypeScript if it can.
            (Some(ScriptType::Node), Some(ScriptType::Deno)) => of_extension.map(Self::Known),
            (Some(known), _) => Some(Self::Known(known)),
            (None, _) => is_program_name(program).then(|| Self::Other {
                program: program.to_owned(),
                args: args.to_vec(),
            }),
        }
    }

    /// Returns the language, if the sandbox selects its interpreter.
    #[must_use]
    pub fn known(&self) -> Option<ScriptType> {
        match self {
            Self::Known(script_type) => Some(*script_type),
            Self::Other { .. } => None,
        }
    }
}

/// Returns true if a question and a rule can name the program.
fn is_program_name(name: &str) -> bool {
    let is_part = |one: char| one.is_ascii_alphanumeric() || "._+-".contains(one);
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|one: char| one.is_ascii_alphanumeric())
        && name.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(path: &str, line: &str) -> String {
        match ScriptLanguage::of_start(path, line.as_bytes()) {
            None => "none".to_owned(),
            Some(ScriptLanguage::Known(script_type)) => script_type.as_str().to_owned(),
            Some(ScriptLanguage::Other { program, args }) => {
                format!("{program} {}", args.join("|"))
            }
        }
    }

    #[test]
    fn the_first_line_decides_before_the_extension() {
        for (path, line, expected) in [
            ("a.py", "print(1)", "python"),
            ("a.py", "#!/bin/bash\n", "shell"),
            ("query", "#!/usr/bin/env bash\n", "shell"),
            (
                "query",
                "#!/usr/bin/env -S LC_ALL=C python3.12 -u\n",
                "python",
            ),
            ("query", "#!/usr/bin/env -S uv run --script\n", "python"),
            (
                "query",
                "#!/usr/bin/env -S uv run --quiet --script\n",
                "python",
            ),
            ("query", "#!/usr/bin/env -S uv run python\n", "python"),
            ("query", "echo", "none"),
            (
                "a.R",
                "#!/usr/bin/env Rscript --vanilla\n",
                "Rscript --vanilla",
            ),
            ("a.sh", "#!/bin/zsh\n", "zsh "),
            ("a.py", "#!/usr/bin/env python2\n", "python2 "),
            ("a.py", "#!python\n", "python"),
            ("a.py", "#!/usr/bin/env\n", "python"),
            ("a.ts", "#!/usr/bin/env node\n", "deno"),
            ("a.js", "#!/usr/bin/env nodejs\n", "node"),
            ("a.pl", "#!/usr/bin/perl5.36 -w\n", "perl"),
        ] {
            assert_eq!(language(path, line), expected, "{path} {line:?}");
        }
    }

    /// A first line selects a name of the table or one that is asked for, never a file.
    #[test]
    fn a_first_line_starts_no_file_of_the_skill() {
        for (line, expected) in [
            ("#!/tmp/skill/python3\n", "python"),
            ("#!/skills/x/scripts/evil\n", "evil "),
            ("#!/usr/bin/env ./evil\n", "evil "),
            ("#!./evil\n", "none"),
            ("#!/usr/bin/env -S sh -c 'evil; x'\n", "shell"),
            ("#!/bin/e\u{202e}vil\n", "none"),
            ("#!/bin/.hidden\n", "none"),
            ("#!/bin/..\n", "none"),
            (
                "#!/usr/bin/env -S uv run --directory /etc x\n",
                "uv run|--directory|/etc|x",
            ),
        ] {
            assert_eq!(language("x", line), expected, "{line:?}");
        }
    }
}
