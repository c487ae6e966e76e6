//! Versions of interpreters that a project chooses, among those that the user has installed with a
//! version manager.
//!
//! ```text
//! variable of the user, .python-version, .nvmrc, .node-version, .tool-versions, mise.toml
//!     --one word--> version --name of a directory--> ~/.pyenv/versions/VERSION/bin/python3
//! ```
//!
//! A project's files are text of others. Such a word selects an entry of a directory of the user,
//! and nothing else: it is not a path, and no manager is started. What is not installed changes
//! nothing.

use std::path::{Path, PathBuf};

use skills_runtime::{ScriptType, installed_program};
use toml_edit::{DocumentMut, Value};

use super::trusted_path::TrustedDirectories;
use crate::input;
use crate::process_environment::Environment;

/// Maximum size of a file of a project, in bytes.
const MAX_BYTES: u64 = 64 << 10;
/// Files that name versions of several tools.
const SHARED_FILES: [&str; 3] = [".tool-versions", "mise.toml", ".mise.toml"];
/// The word for the interpreter of the system.
const SYSTEM: &str = "system";

/// An interpreter of which a project can choose the version.
struct Tool {
    kind: ScriptType,
    program: &'static str,
    /// Its names in [`SHARED_FILES`].
    names: &'static [&'static str],
    variables: &'static [&'static str],
    files: &'static [&'static str],
    managers: &'static [Manager],
}

/// Where a version manager has its versions.
struct Manager {
    /// The variable that names its directory, and the default below the home directory.
    root: (&'static str, &'static str),
    versions: &'static str,
    programs: &'static str,
}

const fn manager(
    root: (&'static str, &'static str),
    versions: &'static str,
    programs: &'static str,
) -> Manager {
    Manager {
        root,
        versions,
        programs,
    }
}

const ASDF: (&str, &str) = ("ASDF_DATA_DIR", ".asdf");
const MISE: (&str, &str) = ("MISE_DATA_DIR", ".local/share/mise");

const TOOLS: [Tool; 2] = [
    Tool {
        kind: ScriptType::Python,
        program: "python3",
        names: &["python"],
        variables: &[
            "PYENV_VERSION",
            "ASDF_PYTHON_VERSION",
            "MISE_PYTHON_VERSION",
        ],
        files: &[".python-version"],
        managers: &[
            manager(("PYENV_ROOT", ".pyenv"), "versions", "bin"),
            manager(ASDF, "installs/python", "bin"),
            manager(MISE, "installs/python", "bin"),
        ],
    },
    Tool {
        kind: ScriptType::Node,
        program: "node",
        names: &["node", "nodejs"],
        variables: &["NODENV_VERSION", "ASDF_NODEJS_VERSION", "MISE_NODE_VERSION"],
        files: &[".nvmrc", ".node-version"],
        managers: &[
            manager(("NVM_DIR", ".nvm"), "versions/node", "bin"),
            manager(
                ("FNM_DIR", ".local/share/fnm"),
                "node-versions",
                "installation/bin",
            ),
            manager(("NODENV_ROOT", ".nodenv"), "versions", "bin"),
            manager(ASDF, "installs/nodejs", "bin"),
            manager(MISE, "installs/node", "bin"),
            manager(("VOLTA_HOME", ".volta"), "tools/image/node", "bin"),
        ],
    },
];

/// A choice of a version.
#[derive(Debug, PartialEq, Eq)]
struct Choice {
    /// The variable, or the file without its directory.
    origin: String,
    version: Result<String, Unreadable>,
}

/// Why a choice is not one.
#[derive(Debug, PartialEq, Eq)]
enum Unreadable {
    /// Its text is not the name of a version, such as `lts/*` or a path.
    NotAVersion,
    /// It is a symlink, too large, not regular or not text.
    File,
}

/// Returns the interpreters that the project chooses, and that the user has installed in
/// directories that no other user can change, each at most once.
pub(super) fn chosen(environment: &Environment) -> Vec<(ScriptType, PathBuf)> {
    let chosen = TOOLS.iter().filter_map(|tool| {
        let version = tool.choice(environment)?.version.ok()?;
        Some((tool.kind, tool.find(&version, environment)?))
    });
    chosen.collect()
}

/// Returns the program behind a shim of pyenv, nodenv or the like, `ROOT/shims/NAME`, for the
/// version that the project chooses; `None` if the path is not such a shim, or that version is not
/// installed.
pub(super) fn behind_shim(
    kind: ScriptType,
    shim: &Path,
    environment: &Environment,
) -> Option<PathBuf> {
    let directory = shim.parent().filter(|parent| parent.ends_with("shims"))?;
    let tool = TOOLS.iter().find(|tool| tool.kind == kind)?;
    let version = tool.choice(environment)?.version.ok()?;
    let versions = directory.parent()?.join("versions");
    installed_program(&versions, "bin", &version, shim.file_name()?.to_str()?)
}

/// Returns why the version that the project chooses for scripts of a type is not used; `None` if it
/// chooses none or it is used, or if `default`, the interpreter that is used instead, is of that
/// version.
pub(crate) fn reason_against(
    kind: ScriptType,
    default: Option<&Path>,
    environment: &Environment,
) -> Option<String> {
    let tool = TOOLS.iter().find(|tool| tool.kind == kind)?;
    let Choice { origin, version } = tool.choice(environment)?;
    let cause = match version {
        Ok(version) if tool.find(&version, environment).is_some() => return None,
        Ok(version) if default.is_some_and(|default| tool.is_version_of(default, &version)) => {
            return None;
        }
        Ok(version) => format!(
            "{} {version} is not installed with a version manager in a directory that only you can change",
            kind.as_str()
        ),
        Err(Unreadable::NotAVersion) => "it does not name a version".to_owned(),
        Err(Unreadable::File) => {
            format!("it is not a text file of at most {} KiB", MAX_BYTES >> 10)
        }
    };
    Some(format!("the version of `{origin}` is not used: {cause}"))
}

impl Tool {
    /// Returns the first choice: that of a variable of the user, else that of the innermost
    /// directory of the project that has one.
    fn choice(&self, environment: &Environment) -> Option<Choice> {
        let of_user = self.variables.iter().find_map(|name| {
            let value = environment.variable(name)?.to_str()?;
            // pyenv takes several.
            let word = value.split([':', ' ']).next()?;
            choice(name, word)
        });
        let project = environment.project_dirs().iter().rev();
        of_user
            .or_else(|| {
                project
                    .flat_map(|directory| {
                        let files = self.files.iter().chain(&SHARED_FILES);
                        files.map(move |name| (directory, *name))
                    })
                    .find_map(|(directory, name)| self.choice_of_file(directory, name))
            })
            .filter(|choice| choice.version.as_deref() != Ok(SYSTEM))
    }

    fn choice_of_file(&self, directory: &Path, name: &str) -> Option<Choice> {
        let path = directory.join(name);
        let found = path.symlink_metadata().ok()?;
        // A link could lead to any file of the user.
        let text = (!found.is_symlink())
            .then(|| input::read_text_file(&path, MAX_BYTES).ok())
            .flatten();
        let Some(text) = text else {
            return Some(Choice {
                origin: name.to_owned(),
                version: Err(Unreadable::File),
            });
        };
        let word = match name {
            ".tool-versions" => self.word_of_tool_versions(&text)?,
            _ if name.ends_with(".toml") => self.word_of_mise(&text)?,
            _ => first_word(&text)?,
        };
        choice(name, &word)
    }

    fn word_of_tool_versions(&self, text: &str) -> Option<String> {
        let lines = text
            .lines()
            .map(|line| line.split('#').next().unwrap_or(line));
        let mut words = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.find_map(|words| match words[..] {
            [tool, version, ..] if self.names.contains(&tool) => Some(version.to_owned()),
            _ => None,
        })
    }

    /// Returns the first version of `[tools]`: a text, the first of a list, or `version` of a
    /// table.
    fn word_of_mise(&self, text: &str) -> Option<String> {
        let file: DocumentMut = text.parse().ok()?;
        let tools = file.get("tools")?;
        let item = self.names.iter().find_map(|name| tools.get(name))?;
        let word = match item.as_array() {
            Some(list) => word_of_value(list.get(0)?),
            None => item.get("version").unwrap_or(item).as_str(),
        };
        word.map(str::to_owned)
    }

    /// Finds the program of a version in the directories of the version managers.
    fn find(&self, version: &str, environment: &Environment) -> Option<PathBuf> {
        self.managers.iter().find_map(|manager| {
            let (variable, below_home) = manager.root;
            let root = environment
                .path(variable)
                .or_else(|| Some(environment.home()?.join(below_home)))?;
            let versions = root.join(manager.versions);
            let found = installed_program(&versions, manager.programs, version, self.program)?;
            let directory = found.parent()?.to_owned();
            TrustedDirectories::new(environment)
                .contains(&directory)
                .then_some(found)
        })
    }

    /// Returns true if the name of a program says that it is of this version, such as `python3.12`.
    fn is_version_of(&self, program: &Path, version: &str) -> bool {
        let Some(name) = program.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let own = name.strip_prefix(self.program.trim_end_matches('3'));
        let wanted: Vec<&str> = version.split('.').take(2).collect();
        own.is_some_and(|own| own == wanted.join("."))
    }
}

fn choice(origin: &str, word: &str) -> Option<Choice> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+@".contains(c);
    // As `installed_program` checks it, so that a message names what is wrong with it.
    let is_version = word.len() <= 128 && !word.starts_with('.') && word.chars().all(is_plain);
    (!word.is_empty()).then(|| Choice {
        origin: origin.to_owned(),
        version: if is_version {
            Ok(word.to_owned())
        } else {
            Err(Unreadable::NotAVersion)
        },
    })
}

fn word_of_value(value: &Value) -> Option<&str> {
    match value.as_inline_table() {
        Some(table) => table.get("version")?.as_str(),
        None => value.as_str(),
    }
}

/// Returns the first word that is not part of a comment.
fn first_word(text: &str) -> Option<String> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or(line));
    let mut words = lines.flat_map(str::split_whitespace);
    words.next().map(str::to_owned)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
mod tests {
    use super::*;

    fn words(name: &str, text: &str) -> [Option<Result<String, Unreadable>>; 2] {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(name), text).unwrap();
        [0, 1].map(|tool| {
            let choice = TOOLS[tool].choice_of_file(directory.path(), name)?;
            Some(choice.version)
        })
    }

    #[test]
    fn each_file_names_a_version() {
        let version = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(
            words(".python-version", "# x\n 3.11.7 3.9\n")[0],
            version("3.11.7")
        );
        assert_eq!(words(".nvmrc", "v18.2\r\n")[1], version("v18.2"));
        let both = "nodejs 20.1.0 18.0.0 # x\n#python 2\npython   3.12\nruby 3\n";
        assert_eq!(
            words(".tool-versions", both),
            [version("3.12"), version("20.1.0")]
        );
        for text in [
            "[tools]\npython = '3.12'\nnode = '20'\n",
            "[tools]\npython = ['3.12', '3.11']\nnode = {version = '20'}\n",
            "[tools]\npython = [{version = '3.12'}]\nnode = '20'\n[env]\nX = 'y'\n",
        ] {
            assert_eq!(
                words("mise.toml", text),
                [version("3.12"), version("20")],
                "{text}"
            );
        }
        for (name, text) in [
            (".python-version", ""),
            (".nvmrc", "# only a comment\n"),
            (".tool-versions", "ruby 3\npython\n"),
            ("mise.toml", "[tools]\npython = 3\n"),
            ("mise.toml", "not TOML"),
            ("mise.toml", "[tools]\npython = []\n"),
        ] {
            assert_eq!(words(name, text), [None, None], "{name} {text}");
        }
    }

    #[test]
    fn text_that_is_no_version_is_never_a_path() {
        let not_a_version = || Some(Err(Unreadable::NotAVersion));
        for text in [
            "../../x",
            "/etc/passwd",
            "lts/*",
            "..",
            ".hidden",
            "3.11\\x",
            "3.11;id",
            "$(id)",
            "3.11\u{202e}",
            &"1".repeat(129),
        ] {
            assert_eq!(words(".python-version", text)[0], not_a_version(), "{text}");
            let tools = words(".tool-versions", &format!("python {text}"));
            assert_eq!(tools[0], not_a_version(), "{text}");
        }
        let large = words(".python-version", &" ".repeat(1 << 20));
        assert_eq!(large[0], Some(Err(Unreadable::File)));
        assert_eq!(words(".nvmrc", "\0\u{7f}")[1], not_a_version());
    }
}
