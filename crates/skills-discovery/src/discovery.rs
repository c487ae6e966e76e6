//! The configuration of a scan.

use crate::thread_count::ThreadCount;
use crate::{ConfigRule, Root, ScanLimits};
#[cfg(feature = "fs")]
use crate::{SourceRoot, TrustedSkills};

/// The configuration of a scan: roots, limits, rules, precedence.
///
/// Defaults: the limits of Codex ([`ScanLimits`]), all skills of the same name are kept
/// ([`Precedence::KeepAll`]), no rules, no product, and one thread for each core, at most eight. A
/// configuration is a value without open files; it can be cloned and scanned any number of times.
///
/// ```
/// use skills_discovery::{Discovery, Precedence, Root, Scope};
///
/// # let directory = tempfile::tempdir()?;
/// # for root in ["project", "user"] {
/// #     std::fs::create_dir_all(directory.path().join(root).join("pdf"))?;
/// #     let text = format!("---\nname: pdf\ndescription: Of the {root}.\n---\n");
/// #     std::fs::write(directory.path().join(root).join("pdf/SKILL.md"), text)?;
/// # }
/// let discovery = Discovery::new([
///     Root::new(directory.path().join("project"), Scope::Repo),
///     Root::new(directory.path().join("user"), Scope::User),
/// ])
/// .precedence(Precedence::FirstRoot);
/// let catalog = discovery.scan();
/// assert_eq!(catalog.entries()[0].manifest().description(), "Of the project.");
/// assert_eq!(catalog.inactive()[0].reason().code(), "shadowed");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Discovery {
    pub(crate) roots: Vec<Root>,
    #[cfg(feature = "fs")]
    pub(crate) sources: Vec<SourceRoot>,
    #[cfg(feature = "fs")]
    pub(crate) trusted_skills: TrustedSkills,
    pub(crate) limits: ScanLimits,
    pub(crate) precedence: Precedence,
    pub(crate) rules: Vec<ConfigRule>,
    pub(crate) product: Option<String>,
    pub(crate) threads: ThreadCount,
}

impl Discovery {
    /// Creates a configuration for `roots`, in order of precedence: a skill that can be reached
    /// through several roots belongs to the first. Trusted roots go before untrusted ones,
    /// whatever their order.
    pub fn new(roots: impl IntoIterator<Item = Root>) -> Self {
        Self {
            roots: roots.into_iter().collect(),
            #[cfg(feature = "fs")]
            sources: Vec::new(),
            #[cfg(feature = "fs")]
            trusted_skills: TrustedSkills::default(),
            limits: ScanLimits::default(),
            precedence: Precedence::KeepAll,
            rules: Vec::new(),
            product: None,
            threads: ThreadCount::default(),
        }
    }

    /// Replaces the roots.
    pub fn with_roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = roots.into_iter().collect();
        self
    }

    /// Adds a source of skills that have no directory.
    #[cfg(feature = "fs")]
    pub fn source(mut self, source: SourceRoot) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets which skills of untrusted roots are trusted by their content. Default: none.
    ///
    /// Each is active while its directory has exactly this content, and [`Untrusted`] otherwise, so that
    /// a change is not used before its user has agreed to it. Its root stays untrusted.
    ///
    /// [`Untrusted`]: crate::InactiveReason::Untrusted
    #[cfg(feature = "fs")]
    pub fn with_trusted_skills(mut self, skills: TrustedSkills) -> Self {
        self.trusted_skills = skills;
        self
    }

    /// Returns the skills that are trusted by their content. Those that are added are active with the
    /// next scan.
    #[cfg(feature = "fs")]
    #[must_use]
    pub fn trusted_skills(&self) -> &TrustedSkills {
        &self.trusted_skills
    }

    /// Sets the limits, which apply to each root separately.
    pub fn limits(mut self, limits: ScanLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which of several skills with the same name are active.
    pub fn precedence(mut self, precedence: Precedence) -> Self {
        self.precedence = precedence;
        self
    }

    /// Replaces the rules that enable and disable skills; the last rule that matches a skill
    /// decides.
    pub fn rules(mut self, rules: impl IntoIterator<Item = ConfigRule>) -> Self {
        self.rules = rules.into_iter().collect();
        self
    }

    /// Sets the product that scans. Skills whose `agents/openai.yaml` lists only other products are
    /// inactive; for this the scan reads that file of every skill.
    pub fn product(mut self, product: impl Into<String>) -> Self {
        self.product = Some(product.into());
        self
    }

    /// Sets the number of threads that read skills, at least one. The result does not depend on it.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = ThreadCount::new(threads);
        self
    }

    /// Returns the roots in the order in which they were passed.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns true if there is a [source](Self::source), so that a scan and the first use of a
    /// skill can wait for others.
    #[cfg(feature = "fs")]
    #[must_use]
    pub fn has_sources(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Returns true if both configurations have the same result. The number of threads does not
    /// matter.
    pub(crate) fn has_same_settings(&self, other: &Self) -> bool {
        // Comparing whole values includes every setting that is added later.
        let threads = other.threads;
        Self {
            threads,
            ..self.clone()
        } == *other
    }
}

/// Which of several skills with the same name are active.
///
/// Only skills that are active otherwise take part: an untrusted or disabled skill hides none.
/// Within one root the first by path wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precedence {
    /// All are active, and selecting one needs its directory (Codex).
    KeepAll,
    /// The skill of the first root is active and hides the others (most clients).
    FirstRoot,
    /// The skill of the last root is active and hides the others (OpenCode).
    LastRoot,
}
