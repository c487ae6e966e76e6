//! Rendering 1,000 skills into 8,000 characters, beside the floor: joining the same texts without a budget.

use divan::{Bencher, black_box};
use skills_prompt::{Budget, Catalogue, Item};

fn main() {
    divan::main();
}

fn texts() -> Vec<(String, String, String)> {
    let text = |index: usize| {
        let description = format!("Does the thing number {index}, carefully and completely. Use it when the user asks for thing {index}.");
        (format!("skill-{index:04}"), description, format!("/skills/skill-{index:04}/SKILL.md"))
    };
    (0..1_000).map(text).collect()
}

fn items(texts: &[(String, String, String)]) -> Vec<Item<'_>> {
    texts.iter().map(|(name, description, location)| Item { name, description, location }).collect()
}

#[divan::bench]
fn shortened(bencher: Bencher<'_, '_>) {
    let texts = texts();
    let items = items(&texts);
    bencher.bench_local(|| Catalogue::render(black_box(&items), Budget::Characters(80_000)));
}

#[divan::bench]
fn floor(bencher: Bencher<'_, '_>) {
    let texts = texts();
    bencher.bench_local(|| {
        let lines = black_box(&texts).iter().map(|(name, description, location)| format!("- {name}: {description} (file: {location})\n"));
        lines.collect::<String>()
    });
}
