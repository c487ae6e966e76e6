//! Parses a text as each file that declares packages, as the text and the scripts of a skill, and
//! each of its lines as a package, a version and a range.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_packages::{
    ListedPackage, Project, PythonRequirement, PythonSystem, PythonVersion, declared_packages,
    imported_packages, mentioned_packages, npm_range_allows,
};

const PATHS: [&str; 5] = [
    "requirements.txt",
    "pyproject.toml",
    "package.json",
    "scripts/a.py",
    "scripts/a.mjs",
];

fuzz_target!(|text: &str| {
    for path in PATHS {
        let files = |read: &str| (read == path).then(|| text.to_owned());
        let declared = declared_packages(&files, [path], &[]);
        let project = Project::read(&files, Some(path), &[]);
        // What a script declares is part of what the skill declares.
        for requirement in project
            .python
            .iter()
            .flat_map(|python| &python.requirements)
        {
            assert!(
                declared.contains(&format!("pypi:{requirement}")),
                "{requirement}"
            );
        }
    }
    let _ = mentioned_packages(text);
    for path in ["a.py", "a.mjs"] {
        let _ = imported_packages(&[path.to_owned()], &|_| Some(text.to_owned()));
    }
    let system = PythonSystem::of_host(12).expect("versions of Python are valid");
    for line in text.lines() {
        if let Ok(requirement) = PythonRequirement::parse(line) {
            let _ = requirement.applies_to(&system);
            let _ = requirement.is_required_by_extras_of(&requirement, &system);
            let _ = requirement.accepts(PythonVersion::parse("1.2.3").as_ref());
            let again = PythonRequirement::parse(&requirement.to_string());
            assert_eq!(again.expect("it is displayed as it is parsed"), requirement);
        }
        if let Ok(package) = ListedPackage::parse(line, "settings") {
            let again = ListedPackage::parse(&package.to_string(), "settings");
            assert_eq!(again.as_ref(), Ok(&package));
            let _ = package.name();
        }
        if let Some(version) = PythonVersion::parse(line) {
            assert_eq!(PythonVersion::parse(&version.to_string()), Some(version));
        }
        let _ = npm_range_allows(line, "1.2.3");
        let _ = npm_range_allows("^1", line);
    }
});
