//! Assigns short aliases to roots, to save the cost of long paths.

use std::collections::{HashMap, HashSet};

use super::list_entry::ListEntry;
use crate::SkillSummary;
use crate::sanitize::escape_path;

/// The table of root aliases, and the entries with aliased paths.
pub(crate) struct RootAliases<'a> {
    /// Lines such as ``- `r0` = `path` ``, in the order of the roots.
    pub(crate) table: Vec<String>,
    pub(crate) entries: Vec<ListEntry<'a>>,
}

/// The plugin directory of Codex; the components after it are marketplace, plugin and version.
const PLUGIN_CACHE: &str = "/plugins/cache/";

/// Assigns an alias to each root that contains a listed skill; `None` if there is no such root.
///
/// `roots` have the order of the scan. Roots of plugins with a single skill share the alias of
/// their marketplace. `items` are all skills that could be listed, so that the aliases do not
/// depend on what the budget omits.
pub(crate) fn assign_aliases<'a>(
    items: &[&SkillSummary<'_>],
    entries: &[ListEntry<'a>],
    roots: &[&str],
) -> Option<RootAliases<'a>> {
    // Counted over all items, so that the alias of a root does not depend on the budget.
    let per_version = skills_per_version(items);
    let used: HashSet<&str> = items
        .iter()
        .filter_map(|item| item.root.as_deref())
        .collect();
    let roots = roots.iter().copied().filter(|root| used.contains(root));
    let (aliases, table) = number_roots(roots.map(|root| alias_root(root, &per_version)));
    if aliases.is_empty() {
        return None;
    }
    // Adjacent items nearly always have the same root, so the last lookup is kept.
    let mut last_root: Option<&str> = None;
    let mut last_alias: Option<(&str, &str)> = None;
    let aliased = items.iter().zip(entries).map(|(item, entry)| {
        let root = item.root.as_deref();
        if last_root != root {
            last_root = root;
            last_alias = root
                .map(|root| alias_root(root, &per_version))
                .and_then(|prefix| Some((prefix, aliases.get(prefix)?.as_str())));
        }
        let below_root = last_alias.and_then(|(prefix, alias)| {
            Some((
                alias,
                item.location.strip_prefix(prefix)?.strip_prefix('/')?,
            ))
        });
        match below_root {
            Some((alias, rest)) => entry.with_location([alias, "/", rest].concat()),
            // A symlinked skill can be outside of its root.
            None => entry.with_location(item.location.to_string()),
        }
    });
    Some(RootAliases {
        entries: aliased.collect(),
        table,
    })
}

/// Numbers the roots, and returns the alias of each and the lines of the table.
fn number_roots<'r>(
    roots: impl Iterator<Item = &'r str>,
) -> (HashMap<&'r str, String>, Vec<String>) {
    let mut aliases = HashMap::new();
    let mut table = Vec::new();
    for root in roots {
        // A model puts the text of the table before a path, so it must be the exact path.
        if escape_path(root) != root || root.contains('`') || aliases.contains_key(root) {
            continue;
        }
        let alias = format!("r{}", aliases.len());
        table.push(format!("- `{alias}` = `{root}`"));
        aliases.insert(root, alias);
    }
    (aliases, table)
}

/// The directories of the version and the marketplace of a plugin.
struct PluginRoot<'a> {
    marketplace: &'a str,
    version: &'a str,
}

fn parse_plugin_root(root: &str) -> Option<PluginRoot<'_>> {
    let start = root.find(PLUGIN_CACHE)? + PLUGIN_CACHE.len();
    let mut parts = root[start..].split('/');
    let (marketplace, plugin, version) = (parts.next()?, parts.next()?, parts.next()?);
    // An empty component is not a marketplace, a plugin or a version.
    if [marketplace, plugin, version].contains(&"") {
        return None;
    }
    let end = start + marketplace.len();
    Some(PluginRoot {
        marketplace: &root[..end],
        version: &root[..end + 1 + plugin.len() + 1 + version.len()],
    })
}

/// Counts the skills of each version of a plugin, over all of its roots.
fn skills_per_version<'a>(items: &[&'a SkillSummary<'_>]) -> HashMap<&'a str, usize> {
    let mut per_root: HashMap<&str, usize> = HashMap::new();
    // Counts runs of equal roots, which saves a lookup per skill.
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

/// Returns the directory that an alias for `root` stands for.
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
    fn plugins_with_one_skill_share_the_alias_of_their_marketplace() {
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
