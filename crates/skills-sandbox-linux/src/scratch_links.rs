//! What is in the scratch directory of a run before it starts; with namespaces it is in its root file
//! system.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use skills_sandbox::SandboxError;

use crate::plan::Plan;

/// Creates the home directory, the link to Python, and those to granted paths of the user's home
/// directory.
pub(crate) fn create(plan: &Plan) -> Result<(), SandboxError> {
    fs::create_dir(&plan.home)
        .map_err(|error| SandboxError::setup("creating the home directory", error))?;
    let links = plan.python_link.iter().chain(&plan.home_links);
    for (link, target) in links {
        create_link(link, target)
            .map_err(|error| SandboxError::setup("linking into the scratch directory", error))?;
    }
    Ok(())
}

fn create_link(link: &Path, target: &Path) -> io::Result<()> {
    link.parent().map_or(Ok(()), fs::create_dir_all)?;
    symlink(target, link)
}
