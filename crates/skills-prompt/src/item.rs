//! What the catalogue says of one skill.

use std::cmp::Ordering;

use skills_discovery::{Catalog, Entry, Scope};

/// What the catalogue says of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its description, of any form.
    pub description: &'a str,
    /// The path of its `SKILL.md`.
    pub location: &'a str,
}

/// An [`Item`] that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedItem {
    name: String,
    description: String,
    location: String,
}

impl OwnedItem {
    /// Lends the item.
    #[must_use]
    pub fn as_item(&self) -> Item<'_> {
        Item { name: &self.name, description: &self.description, location: &self.location }
    }
}

/// Returns the skills of `catalog` that the model may choose by itself, in the order of the prompt.
///
/// Left out are those that forbid it: `disable-model-invocation`, `allow_implicit_invocation: false` in `agents/openai.yaml`, a restriction
/// that could not be read. The order is Codex's: System, Admin, Repo, User; skills that the caller named
/// come first; within a scope by name, then path.
#[must_use]
pub fn offered(catalog: &Catalog) -> Vec<OwnedItem> {
    let mut entries: Vec<&Entry> = catalog.entries().iter().filter(|entry| entry.is_offered()).collect();
    entries.sort_by(|a, b| compare(a, b));
    entries.into_iter().map(item).collect()
}

fn compare(a: &Entry, b: &Entry) -> Ordering {
    let key = |entry: &Entry| rank(entry.scope());
    key(a).cmp(&key(b)).then_with(|| a.name().cmp(b.name())).then_with(|| a.directory().cmp(b.directory()))
}

fn rank(scope: Scope) -> u8 {
    match scope {
        Scope::Custom => 0,
        Scope::System => 1,
        Scope::Admin => 2,
        Scope::Repo => 3,
        _ => 4,
    }
}

fn item(entry: &Entry) -> OwnedItem {
    OwnedItem { name: entry.name().to_string(), description: entry.manifest().description().to_owned(), location: location(entry) }
}

/// Models write paths with slashes; a backslash is a separator on Windows only.
fn location(entry: &Entry) -> String {
    let location = entry.location().display().to_string();
    if cfg!(windows) { location.replace('\\', "/") } else { location }
}
