//! The options of every command.

use std::path::PathBuf;

use clap::Args;
use skills_ref_compat::Client;
use skills_runtime::discovery::ClientProfile;

/// Help heading of the global options.
const GLOBAL_HEADING: &str = "Options of every command";

/// The options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub(crate) struct GlobalOptions {
    /// Search this directory instead of the defaults (repeatable)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,

    /// Search this directory in addition (repeatable)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) add_root: Vec<PathBuf>,

    /// Search and parse like this client
    #[arg(long, global = true, value_name = "CLIENT", long_help = profile_help())]
    pub(crate) profile: Option<String>,

    /// Ignore skills by name, glob or path (repeatable)
    #[arg(long, global = true, value_name = "SKILL")]
    pub(crate) disable: Vec<String>,

    /// Trust the project's skills and policy
    ///
    /// Without this option, skills of the project do not run, and its rules can only restrict.
    #[arg(long, global = true)]
    pub(crate) trust_project: bool,

    /// Fail if a skill is not that of its skills.lock
    ///
    /// A skill with other content is never used. With this option the command fails as well if a
    /// locked skill is missing or changed, if a skill is not listed in the lock file of its root, or
    /// if the project has skills and no lock file.
    #[arg(long, global = true)]
    pub(crate) frozen: bool,

    /// Follow SKILL.md symlinks that leave the skill
    #[arg(long, global = true)]
    pub(crate) follow_skill_links: bool,

    /// Search for skills below other skills, too
    #[arg(long, global = true)]
    pub(crate) nested: bool,

    /// Maximum depth of a skill below its root [default: 6, or as the client of --profile]
    #[arg(long, global = true, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_depth: Option<usize>,

    /// Maximum number of directories per root [default: 2000, for --root and --add-root 200000]
    #[arg(long, global = true, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_directories: Option<usize>,

    /// Maximum number of directory entries per root [default: 20000, for --root and --add-root 2000000]
    #[arg(long, global = true, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) max_entries: Option<usize>,

    /// Print one JSON document
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

fn profile_help() -> String {
    let profiles = ClientProfile::ALL.map(ClientProfile::as_str);
    let others = Client::ALL.map(Client::as_str).into_iter();
    let others: Vec<&str> = others.filter(|name| !profiles.contains(name)).collect();
    format!(
        "Search and parse like this client\n\nOne of {}; `validate` also accepts {}.",
        profiles.join(", "),
        others.join(", ")
    )
}
