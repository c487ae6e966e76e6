//! Selection of the files in `scripts/` that become tools.

use std::fmt;

use skills_manifest::is_invisible;

use crate::stem;

/// Maximum size of a script that becomes a tool, in bytes.
pub const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;

/// The result of [`select_scripts`]: the scripts that become tools, and those that do not.
///
/// Both lists are in byte order, so they do not depend on the order of a directory listing. Files
/// that are not scripts, by their extension, are in neither.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptSelection {
    /// The files that become tools, in byte order.
    pub scripts: Vec<String>,
    /// The scripts that do not, with the reason, in byte order.
    pub skipped: Vec<SkippedScript>,
}

/// A script that does not become a tool, with the reason.
///
/// Callers report it, so that the author of a skill learns why a model is not offered the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedScript {
    /// The path relative to `scripts/`.
    pub file: String,
    /// The reason.
    pub reason: ScriptSkipReason,
}

/// The reason why a script does not become a tool.
///
/// `Display` describes it as one phrase for a message. The script can still be run by its path;
/// only a tool of its own is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScriptSkipReason {
    /// Its name starts with `_`, which marks modules for import.
    Private,
    /// Its name starts with a dot.
    DotFile,
    /// It is `__init__.py`.
    PackageMarker,
    /// It is a test, by its name or its directory.
    Test,
    /// It is `conftest.py` or a configuration of a build tool.
    Configuration,
    /// It is in a directory of installed packages.
    Package,
    /// It has only definitions, for other scripts. See [`find_modules`](crate::find_modules).
    Module,
    /// Its name has invisible characters.
    InvisibleCharacters,
    /// It is larger than [`MAX_SCRIPT_BYTES`].
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
}

/// Extensions of scripts that become tools.
const EXTENSIONS: [&str; 7] = ["py", "sh", "bash", "js", "mjs", "cjs", "ts"];
const TEST_DIRECTORIES: [&str; 4] = ["test", "tests", "__tests__", "__mocks__"];
/// Directories of packages and caches.
const PACKAGE_DIRECTORIES: [&str; 4] = ["node_modules", "site-packages", "vendor", "__pycache__"];

/// Selects the files that become tools, from paths relative to `scripts/` and sizes in bytes.
///
/// Files with other extensions than `.py`, `.sh`, `.bash`, `.js`, `.mjs`, `.cjs` and `.ts` are
/// ignored silently.
pub fn select_scripts(files: &[(String, u64)]) -> ScriptSelection {
    let mut found = ScriptSelection::default();
    for (file, bytes) in files.iter().filter(|(file, _)| may_be_script(file)) {
        match skip_reason(file, *bytes) {
            None => found.scripts.push(file.clone()),
            Some(reason) => found.skipped.push(SkippedScript {
                file: file.clone(),
                reason,
            }),
        }
    }
    found.scripts.sort_unstable();
    found
        .skipped
        .sort_unstable_by(|one, other| one.file.cmp(&other.file));
    found
}

impl ScriptSelection {
    /// Moves a script that was skipped to those that become tools.
    pub fn restore(&mut self, file: &str) {
        self.skipped.retain(|skipped| skipped.file != file);
        let at = self
            .scripts
            .partition_point(|script| script.as_str() < file);
        self.scripts.insert(at, file.to_owned());
    }

    /// Moves a script to those that are skipped.
    pub fn skip(&mut self, file: &str, reason: ScriptSkipReason) {
        let Some(index) = self.scripts.iter().position(|script| script == file) else {
            return;
        };
        let file = self.scripts.remove(index);
        let at = self.skipped.partition_point(|skipped| skipped.file < file);
        self.skipped.insert(at, SkippedScript { file, reason });
    }
}

impl ScriptSkipReason {
    /// Returns true if the script was skipped because of a convention for names, which its skill
    /// can contradict.
    #[must_use]
    pub fn is_convention(self) -> bool {
        matches!(self, Self::Private | Self::Test | Self::Configuration)
    }
}

/// Returns true if a file of this name may become a tool.
pub fn may_be_script(file: &str) -> bool {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    // Declarations of types are not programs.
    EXTENSIONS.contains(&extension) && !file.ends_with(".d.ts")
}

fn skip_reason(path: &str, bytes: u64) -> Option<ScriptSkipReason> {
    // First, since such a name could look like any other one in a warning or a tool list.
    if path.contains(is_invisible) {
        return Some(ScriptSkipReason::InvisibleCharacters);
    }
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let of_directory = directories.split('/').find_map(directory_skip_reason);
    let of_name = of_directory.or_else(|| name_skip_reason(file));
    of_name.or((bytes > MAX_SCRIPT_BYTES).then_some(ScriptSkipReason::TooLarge { bytes }))
}

fn name_skip_reason(file: &str) -> Option<ScriptSkipReason> {
    match file {
        "__init__.py" => Some(ScriptSkipReason::PackageMarker),
        "conftest.py" | "setup.py" => Some(ScriptSkipReason::Configuration),
        _ if file.starts_with('_') => Some(ScriptSkipReason::Private),
        _ if file.starts_with('.') => Some(ScriptSkipReason::DotFile),
        _ if is_test(file) => Some(ScriptSkipReason::Test),
        _ => is_configuration(file).then_some(ScriptSkipReason::Configuration),
    }
}

fn directory_skip_reason(directory: &str) -> Option<ScriptSkipReason> {
    if TEST_DIRECTORIES.contains(&directory) {
        return Some(ScriptSkipReason::Test);
    }
    if PACKAGE_DIRECTORIES.contains(&directory) {
        return Some(ScriptSkipReason::Package);
    }
    match directory.bytes().next() {
        Some(b'_') => Some(ScriptSkipReason::Private),
        Some(b'.') => Some(ScriptSkipReason::DotFile),
        _ => None,
    }
}

fn is_test(file: &str) -> bool {
    let name = stem(file);
    file.starts_with("test_")
        || name.ends_with("_test")
        || name.ends_with(".test")
        || name.ends_with(".spec")
}

/// Returns true if a file configures a build tool, such as `vite.config.js`.
fn is_configuration(file: &str) -> bool {
    stem(file).ends_with(".config")
}

impl fmt::Display for ScriptSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => f.write_str("private name"),
            Self::DotFile => f.write_str("hidden file"),
            Self::PackageMarker => f.write_str("package marker"),
            Self::Test => f.write_str("test"),
            Self::Configuration => f.write_str("configuration"),
            Self::Package => f.write_str("in a directory of packages"),
            Self::Module => f.write_str("only definitions, for other scripts"),
            Self::InvisibleCharacters => f.write_str("invisible characters in its name"),
            Self::TooLarge { bytes } => write!(f, "{bytes} bytes, limit {MAX_SCRIPT_BYTES}"),
        }
    }
}

impl fmt::Display for SkippedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "script `{}` is not a tool: {}",
            self.file.escape_debug(),
            self.reason
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, u64)], expected: &str) {
        let files: Vec<_> = files
            .iter()
            .map(|(name, bytes)| ((*name).to_owned(), *bytes))
            .collect();
        let found = select_scripts(&files);
        let mut lines = found.scripts.clone();
        lines.extend(found.skipped.iter().map(SkippedScript::to_string));
        assert_eq!(lines.join("\n"), expected);
    }

    #[test]
    fn scripts_become_tools_in_byte_order() {
        check(
            &[
                ("run.sh", 1),
                ("a.js", 1),
                ("get.py", 0),
                ("README.md", 1),
                ("a.d.ts", 1),
                ("run.rb", 1),
                ("sub/tool.py", 1),
                ("B.py", 1),
            ],
            "B.py\na.js\nget.py\nrun.sh\nsub/tool.py",
        );
    }

    #[test]
    fn helpers_tests_and_hidden_files_are_skipped_with_a_reason() {
        check(
            &[
                ("_lib.py", 1),
                (".a.sh", 1),
                ("__init__.py", 1),
                ("test_a.py", 1),
                ("conftest.py", 1),
                ("tests/a.py", 1),
                ("b.test.ts", 1),
                ("in/_private/a.py", 1),
                ("node_modules/x/a.js", 1),
                ("vite.config.js", 1),
                ("a\u{200B}.py", 1),
                ("a\n.sh", 1),
            ],
            "script `.a.sh` is not a tool: hidden file
script `__init__.py` is not a tool: package marker
script `_lib.py` is not a tool: private name
script `a\\n.sh` is not a tool: invisible characters in its name
script `a\\u{200b}.py` is not a tool: invisible characters in its name
script `b.test.ts` is not a tool: test
script `conftest.py` is not a tool: configuration
script `in/_private/a.py` is not a tool: private name
script `node_modules/x/a.js` is not a tool: in a directory of packages
script `test_a.py` is not a tool: test
script `tests/a.py` is not a tool: test
script `vite.config.js` is not a tool: configuration",
        );
    }

    #[test]
    fn a_selected_script_can_be_skipped_later() {
        let files = ["a.py", "b.py", "_c.py"].map(|file| (file.to_owned(), 1));
        let mut found = select_scripts(&files);
        found.skip("b.py", ScriptSkipReason::Module);
        found.skip("x.py", ScriptSkipReason::Module);
        assert_eq!(found.scripts, ["a.py"]);
        let skipped: Vec<String> = found.skipped.iter().map(ToString::to_string).collect();
        assert_eq!(
            skipped,
            [
                "script `_c.py` is not a tool: private name",
                "script `b.py` is not a tool: only definitions, for other scripts",
            ]
        );
    }

    #[test]
    fn a_skipped_script_can_be_selected_again() {
        let files = ["a.py", "test_b.py", "c.py"].map(|file| (file.to_owned(), 1));
        let mut found = select_scripts(&files);
        assert!(found.skipped[0].reason.is_convention());
        found.restore("test_b.py");
        assert_eq!(found.scripts, ["a.py", "c.py", "test_b.py"]);
        assert_eq!(found.skipped, []);
    }

    #[test]
    fn scripts_over_one_mebibyte_are_skipped() {
        check(
            &[("a.py", MAX_SCRIPT_BYTES), ("b.py", MAX_SCRIPT_BYTES + 1)],
            "a.py\nscript `b.py` is not a tool: 1048577 bytes, limit 1048576",
        );
    }
}
