//! Runs the checks of the fuzz targets on their seeds, and on prefixes of each seed.

use skills_manifest::{Document, FrontmatterScan, Manifest, OpenAiMetadata};
use skills_ref_compat::Client;

fn check(bytes: &[u8]) {
    if let Ok(document) = Document::parse(bytes) {
        let _ = document.outline();
        Client::ALL
            .iter()
            .for_each(|client| drop(client.lint(&document, "directory")));
    }
    if let Ok(frontmatter) = FrontmatterScan::parse_file(bytes) {
        if let Some(peek) = Manifest::peek_name(&frontmatter) {
            assert_eq!(
                peek.name.as_ref(),
                Manifest::from_frontmatter(&frontmatter).unwrap().0.name()
            );
        }
        if let Ok(FrontmatterScan::Complete(prefix)) =
            FrontmatterScan::scan_prefix(&bytes[..bytes.len() / 2])
        {
            assert_eq!(prefix.yaml(), frontmatter.yaml());
        }
    }
    let _ = skills_ref_compat::validate(bytes, "directory");
    let _ = skills_ref_compat::read_properties(bytes).map(|properties| properties.to_json());
    let _ = OpenAiMetadata::parse(bytes, Some("skills/a"));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the seeds are files of this project"
)]
fn fuzzing_seeds_and_their_prefixes_pass() {
    let corpus = skills_test_support::source_tree().join("fuzz/corpus");
    let mut seeds = 0;
    for entry in ["skill", "host_metadata"]
        .into_iter()
        .flat_map(|target| std::fs::read_dir(corpus.join(target)).unwrap())
    {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        (0..=bytes.len())
            .step_by(3)
            .for_each(|cut| check(&bytes[..cut]));
        check(&bytes);
        seeds += 1;
    }
    assert!(seeds > 100, "{seeds} seeds");
}
