//! Finds the source of a skill and detects its language.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::error::{BuildError, Repr};
use crate::files;
use crate::language::Language;

/// The directory of a skill that holds its source.
pub(crate) const SOURCE_DIRECTORY: &str = "guest";
/// The possible names of a script's main file, in order of precedence.
const MAIN_FILE_STEMS: [&str; 3] = ["main", "index", "skill"];
/// The expected files, for messages.
const EXPECTED_FILES: &str =
    "guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py";

/// The source of a skill: its language, its directory and its entry files. [`find`](Self::find)
/// detects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The language.
    pub language: Language,
    /// The directory of the source, absolute and without symlinks.
    pub directory: PathBuf,
    /// The entry files, by name in the directory; for Rust, the name of the program.
    pub entries: Vec<String>,
}

/// The access of a build to the directory of a source, apart from reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceAccess {
    /// Start esbuild, componentize-qjs and componentize-py of its `node_modules` and `.venv`, which
    /// take precedence, and write Cargo's lock file, if there is none.
    Full,
    /// Start no program and write nothing, for checks.
    ReadOnly,
}

impl Source {
    /// Returns the name of the program, or the file that is built first.
    pub(crate) fn entry(&self) -> &str {
        self.entries.first().map(String::as_str).unwrap_or_default()
    }

    /// Finds the source of a skill in its `guest` directory (which may be a symlink), or in the
    /// directory itself if there is none.
    ///
    /// # Errors
    /// Fails if there is no source, if there are several languages and none is selected, or if a
    /// `Cargo.toml` does not define exactly one program.
    pub fn find(skill: &Path, chosen: Option<Language>) -> Result<Self, BuildError> {
        let absolute = skill
            .canonicalize()
            .map_err(|error| BuildError::io(skill, "resolve", error))?;
        let guest = absolute.join(SOURCE_DIRECTORY);
        let directory = match files::resolve_directory(&guest)? {
            Some(guest) if guest.is_dir() => guest,
            // A directory without `guest` is itself the source.
            _ => absolute,
        };
        let mut candidates = candidates(&files::file_names(&directory)?);
        candidates.retain(|(language, _)| chosen.is_none_or(|chosen| chosen == *language));
        match candidates.len() {
            0 => Err(Repr::NoSource {
                directory: skill.to_owned(),
                looked_for: expected_files(chosen),
            }
            .into()),
            1 => {
                let (language, entries) = candidates.remove(0);
                // Parsed only if it is used: with another language selected, it need not be valid.
                let entries = if language == Language::Rust {
                    vec![cargo_program(&directory.join("Cargo.toml"))?]
                } else {
                    entries
                };
                Ok(Self {
                    language,
                    directory,
                    entries,
                })
            }
            _ => {
                let languages = candidates
                    .into_iter()
                    .map(|(language, _)| language)
                    .collect();
                Err(Repr::AmbiguousLanguage {
                    directory: skill.to_owned(),
                    languages,
                }
                .into())
            }
        }
    }
}

fn expected_files(chosen: Option<Language>) -> String {
    chosen.map_or_else(
        || EXPECTED_FILES.to_owned(),
        |language| format!("{language} among {EXPECTED_FILES}"),
    )
}

/// Returns the languages that the file names indicate, with their entry files.
fn candidates(names: &[String]) -> Vec<(Language, Vec<String>)> {
    let has = |name: &str| names.iter().any(|known| known == name);
    let first = |candidates: &[String]| candidates.iter().find(|name| has(name)).cloned();
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.push((Language::Rust, vec!["Cargo.toml".to_owned()]));
    }
    // A `main.ts` with a `skill.js` is one program with a helper; two files that could both be the
    // main one are two languages.
    let scripts = MAIN_FILE_STEMS.map(|stem| {
        (
            first(&[format!("{stem}.js"), format!("{stem}.mjs")]),
            first(&[format!("{stem}.ts")]),
        )
    });
    if let Some((js, ts)) = scripts
        .into_iter()
        .find(|(js, ts)| js.is_some() || ts.is_some())
    {
        found.extend(js.map(|name| (Language::JavaScript, vec![name])));
        found.extend(ts.map(|name| (Language::TypeScript, vec![name])));
    }
    let c: Vec<String> = names
        .iter()
        .filter(|name| name.ends_with(".c"))
        .cloned()
        .collect();
    if !c.is_empty() {
        found.push((Language::C, c));
    }
    found.extend(
        first(&["app.py".to_owned(), "main.py".to_owned()])
            .map(|name| (Language::Python, vec![name])),
    );
    found
}

/// Reads the name of the program that a Rust package builds.
fn cargo_program(manifest: &Path) -> Result<String, BuildError> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Option<Named>,
        #[serde(default)]
        bin: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
    }
    let wrong = |reason: String| {
        BuildError::from(Repr::Manifest {
            path: manifest.to_owned(),
            reason,
        })
    };
    // Not through a symlink, whose target is not part of the source.
    let bytes = files::source_file(manifest)?;
    let parsed: Manifest =
        toml::from_slice(&bytes).map_err(|error| wrong(error.message().to_owned()))?;
    let name = match (parsed.bin.as_slice(), parsed.package) {
        ([one], _) => one.name.clone(),
        // Without a `[[bin]]` section the program has the name of the package.
        ([], Some(package)) => package.name,
        ([], None) => return Err(wrong("no `[package]` section".to_owned())),
        _ => {
            return Err(wrong(
                "the package has several programs, expected one".to_owned(),
            ));
        }
    };
    if is_file_name(&name) {
        Ok(name)
    } else {
        Err(wrong(format!(
            "invalid program name {name:?}: expected a file name"
        )))
    }
}

/// Returns true if a name refers to a file in the given directory. Cargo rejects others only when
/// it builds.
fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    // A backslash is a separator on other systems.
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
        && !name.contains('\\')
}
