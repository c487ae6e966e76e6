//! Limits cycles of imports: modules none of which can be read without the others.

use std::collections::{BTreeMap, BTreeSet};

use super::exceptions::Limit;
use super::resolve::Target;
use super::source::Crate;

const LIMIT: Limit = Limit {
    things: "modules in one cycle of imports",
    most: 5,
    // A cycle has the name of its first module.
    exceptions: &[],
    file: "xtask/src/tidy/cycles.rs",
};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    LIMIT.problems(&crates.iter().flat_map(named_cycles).collect())
}

fn named_cycles(sources: &Crate) -> Vec<(String, Vec<String>)> {
    cycles(sources)
        .into_iter()
        .map(|cycle| {
            let modules = cycle.iter().map(|module| (*module).to_owned());
            (sources.full_name(cycle[0]), modules.collect())
        })
        .collect()
}

/// Returns the cycles of a crate, the largest first. A cycle is a set of files, sorted, each of
/// which imports all others, possibly through others.
pub(super) fn cycles(sources: &Crate) -> Vec<Vec<&str>> {
    let imports = imports(sources);
    let reachable: BTreeMap<&str, BTreeSet<&str>> = imports
        .keys()
        .map(|file| (*file, reachable(file, &imports)))
        .collect();
    let mut cycles = BTreeSet::new();
    for (file, reached) in &reachable {
        let cycle: Vec<&str> = reached
            .iter()
            .filter(|other| {
                reachable
                    .get(*other)
                    .is_some_and(|back| back.contains(file))
            })
            .copied()
            .collect();
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    let mut cycles: Vec<Vec<&str>> = cycles.into_iter().collect();
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
    cycles
}

/// Returns the imports of each file of a cycle that lead to others of it.
pub(super) fn imports_within<'a>(
    sources: &'a Crate,
    cycle: &[&'a str],
) -> Vec<(&'a str, Vec<&'a str>)> {
    let within = |files: &BTreeSet<&'a str>| -> Vec<&'a str> {
        let files = files.iter().copied();
        files.filter(|file| cycle.contains(file)).collect()
    };
    imports(sources)
        .into_iter()
        .filter(|(file, _)| cycle.contains(file))
        .map(|(file, imported)| (file, within(&imported)))
        .collect()
}

/// Returns the files that a file imports, and those that they import.
fn reachable<'a>(
    file: &'a str,
    imports: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(next) = open.pop() {
        let imported = imports.get(next).into_iter().flatten();
        open.extend(imported.filter(|file| reached.insert(**file)));
    }
    reached
}

/// Returns the files that each file imports. An import of a re-exported item is one of the file that
/// defines it, and a re-export is an import too. A `mod` item is not an import, nor is the name of a
/// module without an item.
fn imports(sources: &Crate) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut imports: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (position, module) in sources.modules.iter().enumerate() {
        let paths: BTreeSet<_> = module.used_paths.iter().collect();
        let items = paths
            .into_iter()
            .flat_map(|path| sources.resolve(position, path))
            .filter_map(|target| match target {
                Target::Type(module, _) | Target::Value(module, _) => Some(module),
                Target::Module(_) | Target::External(_) => None,
            });
        let globs = module
            .globs
            .iter()
            .flat_map(|glob| sources.resolve(position, &glob.path))
            .filter_map(|target| match target {
                Target::Module(module) => Some(module),
                _ => None,
            });
        let files = items
            .chain(globs)
            .map(|module| sources.modules[module].file.as_str());
        let others = files.filter(|file| *file != module.file);
        imports.entry(&module.file).or_default().extend(others);
    }
    imports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::library;

    fn check(files: &[(&str, &str)], expected: &[&[&str]]) {
        assert_eq!(cycles(&library("a", files)), expected, "{files:?}");
    }

    #[test]
    fn modules_that_import_each_other_are_a_cycle() {
        let lib = ("lib.rs", "mod b;\nmod c;\nmod d;\npub use b::B;\n");
        let d = ("d.rs", "use crate::B;\n");
        check(
            &[
                lib,
                d,
                ("b.rs", "use super::c::C;\npub struct B;\n"),
                ("c.rs", "pub struct C;\n"),
            ],
            &[],
        );
        for c in [
            "use crate::b::B;\npub struct C;\n",
            // Through the re-export of the root.
            "use crate::B;\npub struct C;\n",
            "pub struct C(super::B);\n",
            "pub struct C;\nfn c() { print!(\"{}\", crate::B::new()) }\n",
            "use super::b::*;\npub struct C;\n",
            "pub use crate::b::B as Other;\npub struct C;\n",
        ] {
            let b = ("b.rs", "use super::c::C;\npub struct B;\n");
            check(&[lib, d, b, ("c.rs", c)], &[&["b", "c"]]);
        }
    }

    #[test]
    fn a_module_that_uses_its_parent_is_in_a_cycle_with_it() {
        let parent = ("lib.rs", "mod b;\npub struct A;\nfn f() { b::g() }\n");
        check(
            &[parent, ("b.rs", "use super::A;\npub fn g() {}\n")],
            &[&["b", "lib"]],
        );
        check(&[parent, ("b.rs", "pub fn g() {}\n")], &[]);
        // Only its tests use it.
        let test = "pub fn g() {}\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n";
        check(&[parent, ("b.rs", test)], &[]);
    }

    #[test]
    fn a_cycle_is_named_after_its_first_module() {
        let sources = library(
            "a",
            &[
                ("lib.rs", "mod b;\npub struct A;\nfn f() { b::c::g() }\n"),
                ("b.rs", "pub mod c;\n"),
                ("b/c.rs", "use crate::A;\npub fn g() {}\n"),
            ],
        );
        let names = named_cycles(&sources);
        assert_eq!(
            names,
            [(
                "a::b::c".to_owned(),
                vec!["b/c".to_owned(), "lib".to_owned()]
            )]
        );
    }
}
