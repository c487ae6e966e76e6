//! A host that shows skills to a model and runs nothing: a parser, a scan and text, without a
//! sandbox or an async runtime in its tree.
//!
//! `cargo run -p host-text-only`

use std::path::Path;
use std::sync::Arc;

use skills_discovery::{Discovery, Root, Scope};
use skills_prompt::{Budget, Injection, Input, MentionIndex, MentionOptions, Rendering, offered};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let catalog = Arc::new(Discovery::new([Root::new(skills, Scope::Custom)]).scan());

    // What goes into the model's system prompt: as many skills as fit.
    let catalogue =
        Rendering::new(Budget::Characters(1_000)).render(&offered(&catalog, &Default::default()));
    println!("{}", catalogue.text());

    // The user writes; the skills that are named come with their text.
    let index = MentionIndex::new(Arc::clone(&catalog));
    let selection = index.find(
        &[Input::Text("Please use $incident-handbook for this alarm.")],
        &MentionOptions::default(),
    );
    for entry in selection.selected {
        let (document, text) = entry.open()?.document_and_text()?;
        let (directory, location) = (entry.directory().to_string_lossy(), entry.location());
        let injected = Injection::new(
            entry.name().as_str(),
            &directory,
            &location.to_string_lossy(),
            &text,
        )
        .codex();
        println!(
            "{}: {} lines of instructions, {} bytes for the model",
            entry.name(),
            document.body().lines().count(),
            injected.text.len()
        );
    }
    Ok(())
}
