//! Validates the paths of icons.

/// Returns the path of an icon relative to the skill, without `.` parts, if it is below the
/// skill's `assets/`.
///
/// A path with `..` must be below the `assets/` of the plugin that contains the skill at
/// `below_plugin`. The file is not opened; symlinks are the caller's concern.
pub(super) fn resolve_icon_path(path: &str, below_plugin: Option<&str>) -> Option<String> {
    // Windows treats backslashes and drive letters as parts of a path that leads elsewhere.
    if path.contains(['\\', ':']) || path.starts_with('/') {
        return None;
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        let plugin = below_plugin?;
        let mut resolved: Vec<&str> = plugin.split('/').filter(|part| !part.is_empty()).collect();
        for part in &parts {
            match *part {
                // More `..` than directories would leave the plugin.
                ".." => drop(resolved.pop()?),
                part => resolved.push(part),
            }
        }
        return (resolved.len() > 1 && resolved[0] == "assets").then(|| parts.join("/"));
    }
    (parts.len() > 1 && parts[0] == "assets").then(|| parts.join("/"))
}
