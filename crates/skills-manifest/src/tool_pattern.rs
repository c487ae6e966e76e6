//! One entry of `allowed-tools`: `Parsed`, `Bash(git:*)`.

use std::fmt;

use crate::is_invisible;

/// One entry of `allowed-tools`: a tool, and perhaps a pattern in parentheses.
///
/// It is what the skill *asks for*. What it gets is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct ToolPattern {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

impl ToolPattern {
    /// Returns the tool's name as written: `Parsed`, `mcp__server__tool`.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the text between the parentheses: `git:*` of `Bash(git:*)`.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Returns what the parentheses say of the tool's argument; no parentheses, `*` and nothing
    /// mean any.
    #[must_use]
    pub fn argument_matcher(&self) -> ArgumentMatcher<'_> {
        match self.pattern.as_deref() {
            None | Some("" | "*") => ArgumentMatcher::Any,
            Some(pattern) => match pattern
                .strip_suffix(":*")
                .or_else(|| pattern.strip_suffix(" *"))
            {
                Some(prefix) if !prefix.contains('*') => ArgumentMatcher::Prefix(prefix),
                _ if pattern.contains('*') => ArgumentMatcher::Glob(pattern),
                _ => ArgumentMatcher::Exact(pattern),
            },
        }
    }

    /// Returns server and tool of `mcp__server__tool`; the tool is missing when all of the server's
    /// are meant.
    #[must_use]
    pub fn mcp_server_and_tool(&self) -> Option<(&str, Option<&str>)> {
        let rest = self.tool.strip_prefix("mcp__")?;
        let (server, tool) = rest
            .split_once("__")
            .map_or((rest, None), |(server, tool)| (server, Some(tool)));
        (!server.is_empty())
            .then_some((server, tool.filter(|tool| !tool.is_empty() && *tool != "*")))
    }

    /// Reads the string form, in which spaces and commas outside parentheses separate entries:
    /// `Parsed, Bash(git add:*) Grep`.
    ///
    /// Returns the entries, and the pieces that are none (unbalanced parentheses, no tool before
    /// them).
    pub(crate) fn parse_list(text: &str) -> (Vec<Self>, Vec<String>) {
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for piece in split_entries(text) {
            match Self::parse(piece) {
                Some(rule) => rules.push(rule),
                None => bad.push(piece.to_owned()),
            }
        }
        (rules, bad)
    }

    fn parse(piece: &str) -> Option<Self> {
        if piece.chars().any(is_invisible) {
            return None;
        }
        // What is left of a list or mapping that was no YAML is no tool.
        let is_name = |tool: &str| {
            !tool.is_empty()
                && !tool.contains(['[', ']', '{', '}', '"', '\'', '`'])
                && !tool.ends_with(':')
        };
        let Some((tool, rest)) = piece.split_once('(') else {
            let good = !piece.contains(')') && is_name(piece);
            return good.then(|| Self {
                tool: piece.to_owned(),
                pattern: None,
            });
        };
        let pattern = rest.strip_suffix(')')?.trim();
        is_name(tool).then(|| Self {
            tool: tool.to_owned(),
            pattern: Some(pattern.to_owned()),
        })
    }
}

/// What a rule says of a tool's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentMatcher<'a> {
    /// Anything.
    Any,
    /// Arguments that begin with these words: `git` of `Bash(git:*)` and of `Bash(git *)`.
    Prefix(&'a str),
    /// This argument only.
    Exact(&'a str),
    /// Arguments that fit this pattern, in which `*` stands for anything.
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

fn split_entries(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    text.split(move |c: char| {
        match c {
            '(' => depth += 1,
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

    fn check(text: &str, expected: &[&str], bad: &[&str]) {
        let (rules, dropped) = ToolPattern::parse_list(text);
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            (rules.as_slice(), dropped.as_slice()),
            (strings(expected).as_slice(), strings(bad).as_slice())
        );
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
    fn patterns_are_prefixes_in_both_spellings() {
        let matcher = |text: &str| {
            ToolPattern::parse(text)
                .map(|rule| format!("{:?}", rule.argument_matcher()))
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
    fn a_rule_is_a_tool_and_perhaps_a_pattern() {
        let (rules, _) = ToolPattern::parse_list("Read Bash( git:* )");
        let parts: Vec<_> = rules
            .iter()
            .map(|rule| (rule.tool(), rule.pattern()))
            .collect();
        assert_eq!(parts, [("Read", None), ("Bash", Some("git:*"))]);
    }

    #[test]
    fn mcp_names_have_a_server_and_perhaps_a_tool() {
        let mcp = |text: &str| {
            ToolPattern::parse(text).and_then(|rule| {
                rule.mcp_server_and_tool()
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
    fn unreadable_entries_are_named_and_grant_nothing() {
        check("Bash(git", &[], &["Bash(git"]);
        check("Read Bash) Grep", &["Read", "Grep"], &["Bash)"]);
        check("(git) Read", &["Read"], &["(git)"]);
        check("Read Bash(git\nforged)", &["Read"], &["Bash(git\nforged)"]);
    }
}
