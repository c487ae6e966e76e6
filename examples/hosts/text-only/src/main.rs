//! A host that shows skills to a model and runs nothing: a parser, a scan and text, without a
//! sandbox or an async runtime in its tree.
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

    // What goes into the model's system prompt: as many skills as fit.
    let catalogue = SkillListRenderer::new(Budget::Characters(1_000))
        .render(&model_invocable_skills(&catalog, &Default::default()));
    println!("{}", catalogue.text());

    // The user writes; the skills that are named come with their text.
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
