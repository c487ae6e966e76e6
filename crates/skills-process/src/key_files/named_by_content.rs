//! Files with names that hold a key only if their content says so.

use std::path::Path;

use super::public_text::{read_bytes, read_start};
use super::secret_text::{has_token, is_variable, looks_like_secret, may_hold_secret};

/// Parts of the text of private keys.
const PRIVATE_KEYS: [&str; 4] = [
    "AGE-SECRET-KEY-",
    "PRIVATE KEY",
    "PuTTY-User-Key-File",
    "SECRET KEY BLOCK",
];
/// Names of values with a key or a token, in the configuration of kubectl.
const CLUSTER_LOGINS: [&str; 4] = ["client-key", "token", "password", "exec:"];
/// Names of values with a password or a token, in `auth.json` of Composer, Docker and others. Many web
/// applications have files of this name with texts for users.
const LOGINS: [&str; 13] = [
    "\"accessToken\"",
    "\"access_token\"",
    "\"apiKey\"",
    "\"api_key\"",
    "\"auths\"",
    "\"bearer\"",
    "\"bitbucket-oauth\"",
    "\"github-oauth\"",
    "\"gitlab-oauth\"",
    "\"gitlab-token\"",
    "\"http-basic\"",
    "\"refreshToken\"",
    "\"refresh_token\"",
];

/// Returns true if a regular file with a name of [`skills_policy::is_key_by_content`] holds a key, or
/// if it cannot be read as a whole. `name` decides what is looked for.
pub(super) fn holds_key(name: &str, path: &Path) -> bool {
    let has_line = |bytes: Vec<u8>, is_key: fn(&str) -> bool| {
        let text = String::from_utf8_lossy(&bytes);
        text.lines().any(|line| is_key(line.trim()))
    };
    match name.to_lowercase().as_str() {
        "auth.json" => read_bytes(path).is_none_or(|bytes| has_line(bytes, holds_login)),
        "kubeconfig" => read_bytes(path).is_none_or(|bytes| has_line(bytes, holds_cluster_login)),
        ".yarnrc" | ".yarnrc.yml" | ".bunfig.toml" | "bunfig.toml" => {
            read_bytes(path).is_none_or(|bytes| has_line(bytes, holds_registry_token))
        }
        // A key is at the start; maps of elevations are large files of the same name.
        _ => read_start(path).is_none_or(|bytes| {
            let text = String::from_utf8_lossy(&bytes);
            is_binary_key(&bytes) || PRIVATE_KEYS.iter().any(|key| text.contains(key))
        }),
    }
}

fn holds_login(line: &str) -> bool {
    LOGINS.iter().any(|name| line.contains(name)) || has_token(line)
}

fn holds_cluster_login(line: &str) -> bool {
    CLUSTER_LOGINS.iter().any(|name| line.contains(name))
}

/// Returns true for a private key in DER: a sequence that begins with the version of a key, or an
/// encrypted one, with the algorithm and then the octets. Certificates and public keys differ.
fn is_binary_key(bytes: &[u8]) -> bool {
    let Some((_, inner)) = der_element(bytes, 0x30) else {
        return false;
    };
    if inner.starts_with(&[0x02, 0x01]) {
        return true;
    }
    der_element(inner, 0x30).is_some_and(|(length, algorithm)| {
        algorithm.first() == Some(&0x06) && algorithm.get(length) == Some(&0x04)
    })
}

/// Returns the length of the content of an element of DER with a tag, and the bytes from its content
/// on.
fn der_element(bytes: &[u8], tag: u8) -> Option<(usize, &[u8])> {
    let (length, rest) = bytes.strip_prefix(&[tag])?.split_first()?;
    let Some(count) = length.checked_sub(0x80) else {
        return Some((usize::from(*length), rest));
    };
    let (length, content) = rest.split_at_checked(usize::from(count))?;
    let add = |sum: usize, byte: &u8| sum.checked_mul(256)?.checked_add(usize::from(*byte));
    Some((length.iter().try_fold(0, add)?, content))
}

/// Returns true for a line of the settings of a package manager that may hold a token.
fn holds_registry_token(line: &str) -> bool {
    let Some((name, value)) = line.split_once([':', '=']) else {
        return may_hold_secret(line);
    };
    let (name, value) = (name.trim().to_lowercase(), value.trim());
    let is_plain = is_variable(value) || ["", "true", "false"].contains(&value);
    // The checksum of a plugin is public, and as long as a token.
    let is_checksum = name.ends_with("checksum");
    // Yarn 1 has spaces between name and value, and a colon can be in either.
    let is_login = line.contains(":_") || looks_like_secret(line) && !is_checksum;
    !is_plain
        && (may_hold_secret(value) && !is_checksum
            || may_hold_secret(&name)
            || name.contains("auth")
            || is_login)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test creates its own files")]
    fn only_content_with_a_key_is_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let private = "-----BEGIN OPENSSH PRIVATE KEY-----\nAA\n";
        for (name, text, expected) in [
            ("deploy_rsa", private, true),
            ("deploy_rsa", "a note", false),
            ("my.asc", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", true),
            ("my.asc", "-----BEGIN PGP SIGNATURE-----\n", false),
            ("README.asc", "= Title\n", false),
            ("host_key", "0\u{2}", false),
            (
                "auth.json",
                "{\"http-basic\": {\"h\": {\"username\": \"a\"}}}",
                true,
            ),
            (
                "auth.json",
                "{\"login\": {\"password\": \"Password\"}}",
                false,
            ),
            (
                ".yarnrc.yml",
                "yarnPath: .yarn/releases/yarn-4.0.2.cjs\nnpmAlwaysAuth: true\n",
                false,
            ),
            (
                ".yarnrc.yml",
                "npmRegistryServer: \"https://npm.corp.example\"\n",
                false,
            ),
            (".yarnrc.yml", "npmAuthToken: \"${NPM_TOKEN}\"\n", false),
            (".yarnrc.yml", "npmAuthToken: abc\n", true),
            (".yarnrc.yml", "npmAuthIdent: u:p\n", true),
            (
                ".yarnrc.yml",
                "npmRegistryServer: \"https://u:p@npm.corp.example\"\n",
                true,
            ),
            (
                ".yarnrc.yml",
                "- checksum: 0123456789abcdef0123456789abcdef\n",
                false,
            ),
            (".yarnrc", "\"//registry.example/:_authToken\" abc\n", true),
            (".yarnrc", "\"//npm.corp.example/:_auth\" YW5u\n", true),
            (
                ".yarnrc",
                "registry \"https://anna:hunter2@npm.corp.example/\"\n",
                true,
            ),
            (".yarnrc", "registry \"https://npm.corp.example/\"\n", false),
            (
                "auth.json",
                "{\"openrouter\": {\"key\": \"sk-or-v1-0123456789abcdef0123\"}}",
                true,
            ),
            ("kubeconfig", "package kubeconfig\n", false),
            ("kubeconfig", "users:\n- user:\n    token: abc\n", true),
            (
                "bunfig.toml",
                "[install]\nregistry = \"https://npm.corp.example\"\n",
                false,
            ),
            (
                ".bunfig.toml",
                "[install.registry]\ntoken = \"abc\"\n",
                true,
            ),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(holds_key(name, &path), expected, "{name}: {text}");
        }
        for (bytes, expected) in [
            (&[0x30, 0x82, 0x04, 0xff, 0x02, 0x01, 0x00][..], true),
            // An Ed25519 key, and one of P-256.
            (&[0x30, 0x2e, 0x02, 0x01, 0x00], true),
            (&[0x30, 0x77, 0x02, 0x01, 0x01], true),
            // An encrypted key, a public key, a certificate.
            (&[0x30, 0x81, 0x90, 0x30, 2, 0x06, 0, 0x04, 9], true),
            (&[0x30, 0x59, 0x30, 2, 0x06, 0, 0x03, 9], false),
            (&[0x30, 0x82, 2, 0xf9, 0x30, 0x82, 1, 0xe1, 0xa0, 3], false),
            (&[0x30, 0xff], false),
        ] {
            fs::write(&path, bytes).unwrap();
            assert_eq!(holds_key("deploy_rsa", &path), expected, "{bytes:?}");
        }
        fs::write(&path, "1.5 ".repeat(1 << 20)).unwrap();
        assert!(!holds_key("dem.asc", &path), "a large map");
        assert!(holds_key("deploy_rsa", directory.path()), "not readable");
    }
}
