//! The JSON document of `skills list`, printed skill by skill: a collection may have 60,000 skills,
//! and their values together would take more memory than the catalog.

use serde::Serialize;
use serde_json::{Value, json};
use skills_runtime::discovery::SkipReason;
use skills_runtime::{Catalog, SkillRuntime};

use super::{entry_to_json, inactive_to_json, skipped_to_json};
use crate::output::{JsonList, Output};

/// Prints the document.
pub(super) fn print(runtime: &SkillRuntime, catalog: &Catalog) -> anyhow::Result<()> {
    let skills = JsonList(|| {
        catalog.entries().iter().map(|entry| {
            let entry = entry.transient();
            let mut value = entry_to_json(&entry);
            value["missing"] = json!(runtime.library().missing_requirements([&entry]).to_lines());
            value
        })
    });
    // Missing default roots are reported by `--roots`. A missing `--root` has failed before.
    let skipped = JsonList(|| {
        let skipped = catalog.skipped().iter();
        skipped
            .filter(|skipped| !matches!(skipped.reason(), SkipReason::RootNotFound))
            .chain(catalog.unread_skills())
            .map(skipped_to_json)
    });
    Output::Json.print_json(&Document {
        summary: summary(catalog),
        skills,
        inactive: JsonList(|| catalog.inactive().iter().map(inactive_to_json)),
        skipped,
    })
}

#[derive(Serialize)]
struct Document<S, I, K> {
    summary: Value,
    skills: S,
    inactive: I,
    skipped: K,
}

fn summary(catalog: &Catalog) -> Value {
    let summary = catalog.summary();
    json!({
        "read": summary.read(),
        "inactive": summary.inactive(),
        "refused": summary.refused(),
        "not_read": summary.unread(),
        "text": summary.to_string(),
    })
}
