//! Builds the tool set that `skills tools`, `skills call` and `skills mcp` share.

use skills_runtime::discovery::{SearchDepth, Trust};
use skills_runtime::{Builder, Root, Scope};
use skills_tools::{Mount, OverrideStore, ToolSet};

use crate::arguments::{ExecutionArgs, Host};
use crate::input::{self, InputError};
use crate::output::Output;
use crate::{directories, run_setup};

/// Returns the directory of drafts: the given one, else the default.
pub(crate) fn drafts_dir(
    given: Option<&std::path::PathBuf>,
) -> anyhow::Result<Option<std::path::PathBuf>> {
    given
        .map(std::path::absolute)
        .transpose()
        .map_err(Into::into)
        .map(|given| given.or_else(directories::drafts_dir))
}

/// Returns the root of the drafts. It is untrusted, so drafts are listed, but do not run.
pub(crate) fn draft_root(drafts: &std::path::Path) -> Root {
    Root::new(drafts, Scope::User)
        // Trust is a property of roots, so drafts need no list of their own: accepting a draft
        // moves it to a trusted root.
        .trust(Trust::Untrusted)
        .depth(SearchDepth::Children)
}

/// Builds the tool set for inspection: nothing can run.
pub(crate) fn inspection_tools(builder: Builder, host: &Host) -> anyhow::Result<ToolSet> {
    build_tools(builder, host)
}

/// Builds the tool set for calls, with the policy of all sources, approval store and audit log.
pub(crate) fn callable_tools(
    builder: Builder,
    host: &Host,
    what: ExecutionArgs,
    project_trust: Trust,
    output: &Output,
) -> anyhow::Result<ToolSet> {
    // The user named these directories to be written, so they count as approved like those of
    // `--write`.
    let writable = host
        .mount
        .iter()
        .filter(|mount| mount.is_writable)
        .map(|mount| &mount.directory);
    let write = host.workspace.iter().chain(writable).cloned().collect();
    build_tools(
        run_setup::configure_runtime(
            builder,
            &ExecutionArgs { write, ..what },
            project_trust,
            output,
        )?,
        host,
    )
}

fn build_tools(builder: Builder, host: &Host) -> anyhow::Result<ToolSet> {
    let drafts = drafts_dir(host.drafts.as_ref())?;
    let builder = drafts
        .iter()
        .fold(builder, |builder, drafts| builder.root(draft_root(drafts)));
    let tools = ToolSet::builder(builder.build());
    let tools = match &host.workspace {
        Some(directory) => tools.workspace(Mount::writable(
            "workspace",
            input::resolve_directory(directory)?,
        )),
        None => tools,
    };
    let tools = host
        .mount
        .iter()
        .fold(tools, |tools, mount| tools.mount(mount.to_mount()));
    let tools = drafts
        .into_iter()
        .fold(tools, skills_tools::ToolSetBuilder::drafts_dir);
    // A mount can contain these paths. The rules deny them to programs only, so the file tools get
    // them too.
    let tools = tools.protect(
        directories::write_protected_paths()
            .into_iter()
            .chain(directories::overrides_path()),
    );
    let tools = directories::overrides_path()
        .into_iter()
        .fold(tools, |tools, path| {
            tools.overrides(OverrideStore::in_file(path))
        });
    tools
        .build()
        .map_err(|error| InputError::new(error.to_string()).into())
}
