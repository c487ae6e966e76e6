//! Paths of the user's home directory that the text of a script names.
//!
//! A program has a private home directory, and nothing observes that it looks for a file there. So the
//! text of the script says what it would need. Only names are read, as hints; nothing depends on them.

use std::path::Path;

use skills_sandbox::ScriptType;

use super::findings::{is_own_path, is_protected, kept_path, shared_length};
use super::program_messages::{WRITING_STATEMENTS, contains_any};

/// The most references of a script, and the most variables that are followed.
const MAX_REFERENCES: usize = 32;
/// Expressions for the home directory in shell, Python and Node scripts.
const HOME: [&str; 13] = [
    "~",
    "$HOME",
    "${HOME}",
    "Path.home()",
    "expanduser('~')",
    "expanduser(\"~\")",
    "os.homedir()",
    "homedir()",
    "environ['HOME']",
    "environ[\"HOME\"]",
    "getenv('HOME')",
    "getenv(\"HOME\")",
    "process.env.HOME",
];
/// Words of shell and Python statements that write a file or directory, in addition to
/// [`WRITING_STATEMENTS`].
const WRITING_COMMANDS: [&str; 4] = ["mkdir ", "touch ", "tee ", "sqlite3"];
/// Parts of names of files that hold keys.
const SECRETS: [&str; 13] = [
    "credential",
    "secret",
    "token",
    "passw",
    "private",
    "keychain",
    "keyring",
    "wallet",
    "cookie",
    "id_rsa",
    "id_ed25519",
    ".pem",
    ".key",
];
/// Names, without the dot, of files and directories in a home directory that hold keys.
const SECRET_DIRECTORIES: [&str; 17] = [
    "aws",
    "azure",
    "docker",
    "electrum",
    "gcloud",
    "gem",
    "gh",
    "gnupg",
    "kube",
    "mozilla",
    "netrc",
    "npmrc",
    "password-store",
    "pki",
    "pypirc",
    "ssh",
    "terraform.d",
];

/// A path of the home directory that a script names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HomeReference {
    /// The path, relative to the home directory.
    pub(super) path: String,
    /// Whether a statement with it writes.
    pub(super) is_written: bool,
    /// Whether it is more than the start of other paths.
    is_used: bool,
}

impl HomeReference {
    /// Returns what the script needs to write, relative to the home directory: the directory of a
    /// program, or a file. `None` for what other programs own, execute or trust.
    pub(super) fn writable(&self) -> Option<String> {
        let kept = kept_path(&self.path);
        (self.is_written && !is_protected(&kept) && is_own_path(&kept)).then_some(kept)
    }

    /// Returns true if reading the path may be suggested: not for what holds keys, for directories
    /// that many programs share, and for the whole directory of an agent.
    pub(super) fn is_readable(&self) -> bool {
        let path = Path::new(&self.path);
        let parts: Vec<String> = self.path.split('/').map(str::to_lowercase).collect();
        let is_secret = parts.iter().any(|part| {
            SECRET_DIRECTORIES.contains(&part.trim_start_matches('.'))
                || contains_any(part, &SECRETS)
        });
        let is_whole_protected = path.parent().is_none_or(|parent| {
            is_protected(&self.path) && !is_protected(&parent.to_string_lossy())
        });
        let depth = parts.len();
        let is_of_program =
            depth > shared_length(path) && (depth > 1 || self.path.starts_with('.'));
        !is_secret && !is_whole_protected && is_of_program
    }
}

/// A name that a script gives to a path.
struct Variable {
    name: String,
    path: String,
}

/// A place in a line that names a path: where it begins, and where the rest of the path begins.
struct Occurrence {
    start: usize,
    end: usize,
    /// The path so far, relative to the home directory.
    base: String,
}

/// Returns the paths of the home directory that a script names, each once.
pub(super) fn home_references(text: &str, script_type: ScriptType) -> Vec<HomeReference> {
    let mut variables: Vec<Variable> = Vec::new();
    let mut references: Vec<HomeReference> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !is_comment(line)) {
        let occurrences = occurrences(line, &variables, script_type);
        for occurrence in occurrences {
            let path = whole_path(line, &occurrence);
            let variable = assigned_name(&line[..occurrence.start]);
            add(
                &mut references,
                HomeReference {
                    is_written: is_writing(line, occurrence.start),
                    is_used: variable.is_none(),
                    path: path.clone(),
                },
            );
            if let Some(name) = variable
                && variables.len() < MAX_REFERENCES
                && !variables.iter().any(|variable| variable.name == name)
            {
                let name = name.to_owned();
                variables.push(Variable { name, path });
            }
        }
    }
    let is_start = |reference: &HomeReference| {
        references.iter().any(|other| {
            other.path != reference.path && Path::new(&other.path).starts_with(&reference.path)
        })
    };
    let kept = references
        .iter()
        .filter(|reference| reference.is_used || reference.is_written || !is_start(reference));
    kept.cloned().collect()
}

fn add(references: &mut Vec<HomeReference>, reference: HomeReference) {
    if reference.path.is_empty() {
        return;
    }
    let known = references
        .iter_mut()
        .find(|known| known.path == reference.path);
    if let Some(known) = known {
        known.is_written |= reference.is_written;
        known.is_used |= reference.is_used;
    } else if references.len() < MAX_REFERENCES {
        references.push(reference);
    }
}

fn is_comment(line: &str) -> bool {
    ["#", "//", "*", "/*"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Returns where a line names the home directory, or a variable with a path in it.
fn occurrences(line: &str, variables: &[Variable], script_type: ScriptType) -> Vec<Occurrence> {
    let of_home = HOME
        .iter()
        .flat_map(|name| find_all(line, name, String::new()));
    let of_variables = variables.iter().flat_map(|variable| {
        let names = if script_type == ScriptType::Shell {
            vec![
                format!("${}", variable.name),
                format!("${{{}}}", variable.name),
            ]
        } else {
            vec![variable.name.clone()]
        };
        let found = names
            .iter()
            .flat_map(|name| find_all(line, name, variable.path.clone()));
        found.collect::<Vec<_>>()
    });
    of_home.chain(of_variables).collect()
}

/// Returns the places of a name that is not a part of a longer one.
fn find_all(line: &str, name: &str, base: String) -> Vec<Occurrence> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let places = line
        .match_indices(name)
        .map(|(start, name)| (start, start + name.len()));
    let is_whole = |&(start, end): &(usize, usize)| {
        let before = line[..start].chars().next_back();
        let after = line[end..].chars().next();
        if name == "~" {
            return after == Some('/') && !before.is_some_and(|c| is_word(c) || "~/.$".contains(c));
        }
        let begins = !name.starts_with(is_word) || !before.is_some_and(is_word);
        begins && !(name.ends_with(is_word) && after.is_some_and(is_word))
    };
    places
        .filter(is_whole)
        .map(|(start, end)| Occurrence {
            start,
            end,
            base: base.clone(),
        })
        .collect()
}

/// Returns the path of an occurrence with what follows it: `/.a/b` in a string or in shell text,
/// `/ '.a' / 'b'`, `+ '/.a'`, and the further arguments of a function that joins paths. What is not
/// known, such as a variable, ends it.
fn whole_path(line: &str, occurrence: &Occurrence) -> String {
    let mut parts: Vec<&str> = occurrence
        .base
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    let is_joined = is_argument_of_join(&line[..occurrence.start]);
    let mut rest = &line[occurrence.end..];
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\'', '"', '`', ')', ']', '}']);
        let Some(joiner) = rest.chars().next() else {
            break;
        };
        if !(matches!(joiner, '/' | '+') || joiner == ',' && is_joined) {
            break;
        }
        let after = &rest[1..];
        let literal = after.trim_start();
        let (text, next) = match literal.chars().next() {
            Some(quote @ ('\'' | '"' | '`')) => {
                let inner = &literal[1..];
                let end = inner.find(quote).unwrap_or(inner.len());
                (&inner[..end], &inner[end..])
            }
            _ if joiner == '/' => {
                let end = after
                    .find(|c: char| !is_path_text(c))
                    .unwrap_or(after.len());
                (&after[..end], &after[end..])
            }
            _ => break,
        };
        let is_complete = add_parts(&mut parts, text, next);
        if !is_complete {
            break;
        }
        rest = next;
    }
    parts.join("/")
}

/// Adds the components of a text; returns false after one that is not known as a whole.
fn add_parts<'a>(parts: &mut Vec<&'a str>, text: &'a str, next: &str) -> bool {
    let continues = next.starts_with(['$', '{', '*', '%', '?', '<']);
    let mut names = text.split('/').filter(|name| !name.is_empty()).peekable();
    let mut added = 0;
    while let Some(name) = names.next() {
        let is_last = names.peek().is_none();
        if name == ".." {
            // Symlinks could lead anywhere.
            parts.clear();
            return false;
        }
        let is_open = is_last && continues && !text.ends_with('/');
        if is_open || name == "." || !name.chars().all(is_path_text) {
            return false;
        }
        parts.push(name);
        added += 1;
    }
    added > 0 && !continues
}

fn is_path_text(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-@/".contains(c)
}

/// Returns true if the next expression is an argument of a function that joins paths.
fn is_argument_of_join(before: &str) -> bool {
    let function = before.trim_end_matches(|c: char| c.is_alphanumeric() || "_.".contains(c));
    ["join(", "resolve("]
        .iter()
        .any(|name| function.ends_with(name))
}

/// Returns the variable to which a statement assigns what follows.
fn assigned_name(before: &str) -> Option<&str> {
    let (left, right) = before.split_once('=')?;
    let is_comparison = right.starts_with('=') || left.ends_with(['!', '<', '>', '=', '+']);
    let is_left = |c: char| c.is_alphanumeric() || "_ .:[]".contains(c);
    if is_comparison || !left.chars().all(is_left) {
        return None;
    }
    let left = left.split(':').next()?.trim_end();
    let name = left.rsplit([' ', '.']).next()?;
    (name.len() > 1).then_some(name)
}

/// Returns true if a statement writes what it names at `start`.
fn is_writing(line: &str, start: usize) -> bool {
    let before = line[..start].trim_end_matches([' ', '"', '\'', '{', '$']);
    before.ends_with('>')
        || contains_any(line, &WRITING_STATEMENTS)
        || contains_any(line, &WRITING_COMMANDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script_type: ScriptType, text: &str, expected: &[&str]) {
        let found = home_references(text, script_type);
        let names = found.iter().map(|reference| {
            let mark = if reference.is_written { "write:" } else { "" };
            format!("{mark}{}", reference.path)
        });
        assert_eq!(names.collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn shell_scripts_name_paths_of_the_home_directory() {
        for (text, expected) in [
            ("cat ~/.tool/config.json", &[".tool/config.json"][..]),
            ("# cat ~/.tool/x\necho $HOME $HOMES/.x a~/b", &[]),
            ("cat \"${HOME}/.tool/$1.json\" x/~/y", &[".tool"]),
            (
                "DB=\"$HOME/.tool/a.db\"\nsqlite3 \"$DB\" <<< x",
                &["write:.tool/a.db"],
            ),
            (
                "DIR=${X:-$HOME/.tool}\nLOG=$DIR/log\necho x >> \"${LOG}\"",
                &["write:.tool/log"],
            ),
            (
                "DIR=$HOME/.tool\nls $DIR\ncat $DIR/a",
                &[".tool", ".tool/a"],
            ),
            ("mkdir -p ~/.tool/in", &["write:.tool/in"]),
            ("cat ~/../x ~/.a/../b", &[]),
        ] {
            check(ScriptType::Shell, text, expected);
        }
    }

    #[test]
    fn python_scripts_name_paths_of_the_home_directory() {
        for (text, expected) in [
            (
                "return Path.home() / '.tool' / 'projects'",
                &[".tool/projects"][..],
            ),
            (
                "D = os.path.join(os.path.expanduser(\"~\"), '.tool', 'data')",
                &[".tool/data"],
            ),
            ("open(os.environ['HOME'] + '/.tool/log')", &[".tool/log"]),
            (
                "home = Path.home()\nopen(f'{home}/.tool/{name}')",
                &[".tool"],
            ),
            (
                "LOG = os.path.expanduser('~/.tool/log')\nopen(LOG, 'a')",
                &["write:.tool/log"],
            ),
            (
                "BASE: Path = Path.home() / '.tool'\nread(BASE / name)",
                &[".tool"],
            ),
            ("if x == Path.home() / '.tool': pass", &[".tool"]),
        ] {
            check(ScriptType::Python, text, expected);
        }
    }

    #[test]
    fn node_scripts_name_paths_of_the_home_directory() {
        for (text, expected) in [
            (
                "const dir = path.join(os.homedir(), '.tool', 'data');",
                &[".tool/data"][..],
            ),
            (
                "fs.readFileSync(`${process.env.HOME}/.tool/a`)",
                &[".tool/a"],
            ),
            (
                "const file = join(homedir(), \".toolrc\")\nfs.writeFileSync(file, x)",
                &["write:.toolrc"],
            ),
        ] {
            check(ScriptType::Node, text, expected);
        }
    }

    #[test]
    fn only_paths_without_keys_are_suggested() {
        let reference = |path: &str| HomeReference {
            path: path.to_owned(),
            is_written: true,
            is_used: true,
        };
        for path in [
            ".claude/projects",
            ".tool",
            ".config/tool",
            "notes/a.md",
            ".cache/tool",
        ] {
            assert!(reference(path).is_readable(), "{path}");
        }
        for path in [
            ".ssh",
            ".ssh/config",
            ".claude",
            ".config/git",
            ".claude/.credentials.json",
            ".config",
            ".local/share",
            ".aws/config",
            ".config/gh/hosts.yml",
            ".tool/id_rsa",
            ".netrc",
            ".bashrc",
            "notes",
        ] {
            assert!(!reference(path).is_readable(), "{path}");
        }
        assert_eq!(reference(".tool/a/b").writable().as_deref(), Some(".tool/"));
        for path in [
            ".claude/projects",
            ".ssh/config",
            ".local/bin/x",
            "notes/a",
            ".bashrc",
        ] {
            assert_eq!(reference(path).writable(), None, "{path}");
        }
    }
}
