//! Arguments of the commands that run a skill or preview a run.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use skills_runtime::policy::Rule;
use skills_runtime::{Capability, ResourceLimits, ScriptType};

use super::permission::PermissionParser;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Skill name or directory
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) what: ExecutionArgs,

    /// Show what would run and be granted, without running
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Approve all requests of this run; `deny` rules still apply
    #[arg(long, conflicts_with = "deny")]
    pub(crate) yes: bool,

    /// Deny all requests of this run
    #[arg(long)]
    pub(crate) deny: bool,

    /// Copy a file into a private workspace of this run (repeatable)
    #[arg(long, value_name = "FILE", conflicts_with = "workspace")]
    pub(crate) file: Vec<PathBuf>,

    /// Save output files of the private workspace in this directory
    ///
    /// Existing files are not replaced.
    #[arg(long, value_name = "DIR", conflicts_with = "workspace")]
    pub(crate) output: Option<PathBuf>,

    /// Run scripts of a type with this interpreter (repeatable)
    ///
    /// Types are python, shell, node, deno, ruby and perl. Use it for the Python of a virtual
    /// environment.
    #[arg(long, value_name = "KIND=PATH", value_parser = parse_interpreter)]
    pub(crate) interpreter: Vec<InterpreterArg>,

    /// Run WebAssembly with a fixed seed, clock and fuel
    #[arg(long, value_name = "SEED")]
    pub(crate) deterministic: Option<u64>,

    /// Print the command and the enforced restrictions
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Also print the grants and the rules behind them
    #[arg(long)]
    pub(crate) explain: bool,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) args: Vec<String>,
}

/// An interpreter for all scripts of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InterpreterArg {
    pub(crate) kind: ScriptType,
    /// The path as given, which can be relative.
    pub(crate) path: PathBuf,
}

/// What to run of a skill, and with which input, limits and paths.
#[derive(Debug, Default, Args)]
pub(crate) struct ExecutionArgs {
    /// Script to run, if the skill has several
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

    /// Directory for the program's files
    ///
    /// Readable if the skill requests to read, writable if it requests to write and policy allows
    /// it.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,

    /// Make a file or directory readable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<PathBuf>,

    /// Make a file or directory writable (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<PathBuf>,

    /// Grant a permission for this run (repeatable)
    ///
    /// One of write, write:/DIR, spawn, spawn:PROGRAM, network:HOST, env:NAME.
    #[arg(long, value_name = "PERMISSION", value_parser = PermissionParser)]
    pub(crate) allow: Vec<Rule>,

    /// Drop a capability that the skill requests (repeatable)
    #[arg(long, value_name = "CAPABILITY", value_enum)]
    pub(crate) without: Vec<CapabilityArg>,

    /// Set an environment variable, or pass one through by name (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) env: Vec<String>,

    /// Read variables that skills declare from this .env file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum CapabilityArg {
    /// Read files in the workspace
    Read,
    /// Write files in the workspace
    Write,
    /// Connect to hosts on the network
    Network,
    /// Start other programs
    Spawn,
    /// Read environment variables
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

/// Parses `KIND=PATH`.
fn parse_interpreter(text: &str) -> Result<InterpreterArg, String> {
    let (name, path) = text
        .split_once('=')
        .filter(|(_, path)| !path.is_empty())
        .ok_or_else(|| "expected KIND=PATH".to_owned())?;
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
        Some(nearest) => format!("unknown script type `{name}`; did you mean `{nearest}`?"),
        None => format!(
            "unknown script type `{name}`: expected one of {}",
            names.join(", ")
        ),
    }
}

/// Maximum edit distance of a suggestion.
const MAX_TYPOS: usize = 2;

/// Parses a positive number of seconds, with fractions, into milliseconds.
pub(super) fn parse_seconds(text: &str) -> Result<u64, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| "expected a number of seconds".to_owned())?;
    let milliseconds = (seconds * 1_000.0).round();
    let max = ResourceLimits::default_ceiling().wall_time.as_secs();
    // Written so that NaN does not fit.
    let fits = seconds <= max as f64 && milliseconds >= 1.0;
    if fits {
        Ok(milliseconds as u64)
    } else {
        Err(format!("expected 0.001 to {max}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_argument_is_a_type_and_a_path() {
        let read = parse_interpreter("python=.venv/bin/a=b").unwrap();
        assert_eq!(
            read,
            InterpreterArg {
                kind: ScriptType::Python,
                path: ".venv/bin/a=b".into()
            }
        );
        for (wrong, message) in [
            ("python", "expected KIND=PATH"),
            ("python=", "expected KIND=PATH"),
            (
                "Pyhton3=/x",
                "unknown script type `Pyhton3`; did you mean `python`?",
            ),
            ("nod=/x", "unknown script type `nod`; did you mean `node`?"),
            (
                "lua=/x",
                "unknown script type `lua`: expected one of python, shell, node, deno, ruby, perl",
            ),
            (
                "=/x",
                "unknown script type ``: expected one of python, shell, node, deno, ruby, perl",
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
