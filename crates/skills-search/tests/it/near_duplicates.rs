//! Which documents have almost the same text.

use proptest::prelude::*;
use skills_search::{Document, MAX_NEAR_DUPLICATES, NearDuplicate, NearDuplicates};

/// Returns a text of numbered words.
fn text(range: std::ops::Range<usize>) -> String {
    let words = range.map(|number| format!("word{number} "));
    words.collect()
}

fn find(documents: &[[&str; 2]]) -> Vec<NearDuplicate> {
    let mut all = NearDuplicates::default();
    for [description, body] in documents {
        all.add(&Document::new("name", description, body));
    }
    all.find()
}

fn pairs(documents: &[[&str; 2]]) -> Vec<(usize, usize)> {
    find(documents)
        .iter()
        .map(|pair| (pair.first, pair.second))
        .collect()
}

#[test]
fn texts_that_share_most_of_their_words_are_near_duplicates() {
    let (whole, most, half) = (text(0..100), text(0..90), text(0..60));
    let found = find(&[["a", &whole], ["b", &text(500..600)], ["c", &most]]);
    assert_eq!((found[0].first, found[0].second, found.len()), (0, 2, 1));
    // 86 of 96 sequences, apart from those with the description.
    assert!((found[0].similarity - 0.88).abs() < 0.02, "{found:?}");
    assert_eq!(pairs(&[["a", &whole], ["b", &half]]), []);
}

#[test]
fn formatting_case_and_names_do_not_matter() {
    let body = "# Title\n\n- First, open the *file* and read every page of it.\n- Then write all of the \
                text to another file, and say where it is.\n";
    let same = "TITLE first open the file and read every page of it then write all of the text to \
                another file and say where it is";
    let found = find(&[["d", body], ["d", same]]);
    assert_eq!((found.len(), found[0].similarity), (1, 1.0));
}

#[test]
fn the_same_description_is_enough() {
    let description = "Fills the forms of PDF files";
    let found = find(&[[description, &text(0..50)], [description, &text(100..150)]]);
    assert!(found.len() == 1 && found[0].has_same_description && found[0].similarity < 0.1);
    assert_eq!(
        pairs(&[
            ["Fills forms", &text(0..50)],
            ["Fills forms", &text(100..150)]
        ]),
        []
    );
}

#[test]
fn chinese_texts_are_compared_by_characters() {
    let body = "打开文件，读取每一页的内容，把所有文字写入一个新文件，然后告诉用户文件在哪里。";
    let other = "查询天气预报，说明今天的气温、湿度和风速，并提醒用户是否需要带伞出门。";
    let longer = format!("{body}谢谢。");
    assert_eq!(
        pairs(&[["甲", body], ["乙", other], ["丙", &longer]]),
        [(0, 2)]
    );
}

#[test]
fn short_texts_are_not_compared() {
    assert_eq!(pairs(&[["", "Run it."], ["", "Run it."], ["", ""]]), []);
}

#[test]
fn many_equal_documents_take_bounded_time_and_each_is_found() {
    let body = text(0..50);
    let documents = vec![["d", body.as_str()]; 300];
    let found = find(&documents);
    assert!(found.len() <= MAX_NEAR_DUPLICATES);
    let is_found = |number| {
        found
            .iter()
            .any(|pair| pair.first == number || pair.second == number)
    };
    assert!((0..100).all(is_found));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The estimate that selects pairs misses few, and the similarity is exact.
    #[test]
    fn similar_documents_are_found(start in 0_usize..20, length in 60_usize..200) {
        let (a, b) = (text(0..length), text(start..length));
        let found = find(&[["", &a], ["", &b]]);
        let (all, common) = ((length - 4) as f32, (length - start - 4) as f32);
        let expected = common / all;
        if expected > 0.75 {
            prop_assert_eq!(found.len(), 1);
        }
        for pair in found {
            prop_assert!((pair.similarity - expected).abs() < 1e-6);
        }
    }
}
