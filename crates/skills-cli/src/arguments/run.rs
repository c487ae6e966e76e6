//! The arguments of what runs a program, or says what it would be given.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use skills_runtime::{Capability, ResourceLimits, ScriptType};

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Name of the skill, or its directory
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,

    /// Say what would run, what it would get and why, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Say yes, for this run, to whatever would be asked; what rules forbid stays forbidden
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,

    /// Say no to whatever would be asked
    #[arg(long)]
    pub(crate) deny: bool,

    /// Copy a file into a workspace that is made for this run and gone afterwards (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    pub(crate) file: Vec<PathBuf>,

    /// Keep the files that the program makes in such a workspace, in this directory; nothing in it
    /// is replaced
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    pub(crate) output: Option<PathBuf>,

    /// Run all scripts of a kind (python, shell, node, deno, ruby, perl) by this interpreter, that
    /// of a virtual environment, say (repeatable)
    #[arg(long, value_name = "KIND=PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<InterpreterArg>,

    /// Run WebAssembly the same way each time: random numbers from this seed, clocks of its own,
    /// counted steps
    #[arg(long, value_name = "SEED")]
    pub(crate) deterministic: Option<u64>,

    /// Say on standard error what ran and which walls stood around it
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Say besides what it was given, and by which rule
    #[arg(long)]
    pub(crate) explain: bool,

    /// Arguments of the program, after --
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) args: Vec<String>,
}

/// An interpreter for all scripts of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterpreterArg {
    pub(crate) kind: ScriptType,
    /// As it was given, which may be relative.
    pub(crate) path: PathBuf,
}

/// What of a skill runs, and what it is offered.
#[derive(Debug, Default, Args)]
pub(crate) struct ExecutionArgs {
    /// Script of the skill to run, when it has several
    #[arg(long)]
    pub(crate) script: Option<String>,

    /// Input of the program: JSON, @FILE, or - for standard input [default: {}]
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) input: Option<String>,

    /// Deadline in seconds, at most 600 [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) timeout: Option<u64>,

    /// Memory in MiB, at most 2048 [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub(crate) memory: Option<u64>,

    /// Scratch space and private workspace in MiB, at most 2048 [default: 256]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=2048))]
    pub(crate) scratch: Option<u64>,

    /// Directory for the program's files: read when the skill asks to read, written when it asks to
    /// write and that is allowed
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Let the program read a file or directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,

    /// Let the program write a file or directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,

    /// Allow, for this run: write, write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME
    /// (repeatable)
    #[arg(long, value_name = "PERMISSION")]
    pub(crate) allow: Vec<String>,

    /// Run without a capability that the skill asks for (repeatable)
    #[arg(long, value_name = "CAPABILITY", value_enum)]
    pub(crate) without: Vec<CapabilityArg>,

    /// Give the program a variable, by its value, or by its name to take the value that it has here
    /// (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,

    /// Take the variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CapabilityArg {
    /// Read files of the workspace
    Read,
    /// Write files of the workspace
    Write,
    /// Reach hosts on the network
    Network,
    /// Start other programs
    Spawn,
    /// See variables
    #[value(alias = "env")]
    Environment,
}

impl From<CapabilityArg> for Capability {
    fn from(dropped: CapabilityArg) -> Self {
        match dropped {
            CapabilityArg::Read => Self::Read,
            CapabilityArg::Write => Self::Write,
            CapabilityArg::Network => Self::Network,
            CapabilityArg::Spawn => Self::Spawn,
            CapabilityArg::Environment => Self::Environment,
        }
    }
}

/// Reads `KIND=PATH`.
fn parse_interpreter(text: &str) -> Result<InterpreterArg, String> {
    let (name, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| "not of the form KIND=PATH".to_owned())?;
    match ScriptType::ALL
        .into_iter()
        .find(|known| known.as_str() == name)
    {
        Some(kind) => Ok(InterpreterArg {
            kind,
            path: PathBuf::from(path),
        }),
        None => Err(unknown_script_type(name)),
    }
}

fn unknown_script_type(name: &str) -> String {
    let names = ScriptType::ALL.map(ScriptType::as_str);
    let nearest = names
        .into_iter()
        .min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()));
    let nearest = nearest
        .filter(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()) <= MAX_TYPOS);
    match nearest {
        Some(nearest) => format!("no kind of script is named {name:?}; did you mean `{nearest}`?"),
        None => format!(
            "no kind of script is named {name:?}; there are: {}",
            names.join(", ")
        ),
    }
}

/// So many letters may be wrong in what is taken for another word.
const MAX_TYPOS: usize = 2;

/// Reads a positive number of seconds, fractions allowed, as milliseconds.
pub(super) fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    let milliseconds = (seconds * 1_000.0).round();
    let most = ResourceLimits::default_ceiling().wall_time.as_secs();
    let fits = seconds <= most as f64 && milliseconds >= 1.0;
    if fits {
        Ok(milliseconds as u64)
    } else {
        Err(format!("must be from 0.001 to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_a_kind_and_a_path() {
        let read = parse_interpreter("python=.venv/bin/a=b").unwrap();
        assert_eq!(
            read,
            InterpreterArg {
                kind: ScriptType::Python,
                path: ".venv/bin/a=b".into()
            }
        );
        for (wrong, message) in [
            ("python", "not of the form KIND=PATH"),
            ("python=", "not of the form KIND=PATH"),
            (
                "Pyhton3=/x",
                "no kind of script is named \"Pyhton3\"; did you mean `python`?",
            ),
            (
                "nod=/x",
                "no kind of script is named \"nod\"; did you mean `node`?",
            ),
            (
                "lua=/x",
                "no kind of script is named \"lua\"; there are: python, shell, node, deno, ruby, perl",
            ),
            (
                "=/x",
                "no kind of script is named \"\"; there are: python, shell, node, deno, ruby, perl",
            ),
        ] {
            assert_eq!(parse_interpreter(wrong), Err(message.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn seconds_may_have_fractions() {
        assert_eq!(parse_seconds("1.5"), Ok(1_500));
        for wrong in ["0", "-1", "nan", "inf", "x", "601"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
