//! The URL of a package's file in a registry of npm.

use url::Url;

use crate::npm_name::is_npm_package_name;

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

/// Returns the registry of a file of npm, by its URL; `None` unless it is one of this version of the
/// package: the [usual one](npm_file_url), the one of GitLab and Artifactory, which repeats the scope,
/// or the one of GitHub Packages, `download/NAME/VERSION/DIGEST`. `name` can have a scope.
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
    let mut registry = parse_plain(url)?;
    let directory = directory_of_file(registry.path(), name, version)?;
    // A path can have further slashes before the name, and after a scope it is another name.
    let last = directory.rsplit('/').next().unwrap_or(directory);
    if directory.ends_with('/') || last.starts_with('@') {
        return None;
    }
    let directory = directory.to_owned();
    registry.set_path(&directory);
    Some(registry.as_str().trim_end_matches('/').to_owned())
}

/// Returns the path before that of a file.
fn directory_of_file<'a>(path: &'a str, name: &str, version: &str) -> Option<&'a str> {
    if let Some(directory) = path.strip_suffix(&file_path(name, version)?) {
        return Some(directory);
    }
    if let Some(directory) = path.strip_suffix(&format!("/{name}/-/{name}-{version}.tgz")) {
        return Some(directory);
    }
    let (path, digest) = path.rsplit_once('/')?;
    let is_digest = !digest.is_empty() && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.strip_suffix(&format!("/download/{name}/{version}"))
        .filter(|_| is_digest)
}

/// Returns true for a URL below which a registry can have files: one of the web without a user, a
/// query and a fragment.
#[must_use]
pub fn is_npm_registry(url: &str) -> bool {
    parse_plain(url).is_some()
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
    fn the_registry_of_a_file_is_what_precedes_its_name_and_version() {
        let registry = |path: &str| {
            let url = format!("https://npm.example/team/{path}");
            npm_registry(&url, "@s/a", "1.0.0")
        };
        for path in [
            "@s/a/-/a-1.0.0.tgz",
            "@s/a/-/@s/a-1.0.0.tgz",
            "download/@s/a/1.0.0/0123456789abcdefABCDEF",
        ] {
            let found = registry(path);
            assert_eq!(found.as_deref(), Some("https://npm.example/team"), "{path}");
        }
        for path in [
            "@s/a/-/@t/a-1.0.0.tgz",
            "@t/a/-/@s/a-1.0.0.tgz",
            "@s/a/-/@s/a-1.0.1.tgz",
            "@s/a/-/@s/b-1.0.0.tgz",
            "download/@s/a/1.0.1/abc",
            "download/@s/b/1.0.0/abc",
            "download/a/1.0.0/abc",
            "download/@s/a/1.0.0/",
            "download/@s/a/1.0.0/evil-1.0.0.tgz",
            "download/@s/a/1.0.0/abc/",
            "/@s/a/-/a-1.0.0.tgz",
        ] {
            assert_eq!(registry(path), None, "{path}");
        }
        let scoped = "https://npm.example/@s/a/-/a-1.0.0.tgz";
        assert_eq!(npm_registry(scoped, "a", "1.0.0"), None);
    }

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
