//! The plugin that a skill belongs to.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file_stamp::ScanStart;
use crate::open::{fill_buffer, open_regular, open_root};
use crate::pending_dir::PendingDir;
use crate::{FileStamp, Namespace, Root};

/// Where a plugin's manifest lies, first choice first. A broken first choice is not replaced by the
/// second.
const PLUGIN_MANIFESTS: [&str; 2] = [".codex-plugin/plugin.json", ".claude-plugin/plugin.json"];
const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// A directory with a plugin's manifest.
#[derive(Debug)]
struct Plugin {
    name: String,
    directory: PathBuf,
}

/// Finds the plugins of skills below one root; each directory is looked into once.
pub(crate) struct PluginNamespaces<'a> {
    policy: &'a Namespace,
    root: &'a Path,
    cached: Mutex<HashMap<PathBuf, Option<Arc<Plugin>>>>,
}

impl<'a> PluginNamespaces<'a> {
    pub(crate) fn new(root: &'a Root) -> Self {
        Self {
            policy: root.namespace_policy(),
            root: root.path(),
            cached: Mutex::default(),
        }
    }

    /// Returns the namespace of a skill, and its path below the plugin with `/` between the parts.
    pub(crate) fn for_skill(&self, place: &PendingDir) -> Option<(String, String)> {
        match self.policy {
            Namespace::None => None,
            Namespace::Plugin { name, directory } => Some((
                name.clone(),
                relative_slash_path(&place.canonical_path, directory),
            )),
            Namespace::FromManifests => {
                // A root that is a symlink may stand in a plugin although what it leads to does
                // not.
                let beside = || {
                    self.nearest_plugin(self.root)
                        .filter(|_| place.base.is_root)
                };
                let plugin = self.nearest_plugin(&place.canonical_path).or_else(beside)?;
                Some((
                    plugin.name.clone(),
                    relative_slash_path(&place.canonical_path, &plugin.directory),
                ))
            }
        }
    }

    /// Returns how the manifests looked that were asked for, absent ones too.
    pub(crate) fn manifest_stamps(&self, moment: ScanStart) -> Vec<(PathBuf, Option<FileStamp>)> {
        let known = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let paths = known
            .keys()
            .flat_map(|directory| PLUGIN_MANIFESTS.map(|path| directory.join(path)));
        paths
            .map(|path| {
                (
                    path.clone(),
                    FileStamp::from_path(&path).map(|stamp| stamp.with_scan_start(moment)),
                )
            })
            .collect()
    }

    /// Finds the nearest plugin at or above a directory.
    fn nearest_plugin(&self, directory: &Path) -> Option<Arc<Plugin>> {
        let known = self
            .cached
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(directory)
            .cloned();
        if let Some(plugin) = known {
            return plugin;
        }
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

/// Reads the manifest of a directory; nothing when it has none or a broken one.
fn read_plugin(directory: &Path) -> Option<Plugin> {
    let handle = open_root(directory).ok()?;
    let path = PLUGIN_MANIFESTS
        .into_iter()
        .find(|path| handle.symlink_metadata(path).is_ok())?;
    let (mut file, _) = open_regular(&handle, Path::new(path), MAX_MANIFEST_BYTES).ok()?;
    let mut bytes = Vec::new();
    fill_buffer(&mut file, &mut bytes, MAX_MANIFEST_BYTES as usize).ok()?;
    let manifest: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    let written = manifest
        .as_object()?
        .get("name")
        .and_then(serde_json::Value::as_str)
        .map(str::trim)
        .unwrap_or_default();
    let own = || {
        directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
    };
    let name = if written.is_empty() {
        own()?
    } else {
        written.to_owned()
    };
    Some(Plugin {
        name,
        directory: directory.to_owned(),
    })
}

fn relative_slash_path(path: &Path, directory: &Path) -> String {
    let rest = path.strip_prefix(directory).unwrap_or(Path::new(""));
    rest.components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}
