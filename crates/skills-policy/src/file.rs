//! The parser of policy files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::error::Repr;
use crate::path::{is_comparable, is_pattern};
use crate::{
    ApprovalMode, Effect, InstallPolicy, NewContentPolicy, PolicyError, RecordMode, ResourceLimits,
    Rule, RuleSource, SandboxChoice, SandboxRequirement, SignatureIdentity,
};

/// A parsed policy file in TOML: approval mode, policy for new content and for missing
/// requirements, rules, rules within directories, the ceiling of resource limits, and the sources
/// of skills that may be installed.
///
/// Every key is optional and unknown keys are errors, so a misspelled `deny` cannot be ignored.
/// The file does not apply itself: [`Policy::from_files`](crate::Policy::from_files) combines all
/// files of a host.
///
/// ```
/// use skills_policy::{PolicyFile, RuleSource};
///
/// let text = "mode = \"ask\"\nallow = [\"spawn:git\"]\n[limits]\ntime-seconds = 60\n";
/// let file = PolicyFile::parse(text, RuleSource::User, "policy.toml")?;
/// assert_eq!(file.rules()[0].to_string(), "allow spawn:git (user, policy.toml)");
/// assert_eq!(file.limits().wall_time.as_secs(), 60);
/// # Ok::<(), skills_policy::PolicyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct PolicyFile {
    pub(crate) source: RuleSource,
    mode: Option<ApprovalMode>,
    new_content: Option<NewContentPolicy>,
    rules: Vec<Rule>,
    pub(crate) refuse_missing_requirements: bool,
    record: Option<RecordMode>,
    limits: ResourceLimits,
    /// The values that the file sets, and 0 for the others.
    pub(crate) set_limits: ResourceLimits,
    pub(crate) install: InstallPolicy,
    pub(crate) sandboxes: Vec<SandboxRequirement>,
}

/// The keys of a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct PolicyFields {
    mode: Option<ApprovalMode>,
    new_content: Option<NewContentPolicy>,
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
    refuse_missing_requirements: bool,
    record: Option<RecordMode>,
    sources: Option<Vec<String>>,
    require_signature: bool,
    signature_keys: Option<Vec<String>>,
    signature_identities: Option<Vec<String>>,
    sigstore_trusted_root: Option<Spanned<PathBuf>>,
    require_sandbox: SandboxChoice,
    within: Vec<ScopedFields>,
    limits: LimitFields,
}

/// A `[[within]]` table: rules for programs at or below one directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScopedFields {
    directory: Spanned<PathBuf>,
    #[serde(default)]
    require_sandbox: SandboxChoice,
    #[serde(default)]
    allow: Vec<Spanned<String>>,
    #[serde(default)]
    ask: Vec<Spanned<String>>,
    #[serde(default)]
    deny: Vec<Spanned<String>>,
}

/// The `[limits]` table: the ceiling for any run, and in a file of the user also the limits of runs
/// that set none. Each key is in the unit of its name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct LimitFields {
    time_seconds: Option<u64>,
    memory_mib: Option<u64>,
    output_kib: Option<usize>,
    file_mib: Option<u64>,
    open_files: Option<u64>,
    processes: Option<u64>,
    scratch_mib: Option<u64>,
}

impl PolicyFile {
    /// Parses the text of a file. Its rules get `source` and `origin`; the origin, usually the path
    /// of the file, also begins each error. The caller limits the length of the text.
    ///
    /// # Errors
    /// Fails if the text is not TOML of this form (with the line), a rule is invalid, the directory
    /// of `within` is not an absolute path without `..`, or a limit is 0.
    pub fn parse(text: &str, source: RuleSource, origin: &str) -> Result<Self, PolicyError> {
        let mut fields: PolicyFields = toml::from_str(text).map_err(|error| Repr::File {
            source_name: origin.to_owned(),
            line: error.span().map_or(1, |span| line_of(text, span.start)),
            message: error.message().to_owned(),
        })?;
        let scoped = std::mem::take(&mut fields.within);
        let rules_of = |texts| RuleTexts {
            texts,
            file: text,
            source,
            origin,
        };
        if fields.limits.has_zero() {
            return Err(Repr::ZeroLimit {
                source_name: origin.to_owned(),
            }
            .into());
        }
        let require = |sandbox, within| SandboxRequirement {
            sandbox,
            within,
            source,
            origin: origin.to_owned(),
        };
        let mut sandboxes = vec![require(fields.require_sandbox, None)];
        let mut rules = rules_of([&fields.allow, &fields.ask, &fields.deny]).parse()?;
        for within in &scoped {
            // A path that does not compare would silently apply nowhere or everywhere.
            let directory = within.directory.as_ref();
            if !is_comparable(directory) || is_pattern(directory) {
                return Err(Repr::RelativeDirectory {
                    source_name: origin.to_owned(),
                    line: line_of(text, within.directory.span().start),
                    directory: directory.clone(),
                }
                .into());
            }
            sandboxes.push(require(within.require_sandbox, Some(directory.clone())));
            let parsed = rules_of([&within.allow, &within.ask, &within.deny]).parse()?;
            // Restricted here, so that a scoped rule cannot be read without its directory.
            rules.extend(parsed.into_iter().map(|rule| rule.within(directory)));
        }
        let root = fields.sigstore_trusted_root.as_ref();
        if let Some(root) = root.filter(|root| !is_comparable(root.as_ref())) {
            return Err(Repr::RelativeTrustedRoot {
                source_name: origin.to_owned(),
                line: line_of(text, root.span().start),
                path: root.as_ref().clone(),
            }
            .into());
        }
        let install = fields.install(source);
        sandboxes.retain(|requirement| requirement.sandbox != SandboxChoice::Auto);
        // A repository must not select a weaker sandbox than its user did.
        if source == RuleSource::Project && !sandboxes.is_empty() {
            return Err(Repr::ProjectSandbox {
                source_name: origin.to_owned(),
            }
            .into());
        }
        Ok(Self {
            source,
            sandboxes,
            mode: fields.mode,
            new_content: fields.new_content,
            rules,
            refuse_missing_requirements: fields.refuse_missing_requirements,
            record: fields.record,
            limits: fields.limits.over(ResourceLimits::default_ceiling()),
            set_limits: fields.limits.over(ResourceLimits::all(0)),
            install,
        })
    }

    /// Returns the approval mode, if the file sets one.
    #[must_use]
    pub fn mode(&self) -> Option<ApprovalMode> {
        self.mode
    }

    /// Returns the policy for new content, if the file sets one.
    #[must_use]
    pub fn new_content(&self) -> Option<NewContentPolicy> {
        self.new_content
    }

    /// Returns whether programs run without an audit record, if the file says so.
    #[must_use]
    pub fn record(&self) -> Option<RecordMode> {
        self.record
    }

    /// Replaces each rule by those that `expand` returns for it, for example one for each spelling
    /// of its path.
    ///
    /// # Errors
    /// The first error of `expand`.
    pub fn expand_rules<E>(
        mut self,
        expand: impl Fn(&Rule) -> Result<Vec<Rule>, E>,
    ) -> Result<Self, E> {
        let expanded: Result<Vec<Vec<Rule>>, E> = self.rules.iter().map(expand).collect();
        self.rules = expanded?.concat();
        Ok(self)
    }

    /// Replaces each requirement of a sandbox within a directory by one for each of the directories
    /// that `expand` returns for it, for example both spellings of a path.
    pub fn expand_sandboxes(mut self, expand: impl Fn(&Path) -> Vec<PathBuf>) -> Self {
        let expanded = self.sandboxes.iter().flat_map(|requirement| {
            let directories = match &requirement.within {
                None => vec![None],
                Some(within) => expand(within).into_iter().map(Some).collect(),
            };
            directories.into_iter().map(|within| SandboxRequirement {
                within,
                ..requirement.clone()
            })
        });
        self.sandboxes = expanded.collect();
        self
    }

    /// Returns the rules in the order allow, ask, deny, those of `[[within]]` last. The order has
    /// no effect on decisions.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Returns the values of the file, and no limit for the others.
    pub(crate) fn ceiling(&self) -> ResourceLimits {
        let unset = ResourceLimits::all(u64::MAX);
        let mut ceiling = self.limits.clone();
        if self.set_limits.captured_bytes == 0 {
            ceiling.captured_bytes = unset.captured_bytes;
        }
        ceiling
    }

    /// Returns the ceiling of resource limits: the values of the file, and the
    /// [default ceiling](ResourceLimits::default_ceiling) for the others.
    pub fn limits(&self) -> &ResourceLimits {
        &self.limits
    }
}

/// Returns the setting of the user, else of the administrator, or a stricter one of the
/// administrator or a project.
pub(crate) fn strictest<T: Copy + Default + Ord>(
    files: &[PolicyFile],
    setting: impl Fn(&PolicyFile) -> Option<T>,
) -> T {
    let of = |source| {
        let files = files.iter().filter(move |file| file.source == source);
        files.filter_map(&setting)
    };
    let chosen = of(RuleSource::User).chain(of(RuleSource::Admin)).next();
    // The administrator counts twice: as the default of users without a setting of their own, and
    // as a lower bound for those who have one.
    of(RuleSource::Admin)
        .chain(of(RuleSource::Project))
        .fold(chosen.unwrap_or_default(), T::min)
}

/// The texts of the rules of one table: `allow`, `ask` and `deny`.
struct RuleTexts<'a> {
    texts: [&'a Vec<Spanned<String>>; 3],
    file: &'a str,
    source: RuleSource,
    origin: &'a str,
}

impl RuleTexts<'_> {
    fn parse(&self) -> Result<Vec<Rule>, PolicyError> {
        let effects = [Effect::Allow, Effect::Ask, Effect::Deny].into_iter();
        let all = effects.zip(self.texts);
        let all = all.flat_map(|(effect, texts)| texts.iter().map(move |text| (effect, text)));
        all.map(|(effect, text)| self.parse_rule(effect, text))
            .collect()
    }

    fn parse_rule(&self, effect: Effect, text: &Spanned<String>) -> Result<Rule, PolicyError> {
        let rule = Rule::parse(effect, self.source, text.as_ref());
        rule.map(|rule| rule.origin(self.origin)).map_err(|error| {
            Repr::InFile {
                source_name: self.origin.to_owned(),
                line: line_of(self.file, text.span().start),
                error: Box::new(error),
            }
            .into()
        })
    }
}

/// Returns the line of a byte of a text, from 1. A span can end behind the text.
fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

impl PolicyFields {
    /// Returns which skills the file lets be installed.
    fn install(&mut self, source: RuleSource) -> InstallPolicy {
        let keys = self.signature_keys.take();
        let identities = self.signature_identities.take();
        // A repository must not name the keys that its skills are checked by.
        let lists_signers =
            source != RuleSource::Project && (keys.is_some() || identities.is_some());
        let root = self.sigstore_trusted_root.take().map(Spanned::into_inner);
        let identities = identities.unwrap_or_default().into_iter();
        let identities = identities.map(|identity| SignatureIdentity {
            identity,
            trusted_root: root.clone(),
        });
        InstallPolicy {
            sources: self.sources.take().into_iter().collect(),
            requires_signature: self.require_signature,
            // A file that lists signers of one kind trusts none of the other kind.
            signature_keys: lists_signers.then(|| keys.unwrap_or_default()),
            signature_identities: lists_signers.then(|| identities.collect()),
        }
    }
}

impl LimitFields {
    // A limit of 0 lets nothing run; it is rather meant as "unlimited", which does not exist.
    fn has_zero(&self) -> bool {
        let counts = [
            self.time_seconds,
            self.memory_mib,
            self.file_mib,
            self.open_files,
            self.processes,
            self.scratch_mib,
        ];
        counts.contains(&Some(0)) || self.output_kib == Some(0)
    }

    /// Returns the limits with the values of the file in place of the given ones.
    fn over(&self, mut limits: ResourceLimits) -> ResourceLimits {
        // Saturating, so that a huge value cannot wrap around to a small limit.
        limits.wall_time = self
            .time_seconds
            .map_or(limits.wall_time, Duration::from_secs);
        limits.memory_bytes = self
            .memory_mib
            .map_or(limits.memory_bytes, |mib| mib.saturating_mul(1 << 20));
        limits.captured_bytes = self
            .output_kib
            .map_or(limits.captured_bytes, |kib| kib.saturating_mul(1 << 10));
        limits.file_bytes = self
            .file_mib
            .map_or(limits.file_bytes, |mib| mib.saturating_mul(1 << 20));
        limits.open_files = self.open_files.unwrap_or(limits.open_files);
        limits.processes = self.processes.unwrap_or(limits.processes);
        limits.scratch_bytes = self
            .scratch_mib
            .map_or(limits.scratch_bytes, |mib| mib.saturating_mul(1 << 20));
        limits
    }
}
