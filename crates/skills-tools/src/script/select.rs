//! Which files of `scripts/` become tools.

use std::fmt;

use skills_runtime::is_invisible;

/// The longest script that becomes a tool, in bytes.
pub(crate) const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;

/// What a look at the files of `scripts/` found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ScriptSelection {
    /// The files that become tools, in byte order.
    pub(crate) scripts: Vec<String>,
    /// The scripts that do not, and why, in byte order.
    pub(crate) skipped: Vec<SkippedScript>,
}

/// A script that becomes no tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkippedScript {
    /// The file's name.
    pub(crate) file: String,
    /// Why.
    pub(crate) reason: ScriptSkipReason,
}

/// Why a script becomes no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ScriptSkipReason {
    /// It starts with `_`, which marks what other scripts import.
    Private,
    /// It starts with a full stop.
    DotFile,
    /// It is `__init__.py`.
    PackageMarker,
    /// It starts with `test_`.
    Test,
    /// It does not lie in `scripts/` itself.
    Nested,
    /// Its name has characters that a reader cannot see.
    InvisibleCharacters,
    /// It is longer than [`MAX_SCRIPT_BYTES`].
    TooLarge {
        /// How long it is, in bytes.
        bytes: u64,
    },
}

/// Picks the files that become tools out of names, relative to `scripts/`, and lengths in bytes.
///
/// Files that end in neither `.py` nor `.sh` are not scripts that become tools, and nothing is said
/// of them.
pub(crate) fn select_scripts(files: &[(String, u64)]) -> ScriptSelection {
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

/// Whether a file of this name may become a tool.
pub(crate) fn may_be_script(file: &str) -> bool {
    file.ends_with(".py") || file.ends_with(".sh")
}

fn skip_reason(file: &str, bytes: u64) -> Option<ScriptSkipReason> {
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
            Self::Private => f.write_str("names that start with `_` are for other scripts"),
            Self::DotFile => f.write_str("names that start with a full stop are hidden"),
            Self::PackageMarker => f.write_str("it marks a package"),
            Self::Test => f.write_str("names that start with `test_` are tests"),
            Self::Nested => f.write_str("it lies in a folder of `scripts`"),
            Self::InvisibleCharacters => f.write_str("its name has characters that cannot be seen"),
            Self::TooLarge { bytes } => write!(
                f,
                "it has {bytes} bytes, and at most {MAX_SCRIPT_BYTES} are taken"
            ),
        }
    }
}

impl fmt::Display for SkippedScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no tool: {}", self.file, self.reason)
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
    fn helpers_tests_and_the_hidden_are_passed_over_with_a_reason() {
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
            "\".a.sh\" is no tool: names that start with a full stop are hidden
\"__init__.py\" is no tool: it marks a package
\"_lib.py\" is no tool: names that start with `_` are for other scripts
\"a\\n.sh\" is no tool: its name has characters that cannot be seen
\"a\\u{200b}.py\" is no tool: its name has characters that cannot be seen
\"in/a.py\" is no tool: it lies in a folder of `scripts`
\"test_a.py\" is no tool: names that start with `test_` are tests",
        );
    }

    #[test]
    fn one_byte_over_a_mebibyte_is_too_much() {
        check(
            &[("a.py", MAX_SCRIPT_BYTES), ("b.py", MAX_SCRIPT_BYTES + 1)],
            "a.py\n\"b.py\" is no tool: it has 1048577 bytes, and at most 1048576 are taken",
        );
    }
}
