//! Finds the definition that a path means, through imports and re-exports.

use super::module::{Meaning, Path};
use super::source::Crate;

/// How many imports lead to a definition at most. More only occur in cycles of globs.
const MAX_IMPORTS: usize = 16;

/// What a path means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A type or a trait, with the position of the module that defines it.
    Type(usize, String),
    /// Another item that a module defines, or one that a macro makes there.
    Value(usize, String),
    /// Position of a module.
    Module(usize),
    /// The whole path, which starts with the name of another crate or is local.
    External(Path),
}

impl Crate {
    /// Returns what a path in a module can mean. It means more than one thing if the namespaces of
    /// types, values and modules have the same name, or by conditional compilation.
    pub(super) fn resolve(&self, module: usize, path: &[String]) -> Vec<Target> {
        self.resolve_within(module, path, MAX_IMPORTS)
    }

    fn resolve_within(&self, module: usize, path: &[String], imports: usize) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        let start = match first.as_str() {
            "crate" => vec![Target::Module(self.root_of(module))],
            "self" => vec![Target::Module(module)],
            "super" => self.modules[module]
                .parent
                .map(Target::Module)
                .into_iter()
                .collect(),
            name => self.find(module, name, rest.is_empty(), imports),
        };
        if start.is_empty() {
            return vec![Target::External(path.to_vec())];
        }
        start
            .into_iter()
            .flat_map(|target| self.follow(target, rest, imports))
            .collect()
    }

    /// Continues a path after its first words, which mean `target`.
    fn follow(&self, target: Target, rest: &[String], imports: usize) -> Vec<Target> {
        let Some((name, after)) = rest.split_first() else {
            return vec![target];
        };
        match target {
            Target::Module(module) if name == "super" => self.modules[module]
                .parent
                .map(|parent| self.follow(Target::Module(parent), after, imports))
                .unwrap_or_default(),
            Target::Module(module) => {
                let found = self.find(module, name, after.is_empty(), imports);
                if found.is_empty() {
                    // A macro defines it.
                    return vec![Target::Value(module, name.clone())];
                }
                found
                    .into_iter()
                    .flat_map(|target| self.follow(target, after, imports))
                    .collect()
            }
            Target::External(mut path) => {
                path.extend_from_slice(rest);
                vec![Target::External(path)]
            }
            // A variant or an associated item.
            Target::Type(..) | Target::Value(..) => vec![target],
        }
    }

    /// Returns what a name in a module can mean; if it is not the last of its path, modules before
    /// anything else.
    fn find(&self, module: usize, name: &str, is_last: bool, imports: usize) -> Vec<Target> {
        let Some(imports) = imports.checked_sub(1) else {
            return Vec::new();
        };
        let Some(names) = self.modules[module].names.get(name) else {
            return self.find_in_globs(module, name, is_last, imports);
        };
        let meanings = || names.iter().map(|name| &name.meaning);
        let has_module = meanings().any(is_module);
        meanings()
            .filter(|meaning| is_last || !has_module || is_module(meaning))
            .filter(|meaning| is_last || !is_import_from_crate(name, meaning))
            .flat_map(|meaning| self.targets_within(module, name, meaning, imports))
            .collect()
    }

    fn find_in_globs(
        &self,
        module: usize,
        name: &str,
        is_last: bool,
        imports: usize,
    ) -> Vec<Target> {
        let globs = self.modules[module].globs.iter();
        globs
            .flat_map(|glob| self.resolve_within(module, &glob.path, imports))
            .flat_map(|source| match source {
                Target::Module(source) => self.find(source, name, is_last, imports),
                _ => Vec::new(),
            })
            .collect()
    }

    /// Returns what one meaning of a name in a module stands for.
    pub(super) fn targets(&self, module: usize, name: &str, meaning: &Meaning) -> Vec<Target> {
        self.targets_within(module, name, meaning, MAX_IMPORTS)
    }

    fn targets_within(
        &self,
        module: usize,
        name: &str,
        meaning: &Meaning,
        imports: usize,
    ) -> Vec<Target> {
        match meaning {
            Meaning::Type => vec![Target::Type(module, name.to_owned())],
            Meaning::Value => vec![Target::Value(module, name.to_owned())],
            Meaning::Module(inside) => vec![Target::Module(*inside)],
            Meaning::Import(path) => self.resolve_within(module, path, imports),
        }
    }
}

fn is_module(meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Module(_))
}

/// With `use a::a`, the name `a` at the start of a path means the crate.
fn is_import_from_crate(name: &str, meaning: &Meaning) -> bool {
    matches!(meaning, Meaning::Import(path) if path.first().is_some_and(|first| first == name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::library;

    #[test]
    fn a_path_leads_to_the_module_that_defines_its_item() {
        let sources = library(
            "a",
            &[
                (
                    "lib.rs",
                    "mod run;\nmod other;\npub use run::Job;\nuse anyhow::anyhow;\n",
                ),
                (
                    "run.rs",
                    "mod run;\nmod job;\npub(crate) use job::*;\npub use run::run;\n",
                ),
                ("run/run.rs", "pub fn run() {}\n"),
                ("run/job.rs", "pub struct Job;\n"),
                (
                    "other.rs",
                    "use crate::run as alias;\nuse super::other as own;\n",
                ),
            ],
        );
        let other = sources.modules.iter().position(|m| m.file == "other");
        let resolve = |path: &str| {
            let path: Path = path.split("::").map(str::to_owned).collect();
            let targets = sources.resolve(other.expect("a module"), &path);
            let texts = targets.iter().map(|target| match target {
                Target::Type(module, name) => {
                    format!("type {}::{name}", sources.modules[*module].file)
                }
                Target::Value(module, name) => {
                    format!("value {}::{name}", sources.modules[*module].file)
                }
                Target::Module(module) => format!("module {}", sources.modules[*module].file),
                Target::External(path) => format!("external {}", path.join("::")),
            });
            texts.collect::<Vec<_>>().join(", ")
        };
        for (path, expected) in [
            ("crate::Job", "type run/job::Job"),
            ("super::Job::new", "type run/job::Job"),
            ("alias::Job", "type run/job::Job"),
            ("crate::run::run", "value run/run::run, module run/run"),
            ("crate::run::run::run", "value run/run::run"),
            ("crate::run::by_a_macro", "value run::by_a_macro"),
            ("crate::anyhow", "external anyhow::anyhow"),
            ("own::super::Job", "type run/job::Job"),
            ("std::fs", "external std::fs"),
        ] {
            assert_eq!(resolve(path), expected, "{path}");
        }
    }

    #[test]
    fn globs_in_a_cycle_end() {
        let sources = library(
            "a",
            &[
                ("lib.rs", "mod b;\nmod c;\n"),
                ("b.rs", "pub use super::c::*;\n"),
                ("c.rs", "pub use super::b::*;\n"),
            ],
        );
        let path: Path = ["crate", "b", "D"].map(str::to_owned).into();
        assert_eq!(
            sources.resolve(0, &path),
            [Target::Value(1, "D".to_owned())]
        );
    }
}
