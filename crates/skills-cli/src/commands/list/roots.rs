//! `skills list --roots`: prints the directories that are searched.

use serde_json::{Value, json};
use skills_runtime::discovery::SkipReason;
use skills_runtime::{Catalog, Entry, Root};

use crate::context::Context;
use crate::counted::counted;
use crate::exit::Exit;
use crate::output::line;
use crate::words::widest;

/// Lists the roots in search order.
pub(crate) fn print_roots(context: &Context) -> anyhow::Result<Exit> {
    let (runtime, output) = (context.runtime()?, context.output);
    let catalog = runtime.library().catalog();
    let roots = runtime.library().discovery().roots();
    if output.is_json() {
        let roots: Vec<Value> = roots.iter().map(|root| to_json(root, &catalog)).collect();
        return output.json(&json!({"roots": roots}));
    }
    // Most of the known client directories do not exist on a given machine.
    let existing: Vec<&Root> = roots
        .iter()
        .filter(|root| !is_missing(root, &catalog))
        .collect();
    let width = widest(roots.iter().map(|root| root.scope().as_str()));
    output.lines(existing.iter().map(|root| {
        let (active, inactive) = count_entries(root, &catalog);
        let mut counts = counted(active, "skill");
        if inactive > 0 {
            counts.push_str(&format!(", {inactive} inactive"));
        }
        if !root.is_trusted() {
            counts.push_str(", not trusted");
        }
        let path = line(&root.path().to_string_lossy());
        format!("{:width$}  {path}  ({counts})", root.scope().as_str())
    }))?;
    let missing = roots.len() - existing.len();
    if missing > 0 {
        let missing = counted(missing, "more missing root");
        output.status(&format!("{missing}; see `--json`"));
    }
    Ok(Exit::Success)
}

fn to_json(root: &Root, catalog: &Catalog) -> Value {
    let (active, inactive) = count_entries(root, catalog);
    json!({
        "path": root.path().to_string_lossy(),
        "scope": root.scope().as_str(),
        "trusted": root.is_trusted(),
        "exists": !is_missing(root, catalog),
        "skills": active,
        "inactive": inactive,
    })
}

/// Counts the active and the inactive skills of a root.
fn count_entries(root: &Root, catalog: &Catalog) -> (usize, usize) {
    let is_below = |entry: &&Entry| entry.root() == root.path();
    let inactive = catalog.inactive().iter().map(|inactive| inactive.entry());
    let active = catalog.entries().iter().filter(is_below).count();
    (active, inactive.filter(is_below).count())
}

fn is_missing(root: &Root, catalog: &Catalog) -> bool {
    catalog.skipped().iter().any(|skipped| {
        matches!(skipped.reason(), SkipReason::RootNotFound) && skipped.path() == root.path()
    })
}
