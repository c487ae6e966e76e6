//! Parses a text as each lock file that a skill has or that a package manager writes, and as the URL
//! of a file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_packages::{Project, is_npm_registry, locked_packages, npm_file_url, npm_registry};

const LOCKS: [&str; 3] = ["uv.lock", "package-lock.json", "npm-shrinkwrap.json"];
const PYPROJECT: &str = "[project]\nname = 'a'\nversion = '1'\ndependencies = ['a']\n";

fuzz_target!(|text: &str| {
    for lock in LOCKS {
        let files = |read: &str| match read {
            "pyproject.toml" => Some(PYPROJECT.to_owned()),
            _ => (read == lock).then(|| text.to_owned()),
        };
        let _ = locked_packages(&files, [lock]);
        let project = Project::read(&files, None, &[]);
        for constraint in project.python.iter().flat_map(|python| &python.constraints) {
            // Each constraint is one line of a file.
            assert!(!constraint.contains(['\n', '\r']), "{constraint:?}");
        }
    }
    skills_deps::parse_documents(text);
    for url in text.lines() {
        let Some(registry) = npm_registry(url, "@s/a", "1.0.0") else {
            continue;
        };
        assert!(is_npm_registry(&registry), "{registry}");
        let expected = npm_file_url(&registry, "@s/a", "1.0.0");
        assert!(
            expected
                .expect("a registry has files")
                .ends_with("/@s/a/-/a-1.0.0.tgz")
        );
    }
});
