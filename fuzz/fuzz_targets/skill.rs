//! Parses bytes as `SKILL.md` with all parsers of the crate.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skills_manifest::{Document, FrontmatterScan, Manifest};
use skills_ref_compat::Client;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(document) = Document::parse(bytes) {
        let _ = document.outline();
        for client in Client::ALL {
            let _ = client.lint(&document, "directory");
        }
    }
    // Peeking agrees with the full parser, and a prefix never has another frontmatter than the
    // whole file.
    if let Ok(frontmatter) = FrontmatterScan::parse_file(bytes) {
        if let Some(peek) = Manifest::peek_name(&frontmatter) {
            let (manifest, _) =
                Manifest::from_frontmatter(&frontmatter).expect("peeking succeeded");
            assert_eq!(peek.name.as_ref(), manifest.name());
        }
        let _ = frontmatter.portable_fields();
        if let Ok(FrontmatterScan::Complete(prefix)) =
            FrontmatterScan::scan_prefix(&bytes[..bytes.len() / 2])
        {
            assert_eq!(prefix.yaml(), frontmatter.yaml());
        }
    }
    let _ = skills_ref_compat::validate(bytes, "directory");
    let _ = skills_ref_compat::read_properties(bytes).map(|properties| properties.to_json());
});
