//! The identity of a source, which rules of an administrator and remembered trust refer to.

use std::fmt;

use url::Url;
use wildmatch::WildMatch;

use super::{Source, SourceSpec, slash_path};

impl SourceSpec {
    /// Returns the identity of the source, without version and directory: `git:HOST/PATH`,
    /// `https:HOST/PATH` for archives and web sites, `mcp:HOST/PATH`, `oci:HOST/NAME` and
    /// `clawhub:HOST/SLUG` for registries, and with a path
    /// `dir:`, `file:`, `npm:` or `oci:`.
    ///
    /// The addresses of one repository over HTTPS and SSH have the same identity. A server over
    /// plain HTTP or the git protocol, which authenticates nothing, has another scheme:
    /// `insecure:HOST/PATH`. The query of a URL is part of the identity.
    ///
    /// ```
    /// use skills_install::SourceSpec;
    ///
    /// for text in ["acme/skills", "git@github.com:acme/skills.git", "ssh://git@github.com/acme/skills"] {
    ///     assert_eq!(text.parse::<SourceSpec>()?.identity(), "git:github.com/acme/skills");
    /// }
    /// # Ok::<(), skills_install::SourceError>(())
    /// ```
    #[must_use]
    pub fn identity(&self) -> String {
        match &self.source {
            Source::Directory(path) => format!("dir:{}", slash_path(path)),
            Source::ArchiveFile(path) => format!("file:{}", slash_path(path)),
            Source::Packages(path) => format!("npm:{}", slash_path(path)),
            Source::McpServer(url) => url_identity(url, "mcp"),
            Source::OciLayout(path) => format!("oci:{}", slash_path(path)),
            Source::OciRegistry(repository) => format!("oci:{repository}"),
            Source::ClawHub { registry, slug } => {
                url_identity(&format!("{registry}{slug}"), "clawhub")
            }
            Source::Git(address) => git_identity(address),
            Source::ArchiveUrl(url) | Source::Site(url) => url_identity(url, "https"),
            // Not its text, which may contain a password.
            Source::Unusable { error, .. } => format!("unusable:{}", error.shown()),
        }
    }
}

fn git_identity(address: &str) -> String {
    let without_suffix = |path: &str| {
        let path = path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path).to_owned()
    };
    if address.contains("://") {
        return url_identity(address, "git");
    }
    match address.split_once(':') {
        Some((host, path)) if !super::parse::is_path(address) => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("git:{}/{}", host.to_ascii_lowercase(), without_suffix(path))
        }
        _ => format!("dir:{}", address.strip_suffix(".git").unwrap_or(address)),
    }
}

fn url_identity(text: &str, secure: &str) -> String {
    let Ok(url) = Url::parse(text) else {
        return format!("insecure:{text}");
    };
    let scheme = match url.scheme() {
        "https" | "ssh" => secure,
        "file" => "dir",
        _ => "insecure",
    };
    let port = url.port().map(|port| format!(":{port}"));
    let path = url.path().trim_end_matches('/');
    let path = if scheme == secure && secure == "git" || path.ends_with(".git") {
        path.strip_suffix(".git").unwrap_or(path)
    } else {
        path
    };
    // A registry can have all of its skills at one path.
    let query = url.query().map(|query| format!("?{query}"));
    format!(
        "{scheme}:{}{}{path}{}",
        url.host_str().unwrap_or_default(),
        port.unwrap_or_default(),
        query.unwrap_or_default()
    )
}

/// A pattern of the sources that an administrator allows, such as `git:github.com/acme/*`.
///
/// It is compared with [`SourceSpec::identity`]: `*` matches any number of characters, and
/// everything else matches itself. A pattern without a scheme matches nothing.
///
/// ```
/// use skills_install::{SourceRule, SourceSpec};
///
/// let rule = SourceRule::new("git:github.com/acme/*");
/// assert!(rule.allows(&"acme/skills".parse()?));
/// assert!(!rule.allows(&"acme-evil/skills".parse()?));
/// assert!(!rule.allows(&"https://github.com.evil.example/acme/skills.git".parse()?));
/// # Ok::<(), skills_install::SourceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceRule(String);

impl SourceRule {
    /// Creates a rule from its pattern.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        // The way in which administrators write the address of a site.
        Self(pattern.replacen("https://", "https:", 1))
    }

    /// Returns true if the rule allows the source.
    #[must_use]
    pub fn allows(&self, spec: &SourceSpec) -> bool {
        // `?` is a usual character of an address, but a wildcard of the library.
        !self.0.contains('?') && WildMatch::new(&self.0).matches(&spec.identity())
    }
}

impl fmt::Display for SourceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
