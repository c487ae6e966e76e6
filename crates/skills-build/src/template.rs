//! The source of a new skill.

use crate::language::Language;

/// A path in the skill directory, with `/`, and a content.
type TemplateFile = (&'static str, &'static str);

const WORDS: TemplateFile = (
    "references/words.txt",
    include_str!("../templates/words.txt"),
);
const NPM: TemplateFile = (
    "guest/.gitignore",
    include_str!("../templates/js/gitignore"),
);
const RUST: &[TemplateFile] = &[
    (
        "guest/Cargo.toml",
        include_str!("../templates/rust/Cargo.toml.txt"),
    ),
    (
        "guest/src/main.rs",
        include_str!("../templates/rust/src/main.rs"),
    ),
    WORDS,
];
const JAVASCRIPT: &[TemplateFile] = &[
    ("guest/main.js", include_str!("../templates/js/main.js")),
    NPM,
    WORDS,
];
const TYPESCRIPT: &[TemplateFile] = &[
    ("guest/main.ts", include_str!("../templates/ts/main.ts")),
    (
        "guest/skill.d.ts",
        include_str!("../templates/ts/skill.d.ts"),
    ),
    NPM,
    WORDS,
];
const C: &[TemplateFile] = &[
    ("guest/main.c", include_str!("../templates/c/main.c")),
    WORDS,
];
const PYTHON: &[TemplateFile] = &[
    ("guest/app.py", include_str!("../templates/python/app.py")),
    (
        "guest/.gitignore",
        include_str!("../templates/python/gitignore"),
    ),
    WORDS,
];

/// Returns the files of a new skill except its `SKILL.md`, as paths with `/` and contents: a
/// program that takes `{"text": …}`, reads a list of words from the skill, and prints `{"counts":
/// …}`, equivalent in each language.
#[must_use]
pub const fn template(language: Language) -> &'static [(&'static str, &'static str)] {
    match language {
        Language::Rust => RUST,
        Language::JavaScript => JAVASCRIPT,
        Language::TypeScript => TYPESCRIPT,
        Language::C => C,
        Language::Python => PYTHON,
    }
}
