//! The command line.

mod build;
mod mcp;
mod permission;
mod policy;
mod run;
mod tools;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use skills_build::Language;
use skills_runtime::discovery;
use skills_runtime::prompt::{Budget, ListingMode};

pub(crate) use build::Build;
pub(crate) use mcp::{Install, Mcp, McpCommand, Serve};
pub(crate) use policy::{Audit, AuditCommand, Policy, PolicyCommand, Trust, Verify};
pub(crate) use run::{ExecutionArgs, InterpreterArg, Run};
pub(crate) use tools::{Accept, Call, Host, Tools, ToolsCommand};

/// Find, check, show and safely run agent skills
///
/// A skill is a directory with a SKILL.md. Without --root, the skill directories of known clients
/// are searched, such as .agents/skills and .claude/skills of the project and of the home
/// directory; `skills roots` lists them.
#[derive(Debug, Parser)]
#[command(name = "skills", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Search this directory instead of the defaults (repeatable)
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// Search and parse like this client
    ///
    /// One of universal, codex, claude, openclaw, gemini, copilot, goose, opencode; `validate` also
    /// accepts spec, claude-api, deepagents, agent-framework.
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "CLIENT")]
    pub(crate) profile: Option<String>,

    /// Ignore skills by name, glob or path (repeatable)
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "SKILL")]
    pub(crate) disable: Vec<String>,

    /// Trust the project's skills and policy
    ///
    /// Without this option, skills of the project do not run, and its rules can only restrict.
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) trust_project: bool,

    /// Follow SKILL.md symlinks that leave the skill
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) follow_skill_links: bool,

    /// Maximum number of directories per root [default: 2000]
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_directories: Option<usize>,

    /// Maximum number of directory entries per root [default: 20000]
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_entries: Option<usize>,

    /// Print one JSON document
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Returns the trust in the skills and the policy of the project.
    pub(crate) fn project_trust(&self) -> discovery::Trust {
        if self.trust_project {
            discovery::Trust::Trusted
        } else {
            discovery::Trust::Untrusted
        }
    }
}

/// Help heading of the global options.
const GLOBAL_HEADING: &str = "Options of every command";

const EXIT_CODES: &str = "Exit codes: 0 success, 1 failure or not found, 2 usage, 3 denied or no sandbox, 4 timeout, 130 interrupted";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List available skills
    List(List),
    /// Check skills against the specification or a client
    Validate(Validate),
    /// Print a skill's manifest as JSON, like skills-ref
    ReadProperties(ReadProperties),
    /// Print skills as XML for a prompt, like skills-ref
    ToPrompt(ToPrompt),
    /// List the directories that are searched
    Roots(Roots),
    /// Explain why a skill is or is not available
    Explain(Explain),
    /// Create a skill from a template
    New(New),
    /// Compile a skill's source to WebAssembly
    ///
    /// Compiles the source in the skill's `guest` directory to `wasm/skill.wasm`: Rust
    /// (Cargo.toml), JavaScript or TypeScript (main, index or skill with .js, .mjs or .ts), C (*.c)
    /// or Python (app.py or main.py). The file artifact.lock next to the module records what it was
    /// built from; an artifact that is up to date is not rebuilt. Compilers, build scripts and
    /// packages run with your privileges and outside any sandbox, so build only source that you
    /// trust.
    Build(Build),
    /// Check roots, skills, policy and sandbox
    Doctor(Doctor),
    /// Show a skill's manifest, files and instructions
    Show(Show),
    /// Print the skills section of a prompt
    Prompt(Prompt),
    /// Find skill mentions in a text
    Mentions(Mentions),
    /// Print a skill as it is injected into a prompt
    Load(Load),
    /// Find skills used by a shell command
    Detect(Detect),
    /// Run a skill's script or WebAssembly module in a sandbox
    Run(Box<Run>),
    /// List the tools offered to a model
    ///
    /// These are the six skills tools, one tool per script of a skill, run_skill_script, and the
    /// file tools for models without file access.
    Tools(Tools),
    /// Call a tool as a model would
    Call(Call),
    /// Accept a skill drafted by a model
    #[command(alias = "adopt")]
    Accept(Accept),
    /// Start the MCP server
    ///
    /// Serves skills and their tools to clients of the Model Context Protocol. Clients start this
    /// command and use its standard input and output; `skills mcp install` registers it with a
    /// client. With --http, clients connect over HTTP.
    Mcp(Box<Mcp>),
    /// Precompile WebAssembly modules
    Precompile(Precompile),
    /// Show what skills may do, and why
    Policy(Policy),
    /// Approve the current version of a skill
    Trust(Box<Trust>),
    /// Show and verify the audit log
    Audit(Audit),
    /// Generate shell completions
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Precompile {
    /// Names or directories of skills [default: all with WebAssembly]
    #[arg(value_name = "SKILL")]
    pub(crate) skills: Vec<String>,

    /// Remove compiled modules first; without SKILL, compile nothing
    #[arg(long)]
    pub(crate) clear: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show the directory and warnings of each skill
    #[arg(long, short)]
    pub(crate) long: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Skill directories or SKILL.md files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Report exactly like skills-ref, the specification's reference tool
    #[arg(long, conflicts_with = "profile")]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReadProperties {
    /// Skill directory or SKILL.md file
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ToPrompt {
    /// Skill directories or SKILL.md files
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Roots {}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Skill name, directory or SKILL.md file
    #[arg(value_name = "NAME|PATH")]
    pub(crate) query: String,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Skill name: lowercase letters, digits and hyphens
    pub(crate) name: String,

    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Add a program in this language, for `skills build`
    #[arg(long, value_name = "LANGUAGE", value_parser = build::language_parser())]
    pub(crate) lang: Option<Language>,

    /// Parent directory
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Skill name or directory
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// Format of the list
    #[arg(long, value_enum, default_value_t = ListFormatArg::Codex)]
    pub(crate) format: ListFormatArg,

    /// Limit the list to 2 % of a context window of this many tokens
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget")]
    pub(crate) context_window: Option<usize>,

    /// Limit the list to this many characters, or tokens with suffix `t` [default: 8000]
    #[arg(long, value_name = "NUMBER[t]", value_parser = parse_budget)]
    pub(crate) budget: Option<Budget>,

    /// Shorten descriptions by whole sentences
    ///
    /// Sentences that say when not to use a skill are kept.
    #[arg(long)]
    pub(crate) sentences: bool,

    /// Set how a skill is listed: auto, pinned, name-only, manual or off (repeatable)
    #[arg(long, value_name = "SKILL=MODE", value_parser = parse_mode)]
    pub(crate) mode: Vec<(String, ListingMode)>,

    /// Add instructions to run scripts with this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) script_tool: Option<String>,

    /// Explain how each skill is listed, instead of printing the list
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Formats of the skills section.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListFormatArg {
    /// Codex's skills section, with its rules
    Codex,
    /// XML, like skills-ref
    Xml,
    /// XML with one line per tag
    XmlCompact,
    /// A Markdown list
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct Mentions {
    /// User input as text, @FILE, or - for standard input
    #[arg(value_name = "TEXT|@FILE|-")]
    pub(crate) text: String,

    /// Skill selected in a user interface (repeatable)
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) skill: Vec<String>,

    /// Connector that `$NAME` can also refer to (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) connector: Vec<String>,

    /// Allow letters of all scripts in `$NAME`
    #[arg(long)]
    pub(crate) unicode_names: bool,

    /// Find only `$NAME` and links, like Codex, not names in plain words
    #[arg(long)]
    pub(crate) no_words: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Skill name or directory
    pub(crate) name: String,

    /// Print only the body, in tags that it cannot close
    ///
    /// The tags include the skill's directory and files.
    #[arg(long)]
    pub(crate) fenced: bool,

    /// Maximum bytes of text, truncated at a line end [default: 98304]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Working directory of the command [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Command after --; a single word is parsed as a shell command
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell to generate completions for
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Parses a number of characters, or of tokens with the suffix `t`.
fn parse_budget(text: &str) -> Result<Budget, String> {
    let (number, unit): (_, fn(usize) -> Budget) = match text.strip_suffix('t') {
        Some(tokens) => (tokens, Budget::Tokens),
        None => (text, Budget::Characters),
    };
    number
        .parse()
        .map(unit)
        .map_err(|_| "expected a number of characters (`8000`) or tokens (`4000t`)".to_owned())
}

/// Parses `SKILL=MODE`.
fn parse_mode(text: &str) -> Result<(String, ListingMode), String> {
    let modes = ListingMode::ALL.map(ListingMode::as_str).join(", ");
    let (skill, mode) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("expected SKILL=MODE, with one of the modes {modes}"))?;
    let known = ListingMode::ALL
        .into_iter()
        .find(|known| known.as_str() == mode);
    known
        .map(|mode| (skill.to_owned(), mode))
        .ok_or_else(|| format!("unknown mode `{mode}`: expected one of {modes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_modes_are_parsed() {
        assert_eq!(
            (parse_budget("8000"), parse_budget("40t")),
            (Ok(Budget::Characters(8_000)), Ok(Budget::Tokens(40)))
        );
        assert!(parse_budget("t").is_err() && parse_budget("-1").is_err());
        assert_eq!(
            parse_mode("a=b=pinned"),
            Ok(("a=b".to_owned(), ListingMode::Pinned))
        );
        assert!(parse_mode("a").is_err() && parse_mode("a=pined").is_err());
    }
}
