//! The command of a hook: a script of the skill and plain words.

use skills_manifest::{Hook, HookAction};

use crate::ExecutionOptions;

/// What a shell would act on.
const SHELL_METACHARACTERS: [char; 18] = [
    ';', '&', '|', '<', '>', '`', '$', '(', ')', '{', '}', '*', '?', '[', '~', '#', '!', '\n',
];
/// What skills write for their own directory.
const SKILL_DIR_PREFIXES: [&str; 6] = [
    "${CLAUDE_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "${SKILL_DIR}/",
    "$SKILL_DIR/",
    "${CLAUDE_PLUGIN_ROOT}/",
    "$CLAUDE_PLUGIN_ROOT/",
];
/// Programs that may stand before the script; the sandbox chooses the interpreter by the script's
/// ending all the same.
const INTERPRETERS: [&str; 8] = [
    "python3", "python", "bash", "sh", "node", "ruby", "perl", "exec",
];

/// Makes the options that run a hook.
///
/// # Errors
/// When the hook is no command, needs a shell, or wants to run elsewhere.
pub(super) fn hook_options(hook: &Hook) -> Result<ExecutionOptions, &'static str> {
    let HookAction::Command {
        command,
        cwd: directory,
    } = &hook.action
    else {
        return Err("only commands are run");
    };
    if directory
        .as_deref()
        .is_some_and(|directory| !matches!(directory, "" | "." | "./"))
    {
        return Err("it wants to run in another directory than the skill's");
    }
    let (script, args) = split_words(command)?;
    let mut options = ExecutionOptions::default().script(script);
    options.args = args;
    options.timeout_ms = hook
        .timeout_seconds
        .map(|seconds| (seconds * 1_000.0).ceil().max(1.0) as u64);
    Ok(options)
}

fn split_words(command: &str) -> Result<(String, Vec<String>), &'static str> {
    let mut command = command.trim().to_owned();
    for directory in SKILL_DIR_PREFIXES {
        command = command
            .replace(&format!("\"{directory}"), "\"")
            .replace(&format!("\"{}\"/", directory.trim_end_matches('/')), "");
        command = command.replace(directory, "");
    }
    if command.contains(SHELL_METACHARACTERS) {
        return Err("it needs a shell, and no text of a skill reaches one");
    }
    let mut words = shlex::split(&command)
        .ok_or("its quotes do not close")?
        .into_iter()
        .peekable();
    words.next_if(|word| INTERPRETERS.contains(&word.as_str()));
    let script = words.next().ok_or("it is empty")?;
    let script = script.strip_prefix("./").unwrap_or(&script).to_owned();
    Ok((script, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_of_the_skill_with_words() {
        let check =
            |command: &str| split_words(command).map(|(script, args)| format!("{script} {args:?}"));
        for (command, expected) in [
            (
                "./scripts/check.sh --all 'two words'",
                r#"scripts/check.sh ["--all", "two words"]"#,
            ),
            (
                "python3 ${CLAUDE_SKILL_DIR}/scripts/x.py",
                "scripts/x.py []",
            ),
            ("\"$CLAUDE_PLUGIN_ROOT\"/scripts/x.sh", "scripts/x.sh []"),
            ("node scripts/x.mjs", "scripts/x.mjs []"),
            (
                "bash \"${SKILL_DIR}/scripts/x.sh\" a",
                r#"scripts/x.sh ["a"]"#,
            ),
        ] {
            assert_eq!(check(command).as_deref(), Ok(expected), "{command}");
        }
        for shell in [
            "a.sh; rm -rf /",
            "a.sh $(id)",
            "a.sh > /tmp/x",
            "a.sh | tee",
            "a.sh $HOME",
            "a.sh\nid",
            "`id`",
            "a.sh && b",
            "'a.sh;'",
        ] {
            assert!(split_words(shell).is_err(), "{shell}");
        }
        assert_eq!(split_words("a.sh 'open"), Err("its quotes do not close"));
        assert_eq!(split_words("  "), Err("it is empty"));
    }
}
