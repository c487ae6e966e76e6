//! A module of a crate as data: the names that it defines, and the paths that it uses.

use std::collections::BTreeMap;

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

/// The words of a path, such as `crate`, `a` and `B`.
pub(super) type Path = Vec<String>;

/// A module, without the items that only tests compile.
#[derive(Default)]
pub(super) struct Module {
    /// The file that contains the module, relative to the sources, without extension. An inline
    /// module has the file around it.
    pub(super) file: String,
    /// Position of the module around this one; a root has none.
    pub(super) parent: Option<usize>,
    /// The names of this module. Conditional compilation and the namespaces of types, values and
    /// modules give some more than one meaning.
    pub(super) names: BTreeMap<String, Vec<Name>>,
    /// Modules all names of which are imported, with their visibility.
    pub(super) globs: Vec<Glob>,
    /// The paths of two and more words that code, macros and imports contain.
    pub(super) used_paths: Vec<Path>,
    /// The types that have an `impl` of no trait here, with repetitions.
    pub(super) inherent_impls: Vec<Path>,
    /// Number of tokens of each function and method that has a body, from `fn` to the last brace.
    pub(super) functions: Vec<usize>,
}

/// A name in a module.
pub(super) struct Name {
    pub(super) is_public: bool,
    pub(super) meaning: Meaning,
}

pub(super) enum Meaning {
    /// A type or a trait that is defined here.
    Type,
    /// A function, constant, static or macro that is defined here.
    Value,
    /// Position of a module.
    Module(usize),
    Import(Path),
}

pub(super) struct Glob {
    pub(super) is_public: bool,
    pub(super) path: Path,
}

impl Module {
    /// Reads everything but the modules inside, which have names of their own.
    pub(super) fn read(items: &[Item], tokens: &[LineColumn]) -> Self {
        let mut reader = Reader {
            module: Self::default(),
            tokens,
        };
        for item in items {
            reader.define(item);
            reader.visit_item(item);
        }
        reader.module
    }

    pub(super) fn add_name(&mut self, name: &str, visibility: &Visibility, meaning: Meaning) {
        let is_public = matches!(visibility, Visibility::Public(_));
        self.names
            .entry(name.to_owned())
            .or_default()
            .push(Name { is_public, meaning });
    }
}

struct Reader<'a> {
    module: Module,
    /// The positions of all tokens of the file.
    tokens: &'a [LineColumn],
}

impl Reader<'_> {
    fn define(&mut self, item: &Item) {
        let (name, visibility, meaning) = match item {
            Item::Enum(item) => (&item.ident, &item.vis, Meaning::Type),
            Item::Struct(item) => (&item.ident, &item.vis, Meaning::Type),
            Item::Trait(item) => (&item.ident, &item.vis, Meaning::Type),
            Item::Type(item) => (&item.ident, &item.vis, Meaning::Type),
            Item::Union(item) => (&item.ident, &item.vis, Meaning::Type),
            Item::Const(item) => (&item.ident, &item.vis, Meaning::Value),
            Item::Fn(item) => (&item.sig.ident, &item.vis, Meaning::Value),
            Item::Static(item) => (&item.ident, &item.vis, Meaning::Value),
            Item::Macro(item) => match &item.ident {
                Some(name) => (name, &Visibility::Inherited, Meaning::Value),
                None => return,
            },
            _ => return,
        };
        self.module.add_name(&name.to_string(), visibility, meaning);
    }

    /// Adds the imports of a tree that starts with a path.
    fn import(&mut self, mut path: Path, tree: &UseTree, visibility: &Visibility) {
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(path, &tree.tree, visibility);
            }
            UseTree::Group(tree) => {
                for tree in &tree.items {
                    self.import(path.clone(), tree, visibility);
                }
            }
            UseTree::Glob(_) => {
                let is_public = matches!(visibility, Visibility::Public(_));
                self.module.globs.push(Glob { is_public, path });
            }
            UseTree::Name(tree) if tree.ident == "self" => {
                let name = path.last().cloned().unwrap_or_default();
                self.import_as(&name, path, visibility);
            }
            UseTree::Name(tree) => {
                path.push(tree.ident.to_string());
                self.import_as(&tree.ident.to_string(), path, visibility);
            }
            UseTree::Rename(tree) => {
                if tree.ident != "self" {
                    path.push(tree.ident.to_string());
                }
                self.import_as(&tree.rename.to_string(), path, visibility);
            }
        }
    }

    fn import_as(&mut self, name: &str, path: Path, visibility: &Visibility) {
        self.module.used_paths.push(path.clone());
        self.module
            .add_name(name, visibility, Meaning::Import(path));
    }

    fn count_function(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let start = signature.fn_token.span.start();
        let end = body.brace_token.span.close().end();
        let before = |position: LineColumn| self.tokens.partition_point(|token| *token < position);
        let count = before(end) - before(start);
        self.module.functions.push(count);
    }

    /// Adds the paths in the arguments of a macro, which have no syntax yet.
    fn add_paths_of_macro(&mut self, stream: TokenStream) {
        let mut path = Path::new();
        let mut colons = 0;
        for tree in stream {
            match tree {
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                }
                TokenTree::Group(group) => {
                    self.add_path(std::mem::take(&mut path));
                    self.add_paths_of_macro(group.stream());
                }
                _ => self.add_path(std::mem::take(&mut path)),
            }
            colons = 0;
        }
        self.add_path(path);
    }

    fn add_path(&mut self, path: Path) {
        if path.len() > 1 {
            self.module.used_paths.push(path);
        }
    }
}

fn words(path: &syn::Path) -> Path {
    path.segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect()
}

impl<'ast> Visit<'ast> for Reader<'_> {
    // A module of its own.
    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // With a leading `::` the path starts with another crate.
        if item.leading_colon.is_none() {
            self.import(Path::new(), &item.tree, &item.vis);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(path)) = (&item.trait_, &*item.self_ty) {
            self.module.inherent_impls.push(words(&path.path));
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.count_function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.count_function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.count_function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.add_path(words(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.add_paths_of_macro(call.tokens.clone());
        visit::visit_macro(self, call);
    }
}
