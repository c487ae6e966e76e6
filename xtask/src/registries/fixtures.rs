//! The skills and files of the cases.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// The home directory, below that of a user.
pub(super) const HOME_DIR: &str = "home";
/// The workspace, below that of a user.
pub(super) const WORKSPACE_DIR: &str = "workspace";
/// The text in the PDF file.
pub(super) const PDF_TEXT: &str = "Hello registries";

const CONVERT: &str = "import sys\nfrom pypdf import PdfReader\nfor page in PdfReader(sys.argv[1]).pages:\n    print(page.extract_text())\n";
const PAD: &str = "console.log(require('left-pad')(process.argv[2], 3, '0'));\n";
const PYPROJECT: &str = "[project]\nname = 'scripts'\nversion = '0'\ndependencies = ['pypdf>=4']\n";
const PACKAGE: &str = r#"{"dependencies": {"left-pad": "^1.3.0"}}"#;

/// Writes the skills, an empty home directory, and a workspace with `in.pdf`.
pub(super) fn write(directory: &Path) -> Result<()> {
    write_skill(
        directory,
        "pdf",
        "",
        &[("convert.py", CONVERT), ("pyproject.toml", PYPROJECT)],
    )?;
    write_skill(
        directory,
        "pad",
        "",
        &[("pad.js", PAD), ("package.json", PACKAGE)],
    )?;
    let both = [
        ("convert.py", CONVERT),
        ("pyproject.toml", PYPROJECT),
        ("pad.js", PAD),
        ("package.json", PACKAGE),
    ];
    write_skill(directory, "both", "", &both)?;
    let noted = "First run `pip install \"pypdf>=4\"`.\n";
    write_skill(directory, "noted", noted, &[("convert.py", CONVERT)])?;
    fs::create_dir_all(directory.join(HOME_DIR))?;
    let workspace = directory.join(WORKSPACE_DIR);
    fs::create_dir_all(&workspace)?;
    fs::write(workspace.join("in.pdf"), pdf(PDF_TEXT))?;
    Ok(())
}

fn write_skill(directory: &Path, name: &str, body: &str, scripts: &[(&str, &str)]) -> Result<()> {
    let skill = directory.join("skills").join(name);
    fs::create_dir_all(skill.join("scripts"))?;
    let front = format!("---\nname: {name}\ndescription: Converts files of a test.\n---\n{body}");
    fs::write(skill.join("SKILL.md"), front)?;
    for (file, text) in scripts {
        fs::write(skill.join("scripts").join(file), text)?;
    }
    Ok(())
}

/// Returns a PDF file with one page, on which a line of text is.
fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 72 720 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
         /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!(
            "<< /Length {} >>\nstream\n{content}\nendstream",
            content.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut table = "0000000000 65535 f \n".to_owned();
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let (count, start) = (objects.len() + 1, file.len());
    file.push_str(&format!(
        "xref\n0 {count}\n{table}trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    ));
    file.into_bytes()
}
