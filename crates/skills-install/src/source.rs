//! Where skills come from: the grammar `SRC[#ref][//path]`, and what a kind of source is.

pub(crate) mod parse;
pub(crate) mod problem;
mod rule;
pub(crate) mod text;

use std::borrow::Cow;
use std::fmt;
use std::path::{Component, Path, PathBuf};

pub use problem::SourceError;
pub use rule::SourceRule;
pub use text::split_skill;

use self::problem::Problem;
use self::text::slash_path;
use crate::TreePath;
use crate::error::InstallError;
use crate::fetch_options::FetchOptions;
use crate::origin::tree::Origin;

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
/// The address of a page that shows a directory of a repository is a source as well: of GitHub and
/// Bitbucket, with `/-/tree/` of GitLab, and with `/src/branch/` of Gitea and Forgejo. Its version is
/// the first name after these words. If the repository has no such version when it is fetched, the
/// following names are part of it, as far as they are one.
///
/// Parsing reads neither disk nor network, so a bare word is never a directory: `./pdf` is, and
/// `a/b/c` is the directory `c` of a repository of GitHub.
///
/// ```
/// use skills_install::SourceSpec;
///
/// let spec: SourceSpec = "acme/skills#v1.2//skills/pdf".parse()?;
/// assert_eq!(spec.to_string(), "https://github.com/acme/skills.git#v1.2//skills/pdf");
/// assert_eq!(spec.kind(), "git repository");
/// assert_eq!(spec.reference(), Some("v1.2"));
///
/// let error = "pdf".parse::<SourceSpec>().unwrap_err();
/// assert_eq!(error.help(), "write `./pdf` for a directory, or `OWNER/REPO` for a repository");
/// # Ok::<(), skills_install::SourceError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SourceSpec {
    kind: &'static dyn SourceKind,
    location: Location,
    reference: Option<String>,
    path: TreePath,
    /// True for the address of a page, of which only the server knows where its version ends. The
    /// text of the source is about the first name.
    is_page: bool,
}

/// Where a source is, without version and directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    Path(PathBuf),
    /// A URL, or another address of the kind.
    Address(String),
    /// The text of a lock file that this version cannot parse, perhaps of a newer one. It cannot be
    /// fetched, and does not parse.
    Unusable {
        text: String,
        error: SourceError,
    },
}

/// The text of a source, divided into its parts.
pub(crate) struct SourceText<'a> {
    /// Without version and directory.
    pub(crate) text: &'a str,
    /// The version after `#`.
    pub(crate) reference: Option<&'a str>,
    pub(crate) path: TreePath,
}

/// The files of a source.
pub(crate) type Opened = Result<Box<dyn Origin>, InstallError>;

/// Which versions of a kind are meant to have one content for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FixedVersions {
    None,
    /// All, also of a source without a version.
    All,
    /// The tags of a repository.
    Tags,
    /// References that look like the number of a version.
    Numbers,
    /// All revisions, which are numbers of versions and not digests of their content.
    Revisions,
}

/// A kind of source: how it is written, what it is, and how it is fetched. Each is one file below
/// `origin`, which lists all of them.
pub(crate) trait SourceKind: fmt::Debug + Sync {
    /// Returns the name of the kind, as in messages.
    fn name(&self) -> &'static str;

    /// Parses the text of a source; `None` if it is not of this kind.
    fn parse(&self, source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>>;

    /// Checks a version. By default there are none.
    fn check_reference(&self, _reference: &str) -> Result<(), Problem> {
        Err(Problem::NoVersions(self.name()))
    }

    /// Returns the text of a location, which parses as the same one.
    fn text(&self, location: &Location) -> String;

    /// Returns the character between the location and a version.
    fn separator(&self, _reference: &str) -> char {
        '#'
    }

    /// Returns the [identity](SourceSpec::identity) of a location.
    fn identity(&self, location: &Location) -> String;

    /// Returns how its revisions in a lock file start, before the version that a source can name.
    /// By default it has no versions.
    fn revision_prefix(&self) -> Option<&'static str> {
        None
    }

    /// Returns a source at the version that a lock file records.
    fn at_revision(&self, source: SourceSpec, revision: &str) -> SourceSpec {
        let prefix = self.revision_prefix();
        match prefix.and_then(|prefix| revision.strip_prefix(prefix)) {
            Some(version) => source.with_reference(version),
            None => source,
        }
    }

    /// Returns which of its versions are meant to have one content for ever.
    fn fixed_versions(&self) -> FixedVersions {
        FixedVersions::None
    }

    /// Replaces the default registry of a kind that has one.
    fn with_registry(&self, source: SourceSpec, _url: &str) -> Result<SourceSpec, Problem> {
        Ok(source)
    }

    /// Opens a source, and fetches what its names need. `scratch` is a directory for downloads.
    fn open(&self, source: &SourceSpec, options: &FetchOptions, scratch: &Path) -> Opened;

    /// Returns the version and directory of the address of a page, as the server has them; `None` if
    /// they are those of the source.
    fn divide_page(
        &self,
        _source: &SourceSpec,
        _options: &FetchOptions,
    ) -> Result<Option<(String, TreePath)>, InstallError> {
        Ok(None)
    }

    /// Passes bytes to each parser of a document that servers send.
    fn parse_documents(&self, _bytes: &[u8]) {}
}

/// A source that cannot be used; see [`Location::Unusable`].
#[derive(Debug)]
struct Unusable;

impl SourceKind for Unusable {
    fn name(&self) -> &'static str {
        "unusable source"
    }

    fn parse(&self, _source: &SourceText<'_>) -> Option<Result<SourceSpec, Problem>> {
        None
    }

    fn text(&self, location: &Location) -> String {
        location.address().into_owned()
    }

    fn identity(&self, location: &Location) -> String {
        match location {
            // Not its text, which may contain a password.
            Location::Unusable { error, .. } => format!("unusable:{}", error.shown()),
            other => format!("unusable:{}", other.address()),
        }
    }

    fn open(&self, source: &SourceSpec, _options: &FetchOptions, _scratch: &Path) -> Opened {
        let text = source.location.address();
        Err(match &source.location {
            Location::Unusable { error, .. } => error.clone().into(),
            _ => InstallError::fetch(&text, "it cannot be used"),
        })
    }
}

impl Location {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Address(text) | Self::Unusable { text, .. } => Path::new(text),
        }
    }

    /// Returns the address, or the path with `/` as separator.
    pub(crate) fn address(&self) -> Cow<'_, str> {
        match self {
            Self::Path(path) => slash_path(path).into(),
            Self::Address(text) | Self::Unusable { text, .. } => text.into(),
        }
    }
}

impl SourceText<'_> {
    /// Returns a source with the version and directory of the text.
    pub(crate) fn spec(&self, kind: &'static dyn SourceKind, location: Location) -> SourceSpec {
        let reference = self.reference.map(str::to_owned);
        SourceSpec::new(kind, location, reference, self.path.clone())
    }
}

impl SourceSpec {
    pub(crate) fn new(
        kind: &'static dyn SourceKind,
        location: Location,
        reference: Option<String>,
        path: TreePath,
    ) -> Self {
        Self {
            kind,
            location,
            reference,
            path,
            is_page: false,
        }
    }

    /// Marks the address of a page, of which the version may go on in the path.
    pub(crate) fn with_page(mut self, is_page: bool) -> Self {
        self.is_page = is_page;
        self
    }

    /// Returns the source with the version and directory that the server has, if the text does not
    /// say where the one ends and the other starts.
    pub(crate) fn divided(&self, options: &FetchOptions) -> Result<Cow<'_, Self>, InstallError> {
        if !self.is_page {
            return Ok(Cow::Borrowed(self));
        }
        Ok(match self.kind.divide_page(self, options)? {
            Some((reference, path)) => {
                Cow::Owned(self.clone().with_reference(&reference).with_path(path))
            }
            None => Cow::Borrowed(self),
        })
    }

    /// Returns the source of a lock file. One that cannot be parsed is unusable: the installed skill
    /// has the content of the lock file nevertheless.
    pub(crate) fn from_lock(text: &str) -> Self {
        text.parse().unwrap_or_else(|error| {
            let text = text.to_owned();
            let location = Location::Unusable { text, error };
            Self::new(&Unusable, location, None, TreePath::root())
        })
    }

    /// Returns true for a source of a lock file that cannot be parsed.
    pub(crate) fn is_unusable(&self) -> bool {
        matches!(self.location, Location::Unusable { .. })
    }

    /// Returns the name of its kind, such as `git repository`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// Returns where it is.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    /// Returns the branch, tag, commit or digest after `#`; `None` for the default branch.
    #[must_use]
    pub fn reference(&self) -> Option<&str> {
        self.reference.as_deref()
    }

    /// Checks the version.
    fn check_reference(&self) -> Result<(), Problem> {
        self.reference()
            .map_or(Ok(()), |reference| self.kind.check_reference(reference))
    }

    /// Replaces the version.
    pub(crate) fn with_reference(mut self, reference: &str) -> Self {
        self.reference = Some(reference.to_owned());
        self.is_page = false;
        self
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
        self.is_page = false;
        self
    }

    /// Replaces where it is.
    pub(crate) fn with_location(mut self, location: Location) -> Self {
        self.location = location;
        self
    }

    /// Replaces the registry of a ClawHub source by the one with this URL. Others stay as they are.
    ///
    /// # Errors
    /// Fails if the text is not the URL of a registry.
    pub fn with_clawhub_registry(self, url: &str) -> Result<Self, SourceError> {
        let replaced = self.kind.with_registry(self, url);
        replaced.map_err(|problem| SourceError::new(url, problem))
    }

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
        self.kind.identity(&self.location)
    }

    /// Replaces the version by the one that a lock file records: `git:` and a commit, `sha256:` and
    /// the digest of an archive, `oci:` and the digest of a manifest, or `clawhub:` and a version.
    /// Other sources have no versions and stay as they are.
    pub(crate) fn at_revision(self, revision: &str) -> Self {
        self.kind.at_revision(self, revision)
    }

    /// Returns which of its versions are meant to have one content for ever.
    pub(crate) fn fixed_versions(&self) -> FixedVersions {
        self.kind.fixed_versions()
    }

    /// Opens the source. `scratch` is a directory for downloads.
    pub(crate) fn open(&self, options: &FetchOptions, scratch: &Path) -> Opened {
        self.kind.open(self, options, scratch)
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
        if let Location::Path(path) = &mut self.location {
            *path = map(path);
        }
        self
    }
}

impl PartialEq for SourceSpec {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
            && self.location == other.location
            && self.reference == other.reference
            && self.path == other.path
    }
}

impl Eq for SourceSpec {}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = self.kind.text(&self.location);
        f.write_str(&location)?;
        let is_directory = matches!(self.location, Location::Path(_));
        match &self.reference {
            Some(reference) => write!(f, "{}{reference}", self.kind.separator(reference))?,
            // The root of a file system is `/.`: the slashes of `///path` start a path.
            None if is_directory && location.ends_with('/') && !self.path.is_root() => {
                f.write_str(".")?;
            }
            None => {}
        }
        if !self.path.is_root() {
            write!(f, "//{}", self.path)?;
        }
        Ok(())
    }
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
