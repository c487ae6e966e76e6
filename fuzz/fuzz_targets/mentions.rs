//! Searches for mentions of skills in user input and in commands of a model.
//!
//! The text before the first NUL is a message or a command; after it are pairs of a name and a
//! path, as selected in a user interface.
#![no_main]

use std::path::Path;
use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use skills_discovery::{Catalog, Discovery, Root, Scope};
use skills_prompt::{
    CommandLine, Confidence, ImplicitIndex, MentionIndex, MentionOptions, UserInput,
};

const NAMES: [&str; 7] = [
    "alpha",
    "beta",
    "doc",
    "pdf-tools",
    "slack:search",
    "数据分析",
    "größe",
];

fuzz_target!(|text: &str| {
    let (mentions, commands) = indexes();
    let mut parts = text.split('\0');
    let message = parts.next().unwrap_or_default();
    let selections: Vec<&str> = parts.collect();
    let mut inputs = vec![UserInput::Text(message)];
    inputs.extend(selections.chunks(2).map(|pair| UserInput::Skill {
        name: pair[0],
        path: pair.get(1).copied().unwrap_or_default(),
    }));
    let phrases = MentionOptions::default()
        .connectors(["beta"])
        .working_directory("/work")
        .unicode_names()
        .phrases(Some(Confidence::Low));
    for options in [MentionOptions::codex(), phrases] {
        let found = mentions.find(&inputs, &options);
        for mention in &found.all {
            if let UserInput::Text(text) = inputs[mention.input] {
                assert!(
                    text.get(mention.span.clone()).is_some(),
                    "{mention:?} is not in its text"
                );
            }
        }
        for (index, entry) in found.selected.iter().enumerate() {
            assert!(
                found.selected[..index]
                    .iter()
                    .all(|earlier| earlier.directory() != entry.directory()),
                "selected twice"
            );
        }
    }
    let _ = mentions.nearest(message);
    let _ = commands.detect(CommandLine::Shell(message), Path::new("/work"));
});

fn indexes() -> &'static (MentionIndex, ImplicitIndex) {
    static INDEXES: OnceLock<(MentionIndex, ImplicitIndex)> = OnceLock::new();
    INDEXES.get_or_init(|| {
        let catalog = Arc::new(catalog().expect("skills can be written to a temporary directory"));
        (
            MentionIndex::new(Arc::clone(&catalog)),
            ImplicitIndex::new(catalog),
        )
    })
}

fn catalog() -> std::io::Result<Catalog> {
    let directory = tempfile::tempdir()?;
    for (index, name) in NAMES.iter().enumerate() {
        let skill = directory.path().join(index.to_string());
        std::fs::create_dir(&skill)?;
        std::fs::write(
            skill.join("SKILL.md"),
            format!("---\nname: '{name}'\ndescription: About {name}.\n---\n"),
        )?;
    }
    let catalog = Discovery::new([Root::new(directory.path(), Scope::User)]).scan();
    assert_eq!(catalog.entries().len(), NAMES.len());
    Ok(catalog)
}
