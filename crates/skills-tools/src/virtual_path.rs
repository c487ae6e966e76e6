//! Virtual paths, as a model writes them.

use std::fmt;

use skills_runtime::is_invisible;
use skills_runtime::manifest::escape_characters;

use crate::{ToolError, ToolErrorCode};

/// Maximum length of a path, in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum length of a component, in bytes.
const MAX_PART_BYTES: usize = 255;
/// Maximum number of components.
const MAX_PARTS: usize = 32;
/// Maximum length of a rejected path in an error, in characters.
const MAX_DISPLAY_CHARS: usize = 200;

/// A validated virtual path: every component is a plain name, and none leads upwards.
///
/// Validation is independent of the mounts and skills that exist.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct VirtualPath {
    anchor: Anchor,
    parts: Vec<String>,
}

/// The base of the components of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Anchor {
    /// The workspace: empty, `.`, `workspace`, `./…`.
    Workspace,
    /// The skills: `skills`; the first component is the name of one.
    Skills,
    /// A mount if the first component is the name of one, else the workspace.
    Relative,
    /// The root of the host file system: only mounts with a host path are accessible.
    Absolute,
}

impl VirtualPath {
    /// Parses a path.
    ///
    /// # Errors
    /// `invalid_path` for invalid or ambiguous paths: `..`, empty components, `\`, `~`, drive
    /// letters, invisible characters, encoded dots and slashes, components that end in a space or
    /// dot, more than 4096 bytes, 255 bytes per component, 32 components.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolError> {
        Self::try_parse(text).map_err(|problem| invalid_path(text, problem))
    }

    /// Parses a path as it is written in a skill's own files: relative to the directory of the
    /// skill `name`, possibly with a leading `./`.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for absolute paths and the directory itself.
    pub(crate) fn in_skill(name: &str, text: &str) -> Result<Self, ToolError> {
        let invalid_skill_name = |problem| {
            ToolErrorCode::InvalidPath.error(format!(
                "invalid skill name `{}`: {problem}",
                escape_for_display(name)
            ))
        };
        if let Some(problem) = invalid_part_reason(name) {
            return Err(invalid_skill_name(problem));
        }
        let parse_parts = || {
            check_text(text)?;
            let parts = split_parts(strip_dot_prefix(text).unwrap_or(text))?;
            match parts.len() {
                0 => Err("it does not name a file"),
                MAX_PARTS.. => Err("more than 31 components"),
                _ => Ok(parts),
            }
        };
        let hint = "pass a path relative to the skill directory, such as `references/table.md`";
        let parts = match parse_parts() {
            _ if text.starts_with('/') => {
                return Err(invalid_path(text, "it is absolute").with_hint(hint));
            }
            Err(problem) => return Err(invalid_path(text, problem).with_hint(hint)),
            Ok(parts) => parts,
        };
        Ok(Self {
            anchor: Anchor::Skills,
            parts: [vec![name.to_owned()], parts].concat(),
        })
    }

    fn try_parse(text: &str) -> Result<Self, &'static str> {
        check_text(text)?;
        if let Some(rest) = strip_dot_prefix(text) {
            return Ok(Self {
                anchor: Anchor::Workspace,
                parts: split_parts(rest)?,
            });
        }
        // `/workspace` and `/skills` are where programs see them, so models use these forms, too.
        let rest = text.strip_prefix('/');
        let mut parts = split_parts(rest.unwrap_or(text))?;
        let (anchor, is_named) = match parts.first().map(String::as_str) {
            Some("workspace") => (Anchor::Workspace, true),
            Some("skills") => (Anchor::Skills, true),
            _ if rest.is_some() => (Anchor::Absolute, false),
            Some(_) => (Anchor::Relative, false),
            None => (Anchor::Workspace, false),
        };
        if is_named {
            parts.remove(0);
        }
        Ok(Self { anchor, parts })
    }

    /// Returns the base of the components.
    pub(crate) fn anchor(&self) -> Anchor {
        self.anchor
    }

    /// Returns the components below the anchor: plain names, never `.` or `..`.
    pub(crate) fn parts(&self) -> &[String] {
        &self.parts
    }
}

impl fmt::Display for VirtualPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, is_first) = match self.anchor {
            Anchor::Workspace => ("/workspace", false),
            Anchor::Skills => ("/skills", false),
            Anchor::Relative => ("", true),
            Anchor::Absolute => ("/", true),
        };
        f.write_str(start)?;
        for (index, part) in self.parts.iter().enumerate() {
            let slash = if is_first && index == 0 { "" } else { "/" };
            write!(f, "{slash}{part}")?;
        }
        Ok(())
    }
}

/// Returns the path under which programs see a file; an invalid path as it is.
pub(crate) fn program_path(text: &str) -> String {
    match VirtualPath::parse(text) {
        Ok(path) if path.anchor == Anchor::Relative => format!("/workspace/{path}"),
        Ok(path) => path.to_string(),
        Err(_) => text.to_owned(),
    }
}

/// Returns the reason why a name is not valid as a component, if it is not.
pub(crate) fn invalid_part_reason(part: &str) -> Option<&'static str> {
    let bytes = part.as_bytes();
    if part.is_empty() {
        return Some("empty component");
    }
    if part == ".." {
        return Some("`..` is not allowed");
    }
    if part == "." {
        return Some("`.` is allowed only at the start");
    }
    if part.len() > MAX_PART_BYTES {
        return Some("a component is longer than 255 bytes");
    }
    if part.chars().any(is_invisible) {
        return Some("invisible characters");
    }
    // A backslash is a separator on Windows, and a slash cannot be part of a component.
    if part.contains(['\\', '/']) {
        return Some("path separator in a component");
    }
    // Windows removes these, so that `..` plus a space would be `..`.
    if part.ends_with(|c: char| c == '.' || c.is_whitespace()) {
        return Some("a component ends in a space or dot");
    }
    if bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return Some("drive letters are not allowed");
    }
    has_encoded_separator(part).then_some("encoded dots or slashes")
}

/// Escapes invisible characters and backslashes of a text and truncates it.
pub(crate) fn escape_for_display(text: &str) -> String {
    escape_and_truncate(text, MAX_DISPLAY_CHARS, |c| c == '\\' || is_invisible(c))
}

/// Truncates a text and escapes characters of it.
pub(crate) fn escape_and_truncate(
    text: &str,
    max_chars: usize,
    is_escaped: impl Fn(char) -> bool,
) -> String {
    match text.char_indices().nth(max_chars) {
        None => escape_characters(text, is_escaped).into_owned(),
        Some((end, _)) => format!("{}…", escape_characters(&text[..end], is_escaped)),
    }
}

fn check_text(text: &str) -> Result<(), &'static str> {
    if text.len() > MAX_BYTES {
        return Err("longer than 4096 bytes");
    }
    if text.contains('\0') {
        return Err("it contains a NUL character");
    }
    if text.contains('\\') {
        return Err("`\\` is not allowed; use `/`");
    }
    if text.starts_with('~') {
        return Err("`~` is not allowed; there is no home directory");
    }
    if text.starts_with("//") {
        return Err("empty component");
    }
    Ok(())
}

/// Splits a path without a leading slash; one trailing slash is ignored.
fn split_parts(text: &str) -> Result<Vec<String>, &'static str> {
    let text = text
        .strip_suffix('/')
        .filter(|rest| !rest.is_empty())
        .unwrap_or(text);
    let parts: Vec<&str> = if text.is_empty() {
        Vec::new()
    } else {
        text.split('/').collect()
    };
    if let Some(problem) = parts.iter().find_map(|part| invalid_part_reason(part)) {
        return Err(problem);
    }
    if parts.len() > MAX_PARTS {
        return Err("more than 32 components");
    }
    Ok(parts.into_iter().map(str::to_owned).collect())
}

/// Returns the rest after a leading `.` or `./`.
fn strip_dot_prefix(text: &str) -> Option<&str> {
    if text == "." {
        return Some("");
    }
    let mut rest = text.strip_prefix("./")?;
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter;
    }
    Some(if rest == "." { "" } else { rest })
}

/// Returns true if decoding the text once or several times results in a dot, slash, backslash or
/// NUL that it does not contain itself.
fn has_encoded_separator(part: &str) -> bool {
    if !part.contains('%') {
        return false;
    }
    let mut text = part.to_ascii_lowercase();
    // `%252e` becomes `.` if a client and a proxy decode once each. Each replacement shortens the
    // text, so this ends.
    while text.contains("%25") {
        text = text.replace("%25", "%");
    }
    ["%2e", "%2f", "%5c", "%00"]
        .iter()
        .any(|code| text.contains(code))
}

fn invalid_path(text: &str, problem: &str) -> ToolError {
    let hint =
        "use a path such as `src/main.py`, `/workspace/src/main.py` or `/skills/NAME/SKILL.md`";
    ToolErrorCode::InvalidPath
        .error(format!(
            "invalid path '{}': {problem}",
            escape_for_display(text)
        ))
        .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let path = VirtualPath::parse(text).map_or_else(
            |error| error.code.as_str().to_owned(),
            |path| format!("{:?} {path}", path.anchor()),
        );
        assert_eq!(path, expected, "{text:?}");
    }

    #[test]
    fn programs_see_relative_paths_in_the_workspace() {
        for (given, expected) in [
            ("a/b.txt", "/workspace/a/b.txt"),
            ("./a", "/workspace/a"),
            ("workspace/a", "/workspace/a"),
            ("/workspace/a", "/workspace/a"),
            ("skills/pdf/x.py", "/skills/pdf/x.py"),
            ("skillset/x", "/workspace/skillset/x"),
            ("/data/x", "/data/x"),
        ] {
            assert_eq!(program_path(given), expected, "{given}");
        }
    }

    #[test]
    fn equivalent_spellings_resolve_to_the_same_path() {
        for text in [
            "",
            ".",
            "./",
            "workspace",
            "workspace/",
            "/workspace",
            "./.",
        ] {
            check(text, "Workspace /workspace");
        }
        check("skills", "Skills /skills");
        check("/skills/", "Skills /skills");
        check("skills/pdf/SKILL.md", "Skills /skills/pdf/SKILL.md");
        check("/workspace/a/b.txt", "Workspace /workspace/a/b.txt");
        check("./data/x", "Workspace /workspace/data/x");
        check("./skills/x", "Workspace /workspace/skills/x");
        check("src/main.py", "Relative src/main.py");
        check("/Users/me/doc.pdf", "Absolute /Users/me/doc.pdf");
        check("/skillsX/f", "Absolute /skillsX/f");
        check("/workspace2/f", "Absolute /workspace2/f");
        check("/", "Absolute /");
        check("a b/ü.txt", "Relative a b/ü.txt");
        check("skills/plugin:name/x", "Skills /skills/plugin:name/x");
        check("100%/50%25", "Relative 100%/50%25");
    }

    #[test]
    fn ambiguous_paths_are_rejected() {
        let long = ["a".repeat(256), "a/".repeat(33), "a/".repeat(2100)];
        let texts = [
            "skills/../../x",
            "./../x",
            "a/../../x",
            "..",
            "/skills/../etc/passwd",
            "skills/a//etc/passwd",
            ".//etc/passwd",
            "././/etc/passwd",
            "//host/share",
            "workspace/%2e%2e/x",
            "workspace/%2E./x",
            "workspace/%252e%252e/x",
            "a%2Fb",
            "a%255cb",
            "..\\x",
            "C:\\x",
            "C:/x",
            "workspace/c:/x",
            "\\\\h\\s",
            "~",
            "~/x",
            "~root/x",
            "a\0b",
            "a\nb",
            "a/b\u{202e}c",
            "a\u{200b}",
            "a ",
            "a./b",
            "a/...",
            "a/./b",
            " /etc/passwd",
        ];
        for text in texts.into_iter().chain(long.iter().map(String::as_str)) {
            check(text, "invalid_path");
        }
    }

    #[test]
    fn a_path_in_a_skill_never_leaves_it() {
        let path = |name: &str, text: &str| match VirtualPath::in_skill(name, text) {
            Ok(path) => path.to_string(),
            Err(error) => error.message,
        };
        assert_eq!(path("pdf", "./a/b.md"), "/skills/pdf/a/b.md");
        assert_eq!(path("pdf", "././a"), "/skills/pdf/a");
        assert_eq!(path("pdf", "skills/x"), "/skills/pdf/skills/x");
        assert_eq!(
            path("pdf", "./"),
            "invalid path './': it does not name a file"
        );
        assert_eq!(
            path("pdf", "./../x"),
            "invalid path './../x': `..` is not allowed"
        );
        assert_eq!(
            path("pdf", ".//etc"),
            "invalid path './/etc': empty component"
        );
        assert_eq!(
            path("pdf", "/etc/passwd"),
            "invalid path '/etc/passwd': it is absolute"
        );
        assert_eq!(
            path("../pdf", "a"),
            "invalid skill name `../pdf`: path separator in a component"
        );
        assert_eq!(
            path("pdf", &"a/".repeat(32)),
            format!(
                "invalid path '{}': more than 31 components",
                "a/".repeat(32)
            )
        );
    }

    #[test]
    fn errors_show_no_invisible_characters() {
        let error = VirtualPath::parse("a\u{202e}\n").unwrap_err();
        assert_eq!(
            error.message,
            "invalid path 'a\\u{202e}\\n': invisible characters"
        );
    }

    proptest! {
        #[test]
        fn accepted_paths_have_plain_components_and_round_trip(text in "[./~%2eEfF5c \\\\a-dskillworp:\u{200b}é]{0,24}") {
            if let Ok(path) = VirtualPath::parse(&text) {
                let joined: std::path::PathBuf = path.parts().iter().collect();
                let are_names = joined.components().all(|part| matches!(part, std::path::Component::Normal(_)));
                prop_assert!(are_names && joined.components().count() == path.parts().len());
                prop_assert_eq!(VirtualPath::parse(&path.to_string()), Ok(path));
            }
        }
    }
}
