//! Limits the files with an `impl` of one type: one that many files extend is not one idea.

use std::collections::{BTreeMap, BTreeSet};

use super::exceptions::Limit;
use super::resolve::Target;
use super::source::Crate;

const LIMIT: Limit = Limit {
    things: "files with an `impl` of this type",
    most: 2,
    exceptions: &[],
    file: "xtask/src/tidy/impl_files.rs",
};

pub(super) fn problems(crates: &[Crate]) -> Vec<String> {
    let types = crates.iter().flat_map(impl_files);
    let owned = types.map(|(name, files)| (name, files.into_iter().map(str::to_owned).collect()));
    LIMIT.problems(&owned.collect())
}

/// Returns the types with an `impl` in more than the allowed number of files, with these files.
pub(super) fn scattered(sources: &Crate) -> Vec<(String, BTreeSet<&str>)> {
    let mut types: Vec<_> = impl_files(sources)
        .into_iter()
        .filter(|(_, files)| files.len() > LIMIT.most)
        .collect();
    types.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    types
}

/// Returns the files with an `impl` of each type; those of traits do not count.
fn impl_files(sources: &Crate) -> BTreeMap<String, BTreeSet<&str>> {
    let mut files: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (position, module) in sources.modules.iter().enumerate() {
        for path in &module.inherent_impls {
            for target in sources.resolve(position, path) {
                if let Target::Type(definition, name) = target {
                    let file = &sources.modules[definition].file;
                    let name = sources.full_name(&format!("{file}/{name}"));
                    files.entry(name).or_default().insert(&module.file);
                }
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::library;

    #[test]
    fn files_with_an_impl_are_counted_once_and_without_those_of_traits() {
        let lib = (
            "lib.rs",
            "mod b;\nmod c;\npub struct A;\nimpl A {}\nimpl A {}\n",
        );
        let b = ("b.rs", "use crate::A;\nimpl A {}\n");
        for (c, expected) in [
            ("impl super::A {}\n", 3),
            ("impl Clone for crate::A {}\n", 2),
            // Another type.
            ("struct A;\nimpl A {}\n", 2),
        ] {
            let sources = library("a", &[lib, b, ("c.rs", c)]);
            assert_eq!(impl_files(&sources)["a::A"].len(), expected, "{c}");
            assert_eq!(scattered(&sources).len(), usize::from(expected > 2), "{c}");
        }
    }
}
