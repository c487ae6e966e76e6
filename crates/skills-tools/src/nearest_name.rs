//! The most similar name of a wrong one.

/// Maximum length of a name that is compared, in characters. The comparison takes quadratic time.
const MAX_COMPARED_CHARS: usize = 256;

/// Returns true if one name can be a typing error of the other: at most one character of four is
/// another, and of a shorter name one. A wrong guess costs a model a call. Names of more than 256
/// characters are never near.
pub(crate) fn is_near(name: &str, known: &str) -> bool {
    let count = |text: &str| text.chars().take(MAX_COMPARED_CHARS + 1).count();
    let (length, known_length) = (count(name), count(known));
    let longest = length.max(known_length);
    let max_distance = (longest / 4).max(1);
    (3..=MAX_COMPARED_CHARS).contains(&longest)
        && length.abs_diff(known_length) <= max_distance
        && strsim::osa_distance(name, known) <= max_distance
}

/// Returns the most similar name, if it is similar enough.
pub(crate) fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
        .filter(|known| is_near(name, known))
        .map(|known| (strsim::jaro_winkler(name, known), known))
        // Less similar names are more often wrong than helpful.
        .filter(|(score, _)| *score > 0.85);
    scored
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known.to_owned())
}

/// Returns the file name that was probably meant: the same in another case, the same with an
/// extension, or the most similar one.
pub(crate) fn nearest_file_name<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let stem = |known: &str| known.rsplit_once('.').map(|(stem, _)| stem.to_lowercase());
    let same_case = names.iter().find(|known| known.to_lowercase() == lower);
    let with_extension = || {
        names
            .iter()
            .find(|known| stem(known).as_ref() == Some(&lower))
    };
    if let Some(found) = same_case.or_else(with_extension) {
        return Some(found);
    }
    let nearest = nearest_name(name, names.iter().copied())?;
    names.iter().find(|known| **known == nearest).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_not_compared() {
        let name = "n".repeat(MAX_COMPARED_CHARS);
        assert!(is_near(&name, &name[1..]));
        let longer = format!("{name}n");
        assert!(!is_near(&longer, &name) && !is_near(&name, &longer));
        let huge = "n".repeat(1 << 20);
        assert!(!is_near(&huge, &huge));
    }

    #[test]
    fn case_and_extension_come_before_similarity() {
        let names = ["Report.md", "report.txt", "fill_form.py", "fill_forms.py"];
        let check = |name: &str, expected| {
            assert_eq!(nearest_file_name(name, &names), expected, "{name}");
        };
        check("report.md", Some("Report.md"));
        check("REPORT.TXT", Some("report.txt"));
        check("fill_form", Some("fill_form.py"));
        check("fil_forms.py", Some("fill_forms.py"));
        check("zzz", None);
        // As similar by their beginning, and other names.
        check("fill_form_with_data.py", None);
        check("report_of_2026.txt", None);
    }
}
