//! Where an icon may lie.

/// Returns the path of an icon relative to the skill, without `.` parts, when it lies below the
/// skill's `assets/`.
///
/// With `..` it must lie below the `assets/` of the plugin in which the skill lies at
/// `below_plugin`. The file is not looked at.
pub(super) fn resolve_icon_path(written: &str, below_plugin: Option<&str>) -> Option<String> {
    if written.contains(['\\', ':']) || written.starts_with('/') {
        return None;
    }
    let parts: Vec<&str> = written
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.contains(&"..") {
        let plugin = below_plugin?;
        let mut resolved: Vec<&str> = plugin.split('/').filter(|part| !part.is_empty()).collect();
        for part in &parts {
            match *part {
                ".." => drop(resolved.pop()?),
                part => resolved.push(part),
            }
        }
        return (resolved.len() > 1 && resolved[0] == "assets").then(|| parts.join("/"));
    }
    (parts.len() > 1 && parts[0] == "assets").then(|| parts.join("/"))
}
