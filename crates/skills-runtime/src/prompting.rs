//! Skills section, injections, mentions and implicit use.

use std::sync::Arc;

use skills_discovery::{Entry, ResourceListing, SkillFiles};
use skills_prompt::{
    Activation, ActiveSkills, Budget, EntryReport, ImplicitIndex, Injection, InjectionBuilder,
    ListingMode, MentionIndex, Nonce, SkillList, SkillListRenderer, SkillScripts, SkillSummary,
    already_active_notice, model_invocable_skills, root_paths, script_tool_instructions,
};
use skills_sandbox::SandboxError;

use crate::error::{Repr, RuntimeError};
use crate::opened_skill::{find_entry, read_error};
use crate::{SkillRuntime, program_detection};

/// Format of a skill's text in the context of a model.
///
/// Use [`Codex`](Self::Codex) for models that were trained on that format and
/// [`Fenced`](Self::Fenced) otherwise. In neither format can the text of a skill close its own tags:
/// Codex' tags are escaped in it, and the name of the others is not known to its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InjectionFormat {
    /// The whole file in a `<skill>` element, like Codex.
    Codex,
    /// The body in tags with a random name, which it cannot close, with the directory and the files
    /// of the skill.
    Fenced,
}

/// Injections of the skills that a user mentioned.
///
/// Returned by [`SkillRuntime::inject_selected`]. Each selected skill is in exactly one of the
/// lists, except that a truncated one is additionally in the warnings. An unreadable skill does not
/// prevent the injection of the others.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Injections {
    /// One injection per skill that could be read, in the order of selection. Insert them before
    /// the user's message.
    pub injected: Vec<Injection>,
    /// Names of the skills whose text is already in the conversation.
    pub already_active: Vec<String>,
    /// Warnings for the user: skills that could not be read, and truncated texts. The wording is
    /// that of Codex.
    pub warnings: Vec<String>,
}

/// Result of activating a skill.
///
/// Returned by [`SkillRuntime::activate_skill`]. The text is always safe to add to the conversation:
/// for a skill that is already there it is a single line that says so, which saves context.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ActivationResult {
    /// Whether the text is new in the conversation, unchanged or updated.
    pub activation: Activation,
    /// Text for the model: the skill's text, or one line if it is already in the conversation.
    pub injected: Injection,
}

impl SkillRuntime {
    /// Renders the skills section in the format of Codex, for the system prompt of a model. It lists
    /// the model-invocable skills with name, description and path, and shortens descriptions, then
    /// omits skills, to stay within the budget. Empty if there are none.
    ///
    /// ```
    /// use skills_runtime::{Budget, Root, Scope, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
    /// let section = runtime.skills_section(Budget::for_context_window(Some(200_000)));
    /// assert!(section.text().contains("greet: Says hello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn skills_section(&self, budget: Budget) -> SkillList {
        self.render_skills_section(&SkillListRenderer::new(budget))
    }

    /// Renders the skills section. Aliases refer to the roots of the catalog.
    #[must_use]
    pub fn render_skills_section(&self, renderer: &SkillListRenderer<'_>) -> SkillList {
        self.with_items(renderer, |renderer, items| renderer.render(items))
    }

    /// Explains how each skill is listed in the skills section.
    #[must_use]
    pub fn explain_skills_section(&self, renderer: &SkillListRenderer<'_>) -> Vec<EntryReport> {
        self.with_items(renderer, |renderer, items| renderer.explain(items))
    }

    fn with_items<R>(
        &self,
        renderer: &SkillListRenderer<'_>,
        render: impl FnOnce(&SkillListRenderer<'_>, &[SkillSummary<'_>]) -> R,
    ) -> R {
        let catalog = self.catalog();
        let roots = root_paths(&catalog);
        let renderer = renderer.clone().roots(roots.iter().map(String::as_str));
        render(
            &renderer,
            &model_invocable_skills(&catalog, &self.shared.modes),
        )
    }

    /// Returns the index for finding skill mentions in user input. Built once per catalog.
    #[must_use]
    pub fn mention_index(&self) -> Arc<MentionIndex> {
        let snapshot = self.snapshot();
        let build = || {
            Arc::new(MentionIndex::with_modes(
                Arc::clone(&snapshot.catalog),
                &self.shared.modes,
            ))
        };
        Arc::clone(snapshot.mentions.get_or_init(build))
    }

    /// Returns the index for finding implicit uses of skills in shell commands. Built once per
    /// catalog.
    #[must_use]
    pub fn implicit_index(&self) -> Arc<ImplicitIndex> {
        let snapshot = self.snapshot();
        Arc::clone(
            snapshot
                .implicit
                .get_or_init(|| Arc::new(ImplicitIndex::new(Arc::clone(&snapshot.catalog)))),
        )
    }

    /// Reads a skill and returns its injection in the [fenced](InjectionFormat::Fenced) format, with
    /// the default limit of [`inject_skill`](Self::inject_skill). The tags have a random name, so
    /// the text of the skill cannot close them.
    ///
    /// ```
    /// use skills_runtime::{Root, Scope, SkillRuntime};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
    /// let prompt = runtime.skill_prompt("greet")?;
    /// assert!(prompt.contains("Hi\n"));
    /// assert_ne!(prompt, runtime.skill_prompt("greet")?, "each injection has its own tags");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`get_skill`](Self::get_skill); also fails if the system has no random bytes.
    pub fn skill_prompt(&self, name: &str) -> Result<String, RuntimeError> {
        Ok(self.inject_skill(name, InjectionFormat::Fenced, None)?.text)
    }

    /// Reads a skill and returns its injection. A text longer than `max_bytes` (default:
    /// [`DEFAULT_MAX_INJECTION_BYTES`](skills_prompt::DEFAULT_MAX_INJECTION_BYTES)) is truncated, with a notice of the
    /// omitted lines.
    ///
    /// # Errors
    /// Same as [`get_skill`](Self::get_skill); the fenced format also fails if the system has no
    /// random bytes.
    pub fn inject_skill(
        &self,
        name: &str,
        format: InjectionFormat,
        max_bytes: Option<usize>,
    ) -> Result<Injection, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        inject(entry, &open_files(entry)?, format, max_bytes)
    }

    /// Returns the injections of the skills that [`MentionIndex::find`] selected. Skills that are
    /// already in the conversation according to `active` are skipped. A skill that cannot be read
    /// is reported as a warning.
    #[must_use]
    pub fn inject_selected(
        &self,
        selected: &[&Entry],
        format: InjectionFormat,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Injections {
        let mut injections = Injections::default();
        for entry in selected {
            let name = entry.name();
            match self.activate_entry(entry, format, max_bytes, active) {
                Ok(ActivationResult {
                    activation: Activation::AlreadyActive,
                    ..
                }) => injections.already_active.push(name.to_string()),
                Ok(ActivationResult { injected, .. }) => {
                    if injected.omitted.is_some() {
                        injections.warnings.push(format!("Skill `{name}` exceeded the main prompt context limit and was truncated."));
                    }
                    injections.injected.push(injected);
                }
                // An unreadable skill must not prevent the injection of the others.
                Err(error) => injections.warnings.push(format!(
                    "Failed to load skill {name} at {}: {error}",
                    entry.location().display()
                )),
            }
        }
        injections
    }

    /// Returns true if a model can activate a skill by itself: neither the skill nor its
    /// [mode](crate::Builder::modes) forbids it.
    #[must_use]
    pub fn is_model_invocable(&self, entry: &Entry) -> bool {
        entry.is_model_invocable() && self.shared.modes.get(entry).is_listed()
    }

    /// Returns true if a user can invoke a skill by its name: neither the skill nor its
    /// [mode](crate::Builder::modes) forbids it.
    #[must_use]
    pub fn is_user_invocable(&self, entry: &Entry) -> bool {
        entry.manifest().user_invocable() && self.shared.modes.get(entry) != ListingMode::Disabled
    }

    /// Activates a skill that a model requested: returns its injection, or one line if `active` has
    /// it already. The skill is injected again if any of its files changed, or if its content
    /// digest cannot be computed.
    ///
    /// ```
    /// use skills_runtime::{Root, Scope, SkillRuntime, prompt};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let runtime = SkillRuntime::builder().root(Root::new(directory.path(), Scope::User)).build();
    /// let mut active = prompt::ActiveSkills::default();
    /// let first = runtime.activate_skill("greet", None, &mut active)?;
    /// assert_eq!(first.activation, prompt::Activation::New);
    /// let second = runtime.activate_skill("greet", None, &mut active)?;
    /// assert_eq!(second.activation, prompt::Activation::AlreadyActive);
    /// assert!(second.injected.text.len() < first.injected.text.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`inject_skill`](Self::inject_skill); also fails if the skill is not
    /// model-invocable, because the skill forbids it or its mode is manual or off.
    pub fn activate_skill(
        &self,
        name: &str,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        // The list omits such a skill, but a model can know its name from elsewhere.
        if !self.is_model_invocable(entry) {
            return Err(Repr::NotModelInvocable {
                name: entry.name().to_string(),
                path: entry.location(),
            }
            .into());
        }
        self.activate_entry(entry, InjectionFormat::Fenced, max_bytes, active)
    }

    fn activate_entry(
        &self,
        entry: &Entry,
        format: InjectionFormat,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, RuntimeError> {
        let files = open_files(entry)?;
        let digest = self.shared.copies.try_digest(&files);
        // Without a digest no change would be noticed, so a skill that is too large for one is
        // injected each time.
        let Ok(digest) = digest else {
            return Ok(ActivationResult {
                activation: Activation::New,
                injected: inject(entry, &files, format, max_bytes)?,
            });
        };
        // `activate` marks the skill before its text is read; the clone undoes that on failure.
        let before = active.clone();
        let activation = active.activate(entry.directory(), digest);
        let injected = match activation {
            Activation::AlreadyActive => Ok(already_active_notice(
                entry.name().as_str(),
                &entry.directory().to_string_lossy(),
            )),
            _ => inject(entry, &files, format, max_bytes),
        };
        let injected = injected.inspect_err(|_| *active = before)?;
        Ok(ActivationResult {
            activation,
            injected,
        })
    }

    /// Returns the section that tells a model when to run scripts with the tool of this name. Empty
    /// if no model-invocable skill has scripts. Lists the scripts directory of each of these
    /// skills.
    #[must_use]
    pub fn script_strategy(&self, tool: &str) -> String {
        let catalog = self.catalog();
        let listed = catalog
            .entries()
            .iter()
            .filter(|entry| self.is_model_invocable(entry));
        let scripts = listed
            // A skill that cannot be opened must not hide the others.
            .filter_map(|entry| {
                Some((
                    entry.name().as_str(),
                    program_detection::scripts(&entry.open().ok()?),
                ))
            });
        let scripts: Vec<(&str, Vec<String>)> = scripts.collect();
        let scripts_by_skill: Vec<(&str, Vec<&str>)> = scripts
            .iter()
            .map(|(skill, scripts)| {
                (
                    *skill,
                    scripts
                        .iter()
                        .map(|script| program_detection::short_name(script))
                        .collect(),
                )
            })
            .collect();
        let skills: Vec<SkillScripts<'_>> = scripts_by_skill
            .iter()
            .map(|(skill, scripts)| SkillScripts { skill, scripts })
            .collect();
        script_tool_instructions(tool, &skills)
    }
}

fn open_files(entry: &Entry) -> Result<SkillFiles, RuntimeError> {
    entry.open().map_err(|source| read_error(entry, source))
}

fn inject(
    entry: &Entry,
    files: &SkillFiles,
    format: InjectionFormat,
    max_bytes: Option<usize>,
) -> Result<Injection, RuntimeError> {
    let failed = |source| read_error(entry, source);
    // Fails if the file is no longer a valid skill.
    let (document, text) = files.document_with_source().map_err(failed)?;
    let directory = entry.directory().to_string_lossy();
    let location = entry.location();
    let location = location.to_string_lossy();
    let render = |injection: InjectionBuilder<'_>| -> Result<Injection, RuntimeError> {
        let injection = max_bytes.map_or(injection, |max_bytes| injection.max_bytes(max_bytes));
        match format {
            InjectionFormat::Codex => Ok(injection.render_codex()),
            // A new nonce for each injection: a text that knows the name of its tags could close
            // them.
            InjectionFormat::Fenced => Ok(injection.render_delimited(&random_nonce()?)),
        }
    };
    match format {
        InjectionFormat::Codex => render(InjectionBuilder::new(
            entry.name().as_str(),
            &directory,
            &location,
            &text,
        )),
        InjectionFormat::Fenced => {
            let ResourceListing {
                resources,
                truncated,
                ..
            } = files.list("").map_err(failed)?;
            let paths: Vec<&str> = resources
                .iter()
                .map(|resource| resource.path.as_str())
                .collect();
            let injection = InjectionBuilder::new(
                entry.name().as_str(),
                &directory,
                &location,
                document.body(),
            );
            let injection = injection.first_line(document.body_line()).resources(&paths);
            render(if truncated {
                injection.more_resources()
            } else {
                injection
            })
        }
    }
}

fn random_nonce() -> Result<Nonce, RuntimeError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| {
        SandboxError::setup(
            "drawing random bytes",
            std::io::Error::other(error.to_string()),
        )
    })?;
    Ok(Nonce::from_random(random))
}
