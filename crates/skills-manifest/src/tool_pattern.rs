//! Entries of `allowed-tools` and `disallowed-tools`, such as `Read` and `Bash(git:*)`.

use std::fmt;

use crate::is_invisible;

/// An entry of `allowed-tools` or `disallowed-tools`: a tool, optionally with a pattern in
/// parentheses.
///
/// In `allowed-tools` it is a request of the skill and grants nothing; a policy decides. Its
/// `Display` form is the entry in the notation of the file.
///
/// ```
/// use skills_manifest::{ArgumentMatcher, Document};
///
/// let file = b"---\nname: a\ndescription: b\nallowed-tools: Bash(git:*) mcp__github__list\n---\n";
/// let document = Document::parse(file)?;
/// let [git, github] = document.manifest().allowed_tools() else { unreachable!() };
/// assert_eq!(git.argument_matcher(), ArgumentMatcher::Prefix("git"));
/// assert_eq!(github.mcp_server_and_tool(), Some(("github", Some("list"))));
/// # Ok::<(), skills_manifest::ManifestError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct ToolPattern {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

impl ToolPattern {
    /// Returns the name of the tool as written, such as `Read` or `mcp__server__tool`.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the text between the parentheses, such as `git:*` of `Bash(git:*)`.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Returns the arguments that the pattern matches.
    ///
    /// Without parentheses, and for `()` and `(*)`, all arguments match.
    #[must_use]
    pub fn argument_matcher(&self) -> ArgumentMatcher<'_> {
        match self.pattern.as_deref() {
            None | Some("" | "*") => ArgumentMatcher::Any,
            Some(pattern) => match pattern
                .strip_suffix(":*")
                .or_else(|| pattern.strip_suffix(" *"))
            {
                // `git * push:*` is not a prefix: the first `*` matches text too.
                Some(prefix) if !prefix.contains('*') => ArgumentMatcher::Prefix(prefix),
                _ if pattern.contains('*') => ArgumentMatcher::Glob(pattern),
                _ => ArgumentMatcher::Exact(pattern),
            },
        }
    }

    /// Returns the server and the tool of `mcp__server__tool`, or `None` for other tools.
    ///
    /// The tool is `None` for `mcp__server` and `mcp__server__*`, which mean all of its tools.
    #[must_use]
    pub fn mcp_server_and_tool(&self) -> Option<(&str, Option<&str>)> {
        let rest = self.tool.strip_prefix("mcp__")?;
        let (server, tool) = rest
            .split_once("__")
            .map_or((rest, None), |(server, tool)| (server, Some(tool)));
        (!server.is_empty())
            .then_some((server, tool.filter(|tool| !tool.is_empty() && *tool != "*")))
    }

    /// Parses a text with spaces and commas between entries: `Read, Bash(git add:*) Grep`.
    ///
    /// Separators inside of parentheses belong to the pattern. Returns the entries and the invalid
    /// pieces (unbalanced parentheses, no tool before them), both in the order of the text.
    pub(crate) fn parse_list(text: &str) -> (Vec<Self>, Vec<String>) {
        let mut patterns = Vec::new();
        let mut invalid = Vec::new();
        for piece in split_entries(text) {
            match Self::parse(piece) {
                Some(pattern) => patterns.push(pattern),
                None => invalid.push(piece.to_owned()),
            }
        }
        (patterns, invalid)
    }

    fn parse(piece: &str) -> Option<Self> {
        // Approval prompts show entries, so an entry must look like what it matches.
        if piece.chars().any(is_invisible) {
            return None;
        }
        let Some((tool, rest)) = piece.split_once('(') else {
            let is_valid = !piece.contains(')') && is_tool_name(piece);
            return is_valid.then(|| Self {
                tool: piece.to_owned(),
                pattern: None,
            });
        };
        let pattern = rest.strip_suffix(')')?.trim();
        is_tool_name(tool).then(|| Self {
            tool: tool.to_owned(),
            pattern: Some(pattern.to_owned()),
        })
    }
}

/// The arguments of a tool that a pattern matches.
///
/// What an argument is depends on the tool: a command line for `Bash`, a path for `Read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentMatcher<'a> {
    /// All arguments.
    Any,
    /// Arguments that start with these words: `git` of `Bash(git:*)` and of `Bash(git *)`.
    Prefix(&'a str),
    /// This argument only.
    Exact(&'a str),
    /// Arguments that match this pattern, in which `*` matches any text.
    Glob(&'a str),
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// Returns true if a text can be the name of a tool.
///
/// Brackets, quotes and a trailing colon are remains of a YAML list or mapping that did not parse.
fn is_tool_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(['[', ']', '{', '}', '"', '\'', '`']) && !text.ends_with(':')
}

fn split_entries(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c: char| {
        match c {
            '(' => depth += 1,
            // A stray `)` must not unbalance the parentheses of later entries.
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    })
    .filter(|piece| !piece.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str], expected_invalid: &[&str]) {
        let (patterns, invalid) = ToolPattern::parse_list(text);
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        assert_eq!(patterns, strings(expected), "{text}");
        assert_eq!(invalid, strings(expected_invalid), "{text}");
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn separators_count_only_outside_parentheses() {
        check("", &[], &[]);
        check("Read, Grep,Glob  LS", &["Read", "Grep", "Glob", "LS"], &[]);
        check(
            "Bash(git add:*), Bash(npm run build, test)",
            &["Bash(git add:*)", "Bash(npm run build, test)"],
            &[],
        );
        check("mcp__github__list *", &["mcp__github__list", "*"], &[]);
    }

    #[test]
    fn prefixes_are_recognized_in_both_notations() {
        let matcher = |text: &str| {
            ToolPattern::parse(text)
                .map(|pattern| format!("{:?}", pattern.argument_matcher()))
                .unwrap_or_default()
        };
        for (text, expected) in [
            ("Read", "Any"),
            ("Bash(*)", "Any"),
            ("Bash()", "Any"),
            ("Bash(git:*)", "Prefix(\"git\")"),
            ("Bash(git add *)", "Prefix(\"git add\")"),
            ("Bash(npm test)", "Exact(\"npm test\")"),
            ("Read(src/**/*.rs)", "Glob(\"src/**/*.rs\")"),
            ("Bash(git * push:*)", "Glob(\"git * push:*\")"),
            (
                "WebFetch(domain:example.com)",
                "Exact(\"domain:example.com\")",
            ),
        ] {
            assert_eq!(matcher(text), expected, "{text}");
        }
    }

    #[test]
    fn an_entry_is_a_tool_with_an_optional_pattern() {
        let (patterns, _) = ToolPattern::parse_list("Read Bash( git:* )");
        let parts: Vec<_> = patterns
            .iter()
            .map(|entry| (entry.tool(), entry.pattern()))
            .collect();
        assert_eq!(parts, [("Read", None), ("Bash", Some("git:*"))]);
    }

    #[test]
    fn mcp_names_have_a_server_and_an_optional_tool() {
        let mcp = |text: &str| {
            ToolPattern::parse(text).and_then(|entry| {
                entry
                    .mcp_server_and_tool()
                    .map(|(server, tool)| format!("{server} {tool:?}"))
            })
        };
        assert_eq!(
            mcp("mcp__github__list_issues").as_deref(),
            Some("github Some(\"list_issues\")")
        );
        assert_eq!(mcp("mcp__github").as_deref(), Some("github None"));
        assert_eq!(mcp("mcp__github__*").as_deref(), Some("github None"));
        assert_eq!(mcp("mcp__"), None);
        assert_eq!(mcp("Bash(mcp__a__b)"), None);
    }

    #[test]
    fn invalid_entries_are_returned_separately() {
        check("Bash(git", &[], &["Bash(git"]);
        check("Read Bash) Grep", &["Read", "Grep"], &["Bash)"]);
        check("(git) Read", &["Read"], &["(git)"]);
        check("Read Bash(git\nforged)", &["Read"], &["Bash(git\nforged)"]);
    }
}
