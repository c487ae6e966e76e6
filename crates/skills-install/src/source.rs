//! Where skills come from: the grammar `SRC[#ref][//path]`.

mod clawhub;
mod identity;
mod oci;
mod parse;
mod problem;
mod reference;

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

pub use identity::SourceRule;
pub use problem::SourceError;

pub(crate) use clawhub::is_name as clawhub_name;

use crate::TreePath;

/// A source of skills: where they are, which version, and optionally which directory of it.
///
/// The text is `SRC[#ref][//path]`. `SRC` is a directory or archive (with a path that starts with
/// `.`, `/`, a drive or `file:`), `owner/repo` of GitHub, the URL of a git repository, archive or
/// web site, `mcp+URL` for an MCP server, `npm:DIR` for packages that carry skills, `oci:DIR` for an
/// image layout, `oci://HOST/NAME:TAG` for a registry, or `clawhub:SLUG@VERSION` for the public
/// registry of ClawHub and `clawhub+https://HOST/SLUG@VERSION` for another one. `#ref` is a branch,
/// tag or full commit of a repository, a tag or digest of an image layout, or `sha256:HEX` of an
/// archive. [`Display`](fmt::Display) writes text that parses as the same value.
///
/// Parsing reads neither disk nor network, so a bare word is never a directory: `./pdf` is.
///
/// ```
/// use skills_install::{Source, SourceSpec};
///
/// let spec: SourceSpec = "acme/skills#v1.2//skills/pdf".parse()?;
/// assert_eq!(spec.to_string(), "https://github.com/acme/skills.git#v1.2//skills/pdf");
/// assert!(matches!(spec.source(), Source::Git(_)));
/// assert_eq!(spec.reference(), Some("v1.2"));
///
/// let error = "pdf".parse::<SourceSpec>().unwrap_err();
/// assert_eq!(error.help(), "write `./pdf` for a directory, or `OWNER/REPO` for a repository");
/// # Ok::<(), skills_install::SourceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpec {
    source: Source,
    reference: Option<String>,
    path: TreePath,
}

/// The kind and location of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A directory that is a skill or contains skills.
    Directory(PathBuf),
    /// A package of npm, or a directory of packages such as `node_modules`.
    Packages(PathBuf),
    /// An archive on disk: `.tar.gz`, `.tgz`, `.tar`, `.zip` or `.skill`.
    ArchiveFile(PathBuf),
    /// An archive on a server, by its URL.
    ArchiveUrl(String),
    /// A git repository, by the URL that is passed to `git`.
    Git(String),
    /// A web site with an index of skills, by the URL of the site or of the index.
    Site(String),
    /// An MCP server with the Skills extension, by the URL of its endpoint.
    McpServer(String),
    /// An image layout of OCI on disk.
    OciLayout(PathBuf),
    /// A repository of an OCI registry, as `HOST/NAME`. The reference is the tag or digest.
    OciRegistry(String),
    /// A skill of a ClawHub registry. The reference is the version.
    ClawHub {
        /// The URL of the registry, with `/` at its end.
        registry: String,
        /// The name of the skill in the registry.
        slug: String,
    },
    /// A source of a lock file that this version cannot parse, perhaps of a newer one. It cannot be
    /// fetched, and its text does not parse.
    Unusable {
        /// The text in the lock file.
        text: String,
        /// Why it cannot be parsed.
        error: SourceError,
    },
}

impl SourceSpec {
    pub(crate) fn new(source: Source, reference: Option<String>, path: TreePath) -> Self {
        Self {
            source,
            reference,
            path,
        }
    }

    /// Returns the source of a lock file. One that cannot be parsed is [`Source::Unusable`]: the
    /// installed skill has the content of the lock file nevertheless.
    pub(crate) fn from_lock(text: &str) -> Self {
        text.parse().unwrap_or_else(|error| {
            let text = text.to_owned();
            Self::new(Source::Unusable { text, error }, None, TreePath::root())
        })
    }

    /// Returns the kind and location.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the branch, tag, commit or digest after `#`; `None` for the default branch.
    #[must_use]
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_deref()
    }

    /// Returns the directory of the source after `//`; the root if there is none.
    #[must_use]
    pub fn path(&self) -> &TreePath {
        &self.path
    }

    /// Replaces the directory of the source.
    #[must_use]
    pub fn with_path(mut self, path: TreePath) -> Self {
        self.path = path;
        self
    }

    /// Replaces the registry of a ClawHub source by the one with this URL. Others stay as they are.
    ///
    /// # Errors
    /// Fails if the text is not the URL of a registry.
    pub fn with_clawhub_registry(mut self, url: &str) -> Result<Self, SourceError> {
        if let Source::ClawHub { registry, .. } = &mut self.source {
            let parsed = clawhub::parse_registry(url);
            *registry = parsed.map_err(|problem| parse::error(url, problem))?;
        }
        Ok(self)
    }

    /// Replaces the version by the one that a lock file records: `git:` and a commit, `sha256:` and
    /// the digest of an archive, `oci:` and the digest of a manifest, or `clawhub:` and a version.
    /// Other sources have no versions and stay as they are.
    pub(crate) fn at_revision(mut self, revision: &str) -> Self {
        let version = match &self.source {
            Source::Git(_) => revision.strip_prefix("git:"),
            Source::ArchiveFile(_) | Source::ArchiveUrl(_) => Some(revision),
            Source::OciLayout(_) | Source::OciRegistry(_) => revision.strip_prefix("oci:"),
            Source::ClawHub { .. } => revision.strip_prefix("clawhub:"),
            Source::Directory(path) => {
                let digest = revision.strip_prefix("oci:").map(str::to_owned);
                // The directory was an image layout.
                if digest.is_some() {
                    let source = Source::OciLayout(path.clone());
                    return Self::new(source, digest, self.path);
                }
                None
            }
            Source::Packages(_)
            | Source::Site(_)
            | Source::McpServer(_)
            | Source::Unusable { .. } => None,
        };
        if let Some(version) = version {
            self.reference = Some(version.to_owned());
        }
        self
    }

    /// Resolves a relative path of a directory or archive against `base`.
    #[must_use]
    pub fn resolved_at(self, base: &Path) -> Self {
        self.map_path(|path| normalize(&base.join(path)))
    }

    /// Makes the path of a directory or archive relative to `base`, if it is inside of `project`,
    /// as `base` is. All are absolute.
    pub(crate) fn relative_to(self, base: &Path, project: &Path) -> Self {
        self.map_path(
            |path| match (path.strip_prefix(project), base.strip_prefix(project)) {
                (Ok(path), Ok(base)) => {
                    let up = base.components().map(|_| Component::ParentDir);
                    up.chain(path.components()).collect()
                }
                _ => path.to_owned(),
            },
        )
    }

    fn map_path(mut self, map: impl Fn(&Path) -> PathBuf) -> Self {
        if let Source::Directory(path)
        | Source::Packages(path)
        | Source::ArchiveFile(path)
        | Source::OciLayout(path) = &mut self.source
        {
            *path = map(path);
        }
        if let Source::Git(address) = &mut self.source
            && parse::is_path(address)
        {
            *address = explicit_path(&map(Path::new(address)));
        }
        self
    }
}

impl Source {
    /// Returns the text without version and directory.
    fn text(&self) -> String {
        match self {
            Self::Directory(path) | Self::ArchiveFile(path) => explicit_path(path),
            Self::Packages(path) => format!("npm:{}", slash_path(path)),
            Self::Git(url) if parse::is_git_by_itself(url) => url.clone(),
            Self::Git(url) => format!("git+{url}"),
            Self::ArchiveUrl(url) if parse::is_archive_by_itself(url) => url.clone(),
            Self::ArchiveUrl(url) => format!("archive+{url}"),
            Self::Site(url) if parse::is_site_by_itself(url) => url.clone(),
            Self::Site(url) => format!("site+{url}"),
            Self::McpServer(url) => format!("mcp+{url}"),
            Self::OciLayout(path) => format!("oci:{}", slash_path(path)),
            Self::OciRegistry(repository) => format!("oci://{repository}"),
            Self::ClawHub { registry, slug } if registry == clawhub::PUBLIC_REGISTRY => {
                format!("clawhub:{slug}")
            }
            Self::ClawHub { registry, slug } => format!("clawhub+{registry}{slug}"),
            Self::Unusable { text, .. } => text.clone(),
        }
    }
}

impl FromStr for SourceSpec {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse::parse(text)
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source.text())?;
        if let Some(reference) = &self.reference {
            let separator = match &self.source {
                Source::OciRegistry(_) if reference.contains(':') => '@',
                Source::OciRegistry(_) => ':',
                Source::ClawHub { .. } => '@',
                _ => '#',
            };
            write!(f, "{separator}{reference}")?;
        }
        if !self.path.is_root() {
            write!(f, "//{}", self.path)?;
        }
        Ok(())
    }
}

/// Returns a path as text that parses as a path.
fn explicit_path(path: &Path) -> String {
    let text = slash_path(path);
    if path.is_absolute() || text.starts_with('.') || parse::is_path(&text) {
        text
    } else if parse::is_path(&format!("{text}/")) {
        // The root of a drive.
        format!("{text}/")
    } else {
        format!("./{text}")
    }
}

/// Returns a path with `/` as separator.
fn slash_path(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.into_owned()
    }
}

/// Returns true if the address of a repository is a path.
pub(crate) fn is_local_git(address: &str) -> bool {
    parse::is_path(address)
}

/// Resolves `.` and `..` by name, without the disk.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
