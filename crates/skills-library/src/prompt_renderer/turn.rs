//! What happens before a turn: mentions, missing requirements, injections.

mod mention;

use std::collections::BTreeSet;

use skills_discovery::{Catalog, Entry};
use skills_manifest::Requirements;
use skills_prompt::{
    ActiveSkills, Injection, InstalledServers, MentionIndex, MentionOptions, MissingRequirements,
    MissingServer, PromptPolicy, Prompter, RequirementSession, ResolvedRequirements, SetupPrompt,
    UserInput, resolve_requirements,
};

use super::{InjectionFormat, PromptRenderer};
use crate::skill::SkillDescriptor;

pub use mention::{MentionDecision, TurnMention};

/// The input of a turn, and what the client of the model has.
///
/// Defaults: the mention options of [`MentionOptions`], the format of Codex, the usual bound of
/// injections, no MCP servers and no variables, and [`PromptPolicy::Ask`].
#[derive(Debug, Clone)]
#[must_use]
pub struct TurnInput<'a> {
    id: &'a str,
    inputs: &'a [UserInput<'a>],
    mentions: MentionOptions,
    format: InjectionFormat,
    max_bytes: Option<usize>,
    servers: InstalledServers,
    variables: BTreeSet<String>,
    policy: PromptPolicy,
}

/// What a conversation keeps between its turns, in memory only: the injected skills, the questions
/// that were asked, and the secrets that the user entered.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TurnSession {
    /// The skills whose text is in the conversation.
    pub active: ActiveSkills,
    /// The questions that were asked, and their answers. Pass a
    /// [secret](RequirementSession::secret) to runs of the skills that declare it.
    pub requirements: RequirementSession,
    /// The servers that [`PromptRenderer::servers_missing_for`] has returned.
    reported: BTreeSet<String>,
}

/// A turn that is ready for the model.
///
/// Nothing in it ends the turn: what could not be read, asked or installed is a warning.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PreparedTurn {
    /// All mentions of skills in the input, with what was decided about each.
    pub mentions: Vec<TurnMention>,
    /// The selected skills, in the order of their injection.
    pub selected: Vec<SkillDescriptor>,
    /// The texts of selected skills that are new in the conversation. Insert them before the
    /// message of the user.
    pub injected: Vec<Injection>,
    /// The names of selected skills whose text is in the conversation already.
    pub already_active: Vec<String>,
    /// What the selected skills require and the host still lacks, including what the user declined.
    pub missing: MissingRequirements,
    /// The questions of [`PromptRenderer::plan_turn`]; empty if they were asked.
    pub prompts: Vec<SetupPrompt>,
    /// The MCP servers that were installed. Connect to them before the model is called.
    pub installed: Vec<MissingServer>,
    /// Warnings for the user, one line each, with text of skills as written: escape them for
    /// display.
    pub warnings: Vec<String>,
}

impl<'a> TurnInput<'a> {
    /// Creates the input of a turn. `id` is unique in the session; it becomes part of the ids of
    /// questions.
    pub fn new(id: &'a str, inputs: &'a [UserInput<'a>]) -> Self {
        Self {
            id,
            inputs,
            mentions: MentionOptions::default(),
            format: InjectionFormat::Codex,
            max_bytes: None,
            servers: InstalledServers::default(),
            variables: BTreeSet::new(),
            policy: PromptPolicy::default(),
        }
    }

    /// Sets how mentions are found.
    pub fn mentions(mut self, options: MentionOptions) -> Self {
        self.mentions = options;
        self
    }

    /// Sets the format of injections.
    pub fn format(mut self, format: InjectionFormat) -> Self {
        self.format = format;
        self
    }

    /// Sets the maximum size of an injected text in bytes.
    pub fn max_bytes(mut self, max_bytes: usize) -> Self {
        self.max_bytes = Some(max_bytes);
        self
    }

    /// Sets the MCP servers that the client has.
    pub fn servers(mut self, servers: &InstalledServers) -> Self {
        self.servers = servers.clone();
        self
    }

    /// Sets the environment variables that programs of skills can get from the host, in addition to
    /// the [secrets](crate::LibraryConfig::secrets) of the library and those of the session.
    pub fn variables<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.variables = names.into_iter().map(Into::into).collect();
        self
    }

    /// Sets whether the user has agreed in advance to MCP servers with a URL. Must come from the
    /// user, never from a skill or project.
    pub fn policy(mut self, policy: PromptPolicy) -> Self {
        self.policy = policy;
        self
    }
}

impl PromptRenderer {
    /// Does before a turn what Codex does, in the same order: finds the skills that the input
    /// mentions, asks for missing variables and MCP servers, and reads the texts of the skills.
    ///
    /// `prompter` asks the user and installs servers; it may block, so call this on a blocking
    /// thread of an asynchronous application, or use [`plan_turn`](Self::plan_turn). Each variable
    /// and each server is asked for once per session, whatever the answer. Only skills that the
    /// user selected cause questions; skills of untrusted roots cannot be selected.
    ///
    /// ```
    /// use skills_discovery::{Discovery, Root, Scope};
    /// use skills_library::{Library, LibraryConfig, PromptRenderer, TurnInput, TurnSession};
    /// use skills_prompt::{InstalledServers, MissingServer, Prompter, SetupPrompt, UserInput};
    ///
    /// /// Shows each question, and adds servers to the configuration of the client.
    /// struct Dialog;
    ///
    /// impl Prompter for Dialog {
    ///     fn ask(&mut self, prompt: &SetupPrompt) -> Option<String> {
    ///         assert_eq!(prompt.text, "The following MCP servers are required by the selected \
    ///             skills but are not installed yet: docs. Install them now?");
    ///         assert_eq!(prompt.details, ["docs: streamable_http https://docs.example/mcp"]);
    ///         Some("Continue anyway".to_owned())
    ///     }
    ///     fn install(&mut self, _: &MissingServer) -> Result<(), String> {
    ///         unreachable!("the user declined")
    ///     }
    /// }
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(directory.path().join("ask-docs/agents"))?;
    /// # std::fs::write(directory.path().join("ask-docs/SKILL.md"), "---\nname: ask-docs\ndescription: Reads the docs.\n---\nHi\n")?;
    /// # std::fs::write(directory.path().join("ask-docs/agents/openai.yaml"), "dependencies:\n  tools:\n    - {type: mcp, value: docs, url: 'https://docs.example/mcp'}\n")?;
    /// let discovery = Discovery::new([Root::new(directory.path(), Scope::User)]);
    /// let library = Library::new(discovery, LibraryConfig::default());
    /// let renderer = PromptRenderer::new(library);
    /// let servers = InstalledServers::default().command("other-mcp");
    /// let mut session = TurnSession::default();
    ///
    /// let inputs = [UserInput::Text("Use $ask-docs for this.")];
    /// let input = TurnInput::new("turn-1", &inputs).servers(&servers);
    /// let turn = renderer.prepare_turn(&input, &mut session, &mut Dialog);
    /// assert!(turn.injected[0].text.contains("<name>ask-docs</name>"));
    /// assert_eq!(turn.missing.servers[0].server.name, "docs");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prepare_turn(
        &self,
        input: &TurnInput<'_>,
        session: &mut TurnSession,
        prompter: &mut dyn Prompter,
    ) -> PreparedTurn {
        let index = self.mention_index();
        let mut pending = self.begin_turn(&index, input, session);
        let resolved = resolve_requirements(
            &mut session.requirements,
            &pending.turn.missing,
            input.id,
            input.policy,
            prompter,
        );
        pending.turn.resolve(resolved, &session.requirements);
        self.inject_turn(pending, input, session)
    }

    /// Does the same as [`prepare_turn`](Self::prepare_turn), but asks nothing: the questions are in
    /// [`PreparedTurn::prompts`], and count as asked. For applications that ask while the turn
    /// continues, or in another process.
    ///
    /// [`RequirementSession::record_response`] takes the answers. All servers are in a question,
    /// whatever the [policy](TurnInput::policy).
    pub fn plan_turn(&self, input: &TurnInput<'_>, session: &mut TurnSession) -> PreparedTurn {
        let index = self.mention_index();
        let mut pending = self.begin_turn(&index, input, session);
        let missing = &pending.turn.missing;
        pending.turn.prompts = session.requirements.prompts(missing, input.id);
        self.inject_turn(pending, input, session)
    }

    /// Returns the MCP servers that are missing for skills which a model uses by itself: it
    /// activated them, or a command reads or runs their files
    /// ([`implicit_index`](Self::implicit_index)). Codex does not check these.
    ///
    /// Nothing is asked, since the turn has begun: show the result without blocking, or pass it to
    /// [`resolve_requirements`] after the turn. Each server is returned once per session, and never
    /// after the user was asked for it. Other requirements are not listed; a run reports them.
    /// Skills that are not active in the catalog, such as those of untrusted roots, are ignored.
    #[must_use]
    pub fn servers_missing_for<'e>(
        &self,
        used: impl IntoIterator<Item = &'e Entry>,
        servers: &InstalledServers,
        session: &mut TurnSession,
    ) -> MissingRequirements {
        let catalog = self.library.catalog();
        let active = used.into_iter().filter(|entry| is_active(&catalog, entry));
        let mut all = MissingRequirements::default();
        for entry in active {
            self.add_missing(entry, servers, &|_| false, &mut all);
        }
        let mut missing = MissingRequirements::default();
        let new = all.servers.into_iter().filter(|server| {
            let key = &server.server.key;
            !session.requirements.was_asked_for(key) && session.reported.insert(key.clone())
        });
        missing.servers = new.collect();
        missing
    }

    /// Finds the mentions, and what the selected skills lack.
    fn begin_turn<'i>(
        &self,
        index: &'i MentionIndex,
        input: &TurnInput<'_>,
        session: &TurnSession,
    ) -> PendingTurn<'i> {
        let found = index.find(input.inputs, &input.mentions);
        let has_variable = |name: &str| {
            input.variables.contains(name) || session.requirements.secret(name).is_some()
        };
        let mut missing = MissingRequirements::default();
        for entry in &found.selected {
            self.add_missing(entry, &input.servers, &has_variable, &mut missing);
        }
        let invalid = missing.invalid.iter().map(|invalid| {
            let (skill, reason) = (&invalid.skill, &invalid.reason);
            format!("skill `{skill}` has an invalid requirement: {reason}")
        });
        PendingTurn {
            turn: PreparedTurn {
                mentions: found.all.iter().map(TurnMention::new).collect(),
                selected: found
                    .selected
                    .iter()
                    .map(|entry| SkillDescriptor::new(entry))
                    .collect(),
                warnings: invalid.collect(),
                missing,
                ..PreparedTurn::default()
            },
            selected: found.selected,
        }
    }

    /// Reads the texts of the selected skills.
    fn inject_turn(
        &self,
        pending: PendingTurn<'_>,
        input: &TurnInput<'_>,
        session: &mut TurnSession,
    ) -> PreparedTurn {
        let PendingTurn { mut turn, selected } = pending;
        let injections = self.inject_selected(
            &selected,
            input.format,
            input.max_bytes,
            &mut session.active,
        );
        let removed = injections.injected.iter().filter_map(|one| one.removed);
        turn.warnings.extend(removed.map(|c| {
            let code = u32::from(c);
            format!(
                "invisible characters were removed from the text of a skill, the first is U+{code:04X}"
            )
        }));
        turn.injected = injections.injected;
        turn.already_active = injections.already_active;
        turn.warnings.extend(injections.warnings);
        turn
    }

    fn add_missing(
        &self,
        entry: &Entry,
        servers: &InstalledServers,
        has_variable: &dyn Fn(&str) -> bool,
        missing: &mut MissingRequirements,
    ) {
        let declared = Requirements::new(entry.manifest(), entry.openai_metadata());
        let name = entry.name().as_str();
        self.library
            .check_requirements_of_client(name, &declared, servers, has_variable, missing);
    }
}

/// A turn before its questions, and the entries of the skills that it injects.
struct PendingTurn<'i> {
    turn: PreparedTurn,
    selected: Vec<&'i Entry>,
}

impl PreparedTurn {
    /// Records what the questions resolved.
    fn resolve(&mut self, resolved: ResolvedRequirements, session: &RequirementSession) {
        let ResolvedRequirements {
            installed,
            failures,
            ..
        } = resolved;
        let missing = &mut self.missing;
        missing.servers.retain(|server| !installed.contains(server));
        missing
            .variables
            .retain(|variable| session.secret(&variable.name).is_none());
        self.installed = installed;
        self.warnings.extend(failures);
    }
}

fn is_active(catalog: &Catalog, entry: &Entry) -> bool {
    let mut entries = catalog.entries().iter();
    entries.any(|active| active.directory() == entry.directory())
}
