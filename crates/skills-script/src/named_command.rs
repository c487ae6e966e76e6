//! Scripts that the instructions of a skill name as commands.

/// Words after which a script is a command: interpreters, and the last word of launchers.
const WORDS_BEFORE_SCRIPT: [&str; 13] = [
    "python", "python3", "py", "bash", "sh", "zsh", "node", "deno", "bun", "tsx", "ts-node", "run",
    "-u",
];
/// Characters around a path that do not belong to it.
const QUOTES: [char; 9] = ['`', '"', '\'', '(', ')', ',', ';', '*', '|'];

/// Returns true if the instructions name a script as a command to run, such as
/// `python scripts/setup.py --all` or, in a block of code, `./scripts/setup.sh`.
///
/// `file` is the path relative to `scripts/`. A path that is only mentioned is not a command.
///
/// ```
/// use skills_script::names_command;
///
/// let instructions = "Run `python {baseDir}/scripts/setup.py`, see scripts/test_setup.py.";
/// assert!(names_command(instructions, "setup.py"));
/// assert!(!names_command(instructions, "test_setup.py"));
/// ```
#[must_use]
pub fn names_command(instructions: &str, file: &str) -> bool {
    let path = format!("scripts/{file}");
    // Most files are not named at all.
    if !instructions.contains(&path) {
        return false;
    }
    let mut is_code = false;
    instructions.lines().any(|line| {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            return false;
        }
        is_command_line(line, &path, is_code)
    })
}

fn is_command_line(line: &str, path: &str, is_code: bool) -> bool {
    let mut before = None;
    for word in line.split_whitespace() {
        let bare = word.trim_matches(QUOTES).trim_end_matches(['.', ':']);
        let bare = bare.trim_end_matches(QUOTES);
        if is_path(bare, path) {
            let is_run = before.is_some_and(|word| WORDS_BEFORE_SCRIPT.contains(&word));
            let is_first = matches!(before, None | Some("$" | "&&"));
            if is_run || (is_code && is_first) {
                return true;
            }
        }
        before = Some(bare);
    }
    false
}

/// Returns true if a word is the path, after any directory.
fn is_path(word: &str, path: &str) -> bool {
    let directory = word.strip_suffix(path);
    directory.is_some_and(|directory| directory.is_empty() || directory.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_mentions() {
        for text in [
            "python scripts/setup.py --all",
            "1. Run `python3 ~/.claude/skills/x/scripts/setup.py`.",
            "uv run scripts/setup.py",
            "```bash\n./scripts/setup.py a\n```",
            "```\n$ scripts/setup.py\n```",
            "python \"$DIR/scripts/setup.py\" x",
        ] {
            assert!(names_command(text, "setup.py"), "{text}");
        }
        for text in [
            "- `scripts/setup.py`: sets up",
            "scripts/setup.py",
            "python setup.py install",
            "python my-scripts/setup.py",
            "```\ncat scripts/setup.py\n```",
            "python scripts/sub/setup.py",
        ] {
            assert!(!names_command(text, "setup.py"), "{text}");
        }
        assert!(names_command("sh scripts/sub/test_a.sh", "sub/test_a.sh"));
    }
}
