//! Packages that the scripts of a skill import.

use std::collections::BTreeSet;

use crate::files::ReadFile;
use crate::listed::{ListedPackage, Registry};
use crate::module_names::{
    is_at_or_below, is_shared_namespace, module_of_package, package_of_module,
};

/// The directory with the sources of WebAssembly modules. What they import is built into the module,
/// and some of it is part of `skills build`.
const MODULE_SOURCES: &str = "guest/";
/// Maximum number of scripts that are read.
const MAX_SCRIPTS: usize = 128;
/// Maximum number of lines of a script that are read.
const MAX_LINES: usize = 20_000;
/// Maximum number of bytes of a line. Longer ones are not written by hand.
const MAX_LINE_BYTES: usize = 1_024;
/// Maximum number of packages.
const MAX_PACKAGES: usize = 64;
/// The quotes of strings of Python with more than one line.
const TRIPLE_QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// Returns the packages of the modules that scripts import, without those of the interpreters, of the
/// skill itself and of sources of WebAssembly modules (`guest/`); at most 64, in the order of the
/// files. `paths` are the files of the skill, and `read` reads one of them.
///
/// A module is assumed to belong to the package of its name, apart from known exceptions such as
/// `PIL`, so the result is for a person to accept.
#[must_use]
pub fn imported_packages(paths: &[String], read: &ReadFile<'_>) -> Vec<ListedPackage> {
    let local: BTreeSet<&str> = paths.iter().flat_map(|path| local_names(path)).collect();
    let scripts = paths
        .iter()
        .filter_map(|path| Some((path, registry_of(path)?)));
    let mut names = BTreeSet::new();
    let mut packages = Vec::new();
    for (path, registry) in scripts.take(MAX_SCRIPTS) {
        let modules = match (read(path), registry) {
            (Some(text), Registry::Pypi) => python_modules(&text),
            (Some(text), Registry::Npm) => node_modules(&text),
            (None, _) => continue,
        };
        for module in modules {
            let top = module.split('.').next().unwrap_or(&module);
            let is_local = registry == Registry::Pypi && local.contains(top);
            let package = (!is_local).then(|| package_of_module(registry, &module));
            packages.extend(package.flatten().filter(|new| names.insert(new.name())));
        }
    }
    packages.truncate(MAX_PACKAGES);
    packages
}

/// A package that a Python file of a skill imports.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedPackage {
    /// The package, in any version.
    pub package: ListedPackage,
    /// The module that the package has to contain, dotted for one in a shared namespace.
    pub module: String,
    /// The first file that imports it, as a path in the skill.
    pub file: String,
}

/// Returns the package that a Python program lacks, if it is exactly one: `reported` is the module or
/// the package that its output names, which can be anything, and a Python file of the skill has to import
/// it. Neither a module of the interpreter nor one of the skill is from a package.
#[must_use]
pub fn imported_package(
    paths: &[String],
    read: &ReadFile<'_>,
    reported: &str,
) -> Option<ImportedPackage> {
    let mut found: Vec<ImportedPackage> = Vec::new();
    for imported in imported_python_packages(paths, read) {
        if imported.is_named(reported)
            && found
                .iter()
                .all(|known| known.package.name() != imported.package.name())
        {
            found.push(imported);
        }
    }
    match <[_; 1]>::try_from(found) {
        Ok([only]) => Some(only),
        Err(_) => None,
    }
}

/// Returns the packages of the modules that Python files of a skill import, each with every module and
/// file.
#[must_use]
pub fn imported_python_packages(paths: &[String], read: &ReadFile<'_>) -> Vec<ImportedPackage> {
    let local: BTreeSet<&str> = paths.iter().flat_map(|path| local_names(path)).collect();
    let is_python = |path: &&String| registry_of(path) == Some(Registry::Pypi);
    let mut found = Vec::new();
    for path in paths.iter().filter(is_python).take(MAX_SCRIPTS) {
        let modules = read(path).map_or_else(Vec::new, |text| python_modules(&text));
        for module in modules {
            let top = module.split('.').next().unwrap_or(&module);
            let package = package_of_module(Registry::Pypi, &module);
            found.extend(
                package
                    .filter(|_| !local.contains(top))
                    .map(|package| ImportedPackage {
                        package,
                        module: module_of_package(&module).to_owned(),
                        file: path.clone(),
                    }),
            );
        }
    }
    found
}

impl ImportedPackage {
    /// Returns true if a name that a program reports is that of the module or of the package.
    fn is_named(&self, reported: &str) -> bool {
        is_at_or_below(&self.module, reported)
            || is_at_or_below(reported, &self.module)
            || ListedPackage::of_registry(Registry::Pypi, reported, "settings")
                .is_ok_and(|reported| reported.name() == self.package.name())
    }
}

/// Returns the names by which scripts of a skill import one of its files: its directories and its
/// name without the extension.
fn local_names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(|part| {
        let is_compiled = part.ends_with(".so") || part.ends_with(".pyd");
        let stem = [".py", ".pyi", ".pyc", "-stubs"]
            .iter()
            .find_map(|suffix| part.strip_suffix(suffix));
        match part.split_once('.') {
            Some((name, _)) if is_compiled => name,
            _ => stem.unwrap_or(part),
        }
    })
}

fn registry_of(path: &str) -> Option<Registry> {
    if path.starts_with(MODULE_SOURCES) {
        return None;
    }
    match path.rsplit_once('.')?.1 {
        "py" => Some(Registry::Pypi),
        "js" | "mjs" | "cjs" | "ts" => Some(Registry::Npm),
        _ => None,
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take(MAX_LINES)
        .filter(|line| line.len() < MAX_LINE_BYTES)
        .map(str::trim)
}

/// Returns the modules in `import` statements, also those in functions.
fn python_modules(text: &str) -> Vec<String> {
    let mut modules = Vec::new();
    let mut open_quote = None;
    for line in lines(text) {
        // Documentation in a string can begin like a statement.
        let is_in_string = open_quote.is_some();
        open_quote = quote_after(line, open_quote);
        if is_in_string {
            continue;
        }
        if let Some(rest) = line.strip_prefix("from ") {
            let Some((module, names)) = rest.split_once(" import ") else {
                continue;
            };
            let Some(module) = python_name(module) else {
                continue;
            };
            if is_shared_namespace(&module) {
                let names = names.trim_matches(['(', ')', ' ']).split(',');
                let names = names.filter_map(|name| python_name(name.split(" as ").next()?));
                modules.extend(names.map(|name| format!("{module}.{name}")));
            }
            modules.push(module);
        } else if let Some(rest) = line.strip_prefix("import ") {
            let statement = rest.split(['#', ';']).next().unwrap_or(rest);
            let listed = statement.split(',');
            modules.extend(listed.filter_map(|module| python_name(module.split(" as ").next()?)));
        }
    }
    modules
}

/// Returns the triple quote that is open after a line.
fn quote_after(line: &str, open: Option<&'static str>) -> Option<&'static str> {
    let (mut open, mut rest) = (open, line);
    loop {
        let (next, after) = match open {
            Some(quote) => match rest.split_once(quote) {
                Some((_, after)) => (None, after),
                None => return open,
            },
            None => {
                let (quote, after) = opened_quote(rest)?;
                (Some(quote), after)
            }
        };
        open = next;
        rest = after;
    }
}

/// Returns the first triple quote that is not in a comment, and the text after it.
fn opened_quote(text: &str) -> Option<(&'static str, &str)> {
    let found = TRIPLE_QUOTES
        .iter()
        .filter_map(|quote| Some((text.find(quote)?, *quote)));
    let (position, quote) = found.min()?;
    let is_comment = text[..position].contains('#');
    (!is_comment).then(|| (quote, &text[position + quote.len()..]))
}

/// Returns a dotted name; `None` for a relative import and for everything else.
fn python_name(text: &str) -> Option<String> {
    let name = text.trim();
    let is_name = |part: &str| {
        let is_character = |c: char| c.is_alphanumeric() || c == '_';
        !part.is_empty() && part.chars().all(is_character) && !part.starts_with(char::is_numeric)
    };
    name.split('.').all(is_name).then(|| name.to_owned())
}

/// Returns the modules of `import`, `export … from` and `require`, without files.
fn node_modules(text: &str) -> Vec<String> {
    let is_code = |line: &&str| !line.starts_with(['*', '/']);
    let modules = lines(text).filter(is_code).flat_map(modules_of_line);
    let is_package = |name: &&str| !name.starts_with(['.', '/', '#']) && !name.contains(':');
    modules.filter(is_package).map(str::to_owned).collect()
}

fn modules_of_line(line: &str) -> impl Iterator<Item = &str> {
    let starts = ["import", "export", "}"];
    let is_statement = starts.iter().any(|start| line.starts_with(start));
    let of_statement = [" from ", "import "]
        .into_iter()
        .filter(move |_| is_statement)
        .find_map(|before| quoted(line.split_once(before)?.1));
    let of_calls = ["require(", "import("]
        .into_iter()
        .flat_map(|call| line.split(call).skip(1).filter_map(quoted));
    of_statement.into_iter().chain(of_calls)
}

/// Returns the text in quotes with which a text begins.
fn quoted(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    text[1..].split_once(quote).map(|(quoted, _)| quoted)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn imported(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            let file = files.iter().find(|(known, _)| *known == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let packages = imported_packages(&paths, &read);
        packages.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn modules_of_python_scripts_belong_to_packages() {
        let script = r#"
"""Reads.

import documentation
from the file import it
"""
import os, sys, pypdf as p  # x
import lxml.etree
from PIL import Image
from .base import B
from office.soffice import run
from helpers import x
import _private
def f():
    import pdfplumber; print()
s = '''a'''
import yaml
# import not_code """
important = 1
from where they are
"#;
        let files = [
            ("scripts/a.py", script),
            ("scripts/office/soffice.py", "import pypdf\n"),
            ("scripts/helpers.py", "import google.cloud\n"),
            ("README.md", "import markdown\n"),
            ("guest/main.js", "import { input } from \"skill\";\n"),
        ];
        let expected = ["pypdf", "lxml", "pillow", "pdfplumber", "pyyaml"];
        assert_eq!(imported(&files), expected);
    }

    #[test]
    fn modules_of_node_scripts_belong_to_packages() {
        let script = r#"#!/usr/bin/env node
/**
 * import x from 'documentation'
 */
import * as vega from 'vega';
import { a,
  b
} from "@scope/name/file";
import 'side-effect'
import fs from 'node:fs';
const sharp = require('sharp'), own = require('./own'), path = require("path");
// require('not-code')
const later = await import('later');
export { c } from 'exported';
console.log(' from here');
"#;
        let expected = [
            "npm:vega",
            "npm:@scope/name",
            "npm:side-effect",
            "npm:sharp",
            "npm:later",
            "npm:exported",
        ];
        assert_eq!(imported(&[("scripts/chart.mjs", script)]), expected);
    }

    #[test]
    fn a_reported_module_is_a_package_only_if_a_file_imports_it() {
        let files = [
            (
                "scripts/a.py",
                "import tabulate, lxml.etree, helpers\nfrom google.cloud import storage, vision\n\
                 from google import genai\nimport cv2, \u{ff50}andas, p\u{430}ndas\n\
                 try:\n    from rdkit import Chem\nexcept ImportError:\n    pass\n",
            ),
            ("scripts/typed/attrs-stubs/x.pyi", ""),
            ("scripts/b.py", "import attrs, bound\n"),
            ("vendor/helpers.pyi", ""),
            ("vendor/bound.cpython-312-x86_64-linux-gnu.so", ""),
        ];
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            let file = files.iter().find(|(known, _)| *known == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        let package = |reported| {
            let found = imported_package(&paths, &read, reported)?;
            assert_eq!(found.file, "scripts/a.py");
            Some(format!("{} {}", found.package, found.module))
        };
        for (reported, expected) in [
            ("tabulate", "tabulate tabulate"),
            ("lxml.etree", "lxml lxml"),
            ("cv2", "opencv-python-headless cv2"),
            ("opencv_python.headless", "opencv-python-headless cv2"),
            (
                "google.cloud.storage",
                "google-cloud-storage google.cloud.storage",
            ),
            ("google.genai", "google-genai google.genai"),
            ("rdkit", "rdkit rdkit"),
        ] {
            assert_eq!(package(reported).as_deref(), Some(expected));
        }
        // Not imported, of the skill, more than one, and names that only look like others.
        for reported in [
            "evil",
            "tab",
            "tabulate2",
            "helpers",
            "attrs",
            "bound",
            "google",
            "pandas",
            "p",
            "",
            "os",
            "etree",
        ] {
            assert_eq!(package(reported), None, "{reported}");
        }
    }

    /// The package has the module, and not what the statement imports from it.
    #[test]
    fn a_package_of_a_shared_namespace_has_the_module_of_the_table() {
        for (line, reported, expected) in [
            (
                "from azure.storage.blob import BlobServiceClient",
                "azure.storage",
                "azure-storage-blob azure.storage.blob",
            ),
            (
                "from azure.identity import DefaultAzureCredential",
                "azure",
                "azure-identity azure.identity",
            ),
            (
                "from google.protobuf.message import Message",
                "google.protobuf",
                "protobuf google.protobuf",
            ),
            (
                "from google.cloud.storage import Client",
                "google.cloud",
                "google-cloud-storage google.cloud.storage",
            ),
            (
                "from google.cloud import storage",
                "google",
                "google-cloud-storage google.cloud.storage",
            ),
            (
                "from ruamel.yaml import YAML",
                "ruamel",
                "ruamel.yaml ruamel.yaml",
            ),
            (
                "from mysql.connector import connect",
                "mysql",
                "mysql-connector-python mysql.connector",
            ),
            (
                "import snowflake.connector.errors",
                "snowflake",
                "snowflake-connector-python snowflake.connector",
            ),
        ] {
            let found =
                imported_package(&["a.py".to_owned()], &|_| Some(line.to_owned()), reported);
            let found = found.map(|found| format!("{} {}", found.package, found.module));
            assert_eq!(found.as_deref(), Some(expected), "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_script_is_read(text in r#"(import |from | import |require\(|'|"|"""|'''|#|\n|,|\.|[a-z]{1,3}|\PC){0,40}"#) {
            for path in ["a.py", "a.mjs"] {
                let packages = imported_packages(&[path.to_owned()], &|_| Some(text.clone()));
                prop_assert!(packages.len() <= MAX_PACKAGES);
            }
        }
    }
}
