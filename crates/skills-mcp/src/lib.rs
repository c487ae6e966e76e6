//! Serves skills and their tools over the Model Context Protocol.
//!
//! ```text
//! stream of one client --serve--> Connection --> tools, prompts, resources, skills --> ToolSet
//! HTTP: layers ---------connection-----^   |
//!                                          `--> approval prompts --> user of the client
//! ```
//!
//! Supports the stateless lifecycle (2026-07-28), in which requests are independent and approval
//! prompts are results, and the legacy lifecycle (up to 2025-11-25) with its handshake. No other
//! crate uses `rmcp`. This crate must not access skill files or policy directly.
//!
//! ```no_run
//! use skills_mcp::Server;
//! use skills_tools::ToolSet;
//! use skills_tools::runtime::{Root, Scope, SkillRuntime};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = SkillRuntime::builder().root(Root::new("/srv/skills", Scope::Custom)).build();
//! let server = Server::builder(ToolSet::builder(runtime).build()?).build()?;
//! // Any stream works: standard input and output, a socket, or a pipe within a process.
//! let (client, host) = tokio::io::duplex(64 << 10);
//! let (input, output) = tokio::io::split(host);
//! // Serving ends when the client closes its end.
//! drop(client);
//! server.serve(input, output, std::future::pending()).await?;
//! # Ok(())
//! # }
//! ```

mod call_limiter;
mod caller;
mod completion;
mod connection;
mod elicitation;
mod error;
#[cfg(feature = "http")]
mod http;
mod line_transport;
mod list_changes;
mod list_watcher;
mod pagination;
mod principal;
mod progress;
mod project_question;
mod prompts;
mod replay_cache;
mod request_state;
mod resources;
mod roots;
mod serve;
mod served_skills;
mod server;
mod server_info;
mod skill_index;
mod skills_extension;
mod subscriptions;
mod tool_call;
mod tool_list;
mod tool_result;
mod uri;

#[cfg(feature = "http")]
pub use crate::http::{
    BearerToken, BoundHttpServer, HttpError, HttpErrorKind, HttpServer, TokenError,
};
pub use connection::Connection;
pub use error::{ServeError, ServerBuildError};
pub use principal::Principal;
pub use replay_cache::{DirectoryReplayCache, MemoryReplayCache, ReplayCache};
pub use server::{Server, ServerBuilder};
pub use tool_result::ResultData;
