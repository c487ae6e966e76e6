//! Settings of the system that end a program because they are denied and not absent.

/// Variables that make programs skip these files: `/etc/gitconfig`, and the global `npmrc`.
const VARIABLES: [(&str, &str); 2] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("NPM_CONFIG_GLOBALCONFIG", "/dev/null"),
];

/// Returns the variables for a run without namespaces, where paths that are not granted exist and
/// cannot be opened.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    let variables = VARIABLES.iter();
    variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}
