//! Declared packages in the result of a run that lacks one.

use skills_runtime::DeclaredPackages;

/// Maximum number of packages in a message.
const MAX_NAMES: usize = 5;
/// Maximum length of a package or of a problem in a message, in characters.
const MAX_CHARS: usize = 120;

/// Returns what a skill declares, as a clause.
pub(super) fn describe(declared: &DeclaredPackages) -> String {
    // The file is untrusted text and goes into a message for the model.
    let clean = |text: &String| {
        text.chars()
            .filter(|c| !skills_runtime::is_invisible(*c))
            .take(MAX_CHARS)
            .collect::<String>()
    };
    if declared.packages.is_empty() {
        let problem = declared.problems.first().map(clean).unwrap_or_default();
        return format!("{problem}, so the required packages are unknown");
    }
    let names: Vec<String> = declared
        .packages
        .iter()
        .take(MAX_NAMES)
        .map(clean)
        .collect();
    let more = declared.packages.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    let source = clean(&declared.source);
    format!("{source} requires {}{more}", names.join(", "))
}
