//! Selection of the files in `scripts/` that become tools.

use std::fmt;

use skills_manifest::is_invisible;

/// Maximum size of a script that becomes a tool, in bytes.
pub const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;

/// The result of [`select_scripts`]: the scripts that become tools, and those that do not.
///
/// Both lists are in byte order, so they do not depend on the order of a directory listing. Files
/// that are no scripts, by their extension, are in neither.
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
    /// The file name.
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
    /// Its name starts with `test_`.
    Test,
    /// It is in a subdirectory of `scripts/`.
    Nested,
    /// Its name has invisible characters.
    InvisibleCharacters,
    /// It is larger than [`MAX_SCRIPT_BYTES`].
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
    },
}

/// Selects the files that become tools, from paths relative to `scripts/` and sizes in bytes.
///
/// Files that end in neither `.py` nor `.sh` are ignored silently.
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

/// Returns whether a file of this name may become a tool.
pub fn may_be_script(file: &str) -> bool {
    file.ends_with(".py") || file.ends_with(".sh")
}

fn skip_reason(file: &str, bytes: u64) -> Option<ScriptSkipReason> {
    // First, since such a name could look like any other one in a warning or a tool list.
    if file.contains(is_invisible) {
        return Some(ScriptSkipReason::InvisibleCharacters);
    }
    match file {
        "__init__.py" => Some(ScriptSkipReason::PackageMarker),
        _ if file.contains(['/', '\\']) => Some(ScriptSkipReason::Nested),
        _ if file.starts_with('_') => Some(ScriptSkipReason::Private),
        _ if file.starts_with('.') => Some(ScriptSkipReason::DotFile),
        _ if file.starts_with("test_") => Some(ScriptSkipReason::Test),
        _ => (bytes > MAX_SCRIPT_BYTES).then_some(ScriptSkipReason::TooLarge { bytes }),
    }
}

impl fmt::Display for ScriptSkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => f.write_str("private name"),
            Self::DotFile => f.write_str("hidden file"),
            Self::PackageMarker => f.write_str("package marker"),
            Self::Test => f.write_str("test"),
            Self::Nested => f.write_str("in a subdirectory of `scripts`"),
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
    fn python_and_shell_become_tools_in_byte_order() {
        check(
            &[
                ("run.sh", 1),
                ("a.js", 1),
                ("get.py", 0),
                ("README.md", 1),
                ("run.bash", 1),
                ("B.py", 1),
            ],
            "B.py\nget.py\nrun.sh",
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
                ("in/a.py", 1),
                ("a\u{200B}.py", 1),
                ("a\n.sh", 1),
            ],
            "script `.a.sh` is not a tool: hidden file
script `__init__.py` is not a tool: package marker
script `_lib.py` is not a tool: private name
script `a\\n.sh` is not a tool: invisible characters in its name
script `a\\u{200b}.py` is not a tool: invisible characters in its name
script `in/a.py` is not a tool: in a subdirectory of `scripts`
script `test_a.py` is not a tool: test",
        );
    }

    #[test]
    fn scripts_over_one_mebibyte_are_skipped() {
        check(
            &[("a.py", MAX_SCRIPT_BYTES), ("b.py", MAX_SCRIPT_BYTES + 1)],
            "a.py\nscript `b.py` is not a tool: 1048577 bytes, limit 1048576",
        );
    }
}
