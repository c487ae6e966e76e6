//! Names of installed versions.

/// The maximum length of a version name.
const MAX_LENGTH: usize = 128;

/// Returns true if a word may be the name of one directory that holds a version.
pub(super) fn is_version(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= MAX_LENGTH
        // `.` and `..` are not versions.
        && !word.starts_with('.')
        && word.chars().all(is_version_char)
}

fn is_version_char(character: char) -> bool {
    character.is_ascii_alphanumeric() || "._-+@".contains(character)
}

/// Sorts versions, the highest first: numbers before names, and final versions before pre-releases.
pub(super) fn highest_first(mut versions: Vec<String>) -> Vec<String> {
    versions.retain(|version| is_version(version));
    versions.sort_by(|one, other| sort_key(other).cmp(&sort_key(one)));
    versions
}

fn sort_key(version: &str) -> (Vec<u64>, bool, &str) {
    // Node's versions begin with `v`.
    let plain = version.strip_prefix('v').unwrap_or(version);
    let is_number = |character: char| character.is_ascii_digit() || character == '.';
    let rest = plain.trim_start_matches(is_number);
    let numbers = plain[..plain.len() - rest.len()].split('.');
    (
        numbers.filter_map(|number| number.parse().ok()).collect(),
        // A final version comes before its pre-releases.
        rest.is_empty(),
        version,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_as_numbers() {
        let versions = [
            "3.9.18",
            "3.10.13",
            "3.13.0rc1",
            "3.13.0",
            "miniconda3-24.1",
            "v18.2.0",
            "3.13",
            "..",
            "a/b",
            ".x",
        ];
        let sorted = highest_first(versions.map(str::to_owned).to_vec());
        assert_eq!(
            sorted,
            [
                "v18.2.0",
                "3.13.0",
                "3.13.0rc1",
                "3.13",
                "3.10.13",
                "3.9.18",
                "miniconda3-24.1"
            ]
        );
    }

    #[test]
    fn a_version_is_a_single_path_component() {
        for good in ["3.11.7", "lts+1", "pypy3.9-7.3", "python@3.12", "my_env"] {
            assert!(is_version(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../..",
            "/etc",
            "a/b",
            "a\0",
            "a\n",
            "a b",
            ".hidden",
            "ref:main",
            "é",
            &"1".repeat(129),
        ] {
            assert!(!is_version(bad), "{bad:?}");
        }
    }
}
