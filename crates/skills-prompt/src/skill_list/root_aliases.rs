//! Short names for long roots.

use std::collections::{HashMap, HashSet};

use super::list_entry::ListEntry;
use crate::SkillSummary;
use crate::sanitize::escape_path;

/// Short names for the roots of a list, and how its entries read with them.
pub(crate) struct RootAliases<'a> {
    /// `- r0 = path`, in order.
    pub(crate) table: Vec<String>,
    pub(crate) entries: Vec<ListEntry<'a>>,
}

/// The directory of Codex's plugins, below which come marketplace, plugin and version.
const PLUGIN_CACHE: &str = "/plugins/cache/";

/// Gives each root a short name; nothing when no entry gets shorter paths by it.
///
/// `roots` are in the order in which they were looked through. Roots of plugins that bring a single
/// skill share the alias of their marketplace; `items` are all that are offered, so that what the
/// budget leaves out still counts.
pub(crate) fn assign_aliases<'a>(
    items: &[&SkillSummary<'_>],
    lines: &[ListEntry<'a>],
    roots: &[&str],
) -> Option<RootAliases<'a>> {
    let per_version = skills_per_version(items);
    let used: HashSet<&str> = items
        .iter()
        .filter_map(|item| item.root.as_deref())
        .collect();
    let mut names: HashMap<&str, String> = HashMap::new();
    let mut table = Vec::new();
    for root in roots.iter().filter(|root| used.contains(**root)) {
        let short = alias_root(root, &per_version);
        // What has to be changed to be shown cannot be put before a path.
        if escape_path(short) != short || short.contains('`') || names.contains_key(short) {
            continue;
        }
        let name = format!("r{}", names.len());
        table.push(format!("- `{name}` = `{short}`"));
        names.insert(short, name);
    }
    if names.is_empty() {
        return None;
    }
    // Neighbours nearly always share their root.
    let mut last: (Option<&str>, Option<(&str, &str)>) = (None, None);
    let aliased = items.iter().zip(lines).map(|(item, line)| {
        let root = item.root.as_deref();
        if last.0 != root {
            let short = root.map(|root| alias_root(root, &per_version));
            last = (
                root,
                short.and_then(|short| Some((short, names.get(short)?.as_str()))),
            );
        }
        let below = last.1.and_then(|(short, name)| {
            Some((name, item.location.strip_prefix(short)?.strip_prefix('/')?))
        });
        match below {
            Some((name, rest)) => line.with_location([name, "/", rest].concat()),
            None => line.with_location(item.location.to_string()),
        }
    });
    let lines = aliased.collect();
    Some(RootAliases {
        table,
        entries: lines,
    })
}

/// The version of a plugin that a root belongs to, and the marketplace above it.
struct PluginRoot<'a> {
    marketplace: &'a str,
    version: &'a str,
}

fn parse_plugin_root(root: &str) -> Option<PluginRoot<'_>> {
    let start = root.find(PLUGIN_CACHE)? + PLUGIN_CACHE.len();
    let mut parts = root[start..].split('/');
    let (marketplace, plugin, version) = (parts.next()?, parts.next()?, parts.next()?);
    if [marketplace, plugin, version].contains(&"") {
        return None;
    }
    let end = start + marketplace.len();
    Some(PluginRoot {
        marketplace: &root[..end],
        version: &root[..end + 1 + plugin.len() + 1 + version.len()],
    })
}

fn skills_per_version<'a>(items: &[&'a SkillSummary<'_>]) -> HashMap<&'a str, usize> {
    let mut per_root: HashMap<&str, usize> = HashMap::new();
    let mut last = None;
    let mut run = 0;
    for root in items.iter().map(|item| item.root.as_deref()).chain([None]) {
        if root != last {
            if let Some(root) = last {
                *per_root.entry(root).or_default() += run;
            }
            (last, run) = (root, 0);
        }
        run += 1;
    }
    let mut count = HashMap::new();
    for (root, skills) in per_root {
        if let Some(plugin) = parse_plugin_root(root) {
            *count.entry(plugin.version).or_default() += skills;
        }
    }
    count
}

fn alias_root<'a>(root: &'a str, per_version: &HashMap<&str, usize>) -> &'a str {
    match parse_plugin_root(root) {
        Some(plugin)
            if per_version
                .get(plugin.version)
                .is_none_or(|skills| *skills <= 1) =>
        {
            plugin.marketplace
        }
        _ => root,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(root: &str, skills: usize, expected: &str) {
        let version = parse_plugin_root(root)
            .map(|plugin| plugin.version)
            .unwrap_or_default();
        assert_eq!(
            alias_root(root, &HashMap::from([(version, skills)])),
            expected
        );
    }

    #[test]
    fn plugins_with_one_skill_share_their_marketplace() {
        let root = "/home/me/.codex/plugins/cache/market/tool/1.2/skills";
        check(root, 1, "/home/me/.codex/plugins/cache/market");
        check(root, 2, root);
        check("/home/me/.agents/skills", 1, "/home/me/.agents/skills");
        check(
            "/home/me/.codex/plugins/cache/market",
            1,
            "/home/me/.codex/plugins/cache/market",
        );
        check(
            "/c/plugins/cache/market/tool/1",
            1,
            "/c/plugins/cache/market",
        );
        check("/plugins/cache//mé/p/1", 0, "/plugins/cache//mé/p/1");
    }
}
