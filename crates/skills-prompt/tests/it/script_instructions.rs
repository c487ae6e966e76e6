use insta::assert_snapshot;
use skills_prompt::{SkillScripts, script_tool_instructions};

#[test]
fn skills_without_scripts_give_no_section() {
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
fn scripts_are_listed() {
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
fn skills_beyond_the_maximum_are_counted() {
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
