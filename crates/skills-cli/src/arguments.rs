//! The command line.

mod build;
mod mcp;
mod policy;
mod run;
mod tools;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use skills_build::Language;
use skills_runtime::prompt::{Budget, ListingMode};

pub(crate) use build::Build;
pub(crate) use mcp::{Install, Mcp, McpCommand, Serve};
pub(crate) use policy::{Audit, AuditCommand, Policy, PolicyCommand, Trust, Verify};
pub(crate) use run::{ExecutionArgs, InterpreterArg, Run};
pub(crate) use tools::{Accept, Call, Host, Tools, ToolsCommand};

/// Find, check, show and safely run agent skills
///
/// A skill is a folder with a SKILL.md. Without --root, skills are looked for wherever clients keep
/// them: in .agents/skills, .claude/skills and the like of the project and of the home directory;
/// `skills roots` lists the places.
#[derive(Debug, Parser)]
#[command(name = "skills", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Look for skills below this directory instead of the default ones (repeatable)
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// Look where this client looks, and read as it reads (universal, codex, claude, openclaw,
    /// gemini, copilot, goose, opencode; validate also knows spec, claude-api, deepagents,
    /// agent-framework)
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "CLIENT")]
    pub(crate) profile: Option<String>,

    /// Do not use a skill, by its name, a pattern with * and ?, or its path (repeatable)
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "SKILL")]
    pub(crate) disable: Vec<String>,

    /// Use the skills of the project, and let its rules allow; without this its skills are blocked
    /// and its rules only narrow
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) trust_project: bool,

    /// Read a SKILL.md that is a symlink wherever it leads, as managers of dotfiles make them
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) follow_skill_links: bool,

    /// How many directories are searched per root [default: 2000]
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_directories: Option<usize>,

    /// How many directory entries are looked at per root [default: 20000]
    #[arg(long, global = true, help_heading = GLOBAL_HEADING, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_entries: Option<usize>,

    /// Print one JSON document
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the options that every command has.
const GLOBAL_HEADING: &str = "Options of every command";

const EXIT_CODES: &str = "Exit codes: 0 done, 1 the skill failed or is unknown, 2 wrong usage, 3 denied or no sandbox, 4 timeout, 130 interrupted";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the skills that are found, and what was passed over
    List(List),
    /// Check skills: what is wrong with them, for all clients or for one
    Validate(Validate),
    /// Print the fields of a skill as JSON, as skills-ref does
    ReadProperties(ReadProperties),
    /// Print skills as XML for a prompt, as skills-ref does
    ToPrompt(ToPrompt),
    /// List the places where skills are looked for
    Roots(Roots),
    /// Say why a skill is seen, or not
    Explain(Explain),
    /// Make a new skill
    New(New),
    /// Compile a skill's source to WebAssembly
    ///
    /// The source lies in the skill's `guest` directory and becomes `wasm/skill.wasm`: Rust
    /// (Cargo.toml), JavaScript or TypeScript (main, index or skill with .js, .mjs or .ts), C (*.c)
    /// or Python (app.py or main.py). Beside it, artifact.lock says what it was built from; when
    /// nothing changed, nothing is done. Building runs compilers, build scripts and packages with
    /// your rights and outside any sandbox: build what you wrote or read.
    Build(Build),
    /// Look for what hinders skills here: roots, limits, names, links, requirements, sandboxes
    Doctor(Doctor),
    /// Show one skill: its fields, files and instructions
    Show(Show),
    /// Print the list of skills that a model is told
    Prompt(Prompt),
    /// Find the skills that a text names, and say what becomes of each mention
    Mentions(Mentions),
    /// Print a skill's text as a model is given it
    Load(Load),
    /// Find the skills that a command reads or runs
    Detect(Detect),
    /// Run a skill's program in a sandbox
    Run(Box<Run>),
    /// List the tools that a model calls, as a host gives them to it
    ///
    /// They are the six skills tools, a tool for each script of a skill, run_skill_script, and
    /// those for models without access to files.
    Tools(Tools),
    /// Call a tool as a model would
    Call(Call),
    /// Use a skill that a model made: move it from the drafts to where skills are
    Adopt(Accept),
    /// Serve skills and their tools to clients of the Model Context Protocol
    ///
    /// Clients start this command and talk to it over standard input and output;
    /// `skills mcp install` writes that into their configuration. With --http they connect to it.
    Mcp(Box<Mcp>),
    /// Compile the WebAssembly of skills ahead of time, so that no run has to wait for it
    Precompile(Precompile),
    /// Say what programs may do, and why
    Policy(Policy),
    /// Approve what a skill asks for, for the content that it has now
    Trust(Box<Trust>),
    /// Read the record of every attempt to run something
    Audit(Audit),
    /// Print the completions of a shell, for its start file
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Precompile {
    /// Names or directories of skills; without any, all that have WebAssembly
    #[arg(value_name = "SKILL")]
    pub(crate) skills: Vec<String>,

    /// Delete all compiled code first; without SKILL nothing else is done
    #[arg(long)]
    pub(crate) clear: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Show where each skill lies and what is wrong with it
    #[arg(long, short)]
    pub(crate) long: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Directories of skills, or their SKILL.md
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Give the verdicts and messages of skills-ref, the reference tool of the specification
    #[arg(long, conflicts_with = "profile")]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReadProperties {
    /// Directory of a skill, or its SKILL.md
    pub(crate) path: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct ToPrompt {
    /// Directories of skills, or their SKILL.md
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Roots {}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Name of a skill, its directory or its SKILL.md
    #[arg(value_name = "NAME|PATH")]
    pub(crate) query: String,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Its name: lower-case letters, digits and hyphens
    pub(crate) name: String,

    /// What it does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,

    /// Begin a program in this language, for `skills build`
    #[arg(long, value_name = "LANGUAGE", value_parser = build::language_parser())]
    pub(crate) lang: Option<Language>,

    /// Directory to make it in
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    pub(crate) directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Name of the skill, or its directory
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Prompt {
    /// Form of the list
    #[arg(long, value_enum, default_value_t = ListFormatArg::Codex)]
    pub(crate) format: ListFormatArg,

    /// Fit the list into 2 % of a context window of this many tokens
    #[arg(long, value_name = "TOKENS", conflicts_with = "budget")]
    pub(crate) context_window: Option<usize>,

    /// Fit the list into this many characters, or tokens with a `t` behind them [default: 8000]
    #[arg(long, value_name = "NUMBER[t]", value_parser = parse_budget)]
    pub(crate) budget: Option<Budget>,

    /// Shorten descriptions by whole sentences, and keep those that say when not to use a skill
    #[arg(long)]
    pub(crate) sentences: bool,

    /// Choose how a skill stands in the list: auto, pinned, name-only, manual or off (repeatable)
    #[arg(long, value_name = "SKILL=MODE", value_parser = parse_mode)]
    pub(crate) mode: Vec<(String, ListingMode)>,

    /// Also say when to run a script with the tool of this name
    #[arg(long, value_name = "TOOL")]
    pub(crate) script_tool: Option<String>,

    /// Say what becomes of each skill instead of printing the list
    #[arg(long)]
    pub(crate) explain: bool,
}

/// The forms of the list.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ListFormatArg {
    /// Codex's section with its rules
    Codex,
    /// The form of skills-ref
    Xml,
    /// The same with one line for each tag
    XmlCompact,
    /// A Markdown list
    Markdown,
}

#[derive(Debug, Args)]
pub(crate) struct Mentions {
    /// Text of a user, @FILE, or - for standard input
    #[arg(value_name = "TEXT|@FILE|-")]
    pub(crate) text: String,

    /// Skill that was chosen in a user interface (repeatable)
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) skill: Vec<String>,

    /// Connector that `$NAME` may mean as well (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) connector: Vec<String>,

    /// Let `$NAME` have letters of all scripts
    #[arg(long)]
    pub(crate) unicode_names: bool,

    /// Only what Codex sees: no names in words
    #[arg(long)]
    pub(crate) no_words: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Load {
    /// Name of the skill, or its directory
    pub(crate) name: String,

    /// Only the body, in tags that it cannot close, with the skill's directory and files
    #[arg(long)]
    pub(crate) fenced: bool,

    /// Most bytes of text; a longer one is cut at a line, and says so [default: 98304]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_bytes: Option<usize>,
}

#[derive(Debug, Args)]
pub(crate) struct Detect {
    /// Directory that the command starts in [default: this one]
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// The command, after --; a single word is text for a shell
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Reads a number of characters, or of tokens with a `t` behind it.
fn parse_budget(text: &str) -> Result<Budget, String> {
    let (number, unit): (_, fn(usize) -> Budget) = match text.strip_suffix('t') {
        Some(tokens) => (tokens, Budget::Tokens),
        None => (text, Budget::Characters),
    };
    number
        .parse()
        .map(unit)
        .map_err(|_| "not a number of characters like 8000, or of tokens like 4000t".to_owned())
}

/// Reads a skill and its mode.
fn parse_mode(text: &str) -> Result<(String, ListingMode), String> {
    let modes = ListingMode::ALL.map(ListingMode::as_str).join(", ");
    let (skill, mode) = text
        .rsplit_once('=')
        .ok_or_else(|| format!("not SKILL=MODE; modes are {modes}"))?;
    let known = ListingMode::ALL
        .into_iter()
        .find(|known| known.as_str() == mode);
    known
        .map(|mode| (skill.to_owned(), mode))
        .ok_or_else(|| format!("{mode:?} is no mode; there are: {modes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_and_modes() {
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
