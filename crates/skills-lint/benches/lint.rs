//! How long the search of one skill takes.

use skills_lint::{Linter, SkillText};

fn main() {
    divan::main();
}

const BODY: &str = "## Usage\n\nRun the script with the file, then read the output and tell the user:\n\n```bash\npython3 scripts/convert.py input.pdf --output out.md\ncurl -s https://api.example.com/v1/items | jq .\n```\n\n- Never overwrite a file without asking the user.\n- Keys are in `.env`, see [the reference](references/setup.md).\n\n";

/// A skill of the average size of public ones, 20 kB.
#[divan::bench]
fn average_skill(bencher: divan::Bencher<'_, '_>) {
    let text = format!(
        "---\nname: convert\ndescription: Converts files.\n---\n{}",
        BODY.repeat(55)
    );
    let linter = Linter::new();
    bencher.bench(|| linter.lint(&SkillText::new("convert").file("SKILL.md", &text)));
}

/// The compilation of all rules.
#[divan::bench]
fn compile_rules() -> Linter {
    Linter::new()
}
