//! The server as the official conformance suite needs it:
//! `conformance SKILLS-DIRECTORY SCRATCH-DIRECTORY`.
//!
//! The real server over HTTP, without a token, on a free port that it prints on standard error,
//! with additional tools, prompts and resources that the suite expects by name. It ends when its
//! standard input is closed.
#![expect(
    deprecated,
    reason = "the suite of 2025-11-25 requires logging and sampling, which are deprecated"
)]

mod client_requests;
mod content;
mod fixtures;
mod input_required;
mod list_changes;
mod notifications;
mod prompts;
mod resources;

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fixtures::{Fixtures, WithFixtures};
use skills_mcp::{HttpServer, Server};
use skills_tools::runtime::{Root, Scope, SkillRuntime};
use skills_tools::{Mount, ToolSet};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut directories = std::env::args_os().skip(1).map(PathBuf::from);
    let (skills, scratch) = directories
        .next()
        .zip(directories.next())
        .ok_or("usage: conformance SKILLS-DIRECTORY SCRATCH-DIRECTORY")?;
    let (skills, scratch) = (skills.canonicalize()?, scratch.canonicalize()?);
    let fixtures = Arc::new(Fixtures::new(scratch.join("skills"))?);
    let server = server(skills, &scratch)?;
    let bound = HttpServer::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .bind()
        .await?;
    eprintln!("serving at http://{}/mcp", bound.address());
    let ending = server.clone();
    let stop = async move {
        let _ = skills_threads::run_blocking(|| io::copy(&mut io::stdin(), &mut io::sink())).await;
        ending.stop();
    };
    bound
        .serve(
            move || WithFixtures::new(server.connection(), Arc::clone(&fixtures)),
            stop,
        )
        .await?;
    Ok(())
}

/// Serves the given skills, and those that are created in the scratch directory during the suite.
fn server(skills: PathBuf, scratch: &Path) -> Result<Server, Box<dyn Error>> {
    for directory in ["skills", "workspace", "runs"] {
        std::fs::create_dir_all(scratch.join(directory))?;
    }
    let runtime = SkillRuntime::builder()
        .root(Root::new(skills, Scope::Custom))
        .root(Root::new(scratch.join("skills"), Scope::Custom))
        .scratch_directory(scratch.join("runs"));
    let tools = ToolSet::builder(runtime.build())
        .workspace(Mount::writable("workspace", scratch.join("workspace")))
        .build()?;
    Ok(Server::builder(tools).build()?)
}
