//! What the system's own launchers execute in their place.

use std::path::{Path, PathBuf};

use super::system::{DEVELOPER, literal, subpath};
use crate::rule::Filter;

/// Returns what the system's launchers become: they start nothing beside themselves, they are
/// replaced.
pub(super) fn exec_targets(interpreter: &Path) -> Vec<Filter> {
    match interpreter.to_str() {
        // `/bin/sh` becomes the shell that the owner of the machine chose, of these three.
        Some("/bin/sh") => ["/bin/bash", "/bin/dash", "/bin/zsh"].map(literal).to_vec(),
        // `/usr/bin/python3` becomes the one of Apple's compilers.
        Some("/usr/bin/python3") => vec![
            literal("/Library/Developer/CommandLineTools/usr/bin/python3"),
            subpath("/Library/Developer/CommandLineTools/Library/Frameworks/Python3.framework"),
        ],
        _ => Vec::new(),
    }
}

/// Returns what the compilers' twin of a program of `/usr/bin` is called, since many programs there
/// only look for it.
pub(super) fn developer_tool(program: &Path) -> Option<PathBuf> {
    let name = program
        .strip_prefix("/usr/bin")
        .ok()
        .filter(|name| name.components().count() == 1)?;
    Some(Path::new(DEVELOPER).join("usr/bin").join(name))
}
