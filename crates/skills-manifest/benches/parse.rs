//! Measures parsing of a `SKILL.md` of 4 KiB. `floor` is the lower bound: the YAML library alone on
//! the same frontmatter.
#![expect(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use divan::{Bencher, black_box};
use skills_manifest::{Document, FrontmatterScan, Manifest};

fn main() {
    divan::main();
}

fn file() -> Vec<u8> {
    let head = "---\nname: pdf\ndescription: Reads, fills and splits PDF files. Use when the user mentions a PDF.\nlicense: MIT\n\
                allowed-tools: Read, Bash(pdftotext:*)\nmetadata:\n  author: someone\n  version: \"1.0\"\n---\n";
    let mut file = head.as_bytes().to_vec();
    while file.len() < 4096 {
        file.extend_from_slice(
            b"## Step\n\nRead [the guide](references/guide.md) and continue.\n\n",
        );
    }
    file
}

#[divan::bench]
fn document(bencher: Bencher<'_, '_>) {
    let file = file();
    bencher.bench_local(|| Document::parse(black_box(&file)).unwrap());
}

#[divan::bench]
fn manifest(bencher: Bencher<'_, '_>) {
    let file = file();
    bencher.bench_local(|| {
        Manifest::from_frontmatter(&FrontmatterScan::parse_file(black_box(&file)).unwrap()).unwrap()
    });
}

#[divan::bench]
fn floor(bencher: Bencher<'_, '_>) {
    let file = file();
    let yaml = FrontmatterScan::parse_file(&file)
        .unwrap()
        .yaml()
        .to_owned();
    bencher.bench_local(|| serde_yaml::from_str::<serde_yaml::Value>(black_box(&yaml)).unwrap());
}
