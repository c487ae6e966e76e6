//! The source of a new skill.

use crate::language::Language;

/// A file of a new skill. See [`template`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateFile {
    /// The path in the skill directory, with `/`.
    pub path: &'static str,
    /// The content.
    pub text: &'static str,
}

const fn template_file(path: &'static str, text: &'static str) -> TemplateFile {
    TemplateFile { path, text }
}

const WORDS: TemplateFile = template_file(
    "references/words.txt",
    include_str!("../templates/words.txt"),
);
const NPM: TemplateFile = template_file(
    "guest/.gitignore",
    include_str!("../templates/js/gitignore"),
);
const RUST: &[TemplateFile] = &[
    template_file(
        "guest/Cargo.toml",
        include_str!("../templates/rust/Cargo.toml.txt"),
    ),
    template_file(
        "guest/src/main.rs",
        include_str!("../templates/rust/src/main.rs"),
    ),
    WORDS,
];
const JAVASCRIPT: &[TemplateFile] = &[
    template_file("guest/main.js", include_str!("../templates/js/main.js")),
    NPM,
    WORDS,
];
const TYPESCRIPT: &[TemplateFile] = &[
    template_file("guest/main.ts", include_str!("../templates/ts/main.ts")),
    template_file(
        "guest/skill.d.ts",
        include_str!("../templates/ts/skill.d.ts"),
    ),
    NPM,
    WORDS,
];
const C: &[TemplateFile] = &[
    template_file("guest/main.c", include_str!("../templates/c/main.c")),
    WORDS,
];
const PYTHON: &[TemplateFile] = &[
    template_file("guest/app.py", include_str!("../templates/python/app.py")),
    template_file(
        "guest/.gitignore",
        include_str!("../templates/python/gitignore"),
    ),
    WORDS,
];

/// Returns the files of a new skill except its `SKILL.md`: a program that takes `{"text": …}`,
/// reads a list of words from the skill, and prints `{"counts": …}`, equivalent in each language.
#[must_use]
pub const fn template(language: Language) -> &'static [TemplateFile] {
    match language {
        Language::Rust => RUST,
        Language::JavaScript => JAVASCRIPT,
        Language::TypeScript => TYPESCRIPT,
        Language::C => C,
        Language::Python => PYTHON,
    }
}
