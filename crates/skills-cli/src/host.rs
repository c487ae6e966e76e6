//! The tools of a host, from the command line.

use skills_runtime::discovery::{Depth, Trust};
use skills_runtime::{Builder, Root, Scope};
use skills_tools::{Mount, Overrides, ToolSet};

use crate::arguments::{Host, What};
use crate::input::{self, InputError};
use crate::output::Output;
use crate::{state, what};

/// Where drafts lie.
pub(crate) fn drafts(
    given: Option<&std::path::PathBuf>,
) -> anyhow::Result<Option<std::path::PathBuf>> {
    given
        .map(std::path::absolute)
        .transpose()
        .map_err(Into::into)
        .map(|given| given.or_else(state::drafts))
}

/// The root of the drafts: they are seen, and nothing of them is used.
pub(crate) fn draft_root(drafts: &std::path::Path) -> Root {
    Root::new(drafts, Scope::User)
        .trust(Trust::Untrusted)
        .depth(Depth::Children)
}

/// Puts the tools together, with nobody's leave to run anything: for a look at them.
pub(crate) fn to_look_at(builder: Builder, host: &Host) -> anyhow::Result<ToolSet> {
    set(builder, host)
}

/// Puts the tools together under the rules of all layers, with records and approvals.
pub(crate) fn to_call(
    builder: Builder,
    host: &Host,
    what: What,
    trust_project: bool,
    output: &Output,
) -> anyhow::Result<ToolSet> {
    let writable = host
        .mount
        .iter()
        .filter(|mount| mount.is_writable)
        .map(|mount| &mount.directory);
    let write = host.workspace.iter().chain(writable).cloned().collect();
    set(
        what::prepare(builder, &What { write, ..what }, trust_project, output)?,
        host,
    )
}

fn set(builder: Builder, host: &Host) -> anyhow::Result<ToolSet> {
    let drafts = drafts(host.drafts.as_ref())?;
    let builder = drafts
        .iter()
        .fold(builder, |builder, drafts| builder.root(draft_root(drafts)));
    let tools = ToolSet::builder(builder.build());
    let tools = match &host.workspace {
        Some(directory) => {
            tools.workspace(Mount::writable("workspace", input::directory(directory)?))
        }
        None => tools,
    };
    let tools = host
        .mount
        .iter()
        .fold(tools, |tools, mount| tools.mount(mount.mount()));
    let tools = drafts
        .into_iter()
        .fold(tools, skills_tools::Builder::drafts);
    let tools = tools.keep(state::own_files().into_iter().chain(state::overrides()));
    let tools = state::overrides().into_iter().fold(tools, |tools, path| {
        tools.overrides(Overrides::in_file(path))
    });
    tools
        .build()
        .map_err(|error| InputError::new(error.to_string()).into())
}
