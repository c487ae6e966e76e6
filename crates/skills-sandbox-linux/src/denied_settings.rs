//! Settings of the system that end a program because they are denied and not absent.

use skills_sandbox::Job;

/// Variables that make programs skip these files: `/etc/gitconfig`, and the global `npmrc`.
const VARIABLES: [(&str, &str); 2] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("NPM_CONFIG_GLOBALCONFIG", "/dev/null"),
];

/// Returns the variables for a run without namespaces, where paths that are not granted exist and
/// cannot be opened, without those that the job sets itself.
pub(crate) fn variables(job: &Job) -> impl Iterator<Item = (String, String)> {
    let is_own = |name: &str| job.filtered_envs().any(|(own, _)| own == name);
    let variables = VARIABLES.iter().filter(move |(name, _)| !is_own(name));
    variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
}
