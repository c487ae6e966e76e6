//! Files with names that hold a key only if their content says so.

use std::path::Path;

use super::public_text::read_bytes;
use super::secret_text::{is_variable, may_hold_secret};

/// Parts of the text of private keys.
const PRIVATE_KEYS: [&str; 4] = [
    "AGE-SECRET-KEY-",
    "PRIVATE KEY",
    "PuTTY-User-Key-File",
    "SECRET KEY BLOCK",
];
/// The start of a private key that is not encoded as text.
const DER_SEQUENCE: [u8; 2] = [0x30, 0x82];
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
    let Some(bytes) = read_bytes(path) else {
        return true;
    };
    let text = String::from_utf8_lossy(&bytes);
    match name.to_lowercase().as_str() {
        "auth.json" => LOGINS.iter().any(|name| text.contains(name)),
        ".yarnrc" | ".yarnrc.yml" | ".bunfig.toml" | "bunfig.toml" => {
            text.lines().any(|line| holds_registry_token(line.trim()))
        }
        _ => bytes.starts_with(&DER_SEQUENCE) || PRIVATE_KEYS.iter().any(|key| text.contains(key)),
    }
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
    !is_plain
        && (may_hold_secret(value) && !is_checksum
            || may_hold_secret(&name)
            || name.contains("auth"))
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
        fs::write(&path, [0x30, 0x82, 0x04, 0xff]).unwrap();
        assert!(holds_key("deploy_rsa", &path));
        assert!(holds_key("deploy_rsa", directory.path()), "not readable");
    }
}
