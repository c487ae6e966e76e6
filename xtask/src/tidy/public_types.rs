//! Finds names that mean different types in different crates, which readers of both confuse.

use std::collections::{BTreeMap, BTreeSet};

use super::exceptions::Limit;
use super::resolve::Target;
use super::source::Crate;

const LIMIT: Limit = Limit {
    things: "public types with this name",
    most: 1,
    exceptions: &[
        ("Client", 2),
        ("Confidence", 2),
        ("Document", 2),
        ("Environment", 2),
        ("Event", 2),
        ("Explanation", 2),
        ("InvalidRequirement", 2),
        ("Language", 2),
        ("Lookup", 2),
        ("Plan", 5),
        ("PlanContext", 2),
        ("Problem", 2),
        ("ProblemKind", 2),
        ("Root", 2),
        ("Rotation", 2),
        ("Rule", 3),
        ("Severity", 2),
        ("Store", 2),
    ],
    file: "xtask/src/tidy/public_types.rs",
};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let types = types_by_name(crates).into_iter();
    let types = types.map(|(name, types)| (name, types.into_iter().collect()));
    LIMIT.problems(&types.collect())
}

/// Returns the types that are public at the root of a crate, or in a public module there, by name.
/// A type that several crates re-export is one; those of other projects do not count.
fn types_by_name(crates: &[Crate]) -> BTreeMap<String, BTreeSet<String>> {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, definition) in crates
        .iter()
        .flat_map(|sources| public_types(crates, sources))
    {
        types.entry(name).or_default().insert(definition);
    }
    types
}

/// Returns the public types of a crate, each as its public name and its definition.
fn public_types(crates: &[Crate], sources: &Crate) -> Vec<(String, String)> {
    let mut types = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![0];
    while let Some(position) = open.pop() {
        if !seen.insert(position) {
            continue;
        }
        for (name, target) in public_names(sources, position) {
            match target {
                Target::Module(inside) => open.push(inside),
                target => {
                    let definition = definition(crates, sources, target);
                    types.extend(definition.map(|definition| (name.to_owned(), definition)));
                }
            }
        }
    }
    types
}

/// Returns the public names of a module with what they mean, and `*` for each module all names of
/// which it exports.
fn public_names(sources: &Crate, position: usize) -> Vec<(&str, Target)> {
    let module = &sources.modules[position];
    let mut public = Vec::new();
    for (name, meanings) in &module.names {
        for meaning in meanings.iter().filter(|meaning| meaning.is_public) {
            let targets = sources.targets(position, name, &meaning.meaning);
            public.extend(targets.into_iter().map(|target| (name.as_str(), target)));
        }
    }
    for glob in module.globs.iter().filter(|glob| glob.is_public) {
        let targets = sources.resolve(position, &glob.path);
        public.extend(targets.into_iter().map(|target| ("*", target)));
    }
    public
}

/// Returns the definition of a type, in its crate or in another one of the workspace.
fn definition(crates: &[Crate], sources: &Crate, target: Target) -> Option<String> {
    match target {
        Target::Type(module, name) => {
            Some(sources.full_name(&format!("{}/{name}", sources.modules[module].file)))
        }
        Target::External(path) => {
            let (first, rest) = path.split_first()?;
            let other = crates
                .iter()
                .find(|other| other.name.replace('-', "_") == *first)?;
            let path = [&["crate".to_owned()], rest].concat();
            let targets = other.resolve(0, &path).into_iter();
            targets
                .filter_map(|target| definition(crates, other, target))
                .next()
        }
        Target::Value(..) | Target::Module(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::library;

    fn definitions(crates: &[Crate], name: &str) -> Vec<String> {
        let mut types = types_by_name(crates);
        types.remove(name).unwrap_or_default().into_iter().collect()
    }

    #[test]
    fn two_definitions_of_a_public_name_are_found() {
        let low = library(
            "low-crate",
            &[
                ("lib.rs", "mod error;\npub use error::*;\n"),
                ("error.rs", "pub struct Error;\nstruct Private;\n"),
            ],
        );
        let facade = library(
            "facade",
            &[
                (
                    "lib.rs",
                    "mod error;\npub use low_crate as low;\npub use low_crate::Error;\npub use error::Private;\n",
                ),
                ("error.rs", "pub struct Private;\npub struct Error;\n"),
            ],
        );
        let other = library(
            "other",
            &[
                ("lib.rs", "pub mod error;\n"),
                ("error.rs", "pub enum Error {}\n"),
            ],
        );
        let crates = [low, facade, other];
        assert_eq!(
            definitions(&crates, "Error"),
            ["low-crate::error::Error", "other::error::Error"]
        );
        assert_eq!(
            definitions(&crates[..2], "Error"),
            ["low-crate::error::Error"]
        );
        assert_eq!(definitions(&crates, "Private"), ["facade::error::Private"]);
    }
}
