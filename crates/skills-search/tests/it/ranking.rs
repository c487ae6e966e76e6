//! What a search finds, and what it does not.

use proptest::prelude::*;
use skills_search::{Confidence, Document, Field, IndexBuilder, SearchIndex, SourceTag};

use super::{SKILLS, add_all, build, index};

/// Checks the name of the best skill; an empty name means that nothing fits.
#[track_caller]
fn check(query: &str, expected: &str) {
    let result = index().search(query);
    let found = result.hits.first().map(|hit| SKILLS[hit.document][0]);
    assert_eq!(found.unwrap_or_default(), expected, "{query}: {result:?}");
}

#[test]
fn requests_in_everyday_words_find_their_skill() {
    check("can you merge these two PDFs for me?", "pdf");
    check("what's the forecast for my city today", "weather-report");
    check("add a formula to this table", "spreadsheets");
    check("containerize: build a docker image", "containers");
}

#[test]
fn words_of_the_body_count() {
    check("rotate the second page", "pdf");
    check("pivot chart", "spreadsheets");
}

#[test]
fn names_are_split_at_separators_and_changes_of_case() {
    check("github issue", "gitHubIssues");
    check("weather", "weather-report");
    check("weatherReport", "weather-report");
}

#[test]
fn the_start_of_a_word_is_enough() {
    check("spreads", "spreadsheets");
    check("calend", "calendar");
}

#[test]
fn a_document_with_a_known_tag_needs_no_text() {
    let tag = |text: &str| SourceTag::new([text.as_bytes()]);
    let mut builder = IndexBuilder::new();
    builder.add_with_tag(&Document::new("pdf", "Merges files.", ""), Some(tag("one")));
    builder.add_with_tag(&Document::new("amap", "地点搜索", ""), Some(tag("two")));
    let previous = SearchIndex::from_bytes(&builder.build().to_bytes().unwrap()).unwrap();
    assert!((previous.unspaced_share() - 0.5).abs() < 1e-6);
    let mut builder = IndexBuilder::reusing(&previous);
    assert_eq!(builder.reuse(tag("two")), Some(0));
    assert_eq!(builder.reuse(tag("three")), None);
    let index = builder.build();
    assert_eq!(
        (index.len(), index.tags().next().flatten()),
        (1, Some(&tag("two")))
    );
    assert_eq!(index.search("地点").hits[0].document, 0);
    assert!(
        previous
            .search_among("merge files", |document| document == 1)
            .hits
            .is_empty()
    );
}

#[test]
fn chinese_requests_need_no_spaces() {
    check("帮我写一篇文章，发布到博客", "csdn-publisher");
    check("请问今天天气怎么样", "amap");
    check("怎么规划路线", "amap");
}

#[test]
fn width_and_case_do_not_matter() {
    check("ＰＤＦ", "pdf");
    check("DOCKER", "containers");
}

#[test]
fn nothing_fits_small_talk() {
    for query in [
        "",
        "hi",
        "thanks a lot, great job!",
        "who are you and what can you do",
        "sorry, I meant the other one",
        "你好，谢谢",
        "你是谁",
        "?!",
        "what is the capital of mongolia",
    ] {
        check(query, "");
        assert_eq!(index().search(query).confidence, Confidence::None);
    }
}

#[test]
fn weak_evidence_returns_at_most_three() {
    let skills: Vec<[&str; 3]> = std::iter::repeat_n(["a", "Edits the blue color.", ""], 9)
        .chain(SKILLS)
        .chain(SKILLS)
        .collect();
    let result = build(&skills).search("great, but paint mongolia blue before lunch");
    assert_eq!(
        (result.hits.len(), result.confidence),
        (0, Confidence::None)
    );
    let result = build(&skills).search("blue color for the walls, sky, mountains, rivers");
    assert!(result.hits.len() <= 3, "{result:?}");
}

#[test]
fn equal_scores_keep_the_order_of_the_documents() {
    let skills = [["a", "Edits tables.", ""]; 30];
    let ranked = build(&skills).rank("edit tables");
    let documents: Vec<usize> = ranked.iter().map(|ranked| ranked.document).collect();
    assert_eq!(documents, (0..30).collect::<Vec<usize>>());
}

#[test]
fn a_score_is_the_sum_of_its_explanation() {
    let index = index();
    let query = "merge pdf pages and mongolia";
    let best = index.rank(query)[0];
    let explanation = index.explain(query, best.document);
    let sum: f32 = explanation.terms.iter().map(|term| term.score).sum();
    assert!((sum - best.score).abs() < 1e-5);
    let terms: Vec<&str> = explanation
        .terms
        .iter()
        .map(|term| term.term.as_str())
        .collect();
    assert_eq!(terms, ["merg", "pdf", "merg pdf", "page", "mongolia"]);
    assert_eq!(
        explanation.terms[1].fields,
        [(Field::Name, 1), (Field::Description, 1)]
    );
    assert_eq!(
        (explanation.terms[4].documents, explanation.terms[4].score),
        (0, 0.0)
    );
    assert!(
        index
            .explain(query, 1_000)
            .terms
            .iter()
            .all(|term| term.score == 0.0)
    );
}

#[test]
fn long_texts_and_queries_are_bounded() {
    let body = "word ".repeat(100_000);
    let skills = [["long", "", body.as_str()], ["other", "", "words"]];
    let query = "unusual terms ".repeat(10_000) + "word";
    assert!(
        build(&skills).rank(&query).is_empty(),
        "the end of the query is ignored"
    );
    assert_eq!(build(&skills).rank("word").len(), 2);
    assert_eq!(
        Document::new("", "", &body).digest(),
        Document::new("", "", &(body.clone() + "x")).digest()
    );
}

/// A text of words, symbols and scripts of all kinds.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 _.#'+-]{0,40}",
        "[一-龥ぁ-ん ]{0,12}",
        "\\PC{0,20}"
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Building with an earlier index gives the same index, byte for byte.
    #[test]
    fn reuse_does_not_change_the_result(
        before in prop::collection::vec([text(), text(), text()], 0..6),
        after in prop::collection::vec([text(), text(), text()], 0..6),
        kept in 0..6_usize,
    ) {
        let kept = before.iter().take(kept);
        let all: Vec<[&str; 3]> = kept.chain(&after).map(|fields| fields.each_ref().map(String::as_str)).collect();
        let before: Vec<[&str; 3]> = before.iter().map(|fields| fields.each_ref().map(String::as_str)).collect();
        let previous = build(&before);
        let mut builder = IndexBuilder::reusing(&previous);
        add_all(&mut builder, &all);
        prop_assert_eq!(builder.build().to_bytes(), build(&all).to_bytes());
    }

    #[test]
    fn any_query_gives_a_strict_order(query in text(), fields in prop::collection::vec([text(), text(), text()], 0..6)) {
        let skills: Vec<[&str; 3]> = fields.iter().map(|fields| fields.each_ref().map(String::as_str)).collect();
        let index = build(&skills);
        let ranked = index.rank(&query);
        for pair in ranked.windows(2) {
            let order = (pair[1].score, pair[0].document) < (pair[0].score, pair[1].document);
            prop_assert!(order || pair[0].score > pair[1].score);
        }
        prop_assert!(ranked.iter().all(|ranked| ranked.score > 0.0 && ranked.score.is_finite()));
        let hits = index.search(&query).hits;
        prop_assert!(hits.iter().zip(&ranked).all(|(hit, ranked)| hit == ranked));
    }
}
