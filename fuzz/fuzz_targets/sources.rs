//! Parses bytes as each document that a source of skills sends, as the text of a source, and as a
//! lock file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_discovery::TreePath;
use skills_install::{LockFile, SourceRule, SourceSpec};

fuzz_target!(|bytes: &[u8]| {
    skills_install::parse_documents(bytes);
    let path = TreePath::from_bytes(bytes);
    if let Ok(path) = &path {
        assert_eq!(TreePath::new(path.as_str()).as_ref(), Ok(path));
        assert!(path.names().all(|name| !matches!(name, "" | "." | "..")));
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(spec) = text.parse::<SourceSpec>() {
        assert_eq!(spec.to_string().parse().as_ref(), Ok(&spec), "{spec}");
        let identity = spec.identity();
        if !identity.contains(['*', '?']) {
            assert!(SourceRule::new(&identity).allows(&spec), "{identity}");
        }
    }
    if let Ok(lock) = LockFile::parse(text, "skills.lock".as_ref()) {
        let rendered = lock.render().expect("a parsed lock file can be written");
        let again = LockFile::parse(&rendered, "skills.lock".as_ref());
        assert_eq!(again.expect("a written lock file can be read"), lock);
    }
});
