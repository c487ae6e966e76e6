//! The identity of an environment.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use skills_packages::Project;

/// The version of the key and of what is stored under it.
const FORMAT: &str = "skills-environment 2";

/// Identifies an environment by all that decides its content: declared packages, lock files,
/// interpreters and package managers, indexes, platform.
///
/// Displayed as 32 hexadecimal digits, which is its name in the [store](crate::Store).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EnvironmentKey(String);

/// What decides the content of an environment, apart from what the skill declares.
#[derive(Debug, Clone, Default)]
pub struct KeyInput {
    parts: Vec<String>,
}

impl KeyInput {
    /// Adds a value, such as the URL of an index or the digest of an image.
    #[must_use]
    pub fn value(mut self, value: impl fmt::Display) -> Self {
        self.parts.push(value.to_string());
        self
    }

    /// Adds a program: its path without symlinks, its size, and when it was changed. Another version
    /// of it has other values. A program that does not exist counts as none.
    #[must_use]
    pub fn program(self, path: Option<&Path>) -> Self {
        let described = path.and_then(|path| {
            let real = path.canonicalize().ok()?;
            let metadata = fs::metadata(&real).ok()?;
            let (size, seconds) = (metadata.len(), metadata.mtime());
            // The path too: an environment links to the interpreter.
            let (path, real) = (path.display(), real.display());
            Some(format!(
                "{path} {real} {size} {seconds} {}",
                metadata.mtime_nsec()
            ))
        });
        self.value(described.unwrap_or_default())
    }
}

impl EnvironmentKey {
    /// Computes the key.
    #[must_use]
    pub fn new(project: &Project, input: &KeyInput) -> Self {
        let mut hasher = Sha256::new();
        // With lengths, so that no two lists of values are one text.
        let mut add = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        add(FORMAT);
        add(std::env::consts::OS);
        add(std::env::consts::ARCH);
        input.parts.iter().for_each(|part| add(part));
        if let Some(python) = &project.python {
            add("python");
            python
                .requirements
                .iter()
                .for_each(|requirement| add(&requirement.to_string()));
            add("constraints");
            python
                .constraints
                .iter()
                .for_each(|constraint| add(constraint));
            add(&format!("{:?}", python.locked_hashes));
            add(python.requires_python.as_deref().unwrap_or_default());
            if !python.is_locked() {
                add("and those of the interpreter");
            }
        }
        if let Some(node) = &project.node {
            add("node");
            add(&serde_json::to_string(&node.package_json).unwrap_or_default());
            add(node.lock.as_deref().unwrap_or_default());
        }
        let digest = hex::encode(hasher.finalize());
        Self(digest[..32].to_owned())
    }

    /// Parses the name of an environment in a store.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let is_key = name.len() == 32
            && name
                .bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_key.then(|| Self(name.to_owned()))
    }

    /// Returns the key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvironmentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_input_changes_the_key() {
        let project = |text: &'static str, script: &'static str| {
            Project::read(
                &move |path: &str| (path == "requirements.txt").then(|| text.to_owned()),
                Some(script),
                &[],
            )
        };
        let input = KeyInput::default().value("https://index.example");
        let keys = [
            EnvironmentKey::new(&project("a\n", "x.py"), &input),
            EnvironmentKey::new(&project("a==1\n", "x.py"), &input),
            EnvironmentKey::new(&project("a\nb\n", "x.py"), &input),
            EnvironmentKey::new(&project("a\n", "x.py"), &input.clone().value("")),
            EnvironmentKey::new(&project("a\n", "x.py"), &KeyInput::default()),
        ];
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(
            EnvironmentKey::parse(keys[0].as_str()).as_ref(),
            Some(&keys[0])
        );
        assert_eq!(EnvironmentKey::parse("../x"), None);
    }
}
