//! `skills mcp`: serves until the client disconnects or a signal arrives.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::num::{NonZero, NonZeroU32};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use skills_mcp::{ResultData, Server, ServerBuilder};
use skills_tools::ToolSet;
use skills_tools::runtime::discovery::Trust;
use tokio::runtime::Runtime;
use tracing_subscriber::filter::LevelFilter;

use super::log::{self, LogFormat};
use super::stdio;
use super::trust_command::{Clients, TrustCommand};
use super::workspace::ClientWorkspaces;
use crate::async_runtime;
use crate::context::Context;
use crate::default_workspace::refusal;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::remedies::RemedyStyle;
use crate::signals;
use crate::suggested_command::complete_commands;
use crate::tool_host::{HostArgs, ToolGroupArgs};
use crate::trusted_skills::TrustedSkillStore;
use crate::virtual_env;

/// Help heading of the options for HTTP.
const HTTP_HEADING: &str = "Over HTTP";

#[derive(Debug, Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    host: HostArgs,

    #[command(flatten)]
    groups: ToolGroupArgs,

    /// Serve without a workspace
    ///
    /// Otherwise the workspace is the directory that the client names (the first of its roots), else
    /// the working directory, unless `--workspace` or the settings name one. The root directory and a
    /// home directory are not, and a server over HTTP has no default.
    #[arg(long, conflicts_with = "workspace")]
    no_workspace: bool,

    /// Maximum number of concurrent calls per client
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 64,
        hide_short_help = true
    )]
    pub(super) calls: usize,

    /// Return the structured data of results as well, for clients that are programs
    ///
    /// Models get the text only; a report on programs is in `_meta`. With this option, results have
    /// `structuredContent` and tools have output schemas.
    #[arg(long, hide_short_help = true)]
    structured_results: bool,

    /// Log level; logs go to standard error
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = log::level_parser())]
    log: LevelFilter,

    /// Log format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Serve over HTTP at this address instead of standard input and output
    ///
    /// Port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:8640", help_heading = HTTP_HEADING)]
    pub(super) http: Option<SocketAddr>,

    /// File of client tokens, one `NAME: TOKEN` per line
    ///
    /// [default: a token that is generated in the state directory]
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(super) token_file: Option<PathBuf>,

    /// Serve without a token, to every user of this machine
    #[arg(long, requires = "http", conflicts_with_all = ["token_file", "allow_remote"], help_heading = HTTP_HEADING)]
    pub(super) no_token: bool,

    /// Serve at an address that other machines can reach
    ///
    /// Needs --allow-host. The server does not encrypt: use a reverse proxy with TLS.
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(super) allow_remote: bool,

    /// Accept requests for this host name (repeatable)
    #[arg(long, value_name = "HOST[:PORT]", requires = "http", help_heading = HTTP_HEADING)]
    pub(super) allow_host: Vec<String>,

    /// Accept requests from web pages of this origin (repeatable)
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = HTTP_HEADING)]
    pub(super) allow_origin: Vec<String>,

    /// Maximum number of requests per second and client
    #[arg(long, value_name = "NUMBER", default_value_t = NonZeroU32::new(5_000).unwrap_or(NonZeroU32::MIN), requires = "http", hide_short_help = true, help_heading = HTTP_HEADING)]
    pub(super) requests_per_second: NonZeroU32,

    /// Maximum number of sessions
    #[arg(long, value_name = "NUMBER", default_value_t = 256, requires = "http", conflicts_with = "no_sessions", hide_short_help = true, help_heading = HTTP_HEADING)]
    pub(super) max_sessions: usize,

    /// Maximum number of connections
    #[arg(long, value_name = "NUMBER", default_value_t = 512, requires = "http", hide_short_help = true, help_heading = HTTP_HEADING)]
    pub(super) max_connections: usize,

    /// Disable sessions
    ///
    /// Clients of protocol versions before 2026-07-28 then cannot be asked for approval.
    #[arg(long, requires = "http", help_heading = HTTP_HEADING)]
    pub(super) no_sessions: bool,

    /// File with the key that signs request state, at least 32 bytes
    ///
    /// Servers behind one load balancer share the key.
    #[arg(long, value_name = "FILE", requires = "http", help_heading = HTTP_HEADING)]
    pub(super) key_file: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(&self, context: &Context) -> anyhow::Result<Exit> {
        // Standard output carries the protocol, so logs go to standard error in both transports.
        log::init_stderr_logging(self.log, self.log_format);
        match self.http {
            None => self.serve_stdio(context),
            Some(address) => self.serve_http(address, context),
        }
    }

    fn serve_stdio(&self, context: &Context) -> anyhow::Result<Exit> {
        if std::io::stdin().is_terminal() {
            context.output.status("note: MCP clients start this command and use its standard input and output; register it with `skills mcp install`");
        }
        // Before any other code can read or write the streams.
        let streams =
            stdio::take().context("cannot reserve standard input and output for the protocol")?;
        let server = build(self.server(context)?)?;
        let executor = build_async_runtime()?;
        let served = executor.block_on(async {
            let _children = signals::handle_child_signals();
            let (input, output) = streams.open()?;
            let served = server.serve(input, output, signals::wait_for_interrupt());
            anyhow::Ok(served.await?)
        });
        // Pending reads of standard input are not awaited; dropping the server kills running
        // programs.
        drop(server);
        executor.shutdown_timeout(Duration::from_secs(1));
        served.map(|()| Exit::Success)
    }

    #[cfg(not(feature = "mcp-http"))]
    fn serve_http(&self, _address: SocketAddr, _context: &Context) -> anyhow::Result<Exit> {
        Err(CommandError::missing_feature("the HTTP server", "mcp-http").into())
    }

    pub(super) fn server(&self, context: &Context) -> anyhow::Result<ServerBuilder> {
        require_threads()?;
        let tools = self.tools(context)?;
        log_omitted_skills(tools.clone());
        let mut server = Server::builder(tools);
        if self.has_default_workspace(context)? {
            let workspaces = ClientWorkspaces::new(&self.host, context)?;
            server = server.client_workspaces(move |tools, root| workspaces.select(tools, root));
        }
        let data = if self.structured_results {
            ResultData::Structured
        } else {
            ResultData::Meta
        };
        let clients = match self.http {
            None => Clients::Local,
            Some(_) => Clients::Remote,
        };
        let trust_command = TrustCommand::new(&context.options, clients);
        let store = TrustedSkillStore::new(&context.environment);
        if let (Some(store), Trust::Untrusted) = (store, context.project_trust()?) {
            let project = store.project().clone();
            server = server.project(project, move |waiting| Ok(store.add(waiting.skills())?));
        }
        Ok(server
            .result_data(data)
            .max_concurrent_calls(self.calls)
            .trust_command(move |request| trust_command.for_request(request)))
    }

    fn tools(&self, context: &Context) -> anyhow::Result<ToolSet> {
        if let Some(workspace) = self.default_workspace(context)? {
            let mut host = self.host.clone();
            host.programs.workspace = Some(workspace);
            host.programs.is_default_workspace = true;
            match self.tools_with(&host, context) {
                Ok(tools) => return Ok(tools),
                Err(error) => tracing::warn!(
                    "the working directory is not the workspace: {error}; pass `--workspace DIR`"
                ),
            }
        }
        self.tools_with(&self.host, context)
    }

    fn tools_with(&self, host: &HostArgs, context: &Context) -> anyhow::Result<ToolSet> {
        // A client starts the server, which therefore has no terminal.
        let interpreters = virtual_env::interpreters(&host.programs, context)?.chosen;
        let builder = context.builder(&interpreters)?;
        let groups = self.groups.groups();
        let host = host.callable_tools(builder, groups, RemedyStyle::Server, context)?;
        // A server can run for days before its first program.
        host.executor.sweep_scratch_directory();
        Ok(host.tools)
    }

    /// Returns whether the workspace is the default one, or that of the client: no option names one,
    /// and the client runs on this machine.
    fn has_default_workspace(&self, context: &Context) -> anyhow::Result<bool> {
        let is_named = self.host.programs.workspace_dir(context)?.is_some();
        Ok(!self.no_workspace && !is_named && self.http.is_none())
    }

    /// Returns the working directory if it is the workspace. Clients start a server for a project in
    /// its directory, and a server for no project in the root directory or at home.
    fn default_workspace(&self, context: &Context) -> anyhow::Result<Option<PathBuf>> {
        if !self.has_default_workspace(context)? {
            return Ok(None);
        }
        let directory = context.environment.current_dir()?;
        let is_refused = refusal(directory, context.environment.home()).is_some();
        Ok((!is_refused).then(|| directory.to_owned()))
    }
}

/// Logs which skills clients do not see, and why, on a thread: the start does not wait for it.
fn log_omitted_skills(tools: ToolSet) {
    let log = move || {
        if let Some(omitted) = tools.catalog_summary().omissions() {
            let command = complete_commands("`skills list --long`");
            tracing::warn!("skills that are not available: {omitted}; see {command}");
        }
    };
    if let Err(error) = skills_threads::spawn("skills-omitted", log) {
        tracing::warn!("cannot report omitted skills: {error}");
    }
}

pub(super) fn build(server: ServerBuilder) -> anyhow::Result<Server> {
    let server = server.build();
    server.map_err(|error| CommandError::input(error.to_string()).into())
}

/// Number of threads that a server starts in addition to those of its executor: they read and write
/// streams, watch files and read skills.
const BLOCKING_THREADS: usize = 4;

/// Fails if a server could not start its threads: the executor panics on its own threads if it
/// cannot start another one, and then hangs.
fn require_threads() -> anyhow::Result<()> {
    Ok(skills_threads::check(worker_threads() + BLOCKING_THREADS)?)
}

fn worker_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

pub(super) fn build_async_runtime() -> anyhow::Result<Runtime> {
    Ok(async_runtime::build_multi_thread(worker_threads())?)
}
