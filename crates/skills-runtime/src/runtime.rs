//! The facade.

use std::sync::{Arc, PoisonError, RwLock};

use skills_discovery::{Catalog, Discovery, Entry, Lookup};
use skills_policy::{Access, Capability, Decision, Grants, Network, Rules, Spawn};
use skills_prompt::{Budget, Catalogue, Fragment, Item, Nonce, frame, offered};
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
    shared: Arc<Shared>,
}

struct Shared {
    discovery: Discovery,
    rules: Rules,
    backends: Backends,
    catalog: RwLock<Option<Arc<Catalog>>>,
}

impl SkillRuntime {
    /// Starts to put a runtime together.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(discovery: Discovery, rules: Rules, backends: Backends) -> Self {
        Self { shared: Arc::new(Shared { discovery, rules, backends, catalog: RwLock::default() }) }
    }

    /// Scans the roots anew and lists what is there; what was passed over is in [`catalog`](Self::catalog).
    pub fn discover_skills(&self) -> Vec<SkillDescriptor> {
        self.rescan().entries().iter().map(SkillDescriptor::new).collect()
    }

    /// Returns the catalogue of the last scan, and makes the first scan when there was none.
    pub fn catalog(&self) -> Arc<Catalog> {
        let known = self.shared.catalog.read().unwrap_or_else(PoisonError::into_inner).clone();
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
    fn rescan(&self) -> Arc<Catalog> {
        let known = self.shared.catalog.read().unwrap_or_else(PoisonError::into_inner).clone();
        let catalog = match known {
            Some(known) => match self.shared.discovery.rescan(&known) {
                Some(catalog) => Arc::new(catalog),
                None => return known,
            },
            None => Arc::new(self.shared.discovery.scan()),
        };
        *self.shared.catalog.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&catalog));
        catalog
    }

    /// Renders the section that tells a model which skills there are.
    #[must_use]
    pub fn catalogue(&self, budget: Budget) -> Catalogue {
        let offered = offered(&self.catalog());
        let items: Vec<Item<'_>> = offered.iter().map(skills_prompt::OwnedItem::as_item).collect();
        Catalogue::render(&items, budget)
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

    /// Reads a skill and frames its body for a model, in a frame that the body cannot close.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill), and when the system gives no random bytes.
    pub fn skill_prompt(&self, name: &str) -> Result<String, RuntimeError> {
        let skill = self.get_skill(name)?;
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|error| skills_sandbox::SandboxError::setup("drawing random bytes", std::io::Error::other(error.to_string())))?;
        let resources: Vec<&str> = skill.resources.resources.iter().map(|resource| resource.path.as_str()).collect();
        let directory = skill.directory.to_string_lossy();
        let fragment = Fragment {
            name: &skill.id,
            directory: &directory,
            body: &skill.instructions,
            resources: &resources,
            more_resources: skill.resources.truncated,
        };
        Ok(frame(fragment, &Nonce::from_random(random)))
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

fn find<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Entry, RuntimeError> {
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
