//! Namespaces of skills: the plugins that they belong to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_regular, open_root};
use crate::pending_dir::PendingDir;
use crate::slash_path::to_slash_path;
use crate::{Namespace, Root, StampSet};

/// The paths of a plugin's manifest, in order of preference. If the first exists but is invalid,
/// the second is not used, as in Codex.
const PLUGIN_MANIFESTS: [&str; 2] = [".codex-plugin/plugin.json", ".claude-plugin/plugin.json"];
/// The maximum size of a plugin's manifest: 256 KiB.
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// A directory with the manifest of a plugin.
#[derive(Debug)]
struct Plugin {
    name: String,
    directory: PathBuf,
}

/// Finds the plugins of skills below one root, with a cache shared by all threads of a walk.
pub(crate) struct PluginNamespaces<'a> {
    policy: &'a Namespace,
    root: &'a Path,
    /// The nearest plugin at or above each directory that was looked up.
    cached: Mutex<HashMap<PathBuf, Option<Arc<Plugin>>>>,
}

impl<'a> PluginNamespaces<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self {
            policy: &root.namespace,
            root: root.path(),
            cached: Mutex::default(),
        }
    }

    /// Returns the namespace of a skill, and its path relative to the plugin, with `/` as
    /// separator.
    pub(crate) fn for_skill(&self, dir: &PendingDir) -> Option<(String, String)> {
        match self.policy {
            Namespace::None => None,
            Namespace::Plugin { name, directory } => Some((
                name.clone(),
                relative_slash_path(&dir.canonical_path, directory),
            )),
            Namespace::FromManifests => {
                // A root may be a symlink inside a plugin to a directory outside of it. Its skills
                // belong to the plugin as well, but not those behind further symlinks.
                let plugin_of_root = || {
                    self.nearest_plugin(self.root)
                        .filter(|_| dir.base.walk_path.is_root())
                };
                let plugin = self
                    .nearest_plugin(&dir.canonical_path)
                    .or_else(plugin_of_root)?;
                Some((
                    plugin.name.clone(),
                    relative_slash_path(&dir.canonical_path, &plugin.directory),
                ))
            }
        }
    }

    /// Returns the stamps of all manifests that were looked for, including missing ones: a new
    /// manifest changes the names of skills without a change of their files.
    pub(crate) fn manifest_stamps(&self, scan_start: ScanStart) -> StampSet {
        let cached = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stamps = StampSet::default();
        for directory in cached.keys() {
            for path in PLUGIN_MANIFESTS {
                stamps.add_at(directory.join(path), scan_start);
            }
        }
        stamps
    }

    /// Returns the nearest plugin at or above a directory.
    fn nearest_plugin(&self, directory: &Path) -> Option<Arc<Plugin>> {
        // The lock is not held while a manifest is read. Two threads may read the same manifest,
        // with the same result.
        let cached = self
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(directory)
            .cloned();
        if let Some(plugin) = cached {
            return plugin;
        }
        // The recursion fills the cache for all parents, so that the skills of one plugin search it
        // only once. It ends at the root of the file system.
        let plugin = read_plugin(directory)
            .map(Arc::new)
            .or_else(|| self.nearest_plugin(directory.parent()?));
        self.cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(directory.to_owned(), plugin.clone());
        plugin
    }
}

/// Reads the plugin of a directory; `None` if it has no manifest or an invalid one.
fn read_plugin(directory: &Path) -> Option<Plugin> {
    let handle = open_root(directory).ok()?;
    let path = PLUGIN_MANIFESTS
        .into_iter()
        .find(|path| handle.symlink_metadata(path).is_ok())?;
    // A manifest in a skill repository is untrusted: only a regular file of bounded size is read.
    let (mut file, _) = open_regular(&handle, Path::new(path), MAX_MANIFEST_BYTES).ok()?;
    let mut bytes = Vec::new();
    fill_buffer(&mut file, &mut bytes, MAX_MANIFEST_BYTES as usize).ok()?;
    let manifest: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let declared = manifest
        .as_object()?
        .get("name")
        .and_then(serde_json::Value::as_str)
        .map(str::trim)
        .unwrap_or_default();
    let name = if declared.is_empty() {
        directory.file_name()?.to_string_lossy().into_owned()
    } else {
        declared.to_owned()
    };
    Some(Plugin {
        name,
        directory: directory.to_owned(),
    })
}

/// Returns `path` relative to `directory`, or the empty path if it is not below it.
fn relative_slash_path(path: &Path, directory: &Path) -> String {
    // A skill behind a symlinked root is not below its plugin.
    to_slash_path(path.strip_prefix(directory).unwrap_or(Path::new("")))
}
