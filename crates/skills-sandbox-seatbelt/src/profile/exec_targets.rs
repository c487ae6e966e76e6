//! Programs that macOS launcher stubs replace themselves with.

use std::path::{Path, PathBuf};

use super::system::{DEVELOPER, literal, subpath};
use crate::rule::Filter;

/// Returns the programs that a launcher stub replaces itself with; these are not further processes.
pub(super) fn exec_targets(interpreter: &Path) -> Vec<Filter> {
    match interpreter.to_str() {
        // `/bin/sh` becomes one of these three shells, which the administrator selects.
        Some("/bin/sh") => ["/bin/bash", "/bin/dash", "/bin/zsh"].map(literal).to_vec(),
        // `/usr/bin/python3` becomes the one of Apple's command line tools.
        Some("/usr/bin/python3") => vec![
            literal("/Library/Developer/CommandLineTools/usr/bin/python3"),
            subpath("/Library/Developer/CommandLineTools/Library/Frameworks/Python3.framework"),
        ],
        _ => Vec::new(),
    }
}

/// Returns the command line tool of the same name for a program of `/usr/bin`, since many programs
/// there only look for it.
pub(super) fn developer_tool(program: &Path) -> Option<PathBuf> {
    let name = program
        .strip_prefix("/usr/bin")
        .ok()
        .filter(|name| name.components().count() == 1)?;
    Some(Path::new(DEVELOPER).join("usr/bin").join(name))
}
