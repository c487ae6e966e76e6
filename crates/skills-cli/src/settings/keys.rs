//! The keys of a settings file and their values.

use std::fmt;
use std::path::{Path, PathBuf};

use skills_runtime::ScriptType;
use toml_edit::{Document, Item, TableLike};

use super::definitions::{Check, Kind, SETTINGS, Setting};
use crate::words::{parse_script_type, unknown};

/// Start of a path in the home directory.
pub(crate) const HOME_PREFIX: &str = "~/";
/// The start of the names of settings of one skill.
const OF_SKILL: &str = "skills.NAME.";

/// A key that has a value.
#[derive(Debug, Clone)]
pub(crate) struct SettingKey {
    pub(crate) setting: &'static Setting,
    /// `NAME` of the setting.
    pub(super) skill: Option<String>,
    /// `KIND` of the setting.
    pub(super) script_type: Option<ScriptType>,
}

/// The key and the file that a value is from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(super) key: &'a SettingKey,
    pub(super) file: &'a Path,
}

impl Origin<'_> {
    /// Returns the skill; empty if the key is not of one.
    pub(super) fn skill(&self) -> String {
        self.key.skill.clone().unwrap_or_default()
    }
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingValue {
    Path(PathBuf),
    Paths(Vec<PathBuf>),
    /// A URL, or one of several words.
    Text(String),
    Texts(Vec<String>),
    /// Seconds of a timeout, MiB of memory.
    Number(u64),
    /// Whether hooks run, use is recorded, or a skill is enabled or pinned.
    Switch(bool),
}

/// The settings of one file.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub(super) values: Vec<(SettingKey, SettingValue)>,
    pub(super) problems: Vec<FileProblem>,
}

/// An unknown key or an invalid value.
#[derive(Debug)]
pub(super) struct FileProblem {
    /// The tables and the name of the key.
    pub(super) key: Vec<String>,
    /// The problem, with file and line.
    pub(super) message: String,
    /// The problem alone.
    pub(super) cause: String,
}

/// The directories that paths in a settings file refer to.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseDirs<'a> {
    /// The directory of relative paths.
    pub(super) base: &'a Path,
    /// The directory of `~/`, if it is known.
    pub(super) home: Option<&'a Path>,
}

impl BaseDirs<'_> {
    pub(super) fn resolve(self, text: &str) -> Result<PathBuf, &'static str> {
        let in_home = if text == "~" {
            Some("")
        } else {
            text.strip_prefix(HOME_PREFIX)
        };
        match (in_home, self.home) {
            (None, _) => Ok(self.base.join(text)),
            (Some(path), Some(home)) => Ok(home.join(path)),
            (Some(_), None) => Err("cannot resolve `~` without a home directory"),
        }
    }
}

impl SettingKey {
    /// Parses a key; the error describes the problem.
    pub(crate) fn parse(parts: &[&str]) -> Result<Self, String> {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.matches(parts)) {
            let value_of = |placeholder: &str| {
                let mut names = setting.name.split('.').zip(parts);
                names.find_map(|(name, part)| (name == placeholder).then_some(*part))
            };
            return Ok(Self {
                setting,
                skill: value_of("NAME").map(str::to_owned),
                script_type: value_of("KIND")
                    .map(|name| parse_script_type("key", name))
                    .transpose()?,
            });
        }
        Err(match parts {
            ["skills", _, other, ..] => unknown("key", other, &names_below(OF_SKILL)),
            [table @ ("interpreters" | "skills")] => format!("`{table}` is a table, not a value"),
            [other, ..] => unknown("key", other, &names_below("")),
            [] => "empty key".to_owned(),
        })
    }

    /// Parses a dotted key of the command line. Names of skills can contain dots.
    pub(crate) fn parse_dotted(text: &str) -> Result<Self, String> {
        let of_skill = text.strip_prefix("skills.").unwrap_or_default();
        let value = of_skill
            .rsplit_once('.')
            .filter(|(_, key)| names_below(OF_SKILL).contains(key) && *key != "interpreters");
        if let Some((name, key)) = value {
            return Self::parse(&["skills", name, key]);
        }
        if let Some((name, kind)) = of_skill.rsplit_once(".interpreters.") {
            return Self::parse(&["skills", name, "interpreters", kind]);
        }
        Self::parse(&text.split('.').collect::<Vec<_>>())
    }

    /// Returns true if the value is the path of an interpreter.
    pub(crate) fn is_interpreter(&self) -> bool {
        self.script_type.is_some()
    }

    /// Returns the tables and the name of the key.
    pub(crate) fn path(&self) -> Vec<String> {
        let parts = self.setting.name.split('.');
        let parts = parts.map(|part| match (part, &self.skill, self.script_type) {
            ("NAME", Some(skill), _) => skill,
            ("KIND", _, Some(kind)) => kind.as_str(),
            _ => part,
        });
        parts.map(str::to_owned).collect()
    }
}

impl Setting {
    /// Returns true if the parts of a key are those of the name.
    fn matches(&self, parts: &[&str]) -> bool {
        let mut names = self.name.split('.');
        let mut parts = parts.iter();
        let is_equal = |name: &str, part: &str| matches!(name, "NAME" | "KIND") || name == part;
        parts.all(|part| names.next().is_some_and(|name| is_equal(name, part)))
            && names.next().is_none()
    }

    /// Converts the value of a TOML file.
    fn parse_item(&self, item: &Item, directories: BaseDirs) -> Result<SettingValue, String> {
        let expected = || format!("expected {}", self.kind.expected());
        let accept = |check: &Check, text: &str| {
            let checked = (check.check)(text);
            checked.map_err(|cause| cause.unwrap_or_else(expected))
        };
        Ok(match &self.kind {
            Kind::Path(_) => {
                let text = item.as_str().ok_or_else(expected)?;
                SettingValue::Path(directories.resolve(text)?)
            }
            Kind::Paths(_) => {
                let texts = texts(item).ok_or_else(expected)?;
                let paths = texts.iter().map(|text| directories.resolve(text));
                SettingValue::Paths(paths.collect::<Result<_, _>>()?)
            }
            Kind::Text(check, _) => {
                let text = item.as_str().ok_or_else(expected)?;
                accept(check, text)?;
                SettingValue::Text(text.to_owned())
            }
            Kind::Texts(check, _) => {
                let texts = texts(item).ok_or_else(expected)?;
                texts.iter().try_for_each(|text| accept(check, text))?;
                SettingValue::Texts(texts)
            }
            Kind::Number(range, ..) => {
                let number = item.as_integer().map(u64::try_from);
                let number = number.and_then(Result::ok);
                let number = number.filter(|number| range.contains(number));
                SettingValue::Number(number.ok_or_else(expected)?)
            }
            Kind::Switch(_) => SettingValue::Switch(item.as_bool().ok_or_else(expected)?),
        })
    }
}

/// Returns the texts of a list; `None` if there is another value.
fn texts(item: &Item) -> Option<Vec<String>> {
    let texts = item.as_array()?.iter();
    texts.map(|text| text.as_str().map(str::to_owned)).collect()
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path().join("."))
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Paths(paths) => {
                let shown: Vec<String> = paths
                    .iter()
                    .map(|path| path.display().to_string())
                    .collect();
                f.write_str(&shown.join(", "))
            }
            Self::Text(text) => f.write_str(text),
            Self::Texts(texts) => f.write_str(&texts.join(", ")),
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(is_on) => write!(f, "{is_on}"),
        }
    }
}

impl FileSettings {
    /// Parses a file. Unknown keys and invalid values are problems, not errors: a file of a later
    /// version still applies.
    ///
    /// # Errors
    /// Fails if the text is not TOML, with the line.
    pub(super) fn parse(text: &str, path: &Path, directories: BaseDirs) -> Result<Self, String> {
        let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
        let document = Document::parse(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_at(span.start));
            format!("{}:{line}: {}", path.display(), error.message())
        })?;
        let mut settings = Self::default();
        for (parts, offset, item) in leaves(document.as_table()) {
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            let parsed = SettingKey::parse(&names).and_then(|key| {
                let value = key.setting.parse_item(item, directories);
                let value = value.map_err(|expected| format!("invalid `{key}`: {expected}"))?;
                Ok((key, value))
            });
            match parsed {
                Ok(value) => settings.values.push(value),
                Err(cause) => {
                    let line = line_at(offset);
                    settings.problems.push(FileProblem {
                        key: parts,
                        message: format!("{}:{line}: {cause}", path.display()),
                        cause,
                    });
                }
            }
        }
        Ok(settings)
    }
}

/// Returns the keys of a table and of the tables in it that are not tables, each with its position.
fn leaves(table: &dyn TableLike) -> Vec<(Vec<String>, usize, &Item)> {
    let mut all = Vec::new();
    for (name, item) in table.iter() {
        let span = table.key(name).and_then(toml_edit::Key::span);
        let offset = span.or_else(|| item.span()).map_or(0, |span| span.start);
        match item.as_table_like() {
            Some(below) => {
                all.extend(leaves(below).into_iter().map(|(mut parts, offset, item)| {
                    parts.insert(0, name.to_owned());
                    (parts, offset, item)
                }))
            }
            None => all.push((vec![name.to_owned()], offset, item)),
        }
    }
    all
}

/// Returns the names of tables and values below the start of a name, in order.
pub(super) fn names_below(start: &str) -> Vec<&'static str> {
    let below = SETTINGS
        .iter()
        .filter_map(|one| one.name.strip_prefix(start));
    let mut names: Vec<&str> = below.filter_map(|name| name.split('.').next()).collect();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    /// Lines of files, with names and values that fit together or not.
    fn file() -> impl Strategy<Value = String> {
        let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        let key = prop_oneof![select(names).prop_map(str::to_owned), "[a-zA-Z.\"-]{1,12}"];
        let value = prop_oneof![
            "true|false|-?[0-9]{1,6}",
            "\"[a-z~:/.-]{0,12}\"",
            "\\[\"[a-z~:/.-]{0,8}\"\\]",
            "\\PC{0,12}",
        ];
        let line = prop_oneof![
            (key, value).prop_map(|(key, value)| format!("{key} = {value}\n")),
            "\\[[a-zA-Z.]{0,12}\\]\n",
            "\\PC{0,20}\n",
        ];
        vec(line, 0..6).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn keys_of_any_file_are_parsed_again_and_problems_have_their_line(text in file()) {
            let directories = BaseDirs {
                base: "/base".as_ref(),
                home: Some("/home/user".as_ref()),
            };
            let parsed = FileSettings::parse(&text, "settings.toml".as_ref(), directories);
            let settings = parsed.unwrap_or_default();
            for (key, _) in &settings.values {
                let path = key.path();
                let parts: Vec<&str> = path.iter().map(String::as_str).collect();
                let again = SettingKey::parse(&parts).map(|key| key.path());
                prop_assert_eq!(again, Ok(path));
            }
            let lines = text.lines().count().max(1);
            for problem in &settings.problems {
                let line = problem.message.strip_prefix("settings.toml:");
                let line = line.and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
                let is_in_file = line.is_some_and(|line| (1..=lines).contains(&line));
                prop_assert!(is_in_file, "{}", problem.message);
            }
        }
    }
}
