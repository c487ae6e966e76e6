//! Rendering 1,000 and 10,000 skills. The floor joins all texts without a budget.

use divan::{Bencher, black_box};
use skills_discovery::Scope;
use skills_prompt::{Budget, SkillList, SkillListRenderer, SkillSummary, Truncation};

const SIZES: [usize; 2] = [1_000, 10_000];
const ROOT: &str = "/home/username/project/.agents/skills";

fn main() {
    divan::main();
}

fn items(skills: usize) -> Vec<SkillSummary<'static>> {
    let item = |index: usize| {
        let description = format!(
            "Does the thing number {index}, carefully and completely. Use it when the user asks for thing {index}."
        );
        let location = format!("{ROOT}/skill-{index:05}/SKILL.md");
        SkillSummary::new(format!("skill-{index:05}"), description, location)
            .scope(Scope::Repo)
            .root(ROOT)
    };
    (0..skills).map(item).collect()
}

/// Only some names fit.
#[divan::bench(args = SIZES)]
fn eight_thousand_characters(bencher: Bencher<'_, '_>, skills: usize) {
    let items = items(skills);
    bencher.bench_local(|| SkillList::render(black_box(&items), Budget::Characters(8_000)));
}

/// The same, with root aliases as an alternative.
#[divan::bench(args = SIZES)]
fn with_aliases(bencher: Bencher<'_, '_>, skills: usize) {
    let items = items(skills);
    let renderer = SkillListRenderer::new(Budget::Characters(8_000)).roots([ROOT]);
    bencher.bench_local(|| renderer.render(black_box(&items)));
}

/// All names fit, and half of each description.
#[divan::bench(args = SIZES)]
fn truncated(bencher: Bencher<'_, '_>, skills: usize) {
    let items = items(skills);
    bencher.bench_local(|| SkillList::render(black_box(&items), Budget::Tokens(skills * 35)));
}

#[divan::bench(args = SIZES)]
fn truncated_to_sentences(bencher: Bencher<'_, '_>, skills: usize) {
    let items = items(skills);
    let renderer =
        SkillListRenderer::new(Budget::Tokens(skills * 35)).truncation(Truncation::Sentences);
    bencher.bench_local(|| renderer.render(black_box(&items)));
}

#[divan::bench(args = SIZES)]
fn floor(bencher: Bencher<'_, '_>, skills: usize) {
    let texts: Vec<(String, String)> = (0..skills)
        .map(|index| {
            let description =
                format!("Does the thing number {index}, carefully and completely. Use it when the user asks for thing {index}.");
            (format!("skill-{index:05}"), description)
        })
        .collect();
    bencher.bench_local(|| {
        let lines = black_box(&texts).iter().map(|(name, description)| {
            format!("- {name}: {description} (file: {ROOT}/{name}/SKILL.md)\n")
        });
        lines.collect::<String>()
    });
}
