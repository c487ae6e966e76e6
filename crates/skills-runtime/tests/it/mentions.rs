//! Tests of skill mentions in a conversation: Codex's conformance cases C1 to C4.

use skills_runtime::InjectionFormat;
use skills_runtime::prompt::{ActiveSkills, MentionOptions, Role, UserInput};

use crate::fixture::Fixture;

#[test]
fn a_selected_skill_is_injected_before_the_message_in_the_user_role() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").skill("docx", "");
    let runtime = fixture.builder().build();
    let path = runtime.get_skill("pdf").unwrap().directory.join("SKILL.md");
    let path = path.to_str().unwrap();
    let index = runtime.prompt().mention_index();
    let inputs = [
        UserInput::Text("Fill it, with $docx"),
        UserInput::Skill { name: "pdf", path },
    ];
    let mentions = index.find(&inputs, &MentionOptions::codex());
    let mut active = ActiveSkills::default();
    let injections = runtime.prompt().inject_selected(
        &mentions.selected,
        InjectionFormat::Codex,
        None,
        &mut active,
    );
    let texts: Vec<&str> = injections
        .injected
        .iter()
        .map(|injected| injected.text.as_str())
        .collect();
    assert!(
        texts[0].starts_with(&format!(
            "<skill>\n<name>pdf</name>\n<path>{path}</path>\n---\nname: pdf\n"
        )),
        "{}",
        texts[0]
    );
    assert!(texts[1].starts_with("<skill>\n<name>docx</name>\n"));
    assert!(
        injections
            .injected
            .iter()
            .all(|injected| injected.role == Role::User)
            && injections.warnings.is_empty()
    );
    // The next message injects its skills, unless they are already in the conversation.
    let next = index.find(&[UserInput::Text("now $docx")], &MentionOptions::codex());
    assert_eq!(
        runtime
            .prompt()
            .inject_selected(&next.selected, InjectionFormat::Codex, None, &mut active)
            .already_active,
        ["docx"]
    );
    assert_eq!(
        runtime
            .prompt()
            .inject_selected(
                &next.selected,
                InjectionFormat::Codex,
                None,
                &mut ActiveSkills::default()
            )
            .injected
            .len(),
        1
    );
}

#[test]
fn a_symlinked_skill_is_listed_with_its_own_path() {
    let fixture = Fixture::new();
    fixture.file(
        "real/pdf/SKILL.md",
        "---\nname: pdf\ndescription: d\n---\nBody\n",
    );
    let (link, target) = (fixture.path("link"), fixture.path("real"));
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let runtime = skills_runtime::SkillRuntime::builder()
        .root(skills_runtime::Root::new(
            &link,
            skills_runtime::Scope::User,
        ))
        .build();
    let advertised = link.join("pdf/SKILL.md");
    let index = runtime.prompt().mention_index();
    let mentions = index.find(
        &[UserInput::Skill {
            name: "pdf",
            path: advertised.to_str().unwrap(),
        }],
        &MentionOptions::codex(),
    );
    let mut active = ActiveSkills::default();
    let text = &runtime
        .prompt()
        .inject_selected(
            &mentions.selected,
            InjectionFormat::Codex,
            None,
            &mut active,
        )
        .injected[0]
        .text;
    assert!(
        text.contains(&format!(
            "<path>{}</path>",
            target.join("pdf/SKILL.md").display()
        )),
        "{text}"
    );
}

#[test]
fn an_unreadable_skill_is_a_warning_and_the_others_are_injected() {
    let fixture = Fixture::new();
    fixture.skill("gone", "").skill("pdf", "").file(
        "long/SKILL.md",
        format!(
            "---\nname: long\ndescription: d\n---\n{}",
            "line\n".repeat(30_000)
        ),
    );
    let runtime = fixture.builder().build();
    let index = runtime.prompt().mention_index();
    std::fs::remove_file(fixture.path("gone/SKILL.md")).unwrap();
    let mentions = index.find(
        &[UserInput::Text("$gone $pdf $long")],
        &MentionOptions::codex(),
    );
    let mut active = ActiveSkills::default();
    let injections = runtime.prompt().inject_selected(
        &mentions.selected,
        InjectionFormat::Codex,
        None,
        &mut active,
    );
    assert_eq!(injections.injected.len(), 2);
    assert!(
        injections.warnings[0].starts_with("Failed to load skill gone at "),
        "{:?}",
        injections.warnings
    );
    assert_eq!(
        injections.warnings[1],
        "Skill `long` exceeded the main prompt context limit and was truncated."
    );
}
