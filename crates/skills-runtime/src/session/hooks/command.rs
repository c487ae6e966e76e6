//! Parses the command of a hook: a script of the skill with plain arguments.

use skills_manifest::{Hook, HookAction};
use skills_policy::ResourceLimits;
use skills_prompt::{SplitCommand, split_command};
use skills_sandbox::ScriptType;

use crate::{ExecutionOptions, InputProtocol, RunTarget};

/// Variables that skills use for their own directory.
const SKILL_DIR_PREFIXES: [&str; 6] = [
    "${CLAUDE_SKILL_DIR}/",
    "$CLAUDE_SKILL_DIR/",
    "${SKILL_DIR}/",
    "$SKILL_DIR/",
    "${CLAUDE_PLUGIN_ROOT}/",
    "$CLAUDE_PLUGIN_ROOT/",
];

/// Builds the options to run a hook.
///
/// Everything but program, arguments and timeout is that of `execution`.
///
/// # Errors
/// Fails if the hook is not a command, needs a shell, or has another working directory.
pub(super) fn hook_options(
    hook: &Hook,
    execution: &ExecutionOptions,
) -> Result<ExecutionOptions, &'static str> {
    let HookAction::Command {
        command,
        cwd: directory,
    } = &hook.action
    else {
        return Err("only command hooks are supported");
    };
    // A hook that chooses its directory could read it.
    if directory
        .as_deref()
        .is_some_and(|directory| !matches!(directory, "" | "." | "./"))
    {
        return Err("its working directory is not the skill directory");
    }
    let (script, args) = split_words(command)?;
    Ok(ExecutionOptions {
        target: RunTarget::Script(script),
        args,
        timeout_ms: hook.timeout_seconds.map(timeout_ms),
        max_attempts: 1,
        // Standard input is the event.
        stdin: None,
        input_protocol: InputProtocol::default(),
        ..execution.clone()
    })
}

/// The longest deadline that a hook can declare.
const MAX_TIMEOUT_MS: u64 = ResourceLimits::MAX_CHOSEN_TIME.as_secs() * 1_000;

/// Returns a declared deadline in milliseconds: a skill raises no limit, and 0 would mean the
/// default.
fn timeout_ms(seconds: f64) -> u64 {
    ((seconds * 1_000.0).ceil().max(1.0) as u64).min(MAX_TIMEOUT_MS)
}

fn split_words(command: &str) -> Result<(String, Vec<String>), &'static str> {
    // Nothing is expanded: the variables of the skill directory are removed, because scripts are
    // relative to it anyway.
    let mut command = command.trim().to_owned();
    for directory in SKILL_DIR_PREFIXES {
        command = command
            .replace(&format!("\"{directory}"), "\"")
            .replace(&format!("\"{}\"/", directory.trim_end_matches('/')), "");
        command = command.replace(directory, "");
    }
    // `exec` only saves a process of the shell.
    let command = command.strip_prefix("exec ").unwrap_or(&command);
    // Only now, since the removed variables contain `$` and braces too.
    let words = match split_command(command) {
        SplitCommand::Words(words) => words,
        SplitCommand::NeedsShell => {
            return Err("the command needs a shell, which is not supported");
        }
        SplitCommand::UnclosedQuote => return Err("the command has an unclosed quote"),
    };
    // The interpreter is dropped: the sandbox selects one by the extension of the script, from
    // directories that no skill can write.
    let mut words = words.into_iter().peekable();
    words.next_if(|word| ScriptType::from_program(word).is_some());
    let script = words.next().ok_or("the command is empty")?;
    let script = script.strip_prefix("./").unwrap_or(&script).to_owned();
    Ok((script, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_raises_no_deadline() {
        assert_eq!(timeout_ms(1.5), 1_500);
        assert_eq!(timeout_ms(86_400.0), 600_000);
        assert_eq!(timeout_ms(1e300), 600_000);
    }

    #[test]
    fn commands_are_scripts_with_plain_arguments() {
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
            ("deno scripts/x.ts", "scripts/x.ts []"),
            ("exec ./x.sh 'a; b'", r#"x.sh ["a; b"]"#),
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
        ] {
            assert!(split_words(shell).is_err(), "{shell}");
        }
        assert_eq!(
            split_words("a.sh 'open"),
            Err("the command has an unclosed quote")
        );
        assert_eq!(split_words("  "), Err("the command is empty"));
    }
}
