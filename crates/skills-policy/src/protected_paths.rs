//! Files that other programs execute or trust, by name: which stay read-only in writable
//! directories, and which program reads one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::executed_files::FILE_READERS;

/// A path of the tables of clients and of programs.
struct Pattern {
    /// The folded components. The last one may contain a `*`.
    components: Vec<String>,
    reader: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// What is at or below it stays read-only.
    Protected,
    /// A file that is reported.
    ReportedFile,
    /// A directory, in which all files are reported.
    ReportedDirectory,
    /// A directory, in which all files are reported by this pattern, whatever their names.
    Installed,
}

/// The name of the program for former directories of clients, which are in no row.
const FORMER_CLIENT: &str = "a client";

/// Directories that are created and moved in everyday work, although some names in them are
/// protected.
const ORDINARY_DIRECTORIES: [&str; 3] = ["dist-packages", "mise", "site-packages"];

/// All patterns, and how to find them.
struct Patterns {
    all: Vec<Pattern>,
    /// The indices of patterns by their first component, which is a wildcard only if it is the
    /// last.
    by_first: HashMap<String, Vec<usize>>,
    /// The indices of patterns by their last component.
    by_last: HashMap<String, Vec<usize>>,
    /// The indices of patterns that end with a wildcard, by the last extension of the name.
    by_extension: HashMap<String, Vec<usize>>,
    /// The indices of patterns that end with `.*`, by the part of the name before its last
    /// extension.
    by_stem: HashMap<String, Vec<usize>>,
    protected: Vec<String>,
}

// Backends check every path of a directory tree, so all lookups are by hash.
static PATTERNS: LazyLock<Patterns> = LazyLock::new(Patterns::new);

impl Patterns {
    fn new() -> Self {
        let mut patterns = Self {
            all: Vec::new(),
            by_first: HashMap::new(),
            by_last: HashMap::new(),
            by_extension: HashMap::new(),
            by_stem: HashMap::new(),
            protected: Vec::new(),
        };
        for reader in FILE_READERS {
            for path in reader.protected.split_whitespace() {
                patterns.add(path, reader.name, Kind::Protected);
            }
            for path in reader.reported.split_whitespace() {
                match path.strip_suffix('/') {
                    Some(path) => patterns.add(path, reader.name, Kind::ReportedDirectory),
                    None => patterns.add(path, reader.name, Kind::ReportedFile),
                }
            }
            for path in reader.installed.split_whitespace() {
                patterns.add(path, reader.name, Kind::Installed);
            }
        }
        for client in skills_clients::CLIENTS {
            for path in client.protected_paths() {
                patterns.add(&path, client.title, Kind::Protected);
            }
        }
        for path in skills_clients::protected_paths() {
            patterns.add(&path, FORMER_CLIENT, Kind::Protected);
        }
        patterns.protected.sort_unstable();
        patterns
    }

    fn add(&mut self, path: &str, reader: &'static str, kind: Kind) {
        let components: Vec<String> = path.split('/').map(fold_name).collect();
        // Several programs can read a file. The first one of the tables is named.
        let is_known = |known: &Pattern| known.components == components;
        if self.all.iter().any(is_known) {
            return;
        }
        let index = self.all.len();
        let (Some(first), Some(last)) = (components.first(), components.last()) else {
            return;
        };
        let by_last = match last.strip_suffix(".*") {
            Some(stem) => self.by_stem.entry(stem.to_owned()),
            None if last.contains('*') => self.by_extension.entry(extension(last).to_owned()),
            None => self.by_last.entry(last.clone()),
        };
        by_last.or_default().push(index);
        if components.len() > 1 {
            self.by_first.entry(first.clone()).or_default().push(index);
        }
        if kind == Kind::Protected {
            self.protected.push(path.to_owned());
        }
        self.all.push(Pattern {
            components,
            reader,
            kind,
        });
    }

    /// Returns the patterns with a last component that matches a folded name.
    fn ending_with<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Pattern> {
        let extension = extension(name);
        // Without an extension there is no stem.
        let stem = name.rsplit_once('.').map(|(stem, _)| stem);
        let lists = [
            self.by_last.get(name),
            self.by_extension.get(extension),
            stem.and_then(|stem| self.by_stem.get(stem)),
        ];
        let indices = lists.into_iter().flatten().flatten();
        indices
            .map(|index| &self.all[*index])
            .filter(move |pattern| pattern.matches_last(name))
    }

    /// Returns the patterns that match the start of these folded components.
    fn at_start<'a>(&'a self, components: &'a [String]) -> impl Iterator<Item = &'a Pattern> {
        let single = self
            .ending_with(&components[0])
            .filter(|pattern| pattern.components.len() == 1);
        let longer = self.by_first.get(&components[0]).into_iter().flatten();
        let longer = longer
            .map(|index| &self.all[*index])
            .filter(move |pattern| pattern.matches_start(components));
        single.chain(longer)
    }
}

impl Pattern {
    fn matches_start(&self, components: &[String]) -> bool {
        let last = self.components.len() - 1;
        components.len() > last
            && components[..last] == self.components[..last]
            && self.matches_last(&components[last])
    }

    fn matches_last(&self, name: &str) -> bool {
        let last = &self.components[self.components.len() - 1];
        match last.split_once('*') {
            None => name == last,
            Some((before, after)) => {
                let rest = name.strip_prefix(before);
                let any = rest.and_then(|rest| rest.strip_suffix(after));
                // `.*` is one extension, which the lookup by stem relies on.
                any.is_some_and(|any| !(any.is_empty() || after.is_empty() && any.contains('.')))
            }
        }
    }

    /// Returns true if these folded components are the start of the pattern, and it is longer.
    fn continues(&self, components: &[String]) -> bool {
        self.kind == Kind::Protected
            && self.components.len() > components.len()
            && self.components.starts_with(components)
            && !ORDINARY_DIRECTORIES.contains(&self.components[0].as_str())
    }
}

/// Returns the part of a name after its last `.`, or all of it if there is none.
fn extension(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the relative paths that no wider rule makes writable, in alphabetical order: an agent,
/// an editor, a shell or git executes or trusts the files there at its next start, or they contain
/// keys. Components are separated by `/`; the last one may contain one `*`.
///
/// They are protected at any depth of a writable directory and regardless of case. The paths of
/// clients are those of `skills_clients`; the directories that they scan for skills are included,
/// so that a skill cannot change another one. A backend that cannot protect them reports that in
/// its enforcement report.
#[must_use]
pub fn protected_paths() -> &'static [String] {
    &PATTERNS.protected
}

/// Returns the innermost protected path at or above `path` and strictly below `base`, `None` if
/// there is none.
///
/// `base` is the directory that was granted or offered as a whole: its own components are exempt,
/// so a workspace inside a directory such as `.claude` can be written. An empty `base` exempts
/// nothing. Names are compared in the form of [`fold_name`].
///
/// ```
/// use skills_policy::innermost_protected_name;
/// use std::path::{Path, PathBuf};
///
/// let protected = |path: &str| innermost_protected_name(Path::new(path), Path::new("/w"));
/// assert_eq!(protected("/w/a/.GIT/hooks/pre-commit"), Some(PathBuf::from("/w/a/.GIT/hooks")));
/// assert_eq!(protected("/w/.gitignore"), None);
/// ```
#[must_use]
pub fn innermost_protected_name(path: &Path, base: &Path) -> Option<PathBuf> {
    // By name and not by inode: a protected path need not exist yet, and creating it is the attack.
    let components = folded_components(path);
    let exempt_count = base.components().count();
    let ends = (0..components.len()).flat_map(|start| {
        PATTERNS
            .at_start(&components[start..])
            .filter(|pattern| pattern.kind == Kind::Protected)
            .map(move |pattern| start + pattern.components.len())
    });
    // The innermost one counts, so that a grant of `.git` does not include `.git/hooks`.
    let end = ends.filter(|end| *end > exempt_count).max()?;
    Some(path.components().take(end).collect())
}

/// Returns the name of a program that executes the file at `path`, or trusts what it says; `None`
/// if none is known. Components of `base` are exempt as in [`innermost_protected_name`].
///
/// This includes files that are not protected, since a person runs them on purpose: a `Makefile`, a
/// `package.json`; and byte code and all files of installed packages. Of the repository of git only
/// what git executes is included, not objects and branches. Files that are executable by their mode
/// are not recognized here, since only the disk says so.
///
/// ```
/// use skills_policy::file_reader;
/// use std::path::Path;
///
/// let reader = |path: &str| file_reader(Path::new(path), Path::new("/w"));
/// assert_eq!(reader("/w/sub/Makefile"), Some("make"));
/// assert_eq!(reader("/w/.vscode/tasks.json"), Some("VS Code"));
/// assert_eq!(reader("/w/__pycache__/main.cpython-312.pyc"), Some("Python"));
/// assert_eq!(reader("/w/src/main.rs"), None);
/// assert_eq!(reader("/w/.git/objects/ab/cd"), None);
/// ```
#[must_use]
pub fn file_reader(path: &Path, base: &Path) -> Option<&'static str> {
    let components = folded_components(path);
    let exempt_count = base.components().count();
    let matches = (0..components.len()).flat_map(|start| {
        PATTERNS
            .at_start(&components[start..])
            .map(move |pattern| (start + pattern.components.len(), pattern))
    });
    let matches: Vec<_> = matches
        .filter(|(end, pattern)| {
            *end > exempt_count && (pattern.kind != Kind::ReportedFile || *end == components.len())
        })
        .collect();
    let (end, innermost) = matches.iter().max_by_key(|(end, _)| *end)?;
    if innermost.kind == Kind::Protected {
        let is_in_repository = innermost.components == [".git"] && *end < components.len();
        return (!is_in_repository).then_some(innermost.reader);
    }
    let mut all = matches.iter().map(|(_, pattern)| pattern);
    let outermost = all.find(|pattern| pattern.kind == Kind::Installed);
    Some(outermost.unwrap_or(innermost).reader)
}

/// Returns true if the path of a file that some program [reads](file_reader), or a protected path,
/// can end with a component of this name: a quick check before [`innermost_protected_name`], for
/// searches of large directories. Names are compared in the form of [`fold_name`].
///
/// ```
/// use skills_policy::ends_executed_path;
///
/// // `.git/config` is protected, so any `config` may be.
/// assert!(ends_executed_path("config".as_ref()) && ends_executed_path(".Git".as_ref()));
/// assert!(!ends_executed_path("main.rs".as_ref()));
/// ```
#[must_use]
pub fn ends_executed_path(name: &OsStr) -> bool {
    with_folded_name(name, |name| PATTERNS.ending_with(name).next().is_some())
}

/// Calls a function with the form of [`fold_name`], without allocating for nearly all names.
pub(crate) fn with_folded_name(name: &OsStr, check: impl Fn(&str) -> bool) -> bool {
    let name = name.to_string_lossy();
    let mut buffer = [0; MAX_NAME_BYTES];
    let trimmed = name.trim_end_matches(['.', ' ']).as_bytes();
    match buffer.get_mut(..trimmed.len()) {
        Some(folded) if name.is_ascii() => {
            folded.copy_from_slice(trimmed);
            folded.make_ascii_lowercase();
            str::from_utf8(folded).is_ok_and(check)
        }
        _ => check(&fold_name(&name)),
    }
}

/// The names that are folded without allocating.
const MAX_NAME_BYTES: usize = 64;

/// Returns true if the last components of `path` begin a protected path of more components, as
/// `.config` begins `.config/git`. Renaming or replacing such a directory would move the protected
/// path, so it must not be replaced either. `base` as in [`innermost_protected_name`].
///
/// Directories that everyday work creates and moves, such as `site-packages`, are not included.
#[must_use]
pub fn may_lead_to_protected(path: &Path, base: &Path) -> bool {
    let components = folded_components(path);
    components.len() > base.components().count()
        && (0..components.len()).any(|start| {
            let rest = &components[start..];
            let longer = PATTERNS.by_first.get(&rest[0]).into_iter().flatten();
            longer
                .map(|index| &PATTERNS.all[*index])
                .any(|pattern| pattern.continues(rest))
        })
}

fn folded_components(path: &Path) -> Vec<String> {
    path.components()
        .map(|component| fold_name(&component.as_os_str().to_string_lossy()))
        .collect()
}

/// Returns a form of a file name that is equal for all spellings that some file system treats as
/// the same name, if one of them is ASCII.
///
/// Ignored are case, the characters that HFS+ ignores (zero-width and directional marks), and the
/// dots and spaces that Windows removes from the end. The result is for comparison only.
///
/// ```
/// assert_eq!(skills_policy::fold_name(".G\u{200c}it. "), ".git");
/// ```
#[must_use]
pub fn fold_name(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for c in name
        .chars()
        .filter(|c| !is_ignorable(*c))
        .flat_map(char::to_lowercase)
    {
        match c {
            // The long s and the ligatures are lowercase already, but a case-insensitive file
            // system compares their uppercase forms, which are ASCII.
            '\u{17f}' => folded.push('s'),
            '\u{fb00}' => folded.push_str("ff"),
            '\u{fb01}' => folded.push_str("fi"),
            '\u{fb02}' => folded.push_str("fl"),
            '\u{fb03}' => folded.push_str("ffi"),
            '\u{fb04}' => folded.push_str("ffl"),
            '\u{fb05}' | '\u{fb06}' => folded.push_str("st"),
            c => folded.push(c),
        }
    }
    // After folding, since an ignored character can follow the dots.
    folded.truncate(folded.trim_end_matches(['.', ' ']).len());
    folded
}

/// Returns true for characters that HFS+ ignores when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected_by(path: &str, base: &str) -> Option<String> {
        innermost_protected_name(Path::new(path), Path::new(base))
            .map(|path| path.display().to_string())
    }

    /// Returns a path for each protected pattern.
    fn names() -> impl Iterator<Item = String> {
        protected_paths()
            .iter()
            .map(|path| path.replace('*', "any"))
    }

    #[test]
    fn protected_names_match_at_any_depth_and_in_any_spelling() {
        for name in names() {
            for path in [
                format!("/w/{name}"),
                format!("/w/a/b/{}/x", name.to_uppercase()),
                format!("/w/{name}/a/b"),
            ] {
                assert!(protected_by(&path, "/w").is_some(), "{path}");
                assert!(protected_by(&path, "").is_some(), "{path}");
            }
        }
        for path in [
            "/w/.\u{17f}\u{17f}h/config",
            "/w/.con\u{fb01}g/git",
            "/w/.g\u{200c}it/config",
            "/w/.git./x",
            "/w/.ENVRC ",
        ] {
            assert!(protected_by(path, "/w").is_some(), "{path}");
        }
        for path in [
            "/w",
            "/w/git/config",
            "/w/.gitignore",
            "/w/.config/other",
            "/w/.github/FUNDING.yml",
            "/w/env",
            "/w/...",
            "/w/.cargo/x",
        ] {
            assert_eq!(protected_by(path, "/w"), None, "{path}");
        }
    }

    #[test]
    fn all_protected_paths_pass_the_quick_check() {
        for path in names() {
            let name = path.rsplit('/').next().unwrap();
            for spelling in [
                name.to_owned(),
                format!("{}. .", name.to_uppercase()),
                format!("\u{200d}{name}"),
            ] {
                assert!(ends_executed_path(spelling.as_ref()), "{spelling}");
                let path = Path::new("/w").join(&path).with_file_name(spelling);
                assert!(innermost_protected_name(&path, Path::new("/w")).is_some());
            }
        }
        for name in [
            "",
            ".",
            "x",
            "gitignore",
            ".git-",
            &"long".repeat(100),
            "\u{200d}",
        ] {
            assert!(!ends_executed_path(name.as_ref()), "{name}");
        }
    }

    /// Ordinary files and directories of projects, which no table may contain.
    #[test]
    fn everyday_files_are_not_protected() {
        for path in [
            "README.md",
            "LICENSE",
            "CHANGELOG.md",
            "AGENTS.md",
            "CLAUDE.md",
            "SKILL.md",
            "Makefile",
            "package.json",
            "package-lock.json",
            "Cargo.toml",
            "Cargo.lock",
            "pyproject.toml",
            "requirements.txt",
            "setup.py",
            "conftest.py",
            "Dockerfile",
            "docker-compose.yml",
            "justfile",
            "build.rs",
            "tsconfig.json",
            "vite.config.ts",
            ".gitignore",
            ".gitattributes",
            ".gitkeep",
            ".editorconfig",
            ".dockerignore",
            ".prettierrc",
            ".eslintrc.json",
            ".github/dependabot.yml",
            ".github/CODEOWNERS",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".config/app.toml",
            "src/main.rs",
            "src/config",
            "src/hooks/use.ts",
            "hooks/pre-commit",
            "config/settings.toml",
            "bin/run",
            "scripts/setup.sh",
            "docs/index.md",
            "data/model.pth",
            "weights/best.pth",
            "workspace.json",
            "mise/README.md",
            "lefthook/README.md",
            "tests/test_a.py",
            "notes.code",
            "a.b.toml",
            "mise",
            "mise-en-place.toml",
            "settings.json",
            "mcp.json",
            "skills/a/SKILL.md",
            "venv/bin/python",
            "venv/lib/site-packages/x.py",
            "Library/notes.txt",
            "AppData/notes.txt",
            "Documents/a.docx",
            "a/kilo.json.md",
            "report.pdf",
            "out.csv",
            "index.html",
            "main.tex",
            "Vagrantfile",
            "Jenkinsfile",
        ] {
            assert_eq!(protected_by(&format!("/w/{path}"), "/w"), None, "{path}");
        }
        for name in [
            "",
            "x",
            "README.md",
            "main.rs",
            "index.js",
            "a.txt",
            "data.json",
            "*",
        ] {
            assert!(!ends_executed_path(name.as_ref()), "{name}");
        }
        let leads = |path: &str| may_lead_to_protected(Path::new(path), Path::new("/w"));
        assert!(!leads("/w/site-packages") && !leads("/w/src") && !leads("/w/tools"));
    }

    /// Every pattern of the tables is found, by the quick check as well, with a reader.
    #[test]
    fn every_pattern_of_the_tables_has_a_reader() {
        let clients = skills_clients::protected_paths();
        let clients = clients.iter().map(String::as_str);
        let programs = FILE_READERS.iter().flat_map(|row| {
            let protected = row.protected.split_whitespace();
            let files = protected.chain(row.reported.split_whitespace());
            files.chain(row.installed.split_whitespace())
        });
        let mut count = 0;
        for pattern in clients.chain(programs) {
            let last = pattern.trim_end_matches('/').rsplit('/').next().unwrap();
            // The forms that the lookups by extension and by stem know.
            let form = last.split_once('*');
            assert!(
                form.is_none_or(|(before, after)| !after.contains('*')
                    && (after.is_empty() && before.ends_with('.') || after.contains('.'))),
                "{pattern}"
            );
            assert!(!pattern.trim_end_matches(last).contains('*'), "{pattern}");
            let path = pattern.replace('*', "long");
            let file = match path.strip_suffix('/') {
                Some(directory) => format!("/w/sub/{}/file", directory.to_uppercase()),
                None => format!("/w/sub/{}", path.to_uppercase()),
            };
            if pattern != ".git" {
                assert!(
                    file_reader(Path::new(&file), Path::new("/w")).is_some(),
                    "{file}"
                );
            }
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap();
            assert!(ends_executed_path(name.as_ref()), "{name}");
            count += 1;
        }
        assert!(count > 700, "{count}");
    }

    /// Nothing but the two tables makes a path protected.
    #[test]
    fn every_protected_path_of_a_client_is_from_the_table_of_clients() {
        let clients = skills_clients::protected_paths();
        let programs: Vec<&str> = FILE_READERS
            .iter()
            .flat_map(|row| row.protected.split_whitespace())
            .collect();
        for path in protected_paths() {
            let is_of_program = programs.contains(&path.as_str());
            assert!(is_of_program || clients.contains(path), "{path}");
        }
        for path in &clients {
            assert!(protected_paths().contains(path), "{path}");
            // A second list of the directories of clients would differ one day.
            let is_editor = [".vscode", ".zed", ".config/Code", ".config/zed"];
            assert!(
                !programs.contains(&path.as_str()) || is_editor.contains(&path.as_str()),
                "{path}"
            );
        }
    }

    #[test]
    fn byte_code_and_installed_packages_have_one_reader() {
        let packages = "installed packages of JavaScript";
        for (path, expected) in [
            ("__pycache__/helper.cpython-311.pyc", "Python"),
            ("a/__PYCACHE__/x", "Python"),
            ("helper.pyc", "Python"),
            ("__pycache__", "Python"),
            (
                "myenv/lib/python3.11/site-packages/req/__init__.py",
                "Python",
            ),
            ("x/dist-packages/a/Makefile", "Python"),
            ("app.egg-info/entry_points.txt", "Python"),
            ("node_modules/.bin/tsc", packages),
            ("node_modules/ts/lib/tsc.js", packages),
            ("node_modules/a/package.json", packages),
            ("node_modules/a/vendor/x.js", packages),
            ("node_modules/a/node_modules/b/.vscode/x", "VS Code"),
            ("vendor/autoload.php", "packages in a project"),
            ("lib/Helper.pmc", "compiled code"),
            ("native.so", "compiled code"),
            ("myenv/lib/site-packages/x.pth", "Python"),
        ] {
            let path = Path::new("/w").join(path);
            assert_eq!(
                file_reader(&path, Path::new("/w")),
                Some(expected),
                "{path:?}"
            );
        }
        // A workspace in an installed package is a workspace.
        let base = Path::new("/h/node_modules/a");
        assert_eq!(file_reader(&base.join("index.js"), base), None);
        assert_eq!(
            protected_by("/w/node_modules/a/__pycache__/x.pyc", "/w"),
            None
        );
    }

    #[test]
    fn a_reported_file_is_not_a_directory_of_its_name() {
        let reader = |path: &str| file_reader(Path::new(path), Path::new("/w"));
        assert_eq!(reader("/w/BUILD"), Some("Bazel"));
        assert_eq!(reader("/w/build/output.txt"), None);
        assert_eq!(reader("/w/.buildkite/pipeline.yml"), Some("Buildkite"));
        assert_eq!(reader("/w/a/action.yml"), Some("GitHub Actions"));
        assert_eq!(reader("/w/.RData"), Some("R"));
        for path in [
            ".env",
            "app/.env",
            ".storybook/main.js",
            ".eleventy.js",
            "angular.json",
            "ember-cli-build.js",
        ] {
            let path = Path::new("/w").join(path);
            assert!(file_reader(&path, Path::new("/w")).is_some(), "{path:?}");
            assert_eq!(innermost_protected_name(&path, Path::new("/w")), None);
        }
        assert_eq!(reader("/w/x.code-workspace"), Some("VS Code"));
        assert_eq!(reader("/w/opencode.jsonc"), Some("opencode"));
        assert_eq!(reader("/w/.git/HEAD"), None);
        assert_eq!(reader("/w/.git/hooks/pre-commit"), Some("git"));
        assert_eq!(
            file_reader(Path::new("/h/.claude/w/src/a"), Path::new("/h/.claude/w")),
            None
        );
    }

    #[test]
    fn the_innermost_protected_name_below_the_base_is_returned() {
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w/.git").as_deref(),
            Some("/w/.git/hooks")
        );
        assert_eq!(protected_by("/w/.git/objects", "/w/.git"), None);
        assert_eq!(
            protected_by("/w/.git/hooks/pre-commit", "/w/.git/hooks"),
            None
        );
        assert_eq!(
            protected_by("/h/.claude/worktrees/x/src", "/h/.claude/worktrees/x"),
            None
        );
        assert_eq!(
            protected_by("/h/.claude/worktrees/x/.ENVRC", "/h/.claude/worktrees/x").as_deref(),
            Some("/h/.claude/worktrees/x/.ENVRC")
        );
        assert_eq!(
            protected_by("/w/.github/workflows/x", "/w/.github").as_deref(),
            Some("/w/.github/workflows")
        );
    }

    #[test]
    fn parents_of_protected_names_are_detected() {
        let leads =
            |path: &str, base: &str| may_lead_to_protected(Path::new(path), Path::new(base));
        assert!(leads("/w/.config", "/w") && leads("/w/a/.GitHub", "/w") && leads("/w/.git", "/w"));
        assert!(
            !leads("/w/.config", "/w/.config")
                && !leads("/w/.config/x", "/w")
                && !leads("/w", "/w")
                && !leads("/w/.claude", "/w")
        );
    }

    #[test]
    fn boundaries_of_patterns_and_workspaces_are_exact() {
        let reader = |path: &str, base: &str| file_reader(Path::new(path), Path::new(base));
        assert_eq!(reader("/w/.git", "/w"), Some("git"));
        assert_eq!(reader("/h/.claude/src/a", "/h/.claude"), None);
        assert!(reader("/h/.claude/src/a", "/h").is_some());
        // A `*` stands for at least one character.
        assert!(reader("/w/mise.local.toml", "/w").is_some());
        assert_eq!(reader("/w/mise..toml", "/w"), None);
        let leads = |path: &str| may_lead_to_protected(Path::new(path), Path::new("/w"));
        assert!(leads("/w/.config") && !leads("/w/.config/git"));
    }
}
