//! Host application that lists and injects skills, without running anything. Its dependencies
//! include neither a sandbox nor an async runtime.
//!
//! `cargo run -p host-text-only`

use std::path::Path;
use std::sync::Arc;

use skills_discovery::{Discovery, Root, Scope};
use skills_prompt::{
    Budget, InjectionBuilder, MentionIndex, MentionOptions, SkillListRenderer, UserInput,
    model_invocable_skills,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let skills = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let catalog = Arc::new(Discovery::new([Root::new(skills, Scope::Custom)]).scan());

    // The skills section of the system prompt, within a budget.
    let section = SkillListRenderer::new(Budget::Characters(1_000))
        .render(&model_invocable_skills(&catalog, &Default::default()));
    println!("{}", section.text());

    // Skills that the user mentions are injected.
    let index = MentionIndex::new(Arc::clone(&catalog));
    let selection = index.find(
        &[UserInput::Text(
            "Please use $incident-handbook for this alarm.",
        )],
        &MentionOptions::default(),
    );
    for entry in selection.selected {
        let (document, text) = entry.open()?.document_with_source()?;
        let (directory, location) = (entry.directory().to_string_lossy(), entry.location());
        let injected = InjectionBuilder::new(
            entry.name().as_str(),
            &directory,
            &location.to_string_lossy(),
            &text,
        )
        .render_codex();
        println!(
            "{}: {} lines of instructions, {} bytes for the model",
            entry.name(),
            document.body().lines().count(),
            injected.text.len()
        );
    }
    Ok(())
}
