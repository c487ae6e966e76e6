//! What the model sees of the skills, and what is read out of what is said to it.

use std::sync::Arc;

use skills_discovery::{Entry, ResourceListing, SkillFiles};
use skills_prompt::{
    Activation, ActiveSkills, Budget, EntryReport, ImplicitIndex, Injection, InjectionBuilder,
    ListingMode, MentionIndex, Nonce, SkillList, SkillListRenderer, SkillScripts, SkillSummary,
    already_active_notice, model_invocable_skills, root_paths, script_tool_instructions,
};
use skills_sandbox::SandboxError;

use crate::error::{Repr, RuntimeError};
use crate::runtime::find_entry;
use crate::{SkillRuntime, mode};

/// How a skill's text is written for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InjectionFormat {
    /// The whole file in Codex's `<skill>` fragment.
    Codex,
    /// The body in tags that it cannot close, with its directory and its files.
    Fenced,
}

/// The texts of the skills that a user named.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Injections {
    /// One for each skill that could be read, in the order of the selection; they go before the
    /// user's own message.
    pub injected: Vec<Injection>,
    /// The names of the skills whose text the conversation holds already.
    pub already_active: Vec<String>,
    /// What the user should know: skills that could not be read, and texts that are not whole. The
    /// wording is Codex's.
    pub warnings: Vec<String>,
}

/// What asking for a skill comes to.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ActivationResult {
    /// Whether the text is new to the conversation.
    pub activation: Activation,
    /// What the model is given: the skill's text, or one line when the conversation holds it
    /// already.
    pub injected: Injection,
}

impl SkillRuntime {
    /// Renders the section that tells a model which skills there are, as Codex does.
    #[must_use]
    pub fn skills_section(&self, budget: Budget) -> SkillList {
        self.render_skills_section(&SkillListRenderer::new(budget))
    }

    /// Renders the section that tells a model which skills there are. Roots for aliases are those
    /// of the catalogue.
    #[must_use]
    pub fn render_skills_section(&self, rendering: &SkillListRenderer<'_>) -> SkillList {
        self.with_items(rendering, |rendering, items| rendering.render(items))
    }

    /// Says what becomes of each skill in that section.
    #[must_use]
    pub fn explain_skills_section(&self, rendering: &SkillListRenderer<'_>) -> Vec<EntryReport> {
        self.with_items(rendering, |rendering, items| rendering.explain(items))
    }

    fn with_items<R>(
        &self,
        rendering: &SkillListRenderer<'_>,
        use_them: impl FnOnce(&SkillListRenderer<'_>, &[SkillSummary<'_>]) -> R,
    ) -> R {
        let catalog = self.catalog();
        let roots = root_paths(&catalog);
        let rendering = rendering.clone().roots(roots.iter().map(String::as_str));
        use_them(
            &rendering,
            &model_invocable_skills(&catalog, &self.shared.modes),
        )
    }

    /// Returns the names of the skills, prepared for finding them in what a user writes. Made once
    /// for a catalogue.
    #[must_use]
    pub fn mention_index(&self) -> Arc<MentionIndex> {
        let known = self.snapshot();
        let make = || {
            Arc::new(MentionIndex::with_modes(
                Arc::clone(&known.catalog),
                &self.shared.modes,
            ))
        };
        Arc::clone(known.mentions.get_or_init(make))
    }

    /// Returns the paths of the skills, prepared for finding them in commands. Made once for a
    /// catalogue.
    #[must_use]
    pub fn implicit_index(&self) -> Arc<ImplicitIndex> {
        let known = self.snapshot();
        Arc::clone(
            known
                .implicit
                .get_or_init(|| Arc::new(ImplicitIndex::new(Arc::clone(&known.catalog)))),
        )
    }

    /// Reads a skill and frames its body for a model, in a frame that the body cannot close.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill), and when the system gives no random bytes.
    pub fn skill_prompt(&self, name: &str) -> Result<String, RuntimeError> {
        Ok(self.inject_skill(name, InjectionFormat::Fenced, None)?.text)
    }

    /// Reads a skill and writes its text for a model; of a text longer than `max_bytes`
    /// ([`DEFAULT_MAX_BYTES`](skills_prompt::DEFAULT_MAX_BYTES) unless given) the model is told
    /// what is missing.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill), and when the system gives no random bytes for the fenced
    /// form.
    pub fn inject_skill(
        &self,
        name: &str,
        form: InjectionFormat,
        max_bytes: Option<usize>,
    ) -> Result<Injection, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
        inject(entry, &open_files(entry)?, form, max_bytes)
    }

    /// Writes the texts of the skills that [`MentionIndex::find`] selected, each as
    /// [`inject_skill`](Self::inject_skill) does, unless `active` says that the conversation holds
    /// it. One that cannot be read is a warning, and the others go on.
    #[must_use]
    pub fn inject_selected(
        &self,
        selected: &[&Entry],
        form: InjectionFormat,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Injections {
        let mut injections = Injections::default();
        for entry in selected {
            let (name, path) = (entry.name(), entry.location());
            match self.activate_entry(entry, form, max_bytes, active) {
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
                Err(error) => injections.warnings.push(format!(
                    "Failed to load skill {name} at {}: {error}",
                    path.display()
                )),
            }
        }
        injections
    }

    /// Says whether a model may choose a skill by itself: neither the skill nor its
    /// [mode](crate::Builder::modes) forbids it.
    #[must_use]
    pub fn is_model_invocable(&self, entry: &Entry) -> bool {
        entry.is_model_invocable() && self.shared.modes.get(entry).is_listed()
    }

    /// Says whether a user may call a skill by its name: neither the skill nor its
    /// [mode](crate::Builder::modes) forbids it.
    #[must_use]
    pub fn is_user_invocable(&self, entry: &Entry) -> bool {
        entry.manifest().user_invocable() && self.shared.modes.get(entry) != ListingMode::Disabled
    }

    /// Gives a skill's text to a model that asks for it, unless `active` says that the conversation
    /// holds it already. A skill any of whose files has changed is given again, and so is one of
    /// which no digest can be had.
    ///
    /// # Errors
    /// As [`inject_skill`](Self::inject_skill), and when the model may not choose the skill by
    /// itself, because the skill forbids it or its mode is manual or off.
    pub fn activate_skill(
        &self,
        name: &str,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, RuntimeError> {
        let catalog = self.catalog();
        let entry = find_entry(&catalog, name)?;
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
        form: InjectionFormat,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, RuntimeError> {
        let files = open_files(entry)?;
        let digest = self.shared.copies.try_digest(&files);
        // A skill with too many files for a digest is given each time rather than never.
        let Ok(digest) = digest else {
            return Ok(ActivationResult {
                activation: Activation::New,
                injected: inject(entry, &files, form, max_bytes)?,
            });
        };
        let before = active.clone();
        let activation = active.activate(entry.directory(), digest);
        let injected = match activation {
            Activation::AlreadyActive => Ok(already_active_notice(
                entry.name().as_str(),
                &entry.directory().to_string_lossy(),
            )),
            _ => inject(entry, &files, form, max_bytes),
        };
        // What was not given is not in the conversation.
        let injected = injected.inspect_err(|_| *active = before)?;
        Ok(ActivationResult {
            activation,
            injected,
        })
    }

    /// Writes the section that tells a model when to run a script with the tool of this name; empty
    /// when no skill that it may be shown has one. Looks for the scripts of every such skill.
    #[must_use]
    pub fn script_strategy(&self, tool: &str) -> String {
        let catalog = self.catalog();
        let offered = catalog
            .entries()
            .iter()
            .filter(|entry| entry.is_model_invocable() && self.shared.modes.get(entry).is_listed());
        let scripts = offered
            .filter_map(|entry| Some((entry.name().as_str(), mode::scripts(&entry.open().ok()?))));
        let scripts: Vec<(&str, Vec<String>)> = scripts.collect();
        let names: Vec<(&str, Vec<&str>)> = scripts
            .iter()
            .map(|(skill, scripts)| {
                (
                    *skill,
                    scripts
                        .iter()
                        .map(|script| mode::short_name(script))
                        .collect(),
                )
            })
            .collect();
        let skills: Vec<SkillScripts<'_>> = names
            .iter()
            .map(|(skill, scripts)| SkillScripts { skill, scripts })
            .collect();
        script_tool_instructions(tool, &skills)
    }
}

fn open_files(entry: &Entry) -> Result<SkillFiles, RuntimeError> {
    entry.open().map_err(|source| {
        Repr::FileAccess {
            path: entry.location(),
            source,
        }
        .into()
    })
}

fn inject(
    entry: &Entry,
    files: &SkillFiles,
    form: InjectionFormat,
    max_bytes: Option<usize>,
) -> Result<Injection, RuntimeError> {
    let failed = |source| {
        RuntimeError::from(Repr::FileAccess {
            path: entry.location(),
            source,
        })
    };
    // What is no skill any more is not given either.
    let (document, text) = files.document_with_source().map_err(failed)?;
    let (directory, location) = (entry.directory().to_string_lossy(), entry.location());
    let location = location.to_string_lossy();
    let bounded = |injection: InjectionBuilder<'_>| -> Result<Injection, RuntimeError> {
        let injection = max_bytes.map_or(injection, |max_bytes| injection.max_bytes(max_bytes));
        match form {
            InjectionFormat::Codex => Ok(injection.render_codex()),
            InjectionFormat::Fenced => Ok(injection.render_delimited(&random_nonce()?)),
        }
    };
    match form {
        InjectionFormat::Codex => bounded(InjectionBuilder::new(
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
            let names: Vec<&str> = resources
                .iter()
                .map(|resource| resource.path.as_str())
                .collect();
            let injection = InjectionBuilder::new(
                entry.name().as_str(),
                &directory,
                &location,
                document.body(),
            );
            let injection = injection.first_line(document.body_line()).resources(&names);
            bounded(if truncated {
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
