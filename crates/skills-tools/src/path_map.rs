//! Mapping of host paths to virtual paths.

use std::path::Path;

use serde_json::Value;

/// Replaces host paths by virtual paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathMap {
    /// Host paths with their replacements, longer ones first.
    pairs: Vec<(String, String)>,
}

impl PathMap {
    /// Adds a host directory.
    pub(crate) fn add(mut self, host: &Path, virtual_path: impl Into<String>) -> Self {
        let host = host.to_string_lossy().trim_end_matches('/').to_owned();
        if !host.is_empty() && !self.pairs.iter().any(|(known, _)| *known == host) {
            self.pairs.push((host, virtual_path.into()));
            self.pairs
                // Longer paths first: a directory inside another one must not be shown with the
                // name of the outer one.
                .sort_by_key(|(host, _)| std::cmp::Reverse(host.len()));
        }
        self
    }

    /// Replaces paths in all strings of a value, including keys.
    pub(crate) fn replace_in_json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.replace_in(text)),
            Value::Array(items) => items
                .iter()
                .map(|item| self.replace_in_json(item))
                .collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, value)| (self.replace_in(key), self.replace_in_json(value)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Replaces each occurrence of a host path, also as a prefix of a longer path; `/a/b` is not a
    /// prefix of `/a/bc`.
    pub(crate) fn replace_in(&self, text: &str) -> String {
        self.pairs
            .iter()
            .fold(text.to_owned(), |text, (host, virtual_path)| {
                replace_path(&text, host, virtual_path)
            })
    }
}

fn replace_path(text: &str, host: &str, virtual_path: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    // The replacement is not searched again, so that a virtual path cannot be replaced twice.
    for at in find_path(text, host) {
        out.push_str(&text[copied..at]);
        out.push_str(virtual_path);
        copied = at + host.len();
    }
    out.push_str(&text[copied..]);
    out
}

/// Returns where a path occurs in a text, as a whole path or as a prefix of a longer one.
pub(crate) fn find_path(text: &str, path: &str) -> impl Iterator<Item = usize> {
    let is_whole = move |at: usize| {
        let (before, after) = (&text[..at], &text[at + path.len()..]);
        // `/x/tmp/work` and `x/tmp/work` are other paths than `/tmp/work`; `-I/tmp/work` and a path
        // after a color sequence are not.
        let word = before
            .rsplit(|c: char| !is_name_char(c) && c != '/')
            .next()
            .unwrap_or_default();
        let begins = !before.ends_with(is_name_char)
            || (word.starts_with('-') && !word.contains('/'))
            || ends_with_escape_sequence(before);
        let ends = !after.starts_with(is_name_char)
            || after.starts_with(['.', '-']) && !after[1..].starts_with(is_name_char);
        begins && ends
    };
    let found = text.match_indices(path).map(|(at, _)| at);
    found.filter(move |at| is_whole(*at))
}

/// Returns true if a text ends in a terminal escape sequence, such as a color.
fn ends_with_escape_sequence(text: &str) -> bool {
    let Some((_, sequence)) = text.rsplit_once("\u{1b}[") else {
        return false;
    };
    let letters = sequence.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
    letters.len() == 1 && letters.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Returns true if a character can be part of a file name.
fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_are_replaced() {
        let virtual_path = PathMap::default()
            .add(Path::new("/tmp/work"), "/workspace")
            .add(Path::new("/tmp/work/skills/pdf"), "/skills/pdf");
        let check =
            |text: &str, expected: &str| assert_eq!(virtual_path.replace_in(text), expected);
        check(
            "at /tmp/work/a.txt, in /tmp/work.",
            "at /workspace/a.txt, in /workspace.",
        );
        check(
            "File \"/tmp/work/skills/pdf/scripts/x.py\", line 1",
            "File \"/skills/pdf/scripts/x.py\", line 1",
        );
        check(
            "/tmp/workshop /tmp/work-2 /x/tmp/work /tmp/work.old",
            "/tmp/workshop /tmp/work-2 /x/tmp/work /tmp/work.old",
        );
        check("/tmp/work/tmp/work", "/workspace/tmp/work");
        check("file:///tmp/work", "file:///workspace");
        check(
            "-I/tmp/work -L/tmp/work/a \u{1b}[1m/tmp/work",
            "-I/workspace -L/workspace/a \u{1b}[1m/workspace",
        );
        check(
            "backup/tmp/work/a \u{1b}[0;31m/tmp/work/b",
            "backup/tmp/work/a \u{1b}[0;31m/workspace/b",
        );
    }
}
