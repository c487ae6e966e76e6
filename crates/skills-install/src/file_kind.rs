//! The kinds of files: which may be code, and which are data that nothing executes.

use std::collections::BTreeMap;

use skills_discovery::SkillFiles;

use crate::skill_tree::FileFacts;

/// The largest file of which the content is read, in bytes. A larger one may be code.
const MAX_READ_BYTES: u64 = 16 << 20;

/// What a file can be used for. Only the kinds of a short table are inert: no list names
/// everything that some interpreter, build tool, editor or shell reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// A text, image or font, with the content of its kind.
    Inert,
    /// Of no inert kind.
    Other,
    /// A program: by its mode, its directory or its first bytes.
    Program,
    /// A symlink to this target.
    Link(String),
}

impl FileKind {
    /// Returns true if an update brings code: the file was not there or could do less, or the
    /// symlink leads elsewhere.
    pub(crate) fn is_new_code(&self, installed: Option<&Self>) -> bool {
        match self {
            Self::Inert => false,
            Self::Other => !matches!(installed, Some(Self::Other | Self::Program)),
            Self::Program => installed != Some(&Self::Program),
            Self::Link(_) => installed != Some(self),
        }
    }
}

pub(crate) fn file_kinds(
    skill: &SkillFiles,
    files: &BTreeMap<String, FileFacts>,
) -> BTreeMap<String, FileKind> {
    files
        .iter()
        .map(|(path, facts)| (path.clone(), file_kind(skill, path, *facts)))
        .collect()
}

fn file_kind(skill: &SkillFiles, path: &str, facts: FileFacts) -> FileKind {
    if facts.is_link {
        let target = skill.directory().read_link_contents(path);
        let target = target.unwrap_or_default();
        return FileKind::Link(target.to_string_lossy().into_owned());
    }
    if facts.is_executable || is_in_program_directory(path) || facts.bytes > MAX_READ_BYTES {
        return FileKind::Program;
    }
    match skill.read(path, MAX_READ_BYTES) {
        Ok(content) => kind_of_content(path, &content),
        // Unread, it may be anything.
        Err(_) => FileKind::Program,
    }
}

fn kind_of_content(path: &str, content: &[u8]) -> FileKind {
    if PROGRAM_STARTS
        .iter()
        .any(|start| content.starts_with(start))
        || is_python_bytecode(content)
    {
        FileKind::Program
    } else if format_of(path).is_some_and(|format| format.matches(content)) {
        FileKind::Inert
    } else {
        FileKind::Other
    }
}

/// Returns true for directories that have programs only.
fn is_in_program_directory(path: &str) -> bool {
    let mut names = path.split('/').rev().skip(1);
    path.starts_with("wasm/")
        || names.any(|name| matches!(name.to_ascii_lowercase().as_str(), "scripts" | "bin"))
}

/// The first bytes of programs.
const PROGRAM_STARTS: [&[u8]; 13] = [
    b"#!",
    b"\xef\xbb\xbf#!",
    b"\x7fELF",
    b"MZ",
    // Mach-O of 32 and 64 bits in both byte orders, and of several architectures, which is that of
    // Java, too.
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
    // Archives of Python and Java, and of compiled libraries.
    b"PK\x03\x04",
    b"!<arch>",
    b"\x1bLua",
];

/// Compiled Python begins with the number of its version, of which the second byte is a control
/// character, and a line end.
fn is_python_bytecode(content: &[u8]) -> bool {
    content.get(2..4) == Some(b"\r\n") && matches!(content[1], 0x0c..0x20)
}

/// A format of inert files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Text,
    Starts(&'static [&'static [u8]]),
    WebP,
}

/// The formats of inert files, by extension. JSON, YAML and TOML are not among them, wherever they are:
/// many tools read commands from such files, whatever their names. PDF and XML can have scripts.
const FORMATS: [(&str, Format); 15] = [
    ("csv", Format::Text),
    ("gif", Format::Starts(&[b"GIF87a", b"GIF89a"])),
    ("jpeg", Format::Starts(&[b"\xff\xd8\xff"])),
    ("jpg", Format::Starts(&[b"\xff\xd8\xff"])),
    ("jsonl", Format::Text),
    ("markdown", Format::Text),
    ("md", Format::Text),
    ("otf", Format::Starts(&[b"OTTO"])),
    ("png", Format::Starts(&[b"\x89PNG\r\n\x1a\n"])),
    ("tsv", Format::Text),
    ("ttf", Format::Starts(&[b"\0\x01\0\0", b"true"])),
    ("txt", Format::Text),
    ("webp", Format::WebP),
    ("woff", Format::Starts(&[b"wOFF"])),
    ("woff2", Format::Starts(&[b"wOF2"])),
];
/// Names of texts without an extension.
const TEXT_NAMES: [&str; 8] = [
    "authors",
    "changelog",
    "copying",
    "licence",
    "license",
    "notice",
    "readme",
    "thanks",
];
/// Names, up to the first dot, of files that agents read as instructions, and of skills.
const AGENT_NAMES: [&str; 11] = [
    "agent",
    "agents",
    "claude",
    "codex",
    "conventions",
    "crush",
    "gemini",
    "qwen",
    "replit",
    "skill",
    "warp",
];
/// Last parts of names before the extension, such as that of `x.prompt.md`.
const AGENT_KINDS: [&str; 5] = ["agent", "chatmode", "instructions", "prompt", "rules"];
/// Directories with texts that agents read by themselves.
const AGENT_DIRECTORIES: [&str; 7] = [
    "agents",
    "chatmodes",
    "commands",
    "hooks",
    "instructions",
    "prompts",
    "rules",
];
/// Texts that build tools and Python read.
const TOOL_TEXTS: [&str; 5] = [
    "cmakelists.txt",
    "conanfile.txt",
    "entry_points.txt",
    "meson_options.txt",
    "pybuilddir.txt",
];
/// Parts of the names of texts, or their directories, that list packages to install.
const PACKAGE_LISTS: [&str; 2] = ["requirement", "constraint"];

/// Returns the inert format that a path promises.
fn format_of(path: &str) -> Option<Format> {
    // Tools keep their configuration in such files and directories.
    if path.split('/').any(|name| name.starts_with('.')) {
        return None;
    }
    // Changes of the instructions are shown as such.
    if path.eq_ignore_ascii_case("SKILL.md") {
        return Some(Format::Text);
    }
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next()?;
    if TEXT_NAMES.contains(&name) {
        return Some(Format::Text);
    }
    let (stem, extension) = name.rsplit_once('.')?;
    let (_, format) = FORMATS.iter().find(|(known, _)| *known == extension)?;
    let is_read_by_tools = *format == Format::Text
        && (is_read_by_agents(&path, stem) || extension == "txt" && is_tool_text(&path, name));
    (!is_read_by_tools).then_some(*format)
}

/// Returns true for texts that agents read without being asked. `path` is in lowercase, `stem` its
/// last name without the extension.
fn is_read_by_agents(path: &str, stem: &str) -> bool {
    let first = stem.split('.').next().unwrap_or(stem);
    let kind = stem.rsplit_once('.').map(|(_, kind)| kind);
    AGENT_NAMES.contains(&first)
        || first.starts_with("copilot-")
        || kind.is_some_and(|kind| AGENT_KINDS.contains(&kind))
        || path
            .split('/')
            .rev()
            .skip(1)
            .any(|directory| AGENT_DIRECTORIES.contains(&directory))
}

/// Returns true for a `.txt` that a build tool or a package manager reads. `path` is in lowercase.
fn is_tool_text(path: &str, name: &str) -> bool {
    TOOL_TEXTS.contains(&name) || PACKAGE_LISTS.iter().any(|part| path.contains(part))
}

impl Format {
    fn matches(self, content: &[u8]) -> bool {
        match self {
            Self::Text => is_plain_text(content),
            Self::Starts(starts) => starts.iter().any(|start| content.starts_with(start)),
            Self::WebP => content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP"),
        }
    }
}

/// Returns true for UTF-8 without control characters that is not a document of a browser.
fn is_plain_text(content: &[u8]) -> bool {
    const BROWSER_STARTS: [&str; 7] = [
        "<!doctype",
        "<html",
        "<head",
        "<body",
        "<script",
        "<svg",
        "<?",
    ];
    let Ok(text) = std::str::from_utf8(content) else {
        return false;
    };
    let text = text.trim_start_matches('\u{feff}');
    let start: String = text.trim_start().chars().take(16).collect();
    let start = start.to_ascii_lowercase();
    !text.contains(|c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}'))
        && !BROWSER_STARTS.iter().any(|tag| start.starts_with(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, content: &[u8], expected: FileKind) {
        let kind = if is_in_program_directory(path) {
            FileKind::Program
        } else {
            kind_of_content(path, content)
        };
        assert_eq!(kind, expected, "{path}");
    }

    #[test]
    fn only_known_kinds_with_their_content_are_inert() {
        for (path, content) in [
            ("SKILL.md", &b"---\nname: a\n---\n"[..]),
            ("references/guide.MD", "# \u{dc}ber\r\n\ttext\n".as_bytes()),
            ("guide.md", b"<p align=\"center\">\n<!-- comment -->"),
            ("references/requirements-guide.md", b"text"),
            ("references/requirements/guide.md", b"text"),
            ("constraints.md", b"text"),
            ("references/agent-guide.md", b"text"),
            ("references/commands.md", b"text"),
            ("README.zh.md", b"text"),
            ("assets/rules/a.png", b"\x89PNG\r\n\x1a\n"),
            ("data/examples.jsonl", b"{\"a\": 1}\n"),
            ("data/table.csv", b"a,b\n1,2\n"),
            ("LICENSE", b"MIT"),
            ("notes.txt", b""),
            ("a.png", b"\x89PNG\r\n\x1a\n\0\0"),
            ("a.jpg", b"\xff\xd8\xff\xe0"),
            ("a.gif", b"GIF89a"),
            ("a.webp", b"RIFF\0\0\0\0WEBPVP8"),
            ("a.woff2", b"wOF2\0"),
            ("a.ttf", b"\0\x01\0\0\0"),
        ] {
            check(path, content, FileKind::Inert);
        }
    }

    #[test]
    fn everything_else_may_be_code() {
        for path in [
            "addon.node",
            "run.pyw",
            "Makefile",
            "tools/run",
            "conftest.py",
            "package.json",
            "setup.cfg",
            ".envrc",
            "a.html",
            "a.svg",
            "a.js",
            "Justfile",
            "a.pth",
            "noextension",
            "a.md.py",
            "CMakeLists.txt",
            "requirements-dev.txt",
            "dev-requirements.txt",
            "requirements/dev.txt",
            "build/pip-constraints.txt",
            "conanfile.txt",
            "meson_options.txt",
            "demo.dist-info/entry_points.txt",
            "AGENT.md",
            "sub/WARP.md",
            "QWEN.md",
            "CONVENTIONS.md",
            "claude.local.md",
            "copilot-instructions.md",
            "a.instructions.md",
            "sub/a.prompt.md",
            "agents/reviewer.md",
            "Commands/deploy.md",
            "plugin/hooks/notes.txt",
            "prompts/a.md",
            "sub/rules/style.markdown",
            "assets/data.json",
            "references/data.yaml",
            "references/schema.xsd",
            "guide.pdf",
            "AGENTS.md",
            "sub/CLAUDE.md",
            "sub/SKILL.md",
            ".github/notes.md",
            "docs/.hidden/notes.txt",
            ".notes.md",
            "a.mdx",
        ] {
            check(path, b"text\n", FileKind::Other);
        }
        for content in [
            &b"<!DOCTYPE html><script>"[..],
            b" \n<svg onload=''>",
            b"<?php system('id');",
            b"a\0b",
            b"\x1b]0;title\x07",
            b"\xff\xfea\0",
        ] {
            check("notes.md", content, FileKind::Other);
        }
        check("a.png", b"GIF89a", FileKind::Other);
        check("a.webp", b"RIFF\0\0\0\0WAVE", FileKind::Other);
    }

    #[test]
    fn programs_are_found_by_their_content_and_directory() {
        for content in [
            &b"#!/bin/sh\n"[..],
            b"\xef\xbb\xbf#!/bin/sh\n",
            b"\x7fELF\x02",
            b"MZ\x90",
            b"\xcf\xfa\xed\xfe",
            b"\0asm\x01",
            b"PK\x03\x04",
            b"\xcb\r\r\n\0\0",
            b"\xf3\x0d\x0d\x0a",
        ] {
            check("notes.md", content, FileKind::Program);
            check("data.bin", content, FileKind::Program);
        }
        for path in [
            "scripts/README.md",
            "scripts/run",
            "wasm/a.txt",
            "bin/a.md",
            "x/Scripts/a.md",
        ] {
            check(path, b"text", FileKind::Program);
        }
        // A short line before a line end of Windows.
        check("notes.txt", b"ab\r\ncd", FileKind::Inert);
    }

    #[test]
    fn a_file_that_can_do_more_is_new_code() {
        let link = |target: &str| FileKind::Link(target.to_owned());
        let kinds = [
            FileKind::Inert,
            FileKind::Other,
            FileKind::Program,
            link("a"),
        ];
        let is_new = |new: &FileKind| -> Vec<bool> {
            let known = kinds.iter().map(|old| new.is_new_code(Some(old)));
            std::iter::once(new.is_new_code(None))
                .chain(known)
                .collect()
        };
        assert_eq!(is_new(&FileKind::Inert), [false; 5]);
        assert_eq!(is_new(&FileKind::Other), [true, true, false, false, true]);
        assert_eq!(is_new(&FileKind::Program), [true, true, true, false, true]);
        assert_eq!(is_new(&link("a")), [true, true, true, true, false]);
        assert_eq!(is_new(&link("b")), [true; 5]);
    }
}
