//! Where a skill's source lies and which language it is in.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::error::{BuildError, Repr};
use crate::files;
use crate::language::Language;

/// The directory of a skill that holds its source.
pub(crate) const SOURCE_DIRECTORY: &str = "guest";
/// What the main file of a script may be called, the first first.
const MAIN_FILE_STEMS: [&str; 3] = ["main", "index", "skill"];
/// What is looked for, as people read it.
const EXPECTED_FILES: &str =
    "guest/Cargo.toml, guest/{main,index,skill}.{js,mjs,ts}, guest/*.c, guest/{app,main}.py";

/// A skill's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The language.
    pub language: Language,
    /// The directory of the source, absolute and without links.
    pub directory: PathBuf,
    /// The files that the build begins with, by their names in the directory; for Rust, the name of
    /// the program.
    pub entries: Vec<String>,
}

impl Source {
    /// Finds the source of a skill in its `guest` directory, wherever that leads, or in the
    /// directory itself when it has no such.
    ///
    /// # Errors
    /// When there is none, when there are several languages and none is chosen, or when a
    /// `Cargo.toml` names no single program.
    pub fn find(skill: &Path, chosen: Option<Language>) -> Result<Self, BuildError> {
        let absolute = skill
            .canonicalize()
            .map_err(|error| BuildError::io(skill, "cannot be found", error))?;
        let guest = absolute.join(SOURCE_DIRECTORY);
        let directory = match files::resolve_directory(&guest)? {
            Some(guest) if guest.is_dir() => guest,
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

/// Says which languages the names of files speak of, and where each begins.
fn candidates(names: &[String]) -> Vec<(Language, Vec<String>)> {
    let has = |name: &str| names.iter().any(|known| known == name);
    let first = |candidates: &[String]| candidates.iter().find(|name| has(name)).cloned();
    let mut found = Vec::new();
    if has("Cargo.toml") {
        found.push((Language::Rust, vec!["Cargo.toml".to_owned()]));
    }
    // A `main.ts` beside a `skill.js` is one program with a helper; two files that could both be
    // the main one are two languages.
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

/// Reads which program a Rust package makes.
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
    let bytes = files::source_file(manifest)?;
    let parsed: Manifest =
        toml::from_slice(&bytes).map_err(|error| wrong(error.message().to_owned()))?;
    let name = match (parsed.bin.as_slice(), parsed.package) {
        ([one], _) => one.name.clone(),
        ([], Some(package)) => package.name,
        ([], None) => return Err(wrong("it describes no package".to_owned())),
        _ => {
            return Err(wrong(
                "it makes several programs, and a skill is one".to_owned(),
            ));
        }
    };
    if is_file_name(&name) {
        Ok(name)
    } else {
        Err(wrong(format!(
            "the program's name {name:?} is not the name of a file"
        )))
    }
}

/// Whether a name leads to a file in the directory in which it is looked for. Cargo refuses others
/// only when it builds.
fn is_file_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
        && !name.contains('\\')
}
