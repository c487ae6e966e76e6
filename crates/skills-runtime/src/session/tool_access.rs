//! Declarations of a skill about the tools of its agent.

use serde::Serialize;
use skills_manifest::{ArgumentMatcher, ToolPattern};

/// What a skill declares about a tool of the agent, in `allowed-tools` and `disallowed-tools`.
///
/// The host application decides what the agent may do. Declarations of a skill can restrict this,
/// but never extend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolAccess {
    /// `allowed-tools` is empty or missing; the skill has no restriction.
    Unrestricted,
    /// `allowed-tools` names the tool.
    Listed,
    /// `allowed-tools` names other tools.
    NotListed,
    /// `disallowed-tools` names the tool.
    Forbidden,
}

/// Characters that separate commands in a shell.
const COMMAND_SEPARATORS: [char; 9] = [';', '&', '|', '\n', '`', '(', ')', '<', '>'];

pub(crate) fn evaluate(
    allowed: &[ToolPattern],
    disallowed: &[ToolPattern],
    tool: &str,
    argument: &str,
) -> ToolAccess {
    // A prohibition is stronger than a permission for the same tool.
    if disallowed
        .iter()
        .any(|rule| rule_forbids(rule, tool, argument))
    {
        return ToolAccess::Forbidden;
    }
    match allowed.iter().any(|rule| rule_lists(rule, tool, argument)) {
        true => ToolAccess::Listed,
        false if allowed.is_empty() => ToolAccess::Unrestricted,
        false => ToolAccess::NotListed,
    }
}

/// Checks all forms of the argument: the normalized path, and each part of a compound command, also
/// without leading assignments and the path of the program.
fn rule_forbids(rule: &ToolPattern, tool: &str, argument: &str) -> bool {
    if !matches_tool(rule, tool) {
        return false;
    }
    // A prohibition must hold for every spelling of the same action; a permission, in contrast,
    // holds for the literal argument only.
    let parts = argument
        .split(COMMAND_SEPARATORS)
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let spellings =
        parts.flat_map(|part| [part.to_owned(), bare_command(part), normalize_path(part)]);
    let mut all = [argument.to_owned(), normalize_path(argument)]
        .into_iter()
        .chain(spellings);
    all.any(|spelling| matches_argument(rule.argument_matcher(), &spelling))
}

/// Returns true if a rule allows the argument. A pattern does not match a second command or `..`.
fn rule_lists(rule: &ToolPattern, tool: &str, argument: &str) -> bool {
    matches_tool(rule, tool)
        && match rule.argument_matcher() {
            ArgumentMatcher::Any => true,
            ArgumentMatcher::Exact(exact) => argument == exact,
            // `git *` must not list `git log; rm -rf x`, and `src/*` must not list `src/../etc`.
            matcher => {
                matches_argument(matcher, argument)
                    && !argument.contains(COMMAND_SEPARATORS)
                    && !argument.split(['/', ' ']).any(|part| part == "..")
            }
        }
}

/// Returns true if a rule applies to a tool. `mcp__server` applies to all tools of that server.
fn matches_tool(rule: &ToolPattern, tool: &str) -> bool {
    if rule.tool() == tool {
        return true;
    }
    matches!(rule.mcp_server_and_tool(), Some((server, None)) if is_of_server(tool, server))
}

fn is_of_server(tool: &str, server: &str) -> bool {
    tool.strip_prefix("mcp__")
        .and_then(|rest| rest.strip_prefix(server))
        .is_some_and(|rest| rest.starts_with("__"))
}

fn matches_argument(matcher: ArgumentMatcher<'_>, argument: &str) -> bool {
    match matcher {
        ArgumentMatcher::Any => true,
        ArgumentMatcher::Exact(exact) => argument == exact,
        ArgumentMatcher::Prefix(prefix) => argument
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace)),
        ArgumentMatcher::Glob(pattern) => wildmatch::WildMatch::new(pattern).matches(argument),
        _ => false,
    }
}

/// Removes leading assignments and the path of the program: `X=1 /bin/rm -rf` becomes `rm -rf`.
fn bare_command(part: &str) -> String {
    let mut words = part
        .split_whitespace()
        // `X=1 rm` runs `rm`.
        .skip_while(|word| word.contains('='));
    let Some(program) = words.next() else {
        return String::new();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    std::iter::once(name)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Normalizes a path: `./a/./b/../c` becomes `a/c`.
fn normalize_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." if !parts.is_empty() || part == "." => {}
            // A leading `..` stays, since the directory above is not known.
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
