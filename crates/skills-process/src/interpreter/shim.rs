//! Resolves the shims of version managers by reading the files that the managers would read, never
//! by running them.

use std::path::{Path, PathBuf};

use super::bounded_read::{SkipReason, is_script, list_names, read_text};
use super::installed::is_version_of;
use super::version::{highest_first, is_version};

/// The names of mise, past and present.
const MISE_NAMES: [&str; 2] = ["mise", "rtx"];
const VOLTA_SHIM: &str = "volta-shim";
const ASDF_LINE: &str = "# asdf-plugin:";

/// Returns the program that a shim points to; `None` if the path is not a shim.
///
/// `links` is the chain from the name to the real file.
pub(super) fn resolve_shim(links: &[PathBuf]) -> Result<Option<PathBuf>, SkipReason> {
    let Some(real) = links.last() else {
        return Ok(None);
    };
    let real_name = real.file_name().and_then(|name| name.to_str());
    // Volta's shims are links to one program, so they are recognized by its name.
    if real_name == Some(VOLTA_SHIM) {
        return resolve_volta_shim(links).map(Some);
    }
    let Some((root, name)) = links.iter().rev().find_map(|link| split_shim_path(link)) else {
        return Ok(None);
    };
    if real_name.is_some_and(|name| MISE_NAMES.contains(&name)) {
        return resolve_mise_shim(root, name).map(Some);
    }
    resolve_script_shim(real, root, name).map(Some)
}

/// Resolves the shim of a manager whose shims are scripts, which say in their text what they run.
fn resolve_script_shim(shim: &Path, root: &Path, name: &str) -> Result<PathBuf, SkipReason> {
    if is_script(shim) {
        let text = read_text(shim)?.unwrap_or_default();
        if text.lines().any(|line| line.starts_with(ASDF_LINE)) {
            return resolve_asdf_shim(root, name, &text);
        }
        if root.join("versions").is_dir() {
            return resolve_env_shim(root, name);
        }
    }
    Err("shim of an unknown version manager".to_owned())
}

/// Splits `root/shims/name`.
fn split_shim_path(link: &Path) -> Option<(&Path, &str)> {
    let directory = link
        .parent()
        .filter(|directory| directory.ends_with("shims"))?;
    Some((directory.parent()?, link.file_name()?.to_str()?))
}

/// pyenv, rbenv, nodenv: `versions/<version>/bin`, and the version in the file `version`.
fn resolve_env_shim(root: &Path, name: &str) -> Result<PathBuf, SkipReason> {
    let text = read_text(&root.join("version"))?.unwrap_or_default();
    let versions = root.join("versions");
    // The file can list fallbacks; the first version is the one in use.
    let wanted = text.split_whitespace().next();
    match wanted {
        Some("system") => {
            return Err(
                "points to the system's version, which is searched for elsewhere".to_owned(),
            );
        }
        // The word becomes part of a path, so it must be one plain name.
        Some(word) if !is_version(word) => {
            return Err(version_not_found(&root.join("version"), word));
        }
        _ => {}
    }
    let installed = highest_first(list_names(&versions));
    // An exact version comes first: `3.1` is not `3.1.9` if both are installed.
    let exact = installed
        .iter()
        .filter(|version| wanted == Some(version.as_str()));
    let similar = installed
        .iter()
        .filter(|version| wanted.is_none_or(|word| is_version_of(version, word)));
    let found = first_file(
        exact
            .chain(similar)
            .map(|version| versions.join(version).join("bin").join(name)),
    );
    found.ok_or_else(|| match wanted {
        Some(word) => format!("version {word} has no `{name}`"),
        None => no_version_has(&versions, name),
    })
}

fn first_file(mut paths: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    paths.find(|path| path.is_file())
}

fn no_version_has(directory: &Path, name: &str) -> SkipReason {
    format!("no version in {} has `{name}`", directory.display())
}

/// asdf: the shim names plugins and versions, each in `installs/<plugin>/<version>/bin`.
fn resolve_asdf_shim(root: &Path, name: &str, text: &str) -> Result<PathBuf, SkipReason> {
    let offers = asdf_offers(text);
    let versions = highest_first(
        offers
            .iter()
            .map(|(_, version)| (*version).to_owned())
            .collect(),
    );
    let installs = root.join("installs");
    let programs = versions.iter().flat_map(|version| {
        let offered = offers.iter().filter(move |(_, offered)| offered == version);
        offered.map(|(plugin, version)| installs.join(plugin).join(version).join("bin").join(name))
    });
    first_file(programs).ok_or_else(|| "does not name an installed version".to_owned())
}

/// Returns the plugins and versions that a shim of asdf names.
fn asdf_offers(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .filter_map(|line| line.strip_prefix(ASDF_LINE)?.trim().split_once(' '))
        .map(|(plugin, version)| (plugin, version.trim()))
        // Both words become parts of a path.
        .filter(|(plugin, version)| is_version(plugin) && is_version(version))
        .collect()
}

/// mise: `installs/<tool>/<version>`, with `latest` as one of the versions.
fn resolve_mise_shim(root: &Path, name: &str) -> Result<PathBuf, SkipReason> {
    let tool = match name {
        "python" | "python3" | "pip" | "pip3" => "python",
        "node" | "npm" | "npx" => "node",
        other => other,
    };
    let installs = root.join("installs").join(tool);
    let versions = ["latest".to_owned()]
        .into_iter()
        .chain(highest_first(list_names(&installs)));
    let programs = versions.flat_map(|version| {
        [
            installs.join(&version).join("bin").join(name),
            installs.join(version).join(name),
        ]
    });
    first_file(programs).ok_or_else(|| no_version_has(&installs, name))
}

/// Volta: `tools/image/node/<version>/bin`, and the version in `tools/user/platform.json`.
fn resolve_volta_shim(links: &[PathBuf]) -> Result<PathBuf, SkipReason> {
    let shim = links.iter().find_map(|link| split_volta_path(link));
    let (root, name) = shim.ok_or("no Volta tools are next to it")?;
    let platform = root.join("tools/user/platform.json");
    let text = read_text(&platform)?.unwrap_or_default();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let wanted = value
        .pointer("/node/runtime")
        .and_then(serde_json::Value::as_str);
    let installed = root.join("tools/image/node");
    let versions = match wanted {
        Some(word) if !is_version(word) => return Err(version_not_found(&platform, word)),
        Some(word) => vec![word.to_owned()],
        None => highest_first(list_names(&installed)),
    };
    let programs = versions
        .iter()
        .map(|version| installed.join(version).join("bin").join(name));
    first_file(programs).ok_or_else(|| no_version_has(&installed, name))
}

/// Splits `root/bin/name`, where the root has tools of Volta.
fn split_volta_path(link: &Path) -> Option<(&Path, &str)> {
    let root = link.parent()?.parent()?;
    let name = link.file_name()?.to_str()?;
    root.join("tools/image").is_dir().then_some((root, name))
}

/// Shows the content of a version file, shortened and without control characters.
fn version_not_found(file: &Path, word: &str) -> SkipReason {
    // The file belongs to the user, but its content can be anything.
    let shown: String = word.chars().take(40).flat_map(char::escape_debug).collect();
    format!("{} does not name a version: \"{shown}\"", file.display())
}
