//! Skills section, injections, mentions and implicit invocation.

mod fork;
mod injections;
#[cfg(feature = "search")]
mod list_request;
mod turn;

use std::sync::Arc;

use skills_discovery::{Catalog, Entry, SkillFiles};
use skills_ledger::{ActivatedBy, Activity};
use skills_manifest::expand_skill_directory;
use skills_prompt::{
    Activation, ActiveSkills, Budget, DEFAULT_MAX_INJECTION_BYTES, EntryReport, ImplicitIndex,
    Injection, InjectionBuilder, MentionIndex, Nonce, SkillList, SkillListRenderer, SkillScripts,
    SkillSummary, already_active_notice, model_invocable_skills, root_paths,
    script_tool_instructions,
};
#[cfg(feature = "search")]
use skills_prompt::{Allocation, ListingMode, MentionOptions, UserInput};

use crate::error::{LibraryError, Repr};
use crate::library::Library;
use crate::opened_skill::{find_entry, open_files, read_error};
use crate::scripts::{SkillPrograms, scripts};

pub use fork::ForkPrompt;
pub use injections::{ActivationResult, Injections};
#[cfg(feature = "search")]
pub use list_request::{ListPaths, ListRequest};
pub use turn::{MentionDecision, PreparedTurn, TurnInput, TurnMention, TurnSession};

/// Renders the texts of skills for a model.
///
/// The usual order: the skills section goes into the system prompt, mentions in the input of the user
/// select skills, and their texts are injected. A skill that the model selects itself is activated.
#[derive(Clone)]
pub struct PromptRenderer {
    library: Library,
    /// The session that recorded uses belong to.
    session: Option<Arc<str>>,
}

/// Format of a skill's text in the context of a model.
///
/// Use [`Codex`](Self::Codex) for models that were trained on that format and
/// [`Fenced`](Self::Fenced) otherwise. In neither format can the text of a skill close its own
/// tags: Codex' tags are escaped in it, and the name of the others is not known to its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InjectionFormat {
    /// The whole file in a `<skill>` element, like Codex.
    Codex,
    /// The body in tags with a random name, which it cannot close, with the directory and the files
    /// of the skill.
    Fenced,
}

/// The part of a skill's text that is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextPart {
    /// Where the part starts: 0, or the offset of the [omitted range](Injection::omitted) of the
    /// previous part.
    pub offset: usize,
    /// Maximum size of the part in bytes. Default: [`DEFAULT_MAX_INJECTION_BYTES`].
    pub max_bytes: Option<usize>,
}

impl TextPart {
    fn first(max_bytes: Option<usize>) -> Self {
        Self {
            offset: 0,
            max_bytes,
        }
    }
}

impl PromptRenderer {
    /// Creates a renderer for the skills of a library.
    #[must_use]
    pub fn new(library: Library) -> Self {
        Self {
            library,
            session: None,
        }
    }

    /// Returns a renderer whose lists and activations are [recorded](crate::Library::usage) as those
    /// of a session. Without it they belong to none.
    #[must_use]
    pub fn in_session(&self, session: &str) -> Self {
        Self {
            library: self.library.clone(),
            session: Some(session.into()),
        }
    }

    /// Renders the skills section in the format of Codex, for the system prompt of a model. It
    /// lists the model-invocable skills with name, description and path, and shortens descriptions,
    /// then omits skills, to stay within the budget. Empty if there are none.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    /// use skills_library::{Library, LibraryConfig, PromptRenderer};
    /// use skills_prompt::Budget;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let library = Library::new(discovery, LibraryConfig::default());
    /// let renderer = PromptRenderer::new(library);
    /// let section = renderer.section(Budget::for_context_window(Some(200_000)));
    /// assert!(section.text().contains("greet: Says hello."));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn section(&self, budget: Budget) -> SkillList {
        self.render_section(&SkillListRenderer::new(budget))
    }

    /// Renders the skills section. Aliases refer to the roots of the catalog.
    #[must_use]
    pub fn render_section(&self, renderer: &SkillListRenderer<'_>) -> SkillList {
        self.with_items(renderer, |catalog, renderer, items| {
            let usage = self.library.usage();
            usage.record_offers(catalog, renderer, items, self.session.as_deref());
            renderer.render(items)
        })
    }

    /// Explains how each skill is listed in the skills section.
    #[must_use]
    pub fn explain_section(&self, renderer: &SkillListRenderer<'_>) -> Vec<EntryReport> {
        self.with_items(renderer, |_, renderer, items| renderer.explain(items))
    }

    /// Renders the skills section for a request: first the skills that it names, then pinned ones,
    /// then those that were used before, then the others, best first. A ranking only orders; it
    /// never injects a skill.
    ///
    /// The order changes with each request, which invalidates a cached prompt: render once per
    /// session, or put the section of a later request at the end.
    #[cfg(feature = "search")]
    #[must_use]
    pub fn render_section_for(
        &self,
        renderer: &SkillListRenderer<'_>,
        request: &ListRequest<'_>,
    ) -> SkillList {
        self.with_items_for(renderer, request, |catalog, renderer, items| {
            let usage = self.library.usage();
            usage.record_offers(catalog, renderer, items, self.session.as_deref());
            renderer.render(items)
        })
    }

    /// Explains how each skill is listed for a request.
    #[cfg(feature = "search")]
    #[must_use]
    pub fn explain_section_for(
        &self,
        renderer: &SkillListRenderer<'_>,
        request: &ListRequest<'_>,
    ) -> Vec<EntryReport> {
        self.with_items_for(renderer, request, |_, renderer, items| {
            renderer.explain(items)
        })
    }

    #[cfg(feature = "search")]
    fn with_items_for<R>(
        &self,
        renderer: &SkillListRenderer<'_>,
        request: &ListRequest<'_>,
        render: impl FnOnce(&Catalog, &SkillListRenderer<'_>, &[SkillSummary<'_>]) -> R,
    ) -> R {
        let index = self.library.search_index();
        let catalog = Arc::clone(index.catalog());
        let mentions = self.mention_index();
        let input = [UserInput::Text(request.query)];
        let named = mentions.find(&input, &MentionOptions::default()).selected;
        let ranked = index.rank(request.query).into_iter();
        let recent: Vec<&str> = match request.recent {
            [] => self
                .library
                .usage()
                .recently_used(&catalog)
                .iter()
                .map(|entry| entry.name().as_str())
                .collect(),
            recent => recent.to_vec(),
        };
        let mut entries: Vec<&Entry> = ranked
            .map(|place| &catalog.entries()[place])
            .filter(|entry| entry.is_model_invocable())
            .collect();
        // The sort is stable, so that the ranking decides among equals.
        entries.sort_by_key(|entry| self.list_position(entry, &named, &recent));
        let items: Vec<SkillSummary<'_>> = entries
            .into_iter()
            .map(|entry| {
                let mode = self.mode_for_request(entry, &named);
                let summary = match request.paths {
                    ListPaths::Files => SkillSummary::from_entry(&catalog, entry),
                    ListPaths::Virtual => virtual_summary(entry),
                };
                summary.mode(mode)
            })
            .collect();
        let roots = root_paths(&catalog);
        let renderer = renderer
            .clone()
            .roots(roots.iter().map(String::as_str))
            .allocation(Allocation::Ranked);
        render(&catalog, &renderer, &items)
    }

    /// Returns the sort key of a skill: those that the request names, then pinned ones, then those
    /// that were used recently.
    #[cfg(feature = "search")]
    fn list_position(
        &self,
        entry: &Entry,
        named: &[&Entry],
        recent: &[&str],
    ) -> (usize, bool, usize) {
        let is_pinned = self.library.modes().get(entry) == ListingMode::Pinned;
        let named = named_position(named, entry);
        let name = entry.name().as_str();
        let recent = recent.iter().position(|recent| *recent == name);
        let last = usize::MAX;
        (named.unwrap_or(last), !is_pinned, recent.unwrap_or(last))
    }

    /// Returns how a skill is listed for a request. The renderer lists pinned skills first; those
    /// that the request names come before them.
    #[cfg(feature = "search")]
    fn mode_for_request(&self, entry: &Entry, named: &[&Entry]) -> ListingMode {
        let mode = self.library.modes().get(entry);
        if mode.is_listed() && named_position(named, entry).is_some() {
            return ListingMode::Pinned;
        }
        mode
    }

    fn with_items<R>(
        &self,
        renderer: &SkillListRenderer<'_>,
        render: impl FnOnce(&Catalog, &SkillListRenderer<'_>, &[SkillSummary<'_>]) -> R,
    ) -> R {
        let catalog = self.library.catalog();
        let roots = root_paths(&catalog);
        let renderer = renderer.clone().roots(roots.iter().map(String::as_str));
        render(
            &catalog,
            &renderer,
            &model_invocable_skills(&catalog, self.library.modes()),
        )
    }

    /// Renders the prompt of a skill for a sub-agent; `None` if the skill does not declare
    /// `context: fork`. The request of the user is not substituted into the text of the skill.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    /// use skills_library::{Library, LibraryConfig, PromptRenderer};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("review"))?;
    /// # std::fs::write(directory.path().join("review/SKILL.md"), "---\nname: review\ndescription: Reviews code.\ncontext: fork\nagent: Explore\n---\nRead the diff.\n")?;
    /// // The frontmatter of the skill: `context: fork` and `agent: Explore`
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let library = Library::new(discovery, LibraryConfig::default());
    /// let renderer = PromptRenderer::new(library);
    /// let fork = renderer.fork("review", "the last commit", None)?.expect("it is a fork");
    /// assert_eq!(fork.agent.as_deref(), Some("Explore"));
    /// assert!(fork.prompt.contains("Read the diff."));
    /// assert!(fork.prompt.ends_with("Use the skill review: the last commit"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`inject`](Self::inject) with the fenced format.
    pub fn fork(
        &self,
        name: &str,
        request: &str,
        max_bytes: Option<usize>,
    ) -> Result<Option<ForkPrompt>, LibraryError> {
        let injection = self.inject(name, InjectionFormat::Fenced, max_bytes)?;
        let catalog = self.library.catalog();
        let entry = find_entry(&catalog, name)?;
        // The file and not the catalog, which can be older than the text.
        let document = open_files(entry)?
            .document()
            .map_err(|source| read_error(entry, source))?;
        let skill = entry.name().to_string();
        Ok(ForkPrompt::new(
            skill,
            document.manifest(),
            &injection,
            request,
        ))
    }

    /// Returns the index for finding skill mentions in user input. Built once per catalog.
    #[must_use]
    pub fn mention_index(&self) -> Arc<MentionIndex> {
        let snapshot = self.library.snapshot();
        let build = || {
            Arc::new(MentionIndex::with_modes(
                Arc::clone(&snapshot.catalog),
                self.library.modes(),
            ))
        };
        Arc::clone(snapshot.mentions.get_or_init(build))
    }

    /// Returns the index for finding implicit invocations of skills in shell commands. Built once
    /// per catalog.
    #[must_use]
    pub fn implicit_index(&self) -> Arc<ImplicitIndex> {
        let snapshot = self.library.snapshot();
        Arc::clone(
            snapshot
                .implicit
                .get_or_init(|| Arc::new(ImplicitIndex::new(Arc::clone(&snapshot.catalog)))),
        )
    }

    /// Reads a skill and returns its injection. That is not recorded as a use, since the text can
    /// serve another purpose. A text longer than `max_bytes` (default:
    /// [`DEFAULT_MAX_INJECTION_BYTES`](skills_prompt::DEFAULT_MAX_INJECTION_BYTES)) is truncated,
    /// with a notice of the omitted lines.
    ///
    /// # Errors
    /// Same as [`Library::get_skill`]; the fenced format also fails if the system has no random bytes.
    pub fn inject(
        &self,
        name: &str,
        format: InjectionFormat,
        max_bytes: Option<usize>,
    ) -> Result<Injection, LibraryError> {
        self.inject_part(name, format, TextPart::first(max_bytes))
    }

    /// Returns a part of the injection of a skill, as [`inject`](Self::inject) does from the start.
    /// A part with an offset lists no resources.
    ///
    /// # Errors
    ///
    /// As [`inject`](Self::inject).
    pub fn inject_part(
        &self,
        name: &str,
        format: InjectionFormat,
        part: TextPart,
    ) -> Result<Injection, LibraryError> {
        let catalog = self.library.catalog();
        let entry = find_entry(&catalog, name)?;
        inject(entry, &open_files(entry)?, format, part)
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
            self.record(entry, Activity::Mentioned);
            match self.activate_entry(entry, format, max_bytes, active) {
                Ok(ActivationResult {
                    activation: Activation::AlreadyActive,
                    ..
                }) => injections.already_active.push(name.to_string()),
                Ok(ActivationResult { injected, .. }) => {
                    self.record(entry, Activity::Activated(ActivatedBy::User));
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

    /// Activates a skill that a model requested: returns its injection, or one line if `active` has
    /// it already. The skill is injected again if any of its files changed, or if its content
    /// digest cannot be computed.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    /// use skills_library::{Library, LibraryConfig, PromptRenderer};
    /// use skills_prompt as prompt;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("greet"))?;
    /// # std::fs::write(directory.path().join("greet/SKILL.md"), "---\nname: greet\ndescription: Says hello.\n---\nHi\n")?;
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let library = Library::new(discovery, LibraryConfig::default());
    /// let renderer = PromptRenderer::new(library);
    /// let mut active = prompt::ActiveSkills::default();
    /// let first = renderer.activate("greet", None, &mut active)?;
    /// assert_eq!(first.activation, prompt::Activation::New);
    /// let second = renderer.activate("greet", None, &mut active)?;
    /// assert_eq!(second.activation, prompt::Activation::AlreadyActive);
    /// assert!(second.injected.text.len() < first.injected.text.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Same as [`inject`](Self::inject); also fails if the skill is not
    /// model-invocable, because the skill forbids it or its mode is manual or off.
    pub fn activate(
        &self,
        name: &str,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, LibraryError> {
        let catalog = self.library.catalog();
        let entry = find_entry(&catalog, name)?;
        // The list omits such a skill, but a model can know its name from elsewhere.
        if !self.library.is_model_invocable(entry) {
            return Err(Repr::NotModelInvocable {
                name: entry.name().to_string(),
                path: entry.location(),
            }
            .into());
        }
        let activated = self.activate_entry(entry, InjectionFormat::Fenced, max_bytes, active)?;
        if activated.activation != Activation::AlreadyActive {
            self.record(entry, Activity::Activated(ActivatedBy::Model));
        }
        Ok(activated)
    }

    fn record(&self, entry: &Entry, activity: Activity) {
        let session = self.session.as_deref();
        self.library.usage().record([entry], activity, session);
    }

    fn activate_entry(
        &self,
        entry: &Entry,
        format: InjectionFormat,
        max_bytes: Option<usize>,
        active: &mut ActiveSkills,
    ) -> Result<ActivationResult, LibraryError> {
        let files = open_files(entry)?;
        let digest = self.library.digests().digest(&files);
        // Without a digest no change would be noticed, so a skill that is too large for one is
        // injected each time.
        let Ok(digest) = digest else {
            return Ok(ActivationResult {
                activation: Activation::New,
                injected: inject(entry, &files, format, TextPart::first(max_bytes))?,
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
            _ => inject(entry, &files, format, TextPart::first(max_bytes)),
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
        let catalog = self.library.catalog();
        let scripts: Vec<(&str, Vec<String>)> = catalog
            .entries()
            .iter()
            .filter(|entry| self.library.is_model_invocable(entry))
            // A skill that cannot be opened must not hide the others.
            .filter_map(|entry| Some((entry.name().as_str(), scripts(&entry.open().ok()?))))
            .collect();
        let short_names: Vec<Vec<&str>> = scripts
            .iter()
            .map(|(_, scripts)| {
                scripts
                    .iter()
                    .map(|script| SkillPrograms::short_name(script))
                    .collect()
            })
            .collect();
        let skills: Vec<SkillScripts<'_>> = scripts
            .iter()
            .zip(&short_names)
            .map(|((skill, _), scripts)| SkillScripts { skill, scripts })
            .collect();
        script_tool_instructions(tool, &skills)
    }
}

#[cfg(feature = "search")]
fn named_position(named: &[&Entry], entry: &Entry) -> Option<usize> {
    named
        .iter()
        .position(|named| named.directory() == entry.directory())
}

fn inject(
    entry: &Entry,
    files: &SkillFiles,
    format: InjectionFormat,
    part: TextPart,
) -> Result<Injection, LibraryError> {
    let failed = |source| read_error(entry, source);
    // Fails if the file is no longer a valid skill.
    let (document, text) = files.document_with_source().map_err(failed)?;
    let directory = entry.directory().to_string_lossy();
    let location = entry.location();
    let location = location.to_string_lossy();
    let name = entry.name().as_str();
    let max_bytes = part.max_bytes.unwrap_or(DEFAULT_MAX_INJECTION_BYTES);
    if format == InjectionFormat::Codex {
        return Ok(InjectionBuilder::new(name, &directory, &location, &text)
            .offset(part.offset)
            .max_bytes(max_bytes)
            .render_codex());
    }
    let body = expand_skill_directory(document.body(), &directory);
    let injection = InjectionBuilder::new(name, &directory, &location, &body)
        .offset(part.offset)
        .max_bytes(max_bytes)
        .first_line(document.body_line());
    // A new nonce for each injection: a text that knows the name of its tags could close them.
    let nonce = random_nonce()?;
    if part.offset > 0 {
        return Ok(injection.render_fenced(&nonce));
    }
    let listing = files.list("").map_err(failed)?;
    let paths: Vec<&str> = listing
        .resources
        .iter()
        .map(|resource| resource.path.as_str())
        .collect();
    let injection = injection.resources(&paths);
    let injection = if listing.truncated {
        injection.more_resources()
    } else {
        injection
    };
    Ok(injection.render_fenced(&nonce))
}

fn random_nonce() -> Result<Nonce, LibraryError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(Repr::Random)?;
    Ok(Nonce::from_random(random))
}

/// Returns an entry of a list with a path that says nothing about the host.
#[cfg(feature = "search")]
fn virtual_summary(entry: &Entry) -> SkillSummary<'_> {
    let name = entry.name().as_str();
    let path = format!("/skills/{name}/SKILL.md");
    SkillSummary::new(name, entry.manifest().description(), path)
}
