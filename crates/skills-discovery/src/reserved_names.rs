//! Names of files and directories with a meaning, which no installed skill can have.

use unicode_normalization::UnicodeNormalization;

/// The name of the directory, beside installed skills, in which skills are staged. No scan searches
/// it.
pub const INSTALL_DIRECTORY: &str = ".skills-install";

/// The name of the lock file, in the directory that contains the locked skills.
pub const LOCK_FILE: &str = "skills.lock";

/// The name of the file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The names of files that the installer or a scan reads, in a directory that can also contain
/// skills: a directory in place of the file would disable all of them. `sources.json` is in the
/// state directory of a user, which a user can name as the directory of skills.
const RESERVED_NAMES: [&str; 3] = [LOCK_FILE, SKILL_FILE, "sources.json"];

/// Returns true if an installed skill can have this name, which is that of its directory.
///
/// It is one name without a separator, does not start with a dot, as the files of the installer do,
/// and is not that of a file which is read beside skills: `skills.lock`, `SKILL.md` and
/// `sources.json`, in any case.
///
/// ```
/// use skills_discovery::is_installable_name;
///
/// assert!(is_installable_name("pdf"));
/// assert!(!is_installable_name("Skills.Lock") && !is_installable_name(".skills-install"));
/// ```
#[must_use]
pub fn is_installable_name(name: &str) -> bool {
    let is_one_name = !name.is_empty() && !name.contains(['/', '\\', '\0']);
    let folded = fold_case(name);
    let is_reserved = RESERVED_NAMES
        .iter()
        .any(|reserved| fold_case(reserved) == folded);
    is_one_name && !folded.starts_with('.') && !is_reserved
}

/// Removes the differences between paths that some file systems ignore: case, and the composition of
/// Unicode.
///
/// ```
/// use skills_discovery::fold_case;
///
/// assert_eq!(fold_case("SKILL.MD"), "skill.md");
/// assert_eq!(fold_case("e\u{301}.md"), fold_case("\u{c9}.md"));
/// ```
#[must_use]
pub fn fold_case(path: &str) -> String {
    if path.is_ascii() {
        path.to_ascii_lowercase()
    } else {
        // Lowercase first: it can decompose characters (`İ`).
        path.to_lowercase().nfkc().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_that_are_read_beside_skills_are_reserved() {
        for name in [
            "",
            ".",
            "..",
            ".hidden",
            "a/b",
            "a\\b",
            "skills.lock",
            "Skills.Lock",
            "ｓkills.lock",
            "skill.md",
            "SOURCES.json",
        ] {
            assert!(!is_installable_name(name), "{name:?}");
        }
        for name in ["a", "skills.locked", "skills", "sources", "a.b", "日本"] {
            assert!(is_installable_name(name), "{name:?}");
        }
    }
}
