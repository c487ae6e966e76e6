//! Reads the sources of a crate, without its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use proc_macro2::{LineColumn, TokenStream};
use syn::{Expr, ExprLit, Item, ItemMod, Lit};

use super::members::Member;
use super::module::{Meaning, Module};
use super::token;

/// The sources of a crate: its library and programs below `src`, with the files that their `mod`
/// items name. Items that only tests compile, and the files of such modules, are not included.
#[derive(Default)]
pub(super) struct Crate {
    pub(super) name: String,
    /// The directory of the root.
    directory: PathBuf,
    /// The first module is the root of the library, if the crate has one.
    pub(super) modules: Vec<Module>,
    /// Number of lines, with comments and empty lines.
    pub(super) lines: usize,
    pub(super) tokens: usize,
}

/// Reads the crates, each on a thread of its own.
pub(super) fn read(members: &[Member]) -> Result<Vec<Crate>> {
    thread::scope(|scope| {
        let threads: Vec<_> = members
            .iter()
            .map(|member| scope.spawn(|| Crate::read(&member.name, &member.roots)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))?)
            .collect()
    })
}

/// A file with modules: the one that it is, and inline ones.
struct SourceFile<'a> {
    path: &'a Path,
    /// The path below `src`, without extension.
    name: String,
    /// The positions of all tokens of the file.
    tokens: &'a [LineColumn],
}

impl Crate {
    pub(super) fn read(name: &str, roots: &[PathBuf]) -> Result<Self> {
        let mut sources = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        for root in roots {
            let directory = root.parent().context("a file without a directory")?;
            directory.clone_into(&mut sources.directory);
            sources.add_file(root, directory, None)?;
        }
        Ok(sources)
    }

    /// Returns the root above a module.
    pub(super) fn root_of(&self, mut module: usize) -> usize {
        while let Some(parent) = self.modules[module].parent {
            module = parent;
        }
        module
    }

    /// Returns the path of a module with the name of the crate, from the path of its file.
    pub(super) fn full_name(&self, file: &str) -> String {
        let module = file.strip_prefix("lib/").unwrap_or(file).replace('/', "::");
        format!("{}::{module}", self.name)
    }

    /// Adds the module that a file contains, and the modules inside, of which the files are in
    /// `children`. Returns its position.
    fn add_file(&mut self, path: &Path, children: &Path, parent: Option<usize>) -> Result<usize> {
        let context = || format!("cannot read {}", path.display());
        let text = fs::read_to_string(path).with_context(context)?;
        let stream: TokenStream = text
            .parse()
            .map_err(|e| anyhow!("{e}"))
            .with_context(context)?;
        let (stream, test_lines) = token::without_tests(stream);
        let tokens = token::positions(stream.clone());
        self.lines += text.lines().count() - test_lines;
        self.tokens += tokens.len();
        let syntax: syn::File = syn::parse2(stream).with_context(context)?;
        let name = path.strip_prefix(&self.directory).unwrap_or(path);
        let file = SourceFile {
            path,
            name: name.with_extension("").to_string_lossy().into_owned(),
            tokens: &tokens,
        };
        self.add_module(&file, &syntax.items, children, parent)
    }

    fn add_module(
        &mut self,
        file: &SourceFile,
        items: &[Item],
        children: &Path,
        parent: Option<usize>,
    ) -> Result<usize> {
        let position = self.modules.len();
        let mut module = Module::read(items, file.tokens);
        module.file = file.name.clone();
        module.parent = parent;
        self.modules.push(module);
        for item in items {
            if let Item::Mod(item) = item {
                let inside = self.add_child(file, item, children, position)?;
                self.modules[position].add_name(
                    &item.ident.to_string(),
                    &item.vis,
                    Meaning::Module(inside),
                );
            }
        }
        Ok(position)
    }

    fn add_child(
        &mut self,
        file: &SourceFile,
        item: &ItemMod,
        siblings: &Path,
        parent: usize,
    ) -> Result<usize> {
        let children = siblings.join(item.ident.to_string());
        match (&item.content, path_attribute(item)) {
            (Some((_, items)), _) => self.add_module(file, items, &children, Some(parent)),
            (None, None) => self.add_file(&children.with_extension("rs"), &children, Some(parent)),
            (None, Some(path)) => {
                let path = file.path.with_file_name(path);
                self.add_file(&path, &path.with_extension(""), Some(parent))
            }
        }
    }
}

/// Returns the value of `#[path = "…"]`.
fn path_attribute(item: &ItemMod) -> Option<String> {
    let attribute = item.attrs.iter().find(|a| a.path().is_ident("path"))?;
    match &attribute.meta.require_name_value().ok()?.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(path),
            ..
        }) => Some(path.value()),
        _ => None,
    }
}

/// Returns a library of these files: paths below `src`, each with its text.
#[cfg(test)]
pub(super) fn library(name: &str, files: &[(&str, &str)]) -> Crate {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    Crate::read(name, &[directory.path().join("lib.rs")]).expect("valid sources")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_tokens_of_tests_are_not_counted() {
        let with_tests = library(
            "a",
            &[
                ("lib.rs", "mod b;\n#[cfg(test)]\nmod tests;\n"),
                (
                    "b.rs",
                    "fn c() {}\n\n#[cfg(test)]\nmod tests {\n    fn d() {}\n}\n",
                ),
                ("tests.rs", "fn e() {}\n"),
            ],
        );
        assert_eq!((with_tests.lines, with_tests.tokens), (3, 9));
        assert_eq!(with_tests.modules.len(), 2);
    }

    #[test]
    fn modules_are_found_where_the_compiler_finds_them() {
        let sources = library(
            "a",
            &[
                ("lib.rs", "mod b;\nmod inline { mod c; }\n"),
                ("b.rs", "#[path = \"b/other.rs\"]\nmod d;\n"),
                ("b/other.rs", ""),
                ("inline/c.rs", ""),
            ],
        );
        let files: Vec<&str> = sources.modules.iter().map(|m| m.file.as_str()).collect();
        assert_eq!(files, ["lib", "b", "b/other", "lib", "inline/c"]);
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let error = Crate::read("a", &[directory.path().join("lib.rs")]).err();
        assert!(error.is_some_and(|error| error.to_string().contains("lib.rs")));
    }
}
