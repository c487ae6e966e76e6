use std::sync::Arc;

use insta::assert_snapshot;
use skills_runtime::discovery::Selector;
use skills_runtime::prompt::{
    Activation, ActiveSkills, ListingMode, ListingModes, MentionIndex, MentionOptions, UserInput,
};
use skills_runtime::{
    Budget, ErrorKind, InjectionFormat, LibraryErrorKind, Root, Scope, SkillRuntime,
};

use crate::fixture::Fixture;

#[test]
fn descriptors_contain_only_metadata() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "user-invocable: false\n")
        .skill("docx", "disable-model-invocation: true\n")
        .file("broken/SKILL.md", "x");
    let runtime = fixture.builder().build();
    let skills = runtime.discover_skills();
    let lines: Vec<String> = skills
        .iter()
        .map(|s| {
            format!(
                "{} {:?} {} {} {}",
                s.id, s.description, s.location, s.user_invocable, s.model_invocable
            )
        })
        .collect();
    assert_snapshot!(lines.join("\n"), @r#"
    docx "About docx." repo true false
    pdf "About pdf." repo false true
    "#);
    assert_eq!(
        runtime.library().catalog().skipped().len(),
        1,
        "the broken one is reported"
    );
}

#[test]
fn the_catalog_is_unchanged_until_the_next_scan() {
    let fixture = Fixture::new();
    fixture.skill("one", "");
    let runtime = fixture.builder().build();
    assert_eq!(runtime.library().catalog().entries().len(), 1);
    fixture.skill("two", "");
    assert_eq!(runtime.clone().library().catalog().entries().len(), 1);
    assert_eq!(runtime.discover_skills().len(), 2);
    assert_eq!(
        runtime.clone().library().catalog().entries().len(),
        2,
        "clones share the catalog"
    );
}

#[test]
fn a_skill_is_loaded_with_its_instructions_and_list_of_files() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .file("pdf/references/forms.md", "forms")
        .file("pdf/scripts/run.py", "");
    let skill = fixture.builder().build().get_skill("pdf").unwrap();
    assert_eq!(
        (skill.id.as_str(), skill.instructions.as_str()),
        ("pdf", "# pdf\n")
    );
    let files: Vec<&str> = skill
        .resources
        .resources
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(files, ["references/forms.md", "scripts/run.py"]);
}

#[test]
fn unknown_and_ambiguous_names_have_suggestions() {
    let fixture = Fixture::new();
    fixture
        .skill("pdf", "")
        .file("other/SKILL.md", "---\nname: twice\ndescription: a\n---\n");
    fixture.file(
        "another/SKILL.md",
        "---\nname: twice\ndescription: b\n---\n",
    );
    let runtime = fixture.builder().build();
    let unknown = runtime.get_skill("pfd").unwrap_err();
    assert_eq!(
        (unknown.kind(), unknown.suggestions()),
        (ErrorKind::UnknownSkill, ["pdf".to_owned()].as_slice())
    );
    assert_snapshot!(unknown, @r#"skill `pfd` not found"#);
    let ambiguous = runtime.get_skill("twice").unwrap_err();
    assert_snapshot!(ambiguous, @r#"skill name `twice` is ambiguous; pass the directory of the skill"#);
    let directory = fixture.path("other").display().to_string();
    assert_eq!(
        runtime
            .get_skill(&directory)
            .unwrap()
            .manifest
            .description(),
        "a"
    );
    let empty = SkillRuntime::builder()
        .root(Root::new("/nowhere", Scope::User))
        .build();
    assert!(empty.discover_skills().is_empty());
}

#[test]
fn prompts_list_skills_and_fence_their_text() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "");
    let runtime = fixture.builder().build();
    assert!(
        runtime
            .prompt()
            .section(Budget::Characters(8_000))
            .text()
            .contains("- pdf: About pdf. (file: ")
    );
    let inject = |name| {
        let prompt = runtime.prompt();
        prompt.inject(name, InjectionFormat::Fenced, None)
    };
    let (first, second) = (inject("pdf").unwrap().text, inject("pdf").unwrap().text);
    assert!(first.starts_with("<skill-") && first.contains("\n# pdf\n"));
    assert_ne!(first, second, "each injection has its own nonce");
}

#[test]
fn a_skill_is_injected_once_per_conversation() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "");
    let runtime = fixture.builder().build();
    let mut active = ActiveSkills::default();
    let mut ask = || runtime.prompt().activate("pdf", None, &mut active).unwrap();
    let first = ask();
    assert!(first.activation == Activation::New && first.injected.text.contains("\n# pdf\n"));
    let second = ask();
    assert!(
        second.activation == Activation::AlreadyActive
            && second.injected.text.starts_with("The skill pdf (")
    );
    fixture.file("pdf/references/new.md", "more");
    let third = ask();
    assert!(
        third.activation == Activation::Changed
            && third.injected.text.contains("references/new.md")
    );
    assert_eq!(
        runtime
            .prompt()
            .activate("absent", None, &mut active)
            .unwrap_err()
            .kind(),
        LibraryErrorKind::UnknownSkill
    );
    assert_eq!(active.skills().len(), 1);
}

#[test]
fn a_model_cannot_activate_a_skill_that_is_not_model_invocable() {
    let fixture = Fixture::new();
    fixture
        .skill("manual", "disable-model-invocation: true\n")
        .skill("off", "")
        .file("off/scripts/a.py", "");
    let modes =
        ListingModes::default().with_rule(Selector::Name("off".to_owned()), ListingMode::Off);
    let runtime = fixture.builder().modes(modes).build();
    for name in ["manual", "off"] {
        let error = runtime
            .prompt()
            .activate(name, None, &mut ActiveSkills::default())
            .unwrap_err();
        assert_eq!(error.kind(), LibraryErrorKind::NotModelInvocable);
    }
    assert_eq!(runtime.prompt().script_strategy("run"), "");
    assert!(
        runtime
            .prompt()
            .inject("manual", InjectionFormat::Codex, None)
            .is_ok(),
        "users may"
    );
}

#[test]
fn a_skill_without_a_digest_is_injected_each_time() {
    let fixture = Fixture::new();
    fixture
        .skill("deep", "")
        .file(&format!("deep/{}file", "d/".repeat(40)), "");
    let runtime = fixture.builder().build();
    let mut active = ActiveSkills::default();
    for _ in 0..2 {
        let activated = runtime
            .prompt()
            .activate("deep", None, &mut active)
            .unwrap();
        assert!(
            activated.activation == Activation::New
                && activated.injected.text.contains("\n# deep\n")
        );
    }
}

#[test]
fn the_codex_format_injects_the_whole_file() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "");
    let runtime = fixture.builder().build();
    let text = runtime
        .prompt()
        .inject("pdf", InjectionFormat::Codex, None)
        .unwrap()
        .text;
    assert!(
        text.starts_with("<skill>\n<name>pdf</name>\n<path>")
            && text.contains("\n---\nname: pdf\n")
            && text.ends_with("\n</skill>")
    );
    assert!(
        runtime
            .prompt()
            .inject("pdf", InjectionFormat::Codex, Some(10))
            .unwrap()
            .omitted
            .is_some()
    );
}

#[test]
fn indexes_are_built_once_per_catalog_and_apply_modes() {
    let fixture = Fixture::new();
    fixture.skill("pdf", "").skill("docx", "");
    let modes =
        ListingModes::default().with_rule(Selector::Name("docx".to_owned()), ListingMode::Off);
    let runtime = fixture.builder().modes(modes).build();
    let (first, second) = (
        runtime.prompt().mention_index(),
        runtime.clone().prompt().mention_index(),
    );
    assert!(
        Arc::ptr_eq(&first, &second)
            && Arc::ptr_eq(
                &runtime.prompt().implicit_index(),
                &runtime.prompt().implicit_index()
            )
    );
    let names = |index: &MentionIndex| {
        let mentions = index.find(
            &[UserInput::Text("$pdf $docx $new")],
            &MentionOptions::default(),
        );
        mentions
            .selected
            .iter()
            .map(|entry| entry.name().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&first), ["pdf"]);
    assert!(
        !runtime
            .prompt()
            .section(Budget::Characters(8_000))
            .text()
            .contains("docx")
    );
    fixture.skill("new", "");
    runtime.discover_skills();
    assert_eq!(names(&runtime.prompt().mention_index()), ["new", "pdf"]);
}

/// A program that can write to a project or to the home directory cannot change the skills in any
/// root of a client.
#[test]
fn every_root_of_a_client_is_protected() {
    use skills_runtime::discovery::{ClientProfile, ProfileContext};
    use skills_runtime::policy::innermost_protected_name;
    let mut surroundings = ProfileContext::default();
    surroundings.project_directories = vec!["/project".into(), "/project/sub".into()];
    surroundings.home = Some("/home/user".into());
    let roots = ClientProfile::ALL
        .into_iter()
        .flat_map(|profile| profile.roots(&surroundings));
    let mut counts = [0, 0];
    for root in roots {
        let tops = ["/project", "/home/user"];
        let Some(index) = tops.iter().position(|top| root.path().starts_with(top)) else {
            continue;
        };
        let top = tops[index];
        counts[index] += 1;
        // A root without a hidden directory in its path is protected as a root of the runtime.
        let is_plain =
            root.path().ends_with("skills") && !root.path().to_string_lossy().contains("/.");
        assert!(
            is_plain || innermost_protected_name(root.path(), top.as_ref()).is_some(),
            "{}",
            root.path().display()
        );
    }
    assert!(counts[0] > 30 && counts[1] > 30, "{counts:?}");
}
