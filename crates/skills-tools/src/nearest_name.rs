//! The most similar name of a wrong one.

/// Returns the most similar name, if it is similar enough.
pub(crate) fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = names
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
    }
}
