//! Word lists: one entry a line, comments with `#`.

/// Sites where anyone can put a file.
pub(crate) const DROP_HOSTS: &str = include_str!("words/drop_hosts.txt");
/// Services that record what is sent to them.
pub(crate) const CAPTURE_HOSTS: &str = include_str!("words/capture_hosts.txt");
/// Addresses of tunnels.
pub(crate) const TUNNELS: &str = include_str!("words/tunnels.txt");
/// Services that shorten addresses.
pub(crate) const SHORTENERS: &str = include_str!("words/shorteners.txt");
/// Hosts and paths of well-known installers.
pub(crate) const KNOWN_INSTALLERS: &str = include_str!("words/known_installers.txt");
/// Paths of secrets.
pub(crate) const SECRETS: &str = include_str!("words/secrets.txt");
/// Words for secrets.
pub(crate) const SECRET_WORDS: &str = include_str!("words/secret_words.txt");
/// Files that agents read at each start.
pub(crate) const MEMORY_FILES: &str = include_str!("words/memory_files.txt");
/// Names of skills that many people install.
pub(crate) const POPULAR_NAMES: &str = include_str!("words/popular_names.txt");

pub(crate) fn entries(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Returns a list as alternatives of a regular expression.
pub(crate) fn alternatives(list: &'static str) -> String {
    let escaped: Vec<String> = entries(list).map(regex::escape).collect();
    format!("(?:{})", escaped.join("|"))
}

/// Returns true if a URL is that of a well-known installer: `https`, a listed host, and a path that
/// starts with the listed one.
pub(crate) fn is_known_installer(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("https://") else {
        return false;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Credentials and ports make another server of what looks like a known one.
    if host.contains(['@', ':', '\\']) || rest.contains("/..") {
        return false;
    }
    entries(KNOWN_INSTALLERS).any(|known| {
        let known = known.to_ascii_lowercase();
        let (known_host, _) = known.split_once('/').unwrap_or((&known, ""));
        let path_rest = rest.strip_prefix(known.as_str());
        let ends_segment =
            path_rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
        known_host == host.trim_start_matches("www.") && (ends_segment || known == known_host)
    })
}

/// Returns true for the domains that are reserved for examples. `.example` is not among them: the
/// tests of the rules write it for the servers of attackers.
pub(crate) fn is_example_host(host: &str) -> bool {
    is_within(host, &["example.com", "example.org", "example.net"])
}

/// Returns true for hosts by which texts about attacks call the attacker, and which are taken.
/// Other hosts with such words in their name can be bought.
pub(crate) fn is_fictional_host(host: &str) -> bool {
    let taken = [
        "evil.com",
        "attacker.com",
        "malicious.com",
        "hacker.com",
        "evil.org",
        "bad.com",
    ];
    is_within(host, &taken)
}

/// Returns true if a host, with or without a port, is one of the domains or below it.
fn is_within(host: &str, domains: &[&str]) -> bool {
    let host = host
        .split(':')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    domains.iter().any(|domain| {
        let below = host.strip_suffix(domain);
        below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
    })
}

/// Returns true for addresses that no other machine on the Internet has, and for public resolvers.
pub(crate) fn is_harmless_address(address: &str) -> bool {
    let parts: Vec<u8> = address
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect();
    match parts[..] {
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [100, second, ..] => (64..128).contains(&second),
        [1, 1, 1, 1] | [1, 2, 3, 4] | [8, 8, 8, 8] | [8, 8, 4, 4] | [9, 9, 9, 9] => true,
        [first, ..] => parts.len() != 4 || first >= 224,
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installers_are_known_by_host_and_path() {
        assert!(is_known_installer("https://sh.rustup.rs"));
        assert!(is_known_installer("https://astral.sh/uv/install.sh"));
        assert!(is_known_installer(
            "https://raw.githubusercontent.com/Homebrew/install/HEAD/install.sh"
        ));
        for other in [
            "http://sh.rustup.rs",
            "https://sh.rustup.rs.evil.example",
            "https://sh.rustup.rs@evil.example/x",
            "https://raw.githubusercontent.com/evil/Homebrew/x.sh",
            "https://raw.githubusercontent.com/Homebrewer/x/x.sh",
            "https://raw.githubusercontent.com/Homebrew/../evil/x.sh",
        ] {
            assert!(!is_known_installer(other), "{other}");
        }
    }

    #[test]
    fn private_addresses_are_harmless() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.20.0.1",
            "8.8.8.8",
            "0.0.0.0",
        ] {
            assert!(is_harmless_address(address), "{address}");
        }
        for address in ["91.92.242.30", "172.32.0.1", "203.0.113.9", "100.1.1.1"] {
            assert!(!is_harmless_address(address), "{address}");
        }
    }
}
