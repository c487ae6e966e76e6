//! One entry of `allowed-tools`: `Read`, `Bash(git:*)`.

use std::fmt;

use crate::is_hidden;

/// One entry of `allowed-tools`: a tool, and perhaps a pattern in parentheses.
///
/// It is what the skill *asks for*. What it gets is decided elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize)]
pub struct ToolRule {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
}

impl ToolRule {
    /// Returns the tool's name as written: `Read`, `mcp__server__tool`.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the text between the parentheses: `git:*` of `Bash(git:*)`.
    #[must_use]
    pub fn pattern(&self) -> Option<&str> {
        self.pattern.as_deref()
    }

    /// Reads the string form, in which spaces and commas outside parentheses separate entries: `Read, Bash(git add:*) Grep`.
    ///
    /// Returns the entries, and the pieces that are none (unbalanced parentheses, no tool before them).
    pub(crate) fn parse_list(text: &str) -> (Vec<Self>, Vec<String>) {
        let (mut rules, mut bad) = (Vec::new(), Vec::new());
        for piece in pieces(text) {
            match Self::parse(piece) {
                Some(rule) => rules.push(rule),
                None => bad.push(piece.to_owned()),
            }
        }
        (rules, bad)
    }

    fn parse(piece: &str) -> Option<Self> {
        if piece.chars().any(is_hidden) {
            return None;
        }
        let Some((tool, rest)) = piece.split_once('(') else {
            let balanced = !piece.contains(')');
            return balanced.then(|| Self { tool: piece.to_owned(), pattern: None });
        };
        let pattern = rest.strip_suffix(')')?.trim();
        (!tool.is_empty()).then(|| Self { tool: tool.to_owned(), pattern: Some(pattern.to_owned()) })
    }
}

impl fmt::Display for ToolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
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
        let (rules, dropped) = ToolRule::parse_list(text);
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!((rules.as_slice(), dropped.as_slice()), (strings(expected).as_slice(), strings(bad).as_slice()));
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn separators_count_only_outside_parentheses() {
        check("", &[], &[]);
        check("Read, Grep,Glob  LS", &["Read", "Grep", "Glob", "LS"], &[]);
        check("Bash(git add:*), Bash(npm run build, test)", &["Bash(git add:*)", "Bash(npm run build, test)"], &[]);
        check("mcp__github__list *", &["mcp__github__list", "*"], &[]);
    }

    #[test]
    fn unreadable_entries_are_named_and_grant_nothing() {
        check("Bash(git", &[], &["Bash(git"]);
        check("Read Bash) Grep", &["Read", "Grep"], &["Bash)"]);
        check("(git) Read", &["Read"], &["(git)"]);
        check("Read Bash(git\nforged)", &["Read"], &["Bash(git\nforged)"]);
    }
}
