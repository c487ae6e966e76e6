//! Sections of files, and the search for them.

use proptest::prelude::*;
use skills_search::{MAX_SECTION_BYTES, ReferenceIndexBuilder, TextKind, split_sections};

/// Returns the sections as `lines trail: text`, one per line.
fn split(text: &str) -> String {
    let lines: Vec<String> = split_sections(text, 1, TextKind::Markdown)
        .iter()
        .map(|section| {
            format!(
                "{}-{} {}: {}",
                section.first_line,
                section.last_line,
                section.trail.join(" > "),
                section.text.trim().replace('\n', "|")
            )
        })
        .collect();
    lines.join("\n")
}

#[test]
fn sections_have_their_headings_as_trail() {
    let text =
        "Start.\n\n# Guide\n\n## Forms\nFill.\n### Fields\nName.\n## Tables\nRows.\n\n# End\nDone.";
    insta::assert_snapshot!(split(text), @r"
    1-2 : Start.
    5-6 Guide > Forms: ## Forms|Fill.
    7-8 Guide > Forms > Fields: ### Fields|Name.
    9-11 Guide > Tables: ## Tables|Rows.
    12-13 End: # End|Done.
    ");
}

#[test]
fn headings_in_code_are_text() {
    insta::assert_snapshot!(split("# A\n```\n# not a heading\n```\n"), @"1-4 A: # A|```|# not a heading|```");
}

#[test]
fn plain_text_has_no_headings() {
    let sections = split_sections("# comment\nx = 1\n", 1, TextKind::of_path("a.py"));
    assert_eq!((sections.len(), sections[0].trail.len()), (1, 0));
    assert_eq!(TextKind::of_path("references/A.MD"), TextKind::Markdown);
    assert_eq!(TextKind::of_path("README"), TextKind::Plain);
}

#[test]
fn long_sections_are_split_between_paragraphs() {
    let paragraph = "A line of some length.\n".repeat(30) + "\n";
    let text = format!("# Long\n{}", paragraph.repeat(6));
    let sections = split_sections(&text, 1, TextKind::Markdown);
    assert!(sections.len() > 2);
    assert!(sections.iter().all(|section| section.trail == ["Long"]));
    let ends: Vec<&str> = sections
        .iter()
        .map(|section| &section.text[section.text.len() - 2..])
        .collect();
    assert!(ends.iter().all(|end| *end == "\n\n"), "{ends:?}");
}

#[test]
fn a_search_returns_lines_of_a_file() {
    let mut builder = ReferenceIndexBuilder::new();
    builder.add_file(
        0,
        "references/forms.md",
        "# Forms\nIntro.\n## Check boxes\nTick them.\n## Text fields\nType.\n",
        1,
    );
    builder.add_file(
        0,
        "references/ocr.txt",
        "Scanned pages need recognition.\n",
        1,
    );
    let index = builder.build();
    let found = index.search("how do I tick a check box?", 5);
    let span = found[0];
    assert_eq!(
        (span.path.as_str(), span.first_line, span.last_line),
        ("references/forms.md", 3, 4)
    );
    assert_eq!(span.trail, ["Forms", "Check boxes"]);
    assert_eq!(
        index.search("scanned page", 5)[0].path,
        "references/ocr.txt"
    );
    assert!(index.search("thanks!", 5).is_empty());
    assert!(
        index
            .search_among("scanned page", 5, |skill| skill == 1)
            .is_empty()
    );
    assert!(!index.is_truncated() && index.len() == 4);
}

proptest! {
    /// The sections of a text are bounded, in order, do not overlap, and are what their lines say.
    #[test]
    fn sections_are_lines_of_the_text(
        lines in prop::collection::vec(prop_oneof!["#{1,3} [a-z]{1,5}", "[a-z ]{0,30}", "```", "[a-z]{300}", "=+"], 0..60),
        first_line in 1..50_usize,
    ) {
        let text = lines.join("\n");
        let mut next = first_line;
        for section in split_sections(&text, first_line, TextKind::Markdown) {
            prop_assert!(section.first_line >= next && section.last_line >= section.first_line);
            prop_assert!(section.text.len() <= MAX_SECTION_BYTES && !section.text.trim().is_empty());
            let range = section.first_line - first_line..=section.last_line - first_line;
            let expected = lines[range].join("\n");
            prop_assert_eq!(section.text.trim_end_matches('\n'), expected.trim_end_matches('\n'));
            next = section.last_line + 1;
        }
    }
}
