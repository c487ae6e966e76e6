//! Ranking by latent semantics.

use proptest::prelude::*;
use skills_search::{Document, IndexBuilder, LatentSpace, Ranked, Ranker, SearchIndex, fuse};

use super::SKILLS;

/// Skills about two topics: each has the name of its topic and three of six words of the topic.
fn topics() -> Vec<[String; 3]> {
    let finance = [
        "invoice", "customer", "payment", "overdue", "reminder", "bank",
    ];
    let weather = ["rain", "wind", "temperature", "city", "month", "storm"];
    let mut skills = Vec::new();
    for (topic, words) in [("finance", finance), ("weather", weather)] {
        for first in 0..words.len() {
            let word = |offset: usize| words[(first + offset) % words.len()];
            let description = format!("{topic} {} {} {}", word(0), word(1), word(2));
            skills.push([format!("s{}", skills.len()), description, topic.to_owned()]);
        }
    }
    skills
}

/// Ranks by the latent semantics of an index.
fn similar(index: &SearchIndex, query: &str) -> Vec<Ranked> {
    let space = LatentSpace::new(index);
    let ranker = space.ranker(index);
    ranker.map(|ranker| ranker.rank(query)).unwrap_or_default()
}

#[test]
fn documents_are_found_by_words_that_occur_with_those_of_the_query() {
    let topics = topics();
    let mut builder = IndexBuilder::new();
    for [name, description, _] in &topics {
        builder.add(&Document::new(name, description, ""));
    }
    let index = builder.build();
    for (query, topic) in [("a reminder", "finance"), ("storm", "weather")] {
        let words = index.rank(query);
        assert_eq!(words.len(), 3, "the skills with the word");
        let found = similar(&index, query);
        assert!(found.len() > words.len(), "{found:?}");
        for pair in found.windows(2) {
            assert!(pair[0].score >= pair[1].score && pair[1].score > 0.0);
        }
        // One more than those with the word.
        for ranked in &found[..=words.len()] {
            assert_eq!(topics[ranked.document][2], topic);
        }
    }
    assert!(similar(&index, "mongolia").is_empty());
    assert!(similar(&index, "thanks!").is_empty());
}

#[test]
fn a_search_fuses_the_places_behind_the_fifth_and_finds_as_many() {
    // The longer a description is, the later its place by words. The sixth is about another topic.
    let rotating = (0..8).map(|number: usize| {
        let topic = if number == 5 {
            "finance bank invoice"
        } else {
            ""
        };
        let own: Vec<String> = (topic.split(' ').count()..=number)
            .map(|word| format!("w{}{}", "x".repeat(number), "y".repeat(word)))
            .collect();
        format!("rotate {topic} {}", own.join(" "))
    });
    let topics = topics();
    let others = topics.iter().map(|[_, description, _]| description.clone());
    let descriptions: Vec<String> = rotating.chain(others).collect();
    let mut builder = IndexBuilder::new();
    for description in &descriptions {
        builder.add(&Document::new("", description, ""));
    }
    let index = builder.build();
    let documents =
        |ranked: &[Ranked]| -> Vec<usize> { ranked.iter().map(|ranked| ranked.document).collect() };
    let by_words = index.search("rotate");
    assert_eq!(documents(&by_words.hits), [0, 1, 2, 3, 4, 5, 6, 7]);
    let fuse =
        |result: skills_search::SearchResult| result.fused_with(|| similar(&index, "rotate"));
    let fused = fuse(by_words.clone());
    assert_eq!(documents(&fused.hits), [0, 1, 2, 3, 4, 6, 5, 7]);
    assert_eq!(fused.confidence, by_words.confidence);
    // Scores are those of the words.
    assert_eq!(fused.hits[5].score, by_words.hits[6].score);
    let few = index.search_among("rotate", |document| document < 5);
    let unchanged = few.clone().fused_with(|| panic!("there is no sixth place"));
    assert_eq!(unchanged, few);
}

#[test]
fn a_latent_space_belongs_to_one_index() {
    let index = super::index();
    let space = LatentSpace::new(&index);
    assert!(space.ranker(&super::build(&SKILLS[1..])).is_none());
    assert!(space.is_of(&super::index()), "the same documents");
    let empty = IndexBuilder::new().build();
    assert!(similar(&empty, "merge pdf").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Fusing keeps the first five places, has each document once, and changes nothing without
    /// other rankings.
    #[test]
    fn fusion_keeps_the_first_five(query in "(merge|pdf|tables|city|files| ){1,12}") {
        let index = super::index();
        let words = index.rank(&query);
        let latent = similar(&index, &query);
        let fused = fuse(&words, &[&latent]);
        let documents = |ranked: &[Ranked]| -> Vec<usize> {
            ranked.iter().map(|ranked| ranked.document).collect()
        };
        let kept = words.len().min(5);
        prop_assert_eq!(&documents(&fused)[..kept], &documents(&words)[..kept]);
        let mut all = [documents(&words), documents(&latent)].concat();
        all.sort_unstable();
        all.dedup();
        let mut found = documents(&fused);
        found.sort_unstable();
        prop_assert_eq!(found, all);
        prop_assert_eq!(documents(&fuse(&words, &[])), documents(&words));
    }
}
