//! Skills that a user invokes, and the guide.

use skills_runtime::SkillRuntime;
use skills_runtime::discovery::Selector;
use skills_runtime::prompt::{ListingMode, ListingModes};
use skills_tools::{ToolErrorCode, ToolGroup, ToolSet};

use crate::fixture::Host;

#[test]
fn user_invocable_skills_are_prompts() {
    let host = Host::new();
    host.skill("plain", "").skill(
        "manual",
        "disable-model-invocation: true\nargument-hint: \"[file] [line]\"\n",
    );
    host.skill("hidden", "user-invocable: false\n")
        .skill("off", "")
        .skill("tax_calculator", "");
    host.file(
        "skills/one/SKILL.md",
        "---\nname: twin\ndescription: d\n---\n",
    )
    .file(
        "skills/two/SKILL.md",
        "---\nname: twin\ndescription: d\n---\n",
    );
    host.file(
        "drafts/draft/SKILL.md",
        "---\nname: draft\ndescription: d\n---\n",
    );
    let modes =
        ListingModes::default().with_rule(Selector::Name("off".to_owned()), ListingMode::Off);
    let set = host.builder(host.runtime().modes(modes)).build().unwrap();
    let listed: Vec<_> = set
        .prompts()
        .into_iter()
        .map(|prompt| (prompt.name, prompt.argument_hint))
        .collect();
    let hint = Some("[file] [line]".to_owned());
    assert_eq!(
        listed,
        [
            ("manual".to_owned(), hint),
            ("plain".to_owned(), None),
            ("tax_calculator".to_owned(), None)
        ]
    );
    for name in ["hidden", "off", "twin", "draft", "none", "../plain"] {
        assert_eq!(
            set.prompt(name, "").unwrap_err().code,
            ToolErrorCode::SkillNotFound,
            "{name}"
        );
    }
}

#[test]
fn a_prompt_has_the_text_and_the_request() {
    let host = Host::new();
    let body = format!(
        "# Manual\nDo $ARGUMENTS in {}.\n",
        host.path("skills/manual/x").display()
    );
    host.file(
        "skills/manual/SKILL.md",
        format!("---\nname: manual\ndescription: Does \u{202e}it.\ndisable-model-invocation: true\n---\n{body}"),
    );
    let set = host.builder(host.runtime()).build().unwrap();
    let prompted = set.prompt("manual", "  a.txt \"b c\" ").unwrap();
    assert!(
        prompted.text.contains("Do $ARGUMENTS in /skills/manual/x.")
            && prompted
                .text
                .contains("<directory>/skills/manual</directory>"),
        "{}",
        prompted.text
    );
    assert!(!prompted.text.contains(&*host.path("").to_string_lossy()));
    assert_eq!(prompted.request, "Use the skill manual: a.txt \"b c\"");
    assert_eq!(
        (prompted.description.as_str(), prompted.is_truncated),
        ("Does it.", false)
    );
    assert_eq!(
        set.prompt("manual", " ").unwrap().request,
        "Use the skill manual."
    );
    host.file(
        "skills/manual/SKILL.md",
        format!(
            "---\nname: manual\ndescription: d\n---\n{}",
            "line\n".repeat(40_000)
        ),
    );
    assert!(set.prompt("manual", "").unwrap().is_truncated);
}

#[test]
fn the_guide_names_the_enabled_tools() {
    let guide = |groups: &[ToolGroup]| {
        let builder = ToolSet::builder(SkillRuntime::builder().build());
        builder
            .tool_groups(groups.iter().copied())
            .build()
            .unwrap()
            .guide()
    };
    let all = guide(&[
        ToolGroup::Workspace,
        ToolGroup::ScriptExecutor,
        ToolGroup::Catalog,
        ToolGroup::ScriptTools,
    ]);
    assert!(all.len() < 2_500, "{}", all.len());
    insta::assert_snapshot!("guide", all);
    let catalog_guide = guide(&[ToolGroup::Catalog]);
    assert!(
        catalog_guide.contains("`load_skill`")
            && !catalog_guide.contains("skills_")
            && !catalog_guide.contains("skill__"),
        "{catalog_guide}"
    );
}
