//! The URL of a package's file in a registry of npm.

use url::Url;

use crate::node::is_npm_package_name;

/// Returns the URL of the file of one version of a package in a registry; `None` for a name or a
/// version that is none, or a registry that is not the URL of a directory.
///
/// ```
/// use skills_packages::npm_file_url;
///
/// let url = npm_file_url("https://registry.npmjs.org", "@s/a", "1.0.0");
/// assert_eq!(url.as_deref(), Some("https://registry.npmjs.org/@s/a/-/a-1.0.0.tgz"));
/// assert_eq!(npm_file_url("https://registry.npmjs.org", "a", "1.0.0#x"), None);
/// ```
#[must_use]
pub fn npm_file_url(registry: &str, name: &str, version: &str) -> Option<String> {
    let mut url = parse_plain(registry)?;
    let path = [url.path().trim_end_matches('/'), &file_path(name, version)?].concat();
    url.set_path(&path);
    Some(url.into())
}

/// Returns the registry of a file of npm, by its URL; `None` unless it is exactly the one of this
/// version of the package. `name` can have a scope.
///
/// URLs are compared as npm reads them: the letters of a host can be capitals, and a port can be the
/// default one. A URL with a query, a fragment or a user is not accepted.
///
/// ```
/// use skills_packages::npm_registry;
///
/// let url = "https://Registry.npmjs.org:443/@s/a/-/a-1.0.0.tgz";
/// assert_eq!(npm_registry(url, "@s/a", "1.0.0").as_deref(), Some("https://registry.npmjs.org"));
/// assert_eq!(npm_registry(url, "b", "1.0.0"), None);
/// ```
#[must_use]
pub fn npm_registry(url: &str, name: &str, version: &str) -> Option<String> {
    let url = parse_plain(url)?;
    let directory = url.path().strip_suffix(&file_path(name, version)?)?;
    let mut registry = url.clone();
    registry.set_path(directory);
    let registry = registry.as_str().trim_end_matches('/').to_owned();
    // A path can have further slashes before the name.
    let is_exact = npm_file_url(&registry, name, version).as_deref() == Some(url.as_str());
    is_exact.then_some(registry)
}

/// Returns true for the URL of the file of one version of a package in a registry, however its
/// letters and its port are written.
#[must_use]
pub fn is_npm_file(url: &str, registry: &str, name: &str, version: &str) -> bool {
    let expected = npm_file_url(registry, name, version);
    expected.is_some() && expected == parse_plain(url).map(String::from)
}

/// Returns the path of a file below its registry.
fn file_path(name: &str, version: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    let is_version = !version.is_empty() && version.bytes().all(is_part);
    let base = name.rsplit('/').next().unwrap_or(name);
    (is_version && is_npm_package_name(name)).then(|| format!("/{name}/-/{base}-{version}.tgz"))
}

/// Parses a URL of the web without a user, a query and a fragment.
fn parse_plain(url: &str) -> Option<Url> {
    let url = Url::parse(url).ok()?;
    let is_plain = matches!(url.scheme(), "https" | "http")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    is_plain.then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "https://registry.npmjs.org/";

    #[test]
    fn one_url_is_the_file_of_a_package() {
        let is_file = |url: &str| is_npm_file(url, REGISTRY, "left-pad", "1.3.0");
        for url in [
            "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org:443/left-pad/-/left-pad-1.3.0.tgz",
            "HTTPS://Registry.NPMJS.org/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org/evil/../left-pad/-/left-pad-1.3.0.tgz",
        ] {
            assert!(is_file(url), "{url}");
        }
        for url in [
            "https://registry.npmjs.org/evil/-/evil-1.3.0.tgz",
            "https://registry.npmjs.org:443/evil/-/evil-1.3.0.tgz",
            "https://REGISTRY.npmjs.org/evil/-/evil-1.3.0.tgz",
            "http://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org:444/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org./left-pad/-/left-pad-1.3.0.tgz",
            "https://user@registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz#/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org/evil/-/evil-1.0.0.tgz?/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz?",
            "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#",
            "https://registry.npmjs.org/evil/left-pad/-/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz/",
            "https://registry.npmjs.org/left-pad/%2d/left-pad-1.3.0.tgz",
            "https://registry.npmjs.org//left-pad/-/left-pad-1.3.0.tgz",
            "file:///left-pad/-/left-pad-1.3.0.tgz",
            "left-pad-1.3.0.tgz",
            "",
        ] {
            assert!(!is_file(url), "{url}");
            let registry = npm_registry(url, "left-pad", "1.3.0");
            assert_ne!(
                registry.as_deref(),
                Some("https://registry.npmjs.org"),
                "{url}"
            );
        }
        for (name, version) in [
            ("../x", "1"),
            ("a/b", "1"),
            ("a", ""),
            ("a", "../1"),
            ("a", "1?"),
        ] {
            assert_eq!(npm_file_url(REGISTRY, name, version), None);
        }
        let team = npm_file_url("https://npm.example/team/", "a", "1.0.0").unwrap();
        assert_eq!(team, "https://npm.example/team/a/-/a-1.0.0.tgz");
        assert_eq!(
            npm_registry(&team, "a", "1.0.0").as_deref(),
            Some("https://npm.example/team")
        );
    }
}
