//! What the commands that install skills share: directories, sources, the question, and texts.

mod arguments;
mod consent;
mod error;
mod findings;
mod frozen;
mod memory;
mod perform;
mod plan_text;
mod signers;
mod target;

use std::path::{Path, PathBuf};

use skills_install::{
    FetchProgress, Fetcher, GitOptions, InstallError, PrivateHost, SourceRule, SourceSpec, Store,
    WebOptions, split_skill,
};
use skills_runtime::policy::{Capability, Request};

pub(crate) use self::arguments::{FetchArgs, InstallArgs};
pub(crate) use self::error::failed;
pub(crate) use self::frozen::{check_frozen, reject_frozen};
pub(crate) use self::memory::SourceMemory;
pub(crate) use self::perform::{failures_json, perform, preview, report_failures};
pub(crate) use self::plan_text::short_revision;
pub(crate) use self::target::{
    Target, parse_target, report_nothing_locked, roots_to_verify, select_locked, verify,
};

use crate::context::Context;
use crate::error::CommandError;
use crate::output::line;
use crate::policy_files;
use crate::process_environment::Environment;
use crate::spinner::Spinner;
use crate::state::PolicyPaths;

/// Returns how sources are fetched: as the policy files of this host allow, by the user's git, with
/// its credentials, and proxy.
///
/// # Errors
/// Fails if a policy file cannot be read: it could restrict the sources.
pub(crate) fn fetcher(arguments: &FetchArgs, context: &Context) -> anyhow::Result<Fetcher> {
    let paths = PolicyPaths::new(&context.environment);
    let policy = policy_files::load(&paths, context.project_trust()?)?;
    let policy = policy.rules.install();
    let mut git = GitOptions::new(find_git(&context.environment))
        .temp_dir(&context.environment.temp_dir().path);
    let private = context.settings()?.private_sources.iter();
    let private = private.filter_map(|host| host.parse::<PrivateHost>().ok());
    let mut web = web_options(&context.environment).private_hosts(private);
    if arguments.insecure {
        git = git.allow_insecure();
        web = web.allow_http().allow_loopback();
    }
    let mut fetcher = Fetcher::new(git).web(web).use_git_credentials();
    for list in &policy.sources {
        fetcher = fetcher.allowed_sources(list.iter().map(|pattern| SourceRule::new(pattern)));
    }
    fetcher = fetcher.trust(signers::trusted(policy)?);
    if policy.requires_signature {
        fetcher = fetcher.require_signature();
    }
    Ok(
        match Spinner::on_terminal("{spinner} fetching {msg} {bytes}") {
            Some(spinner) => fetcher.on_progress(move |progress| match progress {
                // Redirects are addresses that a server chose.
                FetchProgress::Received { from, bytes } => spinner.show(line(from), bytes),
                _ => spinner.clear(),
            }),
            None => fetcher,
        },
    )
}

/// The start of a source that names no registry.
const CLAWHUB: &str = "clawhub:";

/// Parses a source of the command line, with the name of a skill of it if the text has one
/// (`OWNER/REPO@NAME`). The lock file records the registry that the settings choose, so that a later
/// change of the setting replaces no skill.
pub(crate) fn parse_source(
    text: &str,
    context: &Context,
) -> anyhow::Result<(SourceSpec, Option<String>)> {
    let text = text.trim();
    let (source, skill) = match split_skill(text) {
        Some((source, skill)) => (source, Some(skill.to_owned())),
        None => (text.to_owned(), None),
    };
    let spec: SourceSpec = source.parse().map_err(InstallError::from).map_err(failed)?;
    let spec = if text.starts_with(CLAWHUB) {
        at_chosen_registry(spec, context)?
    } else {
        spec
    };
    let current_dir = context.environment.current_dir()?;
    reject_ambiguous(&source, &spec, current_dir)?;
    Ok((spec.resolved_at(current_dir), skill))
}

/// Rejects the short form of a repository if it, or the repository in it, is a directory as well: the
/// user may mean either, and the owner of the repository may be anyone.
fn reject_ambiguous(text: &str, spec: &SourceSpec, current_dir: &Path) -> anyhow::Result<()> {
    let name = text.split('#').next().unwrap_or(text);
    let name = name.split("//").next().unwrap_or(name);
    let is_short = spec.identity().starts_with("git:") && !name.contains(':');
    let repository = name.match_indices('/').nth(1);
    let repository = repository.map_or(name, |(end, _)| &name[..end]);
    if !is_short || !current_dir.join(repository).is_dir() {
        return Ok(());
    }
    let url = match repository == name {
        true => format!("https://github.com/{name}"),
        false => spec.to_string(),
    };
    let message =
        format!("`{repository}` is a directory and the short form of a repository of GitHub");
    let help = format!("write `./{name}` for the directory, or `{url}`");
    Err(CommandError::input(message).with_help(help).into())
}

/// Replaces the registry of a ClawHub source that names none by the one of the settings.
pub(crate) fn at_chosen_registry(
    spec: SourceSpec,
    context: &Context,
) -> anyhow::Result<SourceSpec> {
    match &context.settings()?.clawhub_registry {
        Some(url) => {
            let chosen = spec.with_clawhub_registry(url);
            chosen.map_err(InstallError::from).map_err(failed)
        }
        None => Ok(spec),
    }
}

/// Returns how web servers are reached: through the proxy that the variables name.
fn web_options(environment: &Environment) -> WebOptions {
    let variable = |names: &[&str]| {
        let values = names
            .iter()
            .filter_map(|name| environment.variable(name)?.to_str());
        values.map(str::trim).find(|value| !value.is_empty())
    };
    let web = WebOptions::new().system_certificates();
    let web = match variable(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]) {
        Some(url) => web.proxy(url),
        None => web,
    };
    let hosts = variable(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
    let hosts = hosts.split(',').map(str::trim);
    web.no_proxy(hosts.filter(|host| !host.is_empty()))
}

/// Opens a directory of installed skills for changes.
pub(crate) fn open_store(directory: &Path, context: &Context) -> anyhow::Result<Store> {
    let known = SourceMemory::new(context).read()?;
    let store = Store::open(directory).map_err(failed)?;
    Ok(store.known_sources(known))
}

/// Opens a directory of installed skills to show what would change. It need not exist.
pub(crate) fn open_read_only(directory: &Path, context: &Context) -> anyhow::Result<Store> {
    let known = SourceMemory::new(context).read()?;
    let store = Store::open_read_only(directory, &context.environment.temp_dir().path);
    Ok(store.map_err(failed)?.known_sources(known))
}

/// Returns the words of policies for an entry of `allowed-tools`.
pub(crate) fn policy_words(tool: &str, pattern: Option<&str>) -> Option<String> {
    let capability = Capability::from_tool_name(tool)?;
    if matches!(capability, Capability::Network | Capability::Spawn) {
        let request = Request::new("/").allowed_tool(tool, pattern);
        let permissions = request.permissions().into_iter();
        let mut asked = permissions.filter(|asked| asked.capability() == capability);
        if let Some(target) = asked.find_map(|asked| asked.rule_target()) {
            return Some(target.to_string());
        }
    }
    // Directories of a workspace, which is not known here.
    Some(match pattern {
        Some(pattern) => format!("{capability}:{pattern}"),
        None => capability.to_string(),
    })
}

/// Returns the path of the user's git, or its name if it is not installed.
fn find_git(environment: &Environment) -> PathBuf {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    let directories = environment.search_path().into_iter();
    let paths = directories
        // A relative directory would be one of the working directory, which can be a project.
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(&name));
    paths
        .into_iter()
        .find(|path| path.is_file())
        .unwrap_or_else(|| name.into())
}
