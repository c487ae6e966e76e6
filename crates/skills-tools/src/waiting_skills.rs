//! Skills of the project that are not active before its user trusts it.

use skills_runtime::Catalog;

/// Maximum number of skills that a text names.
const MAX_NAMED: usize = 5;
/// Maximum length of a name that is shown, as the Agent Skills specification has it.
const MAX_NAME_BYTES: usize = 64;

/// Returns how many skills of the project wait for its trust.
pub(crate) fn count(catalog: &Catalog) -> usize {
    waiting_names(catalog).count()
}

/// Returns how many skills of the project wait for its trust, and how it is given, without names: for
/// instructions, which a model follows. `None` if none wait.
pub(crate) fn sentence(catalog: &Catalog) -> Option<String> {
    Some(format!("{}. {HOW}", counted(count(catalog))?))
}

/// Returns the same with some names. A name is text of a project that is not trusted, so only plain ones
/// are shown, and nothing else of these skills.
pub(crate) fn sentence_with_names(catalog: &Catalog) -> Option<String> {
    let count = count(catalog);
    let counted = counted(count)?;
    let named: Vec<String> = waiting_names(catalog)
        .filter(|name| is_plain(name))
        .take(MAX_NAMED)
        .map(|name| format!("`{name}`"))
        .collect();
    let more = count - named.len();
    let listed = match (named.as_slice(), more) {
        ([], _) => String::new(),
        (named, 0) => format!(": {}", named.join(", ")),
        (named, more) => format!(": {} and {more} more", named.join(", ")),
    };
    Some(format!("{counted}{listed}. {HOW}"))
}

const HOW: &str = "If one is needed, ask your user to run `skills trust --project` in the project.";

fn counted(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 skill of this project waits for trust".to_owned()),
        count => Some(format!("{count} skills of this project wait for trust")),
    }
}

fn waiting_names(catalog: &Catalog) -> impl Iterator<Item = &str> {
    let inactive = catalog.inactive().iter();
    let waiting = inactive.filter(|inactive| inactive.is_of_untrusted_project());
    waiting.map(|inactive| inactive.entry().name().as_str())
}

fn is_plain(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    name.len() <= MAX_NAME_BYTES && !name.is_empty() && name.chars().all(is_plain)
}
