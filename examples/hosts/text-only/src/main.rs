//! Host application that lists and injects skills, without running anything. Its dependencies
//! include neither a sandbox nor an async runtime.
//!
//! `cargo run -p host-text-only`

use std::path::Path;
use std::sync::Arc;

use skills_discovery::{Discovery, Root, Scope};
use skills_prompt::{
    Budget, Injection, MentionIndex, MentionOptions, SkillListRenderer, UserInput,
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
    let prompt = UserInput::Text("Please use $incident-handbook for this alarm.");
    for entry in index.find(&[prompt], &MentionOptions::default()).selected {
        let (_, text) = entry.open()?.document_with_source()?;
        let injection = Injection::from_entry(entry, &text);
        println!(
            "{}: {} bytes for the model",
            entry.name(),
            injection.text.len()
        );
    }
    Ok(())
}
