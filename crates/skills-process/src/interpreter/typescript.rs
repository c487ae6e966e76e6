//! Runs TypeScript where Deno is not installed, with a Node that strips types.

use std::path::Path;

use super::bounded_read::{SkipReason, read_text};
use super::resolved_program::ResolvedProgram;

/// The first versions of Node that strip types without and with an option, each with its major
/// number; later ones need none.
const STRIPS_TYPES: [(u64, u64); 2] = [(22, 18), (23, 6)];
const HAS_OPTION: (u64, u64) = (22, 6);
/// Keeps Node from a warning on standard error at each start.
const QUIET: &str = "--disable-warning=ExperimentalWarning";
const STRIP_OPTION: &str = "--experimental-strip-types";
/// The file by which compilers find the version of Node, relative to its prefix.
const VERSION_HEADER: &str = "include/node/node_version.h";

/// Adds the arguments with which this Node runs TypeScript.
pub(super) fn add_node_arguments(program: &mut ResolvedProgram) -> Result<(), SkipReason> {
    let node = program.argv0.display();
    let Some((major, minor)) = node_version(&program.executable) else {
        return Err(format!(
            "{node}: its version is not known, and only 22.6 or newer runs TypeScript"
        ));
    };
    let strips = match STRIPS_TYPES.iter().find(|(of, _)| *of == major) {
        Some((_, first)) => minor >= *first,
        None => major > STRIPS_TYPES[1].0,
    };
    if !strips && (major, minor) < HAS_OPTION {
        return Err(format!(
            "{node}: version {major}.{minor} does not run TypeScript"
        ));
    }
    let option = (!strips).then(|| STRIP_OPTION.to_owned());
    program.leading_args.extend(option);
    program.leading_args.push(QUIET.to_owned());
    Ok(())
}

/// Returns major and minor version of a Node: those of its header file, else those of a directory that
/// a version manager named after them. Nothing is executed.
fn node_version(executable: &Path) -> Option<(u64, u64)> {
    let prefix = executable.parent().and_then(Path::parent)?;
    let header = read_text(&prefix.join(VERSION_HEADER)).ok().flatten();
    let of_header = header.and_then(|text| {
        Some((
            defined(&text, "NODE_MAJOR_VERSION")?,
            defined(&text, "NODE_MINOR_VERSION")?,
        ))
    });
    of_header.or_else(|| {
        let mut directories = prefix.iter().rev();
        directories.find_map(|name| version_of(name.to_str()?))
    })
}

fn defined(header: &str, name: &str) -> Option<u64> {
    header.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let is_definition = words.next() == Some("#define") && words.next() == Some(name);
        is_definition.then(|| words.next()?.parse().ok())?
    })
}

/// Parses the name of a directory such as `v22.18.0`.
fn version_of(name: &str) -> Option<(u64, u64)> {
    let mut numbers = name.strip_prefix('v').unwrap_or(name).split('.');
    let (major, minor, patch) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let _: u64 = patch.parse().ok()?;
    numbers.next().is_none().then_some(())?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_directories_and_headers() {
        assert_eq!(version_of("v22.18.0"), Some((22, 18)));
        assert_eq!(version_of("24.1.0"), Some((24, 1)));
        for none in ["22", "22.18", "v22.18.x", "22.18.0.1", "latest", ""] {
            assert_eq!(version_of(none), None, "{none}");
        }
        let header = "#ifndef X\n#define NODE_MAJOR_VERSION 23\n#define NODE_MINOR_VERSION 5\n";
        assert_eq!(defined(header, "NODE_MAJOR_VERSION"), Some(23));
        assert_eq!(defined(header, "NODE_PATCH_VERSION"), None);
    }
}
