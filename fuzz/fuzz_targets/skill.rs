//! Reads the bytes of a `SKILL.md` in every way that there is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_manifest::{Client, Document, Fence, Manifest, strict};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = Document::parse(bytes) {
        let _ = document.outline();
        for client in Client::ALL {
            let _ = client.check(&document, "directory");
        }
    }
    // A glance agrees with the full reading, and a prefix never gives another frontmatter than the
    // whole file.
    if let Ok(frontmatter) = Fence::of_file(bytes) {
        if let Some(glance) = Manifest::glance(&frontmatter) {
            let (manifest, _) =
                Manifest::from_frontmatter(&frontmatter).expect("a glance promises a manifest");
            assert_eq!(glance.name.as_ref(), manifest.name());
        }
        let _ = frontmatter.plain();
        if let Ok(Fence::Closed(prefix)) = Fence::find(&bytes[..bytes.len() / 2]) {
            assert_eq!(prefix.yaml(), frontmatter.yaml());
        }
    }
    let _ = strict::validate(bytes, "directory");
    let _ = strict::properties(bytes).map(|properties| properties.to_json());
});
