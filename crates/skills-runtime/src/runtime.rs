//! The facade.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use skills_discovery::{Catalog, DigestCache, Discovery, Entry, Lookup};
use skills_policy::{Access, Capability, Decision, Grants, Network, Rules, Spawn};
use skills_prompt::{ImplicitIndex, MentionIndex, Modes};
use skills_sandbox::{Report, SandboxError};

use crate::backends::Backends;
use crate::error::{Repr, RuntimeError};
use crate::execute::job;
use crate::{Builder, ExecutionArtifacts, ExecutionOptions, LoadedSkill, SkillDescriptor, detect_execution_mode};

/// Finds, shows, loads and runs skills.
///
/// `Send + Sync` and cheap to clone; clones share the catalogue and the backends.
#[derive(Clone)]
pub struct SkillRuntime {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    discovery: Discovery,
    rules: Rules,
    backends: Backends,
    pub(crate) modes: Modes,
    known: RwLock<Option<Arc<Known>>>,
    pub(crate) digests: Mutex<DigestCache>,
}

/// A catalogue, and what was prepared for looking things up in it.
pub(crate) struct Known {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) mentions: OnceLock<Arc<MentionIndex>>,
    pub(crate) implicit: OnceLock<Arc<ImplicitIndex>>,
}

impl SkillRuntime {
    /// Starts to put a runtime together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(discovery: Discovery, rules: Rules, backends: Backends, modes: Modes) -> Self {
        let (known, digests) = (RwLock::default(), Mutex::default());
        Self { shared: Arc::new(Shared { discovery, rules, backends, modes, known, digests }) }
    }

    /// Scans the roots anew and lists what is there; what was passed over is in [`catalog`](Self::catalog).
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.rescan().catalog.entries().iter().map(SkillDescriptor::new).collect()
    }

    /// Returns the catalogue of the last scan, and makes the first scan when there was none.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.known().catalog)
    }

    pub(crate) fn known(&self) -> Arc<Known> {
        let known = self.shared.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        known.unwrap_or_else(|| self.rescan())
    }

    /// Returns how skills are looked for.
    pub fn discovery(&self) -> &Discovery {
        &self.shared.discovery
    }

    /// Asks the backends which walls would stand around a run here, for scripts and for WebAssembly; nothing runs.
    ///
    /// A backend that cannot serve here gives the error that a run would give.
    pub fn sandboxes(&self) -> [(&'static str, Result<Report, SandboxError>); 2] {
        self.shared.backends.probe()
    }

    /// Looks at the disk again. An unchanged one costs a look at the metadata of each file, and the catalogue stays the same.
    fn rescan(&self) -> Arc<Known> {
        let known = self.shared.known.read().unwrap_or_else(PoisonError::into_inner).clone();
        let catalog = match known {
            Some(known) => match self.shared.discovery.rescan(&known.catalog) {
                Some(catalog) => catalog,
                None => return known,
            },
            None => self.shared.discovery.scan(),
        };
        let known = Arc::new(Known { catalog: Arc::new(catalog), mentions: OnceLock::new(), implicit: OnceLock::new() });
        *self.shared.known.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&known));
        known
    }

    /// Reads a skill's instructions and lists its files; `name` is its name or its directory.
    ///
    /// # Errors
    /// When no or more than one skill has the name, or when its files cannot be read (any more).
    pub fn get_skill(&self, name: &str) -> Result<LoadedSkill, RuntimeError> {
        let catalog = self.catalog();
        let entry = find(&catalog, name)?;
        let failed = |source| RuntimeError::from(Repr::Files { path: entry.location(), source });
        let files = entry.open().map_err(failed)?;
        Ok(LoadedSkill::new(entry, &files.document().map_err(failed)?, files.list("").map_err(failed)?))
    }

    /// Runs a skill's program in a sandbox.
    ///
    /// A program that fails, is stopped or is denied comes back as [`ExecutionArtifacts`]; see
    /// [`exit_status`](ExecutionArtifacts::exit_status). Must be called inside a Tokio runtime with time and I/O enabled. Dropping the future
    /// stops the program.
    ///
    /// # Errors
    /// When the skill or its program is not there, when the skill declares a restriction that cannot be read, or when no sandbox can be had:
    /// then nothing ran.
    pub async fn execute_skill(&self, name: &str, options: ExecutionOptions) -> Result<ExecutionArtifacts, RuntimeError> {
        let options = options.resolved()?;
        let catalog = self.catalog();
        let entry = find(&catalog, name)?;
        let failed = |source| RuntimeError::from(Repr::Files { path: entry.location(), source });
        let files = entry.open().map_err(failed)?;
        // The file of now decides what is asked for, not that of the scan.
        let document = files.document().map_err(failed)?;
        let unread = document.manifest().unread_restrictions();
        if !unread.is_empty() {
            let (skill, path, fields) = (entry.name().to_string(), entry.location(), unread.to_vec());
            return Err(Repr::Restricted { skill, path, fields }.into());
        }
        let mode = detect_execution_mode(entry.name().as_str(), &files, &options)?;
        let request = options.request(entry, document.manifest());
        let grants = match self.shared.rules.decide(&request) {
            Decision::Granted(grants) => grants,
            Decision::Denied(denial) => return Ok(ExecutionArtifacts::denied(entry.name().to_string(), mode, denial)),
        };
        let used = document.manifest().allowed_tools().iter().filter(|rule| is_given(&grants, rule.tool()));
        let used = used.map(ToString::to_string).collect();
        let sandbox = self.shared.backends.for_mode(&mode)?;
        let outcome = sandbox.run(job(entry, &files, &mode, grants, &options)?).await?;
        Ok(ExecutionArtifacts::new(entry.name().to_string(), mode, used, outcome))
    }
}

pub(crate) fn find<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Entry, RuntimeError> {
    match catalog.find(name) {
        Lookup::Found(entry) => Ok(entry),
        Lookup::Unknown(nearest) => {
            let nearest = nearest.into_iter().map(str::to_owned).collect();
            Err(Repr::UnknownSkill { name: name.to_owned(), nearest }.into())
        }
        Lookup::Inactive(inactive) => {
            let (path, reason) = (inactive.entry().location(), inactive.reason().clone());
            Err(Repr::InactiveSkill { name: name.to_owned(), path, reason }.into())
        }
        Lookup::Ambiguous(entries) => {
            let directories = entries.iter().map(|entry| entry.directory().display().to_string()).collect();
            Err(Repr::AmbiguousSkill { name: name.to_owned(), directories }.into())
        }
    }
}

/// Says whether a tool's capability came to anything: a wish to write without a directory to write to did not.
fn is_given(grants: &Grants, tool: &str) -> bool {
    match Capability::of_tool(tool) {
        Some(Capability::Read) => !grants.files().is_empty(),
        Some(Capability::Write) => grants.files().iter().any(|file| file.access() == Access::ReadWrite),
        Some(Capability::Network) => *grants.network() != Network::None,
        Some(Capability::Spawn) => *grants.spawn() != Spawn::None,
        _ => false,
    }
}
