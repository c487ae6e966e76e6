//! Phrases that mention skills.

use proptest::prelude::*;
use skills_discovery::{ConfigRule, Selector};
use skills_prompt::{Confidence, MentionIndex, MentionKind, MentionOptions, UserInput};

use crate::skill_tree::SkillTree;

fn index() -> (SkillTree, MentionIndex) {
    let tree = SkillTree::new();
    for name in [
        "pdf-tools",
        "code-review",
        "pdf",
        "weather",
        "数据分析",
        "tax_calculator",
        "k8s",
        "研究和写作",
        "gone-skill",
    ] {
        tree.skill(&format!("repo/{name}"), name);
    }
    tree.skill("repo/twin", "twin-set")
        .skill("user/twin", "Twin Set")
        .skill("user/slack", "slack:search");
    let catalog = tree.catalog_with([ConfigRule::disable(
        Selector::Name("gone-skill".to_owned()),
        "test",
    )]);
    let index = MentionIndex::new(catalog);
    (tree, index)
}

/// Returns the mentions in a text as `name resolution`, or `name (reason)` for a suggestion.
fn resolutions(index: &MentionIndex, text: &str) -> Vec<String> {
    let mentions = index.find(&[UserInput::Text(text)], &MentionOptions::default());
    mentions
        .all
        .iter()
        .map(|mention| match &mention.resolution {
            skills_prompt::Resolution::Suggested(entry, reason) => {
                format!("{} ({})", entry.name(), reason.as_str())
            }
            resolution => format!("{} {}", mention.name, resolution.code()),
        })
        .collect()
}

fn check(cases: &[(&str, &[&str])]) {
    let (_tree, index) = index();
    let mut failures = Vec::new();
    for (text, expected) in cases {
        let got = resolutions(&index, text);
        if got != *expected {
            failures.push(format!("{text}: {got:?}, not {expected:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn english_requests_select() {
    check(&[
        (
            "Use the pdf-tools skill to merge these.",
            &["pdf-tools selected"],
        ),
        ("please use the PDF Tools skill", &["PDF Tools selected"]),
        (
            "Run the tax-calculator skill on this",
            &["tax-calculator selected"],
        ),
        ("Use the skill pdf-tools.", &["pdf-tools selected"]),
        (
            "use the skill called \"code review\" here",
            &["code review selected"],
        ),
        ("Use skill: weather", &["weather selected"]),
        (
            "Summarise it with the `pdf` skill, then stop",
            &["pdf selected"],
        ),
        (
            "Review this using the code_review skill",
            &["code_review selected"],
        ),
        ("use pdf-tools to merge", &["pdf-tools selected"]),
        ("Use **pdf-tools** for it", &["pdf-tools selected"]),
        ("use k8s", &["k8s selected"]),
        ("use slack:search to find it", &["slack:search selected"]),
        (
            "use the pdf-tools and code-review skills",
            &["pdf-tools selected", "code-review selected"],
        ),
        (
            "Use the pdf, weather & code-review skills",
            &["pdf selected", "weather selected", "code-review selected"],
        ),
        ("use the excellent pdf-tools skill", &["pdf-tools selected"]),
        ("Can you use the weather skill?", &["weather selected"]),
        (
            "Could you please run the weather skill for Oslo?",
            &["weather selected"],
        ),
        (
            "Don't forget to use the weather skill",
            &["weather selected"],
        ),
        ("I want you to use the weather skill", &["weather selected"]),
        ("Let's use the weather skill", &["weather selected"]),
        ("Go ahead and use the weather skill", &["weather selected"]),
        (
            "Read the mail and use the weather skill",
            &["weather selected"],
        ),
        ("Using pdf-tools, merge these", &["pdf-tools selected"]),
        ("Do it with the weather skill", &["weather selected"]),
        (
            "Don't write code, use the weather skill",
            &["weather selected"],
        ),
        (
            "use pdf-tools and code-review to finish",
            &["pdf-tools selected", "code-review selected"],
        ),
        (
            "Use these skills: pdf-tools, code-review and k8s.",
            &["pdf-tools selected", "code-review selected", "k8s selected"],
        ),
        (
            "Use the pdf/weather skills",
            &["pdf selected", "weather selected"],
        ),
        (
            "use the code\u{2011}review skill",
            &["code\u{2011}review selected"],
        ),
        ("use the pdf-tools skills", &["pdf-tools selected"]),
        (
            "use the weather and pdf skills",
            &["weather selected", "pdf selected"],
        ),
        (
            "use skills `weather`, `pdf-tools`",
            &["weather selected", "pdf-tools selected"],
        ),
        (
            "use skills \"weather\" and \"pdf-tools\"",
            &["weather selected", "pdf-tools selected"],
        ),
        (
            "use the pdf-tools or \"weather\" skill",
            &["pdf-tools selected", "weather selected"],
        ),
        ("use the \"weather\" skill", &["weather selected"]),
        ("use the new weather skill", &["weather selected"]),
        ("use pdf-tools, and nothing else", &["pdf-tools selected"]),
        ("use pdf-tools.", &["pdf-tools selected"]),
        ("use pdf-tools: merge these", &["pdf-tools selected"]),
        ("use the weather skill now", &["weather selected"]),
        ("use the weather skill instead", &["weather selected"]),
        (
            "using the weather skill, find the temperature",
            &["weather selected"],
        ),
        ("Stop. Use the weather skill", &["weather selected"]),
        ("Don't stop! Use the weather skill", &["weather selected"]),
        ("Don't do it - use the weather skill", &["weather selected"]),
        ("- use the weather skill", &["weather selected"]),
        ("- item\n- use the weather skill", &["weather selected"]),
        ("\u{2022} use the weather skill", &["weather selected"]),
        ("+ use the weather skill", &["weather selected"]),
        ("* use the weather skill", &["weather selected"]),
        ("1. use the weather skill", &["weather selected"]),
        ("2) use the weather skill", &["weather selected"]),
        (
            "don't guess but use the weather skill",
            &["weather selected"],
        ),
        (
            "please read it and then use the weather skill",
            &["weather selected"],
        ),
        ("use the weather skill! Thanks", &["weather selected"]),
        (
            "use pdf-tools & code-review",
            &["pdf-tools selected", "code-review selected"],
        ),
        ("Café closed. Use pdf-tools", &["pdf-tools selected"]),
        ("-use pdf-tools", &["pdf-tools selected"]),
        ("-user pdf-tools", &[]),
        (
            "use the pdf and the weather skills",
            &["pdf selected", "weather selected"],
        ),
        (
            "use the weather skill, not the pdf skill",
            &["weather selected"],
        ),
        ("use pdf-tools. Then stop", &["pdf-tools selected"]),
        ("explain using the weather skill", &["weather selected"]),
        ("call the weather skill", &["weather selected"]),
        (
            "It's not about that, but use the weather skill",
            &["weather selected"],
        ),
    ]);
}

#[test]
fn chinese_requests_select() {
    check(&[
        ("用 pdf-tools 技能合并这些文件", &["pdf-tools selected"]),
        ("请使用数据分析技能处理", &["数据分析 selected"]),
        ("使用「数据分析」技能", &["数据分析 selected"]),
        ("用数据分析这个技能看看", &["数据分析 selected"]),
        ("调用名为 weather 的技能", &["weather selected"]),
        ("使用技能 pdf-tools 处理", &["pdf-tools selected"]),
        ("用pdf-tools处理一下", &["pdf-tools selected"]),
        (
            "用 pdf、weather 和 code-review 技能",
            &["pdf selected", "weather selected", "code-review selected"],
        ),
        ("使用研究和写作技能", &["研究和写作 selected"]),
        ("能不能用 weather 技能查一下？", &["weather selected"]),
        ("可以用 weather skill 帮我查吗？", &["weather selected"]),
        ("别忘了使用 weather 技能", &["weather selected"]),
        ("使用最新的数据分析技能", &["数据分析 selected"]),
        ("以 weather 技能查天气", &["weather selected"]),
        ("请 use the weather skill", &["weather selected"]),
        ("用 weather 技能吧", &["weather selected"]),
        ("用 weather 技能来查", &["weather selected"]),
        ("请问能用 weather 技能吗？", &["weather selected"]),
        ("不要猜测数据，用 weather 技能", &["weather selected"]),
        ("应用 weather 技能", &["weather selected"]),
        ("按 weather 技能做", &["weather selected"]),
        ("按照 weather 技能做", &["weather selected"]),
        ("通过 weather 技能查天气", &["weather selected"]),
        ("启用 weather 技能", &["weather selected"]),
        ("运行 weather 技能", &["weather selected"]),
        ("加载 weather 技能", &["weather selected"]),
        ("用一下 weather 技能", &["weather selected"]),
        ("用 weather 技能查天气，谢谢", &["weather selected"]),
        ("請使用 weather 技能", &["weather selected"]),
    ]);
}

#[test]
fn a_negation_is_not_a_request() {
    check(&[
        ("Don't use the pdf-tools skill", &["pdf-tools (negated)"]),
        (
            "don\u{2019}t use the pdf-tools skill",
            &["pdf-tools (negated)"],
        ),
        ("Do not ever use pdf-tools", &["pdf-tools (negated)"]),
        (
            "Do it without using the pdf-tools skill",
            &["pdf-tools (negated)"],
        ),
        (
            "instead of using the pdf-tools skill write it yourself",
            &["pdf-tools (negated)"],
        ),
        (
            "Never run the weather skill, use the pdf-tools skill",
            &["weather (negated)", "pdf-tools selected"],
        ),
        ("use pdf-tools - not now", &["pdf-tools (negated)"]),
        (
            "Do not do it-now use the weather skill",
            &["weather (negated)"],
        ),
        ("use the weather skill - no, wait", &["weather (negated)"]),
        ("never but use the weather skill", &["weather (negated)"]),
        ("不要 use the weather skill", &["weather (negated)"]),
        ("不要用 pdf-tools 技能", &["pdf-tools (negated)"]),
        ("别用 weather 技能", &["weather (negated)"]),
        ("不使用 weather 技能", &["weather (negated)"]),
        ("不用数据分析技能", &["数据分析 (negated)"]),
        (
            "不要用 weather 技能，用 pdf-tools 技能",
            &["weather (negated)", "pdf-tools selected"],
        ),
        ("特别要用 weather 技能", &["weather selected"]),
    ]);
}

#[test]
fn questions_and_statements_are_not_requests() {
    check(&[
        (
            "How do I use the pdf-tools skill?",
            &["pdf-tools (question)"],
        ),
        (
            "What happens when you use the pdf-tools skill",
            &["pdf-tools (question)"],
        ),
        (
            "Explain how to use the weather skill",
            &["weather (question)"],
        ),
        (
            "Can you explain how to use the weather skill?",
            &["weather (question)"],
        ),
        ("Should I use the weather skill?", &["weather (question)"]),
        ("Use the weather skill?", &["weather (question)"]),
        ("What does the pdf-tools skill do?", &[]),
        ("Is the weather skill installed?", &[]),
        ("如何使用 weather 技能？", &["weather (question)"]),
        ("使用 weather 技能会怎么样", &["weather (question)"]),
        ("用 weather 技能看看奥斯陆天气怎么样", &["weather selected"]),
        ("什么时候使用 weather 技能", &["weather (question)"]),
        ("介绍一下使用 weather 技能的步骤", &["weather (question)"]),
        ("我们应该使用 weather 技能吗", &["weather (question)"]),
        (
            "When users use the weather skill it fails",
            &["weather (condition)"],
        ),
        (
            "They use the weather skill every day",
            &["weather (condition)"],
        ),
        ("I often use the weather skill", &["weather (condition)"]),
        (
            "Write docs about using the weather skill",
            &["weather (condition)"],
        ),
        ("如果使用 weather 技能就会失败", &["weather (condition)"]),
        (
            "He said \"use the weather skill\" to me",
            &["weather (quoted)"],
        ),
        (
            "The line `use the weather skill` is wrong",
            &["weather (quoted)"],
        ),
        (
            "say 'use the weather skill' and stop",
            &["weather (quoted)"],
        ),
        (
            "``use the weather skill`` is what he wrote",
            &["weather (quoted)"],
        ),
        (
            "(\u{201C}use the weather skill\u{201D})",
            &["weather (quoted)"],
        ),
        ("use \"the weather skill\"", &["weather (quoted)"]),
        ("「使用 weather 技能」是什么意思", &["weather (quoted)"]),
        ("Using the weather skill?", &["weather (question)"]),
        ("Using the weather skill is fun", &["weather (condition)"]),
        ("use pdf-tools?", &["pdf-tools (question)"]),
        (
            "tell me how and use the weather skill",
            &["weather (question)"],
        ),
        ("use pdf-tools is bad", &["pdf-tools (condition)"]),
        ("use the weather skill when ready", &["weather (condition)"]),
        (
            "use the weather skill, but only if asked",
            &["weather (condition)"],
        ),
        ("use the \"weather and more\" skill", &["weather (quoted)"]),
        ("('use the weather skill')", &["weather (quoted)"]),
        (
            "say 'don't use the weather skill' now",
            &["weather (quoted)"],
        ),
        (
            "John was using the weather skill, find the bug",
            &["weather (condition)"],
        ),
        ("a. use the weather skill", &["weather (condition)"]),
        ("你用 weather 技能吗", &["weather (question)"]),
        ("use the weather skill later", &["weather (condition)"]),
        ("later use the weather skill", &["weather (condition)"]),
        ("用 weather 技能了吗", &["weather (question)"]),
        ("用 weather 技能吗？", &["weather (question)"]),
        ("为什么用 weather 技能", &["weather (question)"]),
        ("使用者 weather 技能", &["weather (condition)"]),
        ("作用 weather 技能", &[]),
        ("费用 weather 技能", &[]),
        ("他说「使用 weather 技能」", &["weather (quoted)"]),
    ]);
}

/// Sentences that a reviewer wrote to be misunderstood: none of them asks for a skill now.
#[test]
fn sentences_that_only_resemble_requests_do_not_select() {
    let (_tree, index) = index();
    let texts = [
        "Use python, not the weather skill",
        "Use your own knowledge rather than the weather skill",
        "Use anything but the weather skill",
        "Use rm to remove the weather skill",
        "Use my API key for the weather skill",
        "Use plain text, the weather skill is broken",
        "Use it, never mind the weather skill",
        "Don't, under any circumstances, use the weather skill",
        "Do not, please, use the weather skill",
        "Never \u{2014} and I mean never \u{2014} use the weather skill",
        "Do not read, write, or use the weather skill",
        "Please don't\nuse the weather skill",
        "Do not:\n- use the weather skill\n- use the pdf skill",
        "don\u{2BC}t use the weather skill",
        "do not\u{200B} use the weather skill",
        "Refrain from using the weather skill",
        "Nobody should use the weather skill",
        "Alice will use the weather skill",
        "John wants to use the weather skill",
        "The docs say to use the weather skill",
        "I forgot to use the weather skill",
        "Write a function to call the weather skill",
        "Allow users to run the weather skill",
        "I have a problem with the weather skill",
        "Compare pdf-tools with the weather skill",
        "With the weather skill disabled, it works",
        "Use the weather skill if it rains",
        "Unless I say otherwise, use the weather skill",
        "Next time, use the weather skill",
        "Replace \"foo\" with \"use the weather skill\"",
        "Use the sentence \"I do not need the weather skill\"",
        "Here is what he wrote: \"Hi! Use the weather skill\"",
        "\u{2018}use the weather skill\u{2019}",
        "(use the weather skill)",
        "Bob: use the weather skill",
        "run `pdf`",
        "Use the code-review branch",
        "npm run pdf-tools",
        "docker run pdf-tools:latest",
        "use pdf-tools>=1",
        "Use of the weather skill is discouraged",
        "Run the weather skill tests",
        "Use the weather skill's README as a template",
        "Can I use the weather skill?",
        "Would you recommend using the weather skill?",
        "I wonder whether to use the weather skill",
        "- ```\n  use the weather skill\n  ```",
        "// use the weather skill",
        "Forbidden for all agents\n- use the weather skill",
        "Don't follow these instructions\n- use the weather skill",
        "You are not allowed to do this, use the weather skill",
        "Please don't do the following, use the weather skill",
        "Use the weather skill, actually do not",
        "Use the weather skill (not)",
        "Use the weather skill - just kidding",
        "Do anything else but use the weather skill",
        "I can't help but use the weather skill",
        "Do away with the weather skill",
        "Explain how to install and use the weather skill",
        "Tell Bob to wait and use the weather skill",
        "Write instructions for users to install and run the weather skill",
        "If you can use the weather skill, then say yes",
        "Explain what to do with the weather skill",
        "Review the code matched with the weather skill",
        "List everyone using the weather skill",
        "Read the docs and explain using the weather skill",
        "With the weather skill search is slow",
        "Use the weather skill after I approve it",
        "Use the weather skill in the next session",
        "Use the weather skill\nonly if it rains",
        "As soon as I approve, use the weather skill",
        "Use the weather skill, he said.",
        "Bob suggested, use the weather skill",
        "For example, use the weather skill",
        "E.g. use the weather skill",
        "请你不要，使用 weather 技能",
        "以下事情不要做；使用 weather 技能",
        "用 weather 技能，不行",
        "使用 weather 技能禁止",
        "用 weather 技能——算了",
        "等我同意，再用 weather 技能",
        "下雨的话，用 weather 技能",
        "用 weather 技能，如果下雨",
        "以 weather 技能为例，写一篇文章",
        "打开 weather 技能源码",
        "使用 weather 技能教程",
        "用 weather 技能怎么样",
        "使用 weather 技能导致崩溃",
        "用 weather 技能，他说",
        "用 weather 代替 pdf 技能",
        "用python不要用 weather 技能",
        "用 rm 删除 weather 技能",
        "请禁用 weather 技能",
        "请停用 pdf-tools",
        "用户喜欢 weather 技能",
        "不会使用 weather 技能",
        "无法使用 weather 技能",
        "拒绝使用 weather 技能",
        "忘记使用 weather 技能了",
        "不要忘了不要使用 weather 技能",
        "他使用 weather 技能",
        "大家都用 weather 技能",
        "据说使用 weather 技能",
        "使用 weather 技能失败",
        "使用 weather 技能时要小心",
        "用“不要使用 weather 技能”作为标题",
        "可以使用 weather 技能吗？",
        "谁在使用 weather 技能",
    ];
    let selects = |text: &&&str| {
        !index
            .find(&[UserInput::Text(text)], &MentionOptions::default())
            .selected
            .is_empty()
    };
    assert_eq!(
        texts.iter().filter(selects).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
}

#[test]
fn common_words_files_and_code_are_not_requests() {
    check(&[
        ("use the pdf I sent", &["pdf (ordinary)"]),
        ("Open the pdf", &[]),
        ("use code review to find it", &["code-review (ordinary)"]),
        ("call this the weather skill", &[]),
        ("call that the weather skill", &[]),
        ("use skill weather/x", &[]),
        ("use pdf-tools or not", &["pdf-tools (ordinary)"]),
        (
            "use the weather skill as an example",
            &["weather (ordinary)"],
        ),
        ("use skills weather pdf-tools", &["weather (ordinary)"]),
        ("使用最好的数据分析技能", &["数据分析 (ordinary)"]),
        ("用神奇的数据分析技能", &["数据分析 (ordinary)"]),
        ("用 python 而不是 weather 技能", &[]),
        ("按键 weather 技能", &[]),
        ("按钮 weather 技能", &[]),
        ("通过测试 weather 技能", &[]),
        ("通过了 weather 技能", &[]),
        ("使用了 weather 技能", &[]),
        ("以后 weather 技能", &[]),
        ("use the weather skills", &["weather (ordinary)"]),
        (
            "use your search and weather skills",
            &["weather (ordinary)"],
        ),
        ("use the shiny pdf-tools skill", &["pdf-tools (ordinary)"]),
        (
            "use the very good pdf-tools skill",
            &["pdf-tools (ordinary)"],
        ),
        ("use pdf-tools, which is broken", &["pdf-tools (ordinary)"]),
        ("use pdf-tools:merge", &[]),
        ("use pdf-tools.md as a base", &[]),
        ("use pdf-tools/SKILL.md", &[]),
        ("use ./pdf-tools", &[]),
        ("run pdf-tools(x)", &[]),
        ("with pdf-tools it works", &[]),
        ("```\nuse the weather skill\n```\nok", &[]),
        ("> use the weather skill\nno", &[]),
        ("echo $PATH; use $5", &[]),
        ("the pdf-tools skill is great", &[]),
        ("users of the weather skill", &[]),
        ("用户的 pdf 文件", &[]),
        ("Use the right skill for this. Use another skill.", &[]),
    ]);
}

#[test]
fn confusable_and_misspelled_names_are_never_selected() {
    check(&[
        ("use the \u{440}df-tools skill", &["pdf-tools (look-alike)"]),
        (
            "use the pdf\u{200B}-tools skill",
            &["pdf-tools (look-alike)"],
        ),
        ("use the pdf-too1s skill", &["pdf-tools (look-alike)"]),
        ("use the pfd-tools skill", &["pfd-tools unknown"]),
        ("用 pfd-tools 技能", &["pfd-tools unknown"]),
        ("use the wether skill", &["wether unknown"]),
        ("don't use the wether skill", &[]),
    ]);
}

#[test]
fn ambiguous_inactive_and_command_mentions_are_resolved() {
    check(&[
        ("use the twin set skill", &["twin set ambiguous"]),
        ("use the gone-skill skill", &["gone-skill disabled"]),
        ("use twin-set", &["twin-set ambiguous"]),
        ("do not use twin-set", &[]),
        ("use gone-skill", &["gone-skill disabled"]),
        ("do not use the gone-skill skill", &[]),
        ("/weather in Oslo", &["weather selected"]),
        ("/pdf-tools: merge", &["pdf-tools selected"]),
        ("Paths:\n/weather\n/pdf-tools", &[]),
        ("@weather\nfn f() {}", &[]),
        ("ask @weather about it", &["weather selected"]),
        ("me@weather.com /etc/weather and a/weather", &[]),
    ]);
}

#[test]
fn two_names_that_look_alike_are_ambiguous() {
    let tree = SkillTree::new();
    tree.skill("repo/real", "pdf-tools")
        .skill("user/false", "\u{440}df-tools");
    let index = MentionIndex::new(tree.catalog());
    let mentions = index.find(
        &[UserInput::Text("use the pdf-tools skill")],
        &MentionOptions::default(),
    );
    assert_eq!(
        (mentions.selected.len(), mentions.all[0].resolution.code()),
        (0, "ambiguous")
    );
    // An exact name with a sigil is unambiguous.
    assert_eq!(
        index
            .find(&[UserInput::Text("$pdf-tools")], &MentionOptions::default())
            .selected
            .len(),
        1
    );
}

#[test]
fn confidence_depends_on_the_phrase() {
    let (_tree, index) = index();
    let confidence = |text: &str| {
        let mentions = index.find(&[UserInput::Text(text)], &MentionOptions::default());
        (mentions.all[0].kind, mentions.all[0].confidence)
    };
    assert_eq!(
        confidence("use the weather skill"),
        (MentionKind::Phrase, Confidence::High)
    );
    assert_eq!(
        confidence("use pdf-tools"),
        (MentionKind::Phrase, Confidence::Medium)
    );
    assert_eq!(
        confidence("use the pdf"),
        (MentionKind::Phrase, Confidence::Low)
    );
    assert_eq!(
        confidence("/weather"),
        (MentionKind::Command, Confidence::High)
    );
    let find = |options: &MentionOptions, text: &str| {
        index.find(&[UserInput::Text(text)], options).selected.len()
    };
    let high = MentionOptions::default().phrases(Some(Confidence::High));
    let disabled = MentionOptions::codex();
    assert_eq!(
        (
            find(&high, "use pdf-tools"),
            find(&high, "use the pdf-tools skill"),
            find(&disabled, "use the pdf-tools skill")
        ),
        (0, 1, 0)
    );
}

#[test]
fn a_sigil_inside_a_phrase_is_one_mention() {
    let (_tree, index) = index();
    let mentions = index.find(
        &[UserInput::Text("use the $weather skill")],
        &MentionOptions::default(),
    );
    assert_eq!((mentions.all.len(), mentions.selected.len()), (1, 1));
    let mentions = index.find(
        &[UserInput::Text("[$x](use the weather skill), please")],
        &MentionOptions::default(),
    );
    assert_eq!(
        (mentions.all.len(), mentions.selected.len()),
        (1, 0),
        "the text in parentheses is a path"
    );
}

/// Every mention has a range of the text that contains its name, and a negated sentence never
/// selects.
#[test]
fn mentions_have_ranges_and_negations_never_select() {
    let (_tree, index) = index();
    let part = "(use|the|pdf-tools|skill|,|。|用|技能|不要|「|\"|`| |\n|/|@|数据分析|\u{200B}|-|_|:|\\$|é){0,40}";
    proptest!(|(text in part)| {
        for options in [MentionOptions::default(), MentionOptions::codex().unicode_names()] {
            let mentions = index.find(&[UserInput::Text(&text)], &options);
            let mut end = 0;
            for mention in &mentions.all {
                prop_assert!(mention.span.start >= end, "mentions overlap: {:?}", mentions.all);
                end = mention.span.end;
                let matched = text.get(mention.span.clone());
                prop_assert!(matched.is_some_and(|matched| matched.contains(&mention.name)), "{:?}", mention);
            }
        }
        // Only a new clause can end the scope of a negation.
        let negated = format!("don't ever use {text}");
        let sentence = negated.split(['\n', '。', ',', '/']).next().unwrap().to_owned();
        let mentions = index.find(&[UserInput::Text(&sentence)], &MentionOptions::default());
        let selecting_phrases = mentions.all.iter().filter(|mention| mention.kind == MentionKind::Phrase && mention.resolution.selected().is_some());
        prop_assert_eq!(selecting_phrases.count(), 0, "{}", sentence);
    });
}
