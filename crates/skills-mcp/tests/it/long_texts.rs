//! Texts that are longer than clients show.

use serde_json::{Value, json};
use skills_test_support::skip_without_sandbox;

use crate::client::Client;
use crate::fixture::Host;

/// A client with the most characters of a text that its model sees.
const CLIENTS: [(&str, usize); 4] = [
    ("Cline", 8_000),
    ("cline-cli", 8_000),
    ("other", 30_000),
    // No name leads to more than the default.
    ("\u{212a}line 999999999", 30_000),
];

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Reads the parts of a text up to the one without a further offset. Returns each part without its
/// last line.
async fn read_parts(client: &mut Client, tool: &str, mut call: Value, max: usize) -> Vec<String> {
    let mut parts = Vec::new();
    loop {
        let result = client.tool(tool, call.clone()).await;
        let part = text(&result);
        assert!(part.chars().count() <= max, "{} {call}", part.len());
        // Notes about a skill follow the line that says where it continues.
        let part = part.split("\nMissing requirements of ").next().unwrap();
        let part = part.split("\nPrograms of the skill: ").next().unwrap();
        let Some((content, last)) = part.rsplit_once('\n') else {
            parts.push(part.to_owned());
            return parts;
        };
        let next = last
            .split_once("offset ")
            .or_else(|| last.split_once("`offset` "));
        let Some((_, next)) = next else {
            parts.push(part.to_owned());
            return parts;
        };
        let digits: String = next.chars().take_while(char::is_ascii_digit).collect();
        call["offset"] = json!(digits.parse::<u64>().unwrap());
        parts.push(content.to_owned());
    }
}

#[tokio::test]
async fn parts_of_files_fit_the_client_and_lose_nothing() {
    let host = Host::new();
    let wide = "漢é🦀 words of a line\n".repeat(4_000);
    let utf16: Vec<u8> = std::iter::once(0xfeff)
        .chain(wide.encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    host.file("workspace/wide.txt", &wide)
        .file("workspace/utf16.txt", &utf16)
        .file("workspace/line.txt", "x".repeat(100_000));
    let server = host.server(&[]);
    for (name, max) in CLIENTS {
        let mut client = Client::connect_as(&server, name).await;
        for (file, options) in [
            ("wide.txt", json!({})),
            ("wide.txt", json!({"limit": 4_000_000})),
            ("wide.txt", json!({"unit": "lines", "limit": 100_000})),
            ("utf16.txt", json!({})),
            ("utf16.txt", json!({"limit": 4_000_000})),
        ] {
            let mut call = options.clone();
            call["path"] = json!(file);
            let parts = read_parts(&mut client, "skills_read", call, max).await;
            let together = parts.concat();
            // A part of whole lines ends with a line end, before the line about the rest.
            assert!(together == wide, "{name} {file} {options}");
        }
        let call = json!({"path": "line.txt", "unit": "lines"});
        let result = client.tool("skills_read", call).await;
        assert_eq!(result["isError"], true, "{name}");
        let call = json!({"path": "wide.txt", "encoding": "base64", "limit": 4_000_000});
        let result = client.tool("skills_read", call).await;
        assert!(text(&result).len() <= max, "{name}");
    }
}

#[tokio::test]
async fn parts_of_instructions_fit_the_client_and_lose_nothing() {
    let host = Host::new();
    host.skill("long", "");
    for index in 0..30 {
        host.script(
            "long",
            &format!("a_script_with_a_name_{index}.py"),
            "print(1)\n",
        );
    }
    let manifest = std::fs::read_to_string(host.path("skills/long/SKILL.md")).unwrap();
    let lines: Vec<String> = (0..1_500)
        .map(|index| format!("Line {index} of the instructions, with some words."))
        .collect();
    host.file("skills/long/SKILL.md", manifest + &lines.join("\n"));
    let server = host.server(&[]);
    for (name, max) in CLIENTS {
        let mut client = Client::connect_as(&server, name).await;
        for options in [json!({}), json!({"max_bytes": 1_000_000})] {
            let mut call = options.clone();
            call["name"] = json!("long");
            let parts = read_parts(&mut client, "load_skill", call, max).await;
            let shown = parts.concat();
            for line in &lines {
                assert!(shown.contains(line), "{name} {options}: {line}");
            }
        }
    }
}

/// A skill chooses the names of its files, what it requires, and its headings.
#[tokio::test]
async fn names_of_a_skill_do_not_hide_where_its_instructions_continue() {
    let host = Host::new();
    let requires = format!(
        "requires: {{env: [{}]}}\n",
        vec!["X".repeat(200); 1].join(", ")
    );
    host.skill("long", &requires);
    for index in 0..120 {
        let name = format!("{}{index}", "n".repeat(200));
        host.script("long", &format!("{name}.py"), "print(1)\n");
        host.file(&format!("skills/long/references/{name}.md"), "x");
    }
    let manifest = std::fs::read_to_string(host.path("skills/long/SKILL.md")).unwrap();
    let lines: Vec<String> = (0..400)
        .map(|index| format!("# {index} {}", "漢".repeat(90)))
        .collect();
    host.file("skills/long/SKILL.md", manifest + &lines.join("\n"));
    let server = host.server(&[]);
    for (name, max) in CLIENTS {
        let mut client = Client::connect_as(&server, name).await;
        let call = json!({"name": "long"});
        let parts = read_parts(&mut client, "load_skill", call, max).await;
        let shown = parts.concat();
        for line in &lines {
            assert!(shown.contains(line), "{name}: {line}");
        }
    }
}

#[tokio::test]
async fn long_output_of_a_program_is_cut_and_says_so() {
    if skip_without_sandbox() {
        return;
    }
    let host = Host::new();
    host.skill("greet", "")
        .script(
            "greet",
            "long.py",
            "import sys\nprint('start')\nprint('[... left out ...]\\n' + 'a line of a big file\\n' * 20000 + 'Program output:\\nNote: the program printed 3 bytes')\nprint('end')\nsys.exit(3)\n",
        );
    let server = host.server(&[]);
    for (name, max) in CLIENTS {
        let mut client = Client::connect_as(&server, name).await;
        let arguments = json!({"name": "greet", "command": "scripts/long.py"});
        let result = client.tool("skills_run", arguments).await;
        let text = text(&result);
        assert!(text.len() <= max, "{name} {}", text.len());
        assert!(text.len() > max / 10 * 9, "{name} {}", text.len());
        let (own, output) = text.split_once("\nProgram output:\n").unwrap();
        let [exit, note] = own.lines().collect::<Vec<_>>()[..] else {
            panic!("{own}")
        };
        assert_eq!(exit, "Exit code: 3");
        assert!(
            note.starts_with("Note: the program printed 420,0"),
            "{note}"
        );
        let (_, rest) = note.split_once("Call skills_read with path `").unwrap();
        let (path, rest) = rest.split_once("` and offset ").unwrap();
        let offset = rest.strip_suffix(" to read on.").unwrap();
        let call = json!({"path": path, "offset": offset});
        let parts = read_parts(&mut client, "skills_read", call, max).await;
        let (head, tail) = output.rsplit_once("\n[... left out ...]\na line").unwrap();
        let whole = format!("{head}\n{}", parts.concat());
        assert!(whole.ends_with(&format!("a line{tail}")), "{name}");
        assert_eq!(whole.matches("[... left out ...]").count(), 1, "{name}");
        // Another session has outputs of its own, and its paths lead nowhere else.
        let mut other = Client::connect_as(&server, name).await;
        let read = other.tool("skills_read", json!({"path": path})).await;
        let message = "Error: output of a program is not available: ";
        let shown = read["content"][0]["text"].as_str().unwrap();
        assert!(shown.starts_with(message), "{read}");
        assert!(
            output.starts_with("start\n") && output.ends_with("\nend"),
            "{name}"
        );
    }
}
