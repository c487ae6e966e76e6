//! Assignment of `scripts` entries to files.

use skills_manifest::ScriptSpec;

use super::{ScriptWarning, stem, warning::truncate_name};

/// Maximum length of names that are compared, in characters.
const MAX_COMPARED_CHARS: usize = 64;

/// Finds the entry for a file: one with the complete file name, else one with the name without
/// extension.
pub fn find_spec<'a>(specs: &'a [ScriptSpec], file: &str) -> Option<&'a ScriptSpec> {
    specs
        .iter()
        .find(|spec| spec_file(spec) == file)
        .or_else(|| specs.iter().find(|spec| spec_file(spec) == stem(file)))
}

/// Returns warnings for entries without a file. `files` are the names of all files in `scripts/`,
/// including those that are not tools.
pub fn unmatched_specs(specs: &[ScriptSpec], files: &[String]) -> Vec<ScriptWarning> {
    let names_file =
        |spec: &ScriptSpec, file: &str| spec_file(spec) == file || spec_file(spec) == stem(file);
    let unmatched = specs
        .iter()
        .filter(|spec| !files.iter().any(|file| names_file(spec, file)));
    unmatched
        .map(|spec| ScriptWarning::UnknownScript {
            entry: truncate_name(&spec.name),
            nearest: nearest_file(spec_file(spec), files),
        })
        .collect()
}

/// Returns the file name of an entry, with or without extension.
fn spec_file(spec: &ScriptSpec) -> &str {
    let name = spec.name.strip_prefix("./").unwrap_or(&spec.name);
    name.strip_prefix("scripts/").unwrap_or(name)
}

/// Finds the file whose name differs in at most a third of the characters; the first in byte order
/// of several.
fn nearest_file(name: &str, files: &[String]) -> Option<String> {
    let distance = |file: &String| edit_distance(name, file).min(edit_distance(name, stem(file)));
    let max_distance = (name.chars().count() / 3).max(1);
    files
        .iter()
        .map(|file| (distance(file), file))
        .filter(|(distance, _)| *distance <= max_distance)
        .min()
        .map(|(_, file)| file.clone())
}

/// Returns the case-insensitive edit distance; `usize::MAX` for long names.
fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let is_long = |name: &str| name.chars().count() > MAX_COMPARED_CHARS;
    // The time is the product of both lengths, and names in a manifest are untrusted.
    if is_long(&one) || is_long(&other) {
        return usize::MAX;
    }
    strsim::levenshtein(&one, &other)
}

#[cfg(test)]
pub(super) mod tests {
    use skills_manifest::Document;

    use super::*;

    /// Parses entries of a `scripts` block, in YAML indented by two.
    pub(crate) fn specs(yaml: &str) -> Vec<ScriptSpec> {
        let source = format!("---\nname: s\ndescription: d\nscripts:\n{yaml}\n---\n");
        Document::parse(source.as_bytes())
            .unwrap()
            .manifest()
            .extensions()
            .scripts
            .clone()
    }

    #[test]
    fn an_entry_matches_with_and_without_extension() {
        let specs = specs("  a: One\n  a.sh: Two\n  scripts/b.py: Three");
        let check = |file: &str, expected: Option<&str>| {
            assert_eq!(
                find_spec(&specs, file).and_then(|spec| spec.description.as_deref()),
                expected,
                "{file}"
            );
        };
        check("a.py", Some("One"));
        check("a.sh", Some("Two"));
        check("b.py", Some("Three"));
        check("b.sh", None);
    }

    #[test]
    fn an_entry_without_a_file_names_the_nearest() {
        let files = ["get_forecast.py", "get_current.py", "build.js", "x.sh"].map(str::to_owned);
        let entries = "  get_forcast: One\n  Get_Current.py: Two\n  build: Three\n  unheard_of: Four\n  x: Five";
        let warnings: Vec<_> = unmatched_specs(&specs(entries), &files)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            warnings,
            [
                r#"unknown script `get_forcast` in `scripts`; did you mean `get_forecast.py`?"#,
                r#"unknown script `Get_Current.py` in `scripts`; did you mean `get_current.py`?"#,
                r#"unknown script `unheard_of` in `scripts`"#,
            ]
        );
    }

    #[test]
    fn distances_are_of_characters() {
        for (one, other, expected) in [
            ("", "", 0),
            ("a", "", 1),
            ("kitten", "sitting", 3),
            ("天气", "天", 1),
            ("ab", "ba", 2),
        ] {
            assert_eq!(edit_distance(one, other), expected, "{one} {other}");
        }
        assert_eq!(edit_distance(&"a".repeat(65), "a"), usize::MAX);
    }
}
