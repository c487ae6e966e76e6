//! Files without a description: rejected with the cause, or read as some clients do.

use skills_manifest::{Document, MissingDescription, ReadingRules};

fn error(fields: &str) -> String {
    Document::parse(format!("---\n{fields}---\nBody\n").as_bytes())
        .unwrap_err()
        .to_string()
}

fn rules(missing: MissingDescription) -> ReadingRules {
    let mut rules = ReadingRules::default();
    rules.missing_description = missing;
    rules
}

fn read(file: &str, missing: MissingDescription) -> Result<(String, Vec<&'static str>), String> {
    let document = Document::parse_with(file.as_bytes(), rules(missing))
        .map_err(|error| error.kind().code().to_owned())?;
    let codes = document
        .warnings()
        .iter()
        .map(|warning| warning.kind().code())
        .collect();
    Ok((document.manifest().description().to_owned(), codes))
}

#[test]
fn what_stands_in_place_of_a_description_is_named() {
    const HINT: &str = ": say what the skill does and when to use it";
    for (fields, message) in [
        ("name: a\n", "missing field `description`"),
        ("description:\n", "missing field `description`"),
        (
            "description: # x\n",
            "`description` is only a comment, since `#` starts one",
        ),
        (
            concat!("description: [TO", "DO: what it does]\n"),
            "`description` is still the placeholder of a template",
        ),
    ] {
        assert_eq!(error(fields), format!("{message}{HINT}"), "{fields}");
    }
}

#[test]
fn the_first_paragraph_replaces_a_missing_description() {
    let read = |file: &str| read(file, MissingDescription::FromBody);
    let from_body = |text: &str| Ok((text.to_owned(), vec!["no-description"]));
    assert_eq!(
        read("---\nname: a\n---\n\n# Title\n\nFirst line\nsecond.\n\nMore.\n"),
        from_body("First line second.")
    );
    assert_eq!(read("---\nname: a\n---\n# Title\n"), from_body("Title"));
    let long = "x".repeat(2_000);
    assert_eq!(
        read(&format!("---\nname: a\n---\n{long}\n"))
            .unwrap()
            .0
            .len(),
        1_024
    );
    // Without frontmatter all of the file is the body.
    assert_eq!(
        read("# Title\n\nDoes it.\n"),
        Ok((
            "Does it.".to_owned(),
            vec!["no-frontmatter", "no-description"]
        ))
    );
    assert_eq!(
        read("---\ndescription: d\n---\nText\n"),
        Ok(("d".to_owned(), vec![]))
    );
    for (file, code) in [
        ("", "empty"),
        ("---\nname: a\n---\n\n", "description-missing"),
        ("---\nname: a\n", "description-missing"),
    ] {
        assert_eq!(read(file), Err(code.to_owned()), "{file:?}");
    }
}

#[test]
fn a_restriction_holds_without_a_description() {
    let file = b"---\nallowed-tools: 7\n---\nDoes it.\n";
    let document = Document::parse_with(file, rules(MissingDescription::FromBody)).unwrap();
    assert_eq!(
        document.manifest().unparsed_restrictions(),
        ["allowed-tools"]
    );
}

#[test]
fn a_missing_description_may_be_empty() {
    let read = |file: &str| read(file, MissingDescription::Empty);
    assert_eq!(
        read("---\nname: a\n---\nText\n"),
        Ok((String::new(), vec!["no-description"]))
    );
    assert_eq!(read("# Title\n"), Err("frontmatter-missing".to_owned()));
}

#[test]
fn a_file_without_frontmatter_has_no_frontmatter_text() {
    let document =
        Document::parse_with(b"Does it.\n", rules(MissingDescription::FromBody)).unwrap();
    assert_eq!(
        (
            document.frontmatter(),
            document.body(),
            document.body_line()
        ),
        ("", "Does it.\n", 1)
    );
}
