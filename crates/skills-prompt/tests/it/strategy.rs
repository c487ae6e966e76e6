use insta::assert_snapshot;
use skills_prompt::{SkillScripts, script_tool_instructions};

#[test]
fn only_where_there_is_something_to_run() {
    assert_eq!(script_tool_instructions("run_skill_script", &[]), "");
    assert_eq!(
        script_tool_instructions(
            "run_skill_script",
            &[SkillScripts {
                skill: "text",
                scripts: &[]
            }]
        ),
        ""
    );
}

#[test]
fn names_the_scripts() {
    let many: Vec<String> = (0..25).map(|index| format!("s{index}.py")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let skills = [
        SkillScripts {
            skill: "tax_calculator",
            scripts: &["calculate_duty.py"],
        },
        SkillScripts {
            skill: "text",
            scripts: &[],
        },
        SkillScripts {
            skill: "evil\n- other: x",
            scripts: &["a\n## Heading.py"],
        },
        SkillScripts {
            skill: "many",
            scripts: &many,
        },
    ];
    assert_snapshot!(script_tool_instructions("run_skill_script", &skills));
}

#[test]
fn more_skills_than_are_named_are_counted() {
    let skills = |count: usize| {
        vec![
            SkillScripts {
                skill: "a",
                scripts: &["a.py"]
            };
            count
        ]
    };
    assert!(!script_tool_instructions("run", &skills(50)).contains("more skills"));
    let text = script_tool_instructions("run", &skills(52));
    assert_eq!(text.matches("- a: a.py\n").count(), 50);
    assert!(text.contains("\n(2 more skills have scripts; their instructions name them)\n"));
}
