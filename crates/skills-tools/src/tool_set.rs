//! The tools of a host application.

mod active_skills;
mod builder;
mod call;
mod hooks;
mod inner;
mod skills;

#[cfg(feature = "watch")]
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use skills_runtime::discovery::CatalogSummary;
#[cfg(feature = "watch")]
use skills_runtime::discovery::{CatalogChange, RootWatcher, WatchOptions};
use skills_runtime::{Catalog, Policy, Remedy, SkillRuntime};
use skills_script::ScriptTool;

use crate::overrides::{OverrideError, ToolOverride};
use crate::publication::Publisher;
use crate::registry::ScriptToolEntry;
use crate::run::{ProgramRunner, Remedies, script_tool};
use crate::tool_definition::ToolDefinition;
use crate::{CallContext, Mount, ToolErrorCode, ToolFormat, ToolGroup, ToolOutput};

use builder::{Repr, check_directories};
use call::{ResolvedCall, run_blocking};
use hooks::hooked_call;
use inner::Inner;

pub use builder::{ToolSetBuildError, ToolSetBuilder};

/// Lists and calls the tools of a host application.
///
/// Definitions are for a model, [`call`](Self::call) executes what the model requests; policy
/// decides about permissions in between. Paths in arguments and results are virtual, so a model
/// sees no path of the host, with two exceptions meant for the user: the interpreter that lacks a
/// package, and what the function of [`remedies`](ToolSetBuilder::remedies) returns. Cheap to
/// clone; clones share sessions, write quotas and caches.
///
/// ```
/// use serde_json::json;
/// use skills_tools::runtime::{Root, Scope, SkillRuntime};
/// use skills_tools::{CallContext, ToolSet};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
/// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
/// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
/// let root = Root::new(directory.path(), Scope::Custom);
/// let runtime = SkillRuntime::builder().root(root).build();
/// let tools = ToolSet::builder(runtime).build()?;
/// let context = CallContext::default();
/// let output = tools.call("load_skill", json!({"name": "greet"}), &context).await?;
/// assert!(output.text().contains("Say hello."));
/// assert_eq!(output.structured["path"], "/skills/greet");
/// // A mistake of the model is a result that it can correct.
/// let output = tools.call("load_skill", json!({"name": "great"}), &context).await?;
/// assert_eq!(output.code(), Some("skill_not_found"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ToolSet {
    inner: Arc<Inner>,
}

impl ToolSet {
    /// Returns a builder for the tools of a runtime, with the defaults of [`ToolSetBuilder`].
    pub fn builder(runtime: SkillRuntime) -> ToolSetBuilder {
        ToolSetBuilder::new(runtime)
    }

    /// Returns how many skills the last scan has read, rejected and not searched for, and why, as
    /// `skills_ls` shows it. Scans the roots on first use. Performs blocking I/O.
    #[must_use]
    pub fn catalog_summary(&self) -> CatalogSummary {
        self.inner.runtime().library().catalog().summary()
    }

    /// Returns the definitions of all enabled tools: built-in tools, then script tools in the order
    /// of the catalog.
    ///
    /// The catalog is refreshed unless a watcher is active. Equal skills give equal definitions,
    /// byte for byte. Scripts that cannot be read are omitted; [`warnings`](Self::warnings) reports
    /// them. Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::{Root, Scope, SkillRuntime};
    /// use skills_tools::{ToolGroup, ToolSet};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
    /// let root = Root::new(directory.path(), Scope::Custom);
    /// let runtime = SkillRuntime::builder().root(root).build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::ScriptTools]).build()?;
    /// let definitions = tools.definitions()?;
    /// assert_eq!(definitions[0].name, "skill__greet__hello");
    /// assert!(definitions[0].description.starts_with("Execute hello from greet."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the tool overrides cannot be read.
    pub fn definitions(&self) -> Result<Vec<ToolDefinition>, OverrideError> {
        let catalog = self.catalog();
        let max_timeout = self.inner.programs.options.max_chosen_time();
        let mut definitions: Vec<ToolDefinition> = self
            .inner
            .builtin_tools()
            .into_iter()
            .map(|tool| tool.definition_with_names(self.inner.runtime(), &catalog, max_timeout))
            .collect();
        if self.inner.has_group(ToolGroup::ScriptTools) {
            let registry = self.inner.registry(&catalog)?;
            definitions.extend(
                registry
                    .enabled_tools()
                    .map(|tool| script_tool::definition(&tool)),
            );
        }
        Ok(definitions)
    }

    /// Returns the definitions that a session has in addition to
    /// [`definitions`](Self::definitions): those of [`ToolGroup::LoadedScripts`]. They change when
    /// the session loads a skill. Performs blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn session_definitions(&self, session: &str) -> Result<Vec<ToolDefinition>, OverrideError> {
        let is_selected = self.inner.has_group(ToolGroup::LoadedScripts)
            && !self.inner.has_group(ToolGroup::ScriptTools);
        let skills = self.inner.active_skills.of_session(session);
        if !is_selected || skills.is_empty() {
            return Ok(Vec::new());
        }
        let tools = self
            .inner
            .registry(&self.catalog())?
            .tools_of_skills(&skills);
        Ok(tools.iter().map(script_tool::definition).collect())
    }

    /// Renders the definitions in the format of a model API, in the order of
    /// [`definitions`](Self::definitions). Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::SkillRuntime;
    /// use skills_tools::{ToolFormat, ToolGroup, ToolSet};
    ///
    /// let runtime = SkillRuntime::builder().build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::Catalog]).build()?;
    /// let rendered = tools.render(ToolFormat::OpenAi)?;
    /// assert_eq!(rendered[0]["function"]["name"], "search_skills");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn render(&self, format: ToolFormat) -> Result<Vec<Value>, OverrideError> {
        Ok(self
            .definitions()?
            .iter()
            .map(|definition| definition.render(format))
            .collect())
    }

    /// Calls a tool. Arguments are validated against its schema before anything else happens; null
    /// is accepted as an empty object.
    ///
    /// If a context has a [text limit](CallContext::max_text_bytes) and a session, longer output of a
    /// program is kept for `skills_read` of that session, which the text says: of the last four such calls,
    /// at most 1 MiB, and 32 MiB of all sessions.
    ///
    /// Failures are returned as a [`ToolOutput`] for the model. Must be called inside a Tokio
    /// runtime with time and I/O enabled. Not cancel safe in the sense of a retry: dropping the
    /// future stops the program, whose effects on files remain.
    ///
    /// # Errors
    /// [`UnknownTool`] if no enabled tool has the name, because the host application made a mistake
    /// or uses an outdated list.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        context: &CallContext,
    ) -> Result<ToolOutput, UnknownTool> {
        let arguments = if arguments.is_null() {
            Value::Object(serde_json::Map::new())
        } else {
            arguments
        };
        let inner = Arc::clone(&self.inner);
        let (tool_name, session) = (name.to_owned(), context.session_id().map(str::to_owned));
        // Lookup and validation block, so they run on the blocking pool.
        let resolved = run_blocking(move || {
            let (call, ignored) = inner.resolve(&tool_name, arguments)?;
            let hooked = hooked_call(&inner, &tool_name, &call, session.as_deref());
            Ok((call, hooked, ignored))
        });
        let (call, hooked, ignored) = match resolved.await {
            Err(error) => return Ok(error.into()),
            Ok((ResolvedCall::Unknown { nearest, group }, ..)) => {
                return Err(UnknownTool {
                    // The name is client input of any length.
                    name: name.chars().take(MAX_NAME_CHARS).collect(),
                    nearest,
                    group,
                });
            }
            Ok(resolved) => resolved,
        };
        // On the heap: the futures of programs and hooks are large.
        let output = Box::pin(self.inner.perform_with_hooks(call, hooked, context)).await;
        let output = output.unwrap_or_else(ToolOutput::from);
        let mut output = output.with_ignored_arguments(&ignored);
        self.inner.keep_output(&mut output, context);
        Ok(output)
    }

    /// Ends a session: removes the private directory of its scripts, the approvals for the session, and
    /// the output of programs that is kept for it.
    ///
    /// A directory that a program is still using is removed when that program ends. A later call
    /// with the same session starts a new one. Performs blocking I/O.
    pub fn end_session(&self, session: &str) {
        self.inner.programs.sessions.remove(session);
        self.inner.active_skills.remove(session);
        self.inner.kept_outputs.remove(session);
        let executor = self.inner.runtime().executor();
        executor.clear_session_approvals(session);
    }

    /// Returns warnings about the scripts of skills, for the host application: ambiguous tool
    /// names, scripts that are not tools, ignored declarations, missing environment variables.
    ///
    /// Scripts that the operator disabled are included. Each warning names the skill. All scripts
    /// are read. Performs blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn warnings(&self) -> Result<Vec<String>, OverrideError> {
        let registry = self.inner.registry(&self.catalog())?;
        let mut warnings = registry.warnings().to_vec();
        // Includes disabled scripts: the operator decides about them with these warnings.
        for entry in registry.scripts() {
            match entry.load_tool() {
                Ok(ScriptToolEntry { tool, .. }) => {
                    let ScriptTool { skill, file, .. } = &tool;
                    let of_tool = tool.warnings.iter();
                    warnings.extend(
                        of_tool.map(|warning| format!("skill `{skill}`: `{file}`: {warning}")),
                    );
                }
                Err(warning) => warnings.push(warning),
            }
        }
        Ok(warnings)
    }

    /// Returns the `allowed-tools` of a skill together with the enabled tools of its own scripts.
    ///
    /// Use it to restrict a model to what an active skill declares. A skill that does not exist or
    /// is inactive has no declared tools. The catalog is refreshed unless a watcher is active.
    /// Performs blocking I/O.
    ///
    /// # Errors
    /// As [`definitions`](Self::definitions).
    pub fn allowed_tools(&self, skill: &str) -> Result<Vec<String>, OverrideError> {
        let catalog = self.catalog();
        let entry = catalog
            .entries()
            .iter()
            .find(|entry| entry.name().as_str() == skill);
        let declared = entry
            .map(|entry| entry.manifest().allowed_tools())
            .unwrap_or_default();
        let registry = self.inner.registry(&catalog)?;
        Ok(declared
            .iter()
            .map(ToString::to_string)
            .chain(registry.names_of_skill(skill))
            .collect())
    }

    /// Sets overrides of a script tool: enabled, description, timeout. Fields of `change` that are
    /// `None` stay as they are.
    ///
    /// Overrides take effect with the next call, and last as long as the
    /// [store](crate::ToolSetBuilder::overrides) keeps them. Performs blocking I/O.
    ///
    /// ```
    /// use skills_tools::runtime::{Root, Scope, SkillRuntime};
    /// use skills_tools::{ToolGroup, ToolOverride, ToolSet};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("greet/scripts"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nSay hello.\n")?;
    /// # std::fs::write(directory.path().join("greet/scripts/hello.py"), "print('hello')\n")?;
    /// let root = Root::new(directory.path(), Scope::Custom);
    /// let runtime = SkillRuntime::builder().root(root).build();
    /// let tools = ToolSet::builder(runtime).tool_groups([ToolGroup::ScriptTools]).build()?;
    /// tools.set_override("skill__greet__hello", ToolOverride::disable())?;
    /// assert!(tools.definitions()?.is_empty());
    /// assert!(tools.clear_override("skill__greet__hello")?);
    /// assert_eq!(tools.definitions()?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if no script has a tool of that name, enabled or not, and if the override cannot be
    /// stored.
    pub fn set_override(&self, name: &str, change: ToolOverride) -> Result<(), OverrideError> {
        let registry = self.inner.registry(&self.catalog())?;
        let entry = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        let overrides = &self.inner.programs.overrides;
        overrides.merge(entry.script_id().clone(), change)
    }

    /// Removes all overrides of a script tool, and returns whether there were any.
    ///
    /// The tool then has the state that
    /// [`default_script_state`](crate::ToolSetBuilder::default_script_state) selects. Performs
    /// blocking I/O.
    ///
    /// # Errors
    /// As [`set_override`](Self::set_override).
    pub fn clear_override(&self, name: &str) -> Result<bool, OverrideError> {
        let registry = self.inner.registry(&self.catalog())?;
        let entry = registry
            .find_by_name(name)
            .ok_or_else(|| OverrideError::unknown_tool(name))?;
        self.inner.programs.overrides.remove(entry.script_id())
    }

    /// Returns the canonical path of the workspace, if there is one. For the host application, not
    /// for a model.
    #[must_use]
    pub fn workspace_directory(&self) -> Option<&Path> {
        let workspace = self.inner.files().mounts.workspace();
        workspace.map(|workspace| workspace.path.as_path())
    }

    /// Returns these tools with another workspace, for one client of several or after a client has
    /// changed its project. Performs blocking I/O.
    ///
    /// Both tool sets share skills, mounts with their write quotas, sessions and their approvals.
    /// `policy` and `describe` replace the [policy](crate::runtime::Builder::policy) and the
    /// [remedies](crate::ToolSetBuilder::remedies), which can name the workspace.
    ///
    /// ```
    /// use serde_json::json;
    /// use skills_tools::runtime::{Policy, SkillRuntime};
    /// use skills_tools::{CallContext, Mount, ToolSet};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// std::fs::write(directory.path().join("notes.txt"), "hello")?;
    /// let tools = ToolSet::builder(SkillRuntime::builder().build()).build()?;
    /// assert!(tools.workspace_directory().is_none());
    ///
    /// let workspace = Mount::writable("workspace", directory.path());
    /// let of_client = tools.with_workspace(workspace, Policy::default(), |_| None)?;
    /// let (path, context) = (json!({"path": "notes.txt"}), CallContext::default());
    /// let read = of_client.call("skills_read", path, &context).await?;
    /// assert_eq!(read.structured["content"], "hello");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`build`](crate::ToolSetBuilder::build).
    pub fn with_workspace(
        &self,
        workspace: Mount,
        policy: Policy,
        describe: impl Fn(&Remedy) -> Option<String> + Send + Sync + 'static,
    ) -> Result<Self, ToolSetBuildError> {
        let inner = &self.inner;
        let runtime = inner.runtime().with_policy(policy);
        let files = inner.files().with_workspace(workspace, runtime);
        let files = Arc::new(files.map_err(Repr::from)?);
        check_directories(&files)?;
        let programs = ProgramRunner {
            files,
            remedies: Remedies::new(describe),
            ..inner.programs.clone()
        };
        Ok(Self {
            inner: Arc::new(Inner {
                publisher: Publisher::new(Arc::clone(&programs.files)),
                programs,
                script_scanner: Arc::clone(&inner.script_scanner),
                hooks: inner.hooks,
                active_skills: Arc::clone(&inner.active_skills),
                kept_outputs: Arc::clone(&inner.kept_outputs),
            }),
        })
    }

    /// Watches the skills, and calls `changed` on a thread of its own when the catalog or a file in
    /// a skill's `scripts/` has changed, so that the [definitions](Self::definitions) may differ.
    /// Changes within the debounce interval of the options cause one call.
    ///
    /// While the handle is alive and events are reported, calls and definitions scan only if an
    /// event was reported since the last scan, or if that scan is older than one second. No
    /// platform reports everything, such as edits through another hard link, changes on other
    /// machines, or renames of a directory above a root: calls see those within a second, and
    /// `changed` is called when a periodic scan finds them, every 30 s. With more than 2,000 skills
    /// calls see them only after that scan, too. A directory that was removed and created again is
    /// watched again once its removal was reported or a scan finds the new one.
    ///
    /// Changes that the tools make themselves are visible immediately. If the platform does not
    /// report events for everything that is watched, each call scans as without a watcher, and
    /// `changed` is called when a scan every two seconds finds a change; if scans take long, they
    /// are rarer. Files are always read when they are needed, and permissions are decided for the
    /// content that runs.
    ///
    /// Scripts are compared once the [definitions](Self::definitions) were made: before, nobody can
    /// have outdated ones.
    ///
    /// Performs blocking I/O for an initial scan, unless there was one.
    ///
    /// # Errors
    /// Fails if the system does not start the thread.
    #[cfg(feature = "watch")]
    pub fn watch(
        &self,
        options: WatchOptions,
        mut changed: impl FnMut() + Send + 'static,
    ) -> io::Result<RootWatcher> {
        let inner = &self.inner;
        let scanner = inner
            .has_script_tools()
            .then(|| Arc::clone(&inner.script_scanner));
        let runtime = inner.runtime().clone();
        // Before the watcher starts, so that a change during its start is a difference.
        let mut previous = scanner
            .as_ref()
            .filter(|scanner| scanner.first().is_some())
            .map(|scanner| scanner.index(&runtime.library().refresh()));
        let on_scan = move |change: Option<CatalogChange>| {
            let scripts_changed = scanner.as_ref().is_some_and(|scanner| {
                let Some(known) = previous.take().or_else(|| scanner.first()) else {
                    return false;
                };
                let now = scanner.index(&runtime.library().catalog());
                let differs = known.differs_from(&now);
                previous = Some(now);
                differs
            });
            if change.is_some() || scripts_changed {
                changed();
            }
        };
        inner.runtime().library().watch(options, on_scan)
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.inner.catalog()
    }
}

/// Maximum length of an unknown name in an error, in characters; tool names have at most 64.
const MAX_NAME_CHARS: usize = 100;

/// Error of a call to a tool that does not exist.
///
/// The name is unknown, or the tool is disabled. The message names the group of a tool that is not
/// enabled, or suggests the most similar name of an enabled one. A host that passes the calls of a
/// model on [converts](ToolOutput#impl-From<UnknownTool>-for-ToolOutput) it to a result that the model
/// reads; for another one, it is a mistake of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tool `{}` {}", name.escape_debug(), self.reason())]
pub struct UnknownTool {
    name: String,
    nearest: Option<String>,
    /// The group that has the tool, which is not enabled.
    group: Option<ToolGroup>,
}

impl UnknownTool {
    fn reason(&self) -> String {
        match (self.group, &self.nearest) {
            (Some(group), _) => format!("is not enabled: it is in group `{}`", group.name()),
            (None, Some(nearest)) => format!("not found; did you mean `{nearest}`?"),
            (None, None) => "not found".to_owned(),
        }
    }
}

impl From<UnknownTool> for ToolOutput {
    fn from(unknown: UnknownTool) -> Self {
        let error = ToolErrorCode::NotFound.error(unknown.to_string());
        let hint = match (unknown.group, unknown.nearest) {
            (Some(group), _) => format!(
                "use another tool, or ask your user to add `{}` to `--tools` of the skills server",
                group.name()
            ),
            // The message has it.
            (None, Some(_)) => return error.into(),
            (None, None) => "list the tools".to_owned(),
        };
        error.with_hint(hint).into()
    }
}
