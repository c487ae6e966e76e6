//! Packages that the text of a skill names in commands such as `pip install pypdf`.
//!
//! ```text
//! text --fragments--> code lines, code spans, other lines --words--> commands --> packages
//! ```
//!
//! Such a command is advice for a person who sets up a machine, not a declaration: a user may accept
//! its packages, and nothing happens before. So what is not certain is left out: other indexes,
//! unknown options, sentences that contain a command.

mod fragments;

use std::collections::BTreeSet;

use self::fragments::{Fragment, Word, commands, fragments};
use crate::listed::{ListedPackage, Registry};

/// Maximum number of bytes of a text that are searched.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Maximum number of packages.
const MAX_PACKAGES: usize = 64;
/// The source of the packages, as problems name it.
const SOURCE: &str = "SKILL.md";

/// The words with which a command that installs packages begins.
const INSTALLERS: [(&[&str], Registry); 13] = [
    (&["pip", "install"], Registry::Pypi),
    (&["python", "-m", "pip", "install"], Registry::Pypi),
    (&["py", "-m", "pip", "install"], Registry::Pypi),
    (&["uv", "pip", "install"], Registry::Pypi),
    (&["uv", "add"], Registry::Pypi),
    (&["npm", "install"], Registry::Npm),
    (&["npm", "i"], Registry::Npm),
    (&["npm", "add"], Registry::Npm),
    (&["pnpm", "install"], Registry::Npm),
    (&["pnpm", "i"], Registry::Npm),
    (&["pnpm", "add"], Registry::Npm),
    (&["yarn", "add"], Registry::Npm),
    (&["bun", "add"], Registry::Npm),
];
/// Options without a value that do not change which packages are meant.
const FLAGS: [&str; 24] = [
    "-D",
    "-E",
    "-O",
    "-P",
    "-S",
    "-U",
    "-g",
    "-q",
    "--break-system-packages",
    "--dev",
    "--exact",
    "--global",
    "--no-audit",
    "--no-cache-dir",
    "--no-fund",
    "--pre",
    "--quiet",
    "--save",
    "--save-dev",
    "--save-exact",
    "--silent",
    "--system",
    "--upgrade",
    "--user",
];
/// Options with a value that do not change which packages are meant.
const OPTIONS: [&str; 8] = [
    "-c",
    "-r",
    "-e",
    "--constraint",
    "--editable",
    "--python",
    "--requirement",
    "--requirements",
];
/// Starts of options with which packages are not from the registry of the user.
const OTHER_REGISTRIES: [&str; 8] = [
    "-i",
    "-f",
    "--default-index",
    "--extra-index-url",
    "--find-links",
    "--index",
    "--no-index",
    "--registry",
];
/// Ends of names of files.
const FILE_ENDS: [&str; 7] = [".cfg", ".gz", ".json", ".tgz", ".toml", ".txt", ".whl"];
/// Words of a sentence. In a line that is not code they show that the words after a command are not
/// packages.
const SENTENCE_WORDS: [&str; 40] = [
    "a", "after", "again", "all", "also", "an", "and", "any", "are", "as", "at", "before", "but",
    "by", "can", "does", "first", "for", "from", "if", "in", "is", "it", "may", "not", "of", "on",
    "only", "or", "so", "that", "the", "then", "this", "to", "when", "which", "will", "with",
    "your",
];

/// Returns the packages that commands in a Markdown text install, without those from other places
/// than a registry; at most 64, in the order of the text, each name once.
///
/// Commands count as lines of code, code spans, and lines of their own.
///
/// ```
/// let text = "Install: `npm install -g docx`\n```bash\npip install -U \"pypdf>=4\"\n```\n";
/// let packages = skills_packages::mentioned_packages(text);
/// let packages: Vec<String> = packages.iter().map(ToString::to_string).collect();
/// assert_eq!(packages, ["npm:docx", "pypdf>=4"]);
/// ```
#[must_use]
pub fn mentioned_packages(text: &str) -> Vec<ListedPackage> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut names = BTreeSet::new();
    let mut packages = Vec::new();
    for fragment in fragments(text) {
        for command in commands(&fragment) {
            let found = packages_of_command(&command, &fragment);
            let new = found
                .into_iter()
                .filter(|package| names.insert(package.name()));
            packages.extend(new);
        }
        if packages.len() >= MAX_PACKAGES {
            break;
        }
    }
    packages.truncate(MAX_PACKAGES);
    packages
}

/// Returns the packages that one command installs.
fn packages_of_command(words: &[Word], fragment: &Fragment<'_>) -> Vec<ListedPackage> {
    let Some((registry, arguments)) = installer(words) else {
        return Vec::new();
    };
    let mut packages = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let text = word.text.as_str();
        if word.is_redirection() {
            break;
        }
        if text.starts_with('-') {
            match option(text) {
                OptionKind::Flag => {}
                OptionKind::WithValue => drop(arguments.next()),
                OptionKind::OtherRegistry => return Vec::new(),
                OptionKind::Unknown => break,
            }
            continue;
        }
        let (text, is_last) = match fragment {
            Fragment::Code(_) => (text, false),
            Fragment::Line(_) if text.starts_with('(') => break,
            Fragment::Line(_) => without_punctuation(text),
        };
        match package(registry, text) {
            Some(package) => packages.push(package),
            None if matches!(fragment, Fragment::Line(_)) => return Vec::new(),
            None => {}
        }
        if is_last {
            break;
        }
    }
    packages
}

/// Returns the registry of an installing command with its arguments; `None` for other commands.
fn installer(words: &[Word]) -> Option<(Registry, &[Word])> {
    INSTALLERS.iter().find_map(|(start, registry)| {
        let (first, arguments) = words.split_at_checked(start.len())?;
        let is_start = first
            .iter()
            .zip(*start)
            .all(|(word, expected)| program_name(&word.text) == *expected);
        is_start.then_some((*registry, arguments))
    })
}

/// Returns the name of a program without its version: `pip` for `pip3` and `pip3.12`.
fn program_name(word: &str) -> &str {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match bare {
        "pip" | "python" => bare,
        _ => word,
    }
}

enum OptionKind {
    Flag,
    WithValue,
    OtherRegistry,
    Unknown,
}

fn option(text: &str) -> OptionKind {
    let name = text.split('=').next().unwrap_or(text);
    let has_value = name.len() < text.len();
    if OTHER_REGISTRIES
        .iter()
        .any(|other| name == *other || name.starts_with(&format!("{other}-")))
    {
        OptionKind::OtherRegistry
    } else if FLAGS.contains(&name) || (has_value && OPTIONS.contains(&name)) {
        OptionKind::Flag
    } else if OPTIONS.contains(&name) {
        OptionKind::WithValue
    } else {
        OptionKind::Unknown
    }
}

/// Returns a word without the punctuation of a sentence, and whether that ends the list.
fn without_punctuation(word: &str) -> (&str, bool) {
    let bare = word.trim_end_matches(['.', ',', ';', ':', ')', '!']);
    (bare, !matches!(&word[bare.len()..], "" | ","))
}

/// Returns the package that an argument names; `None` for a file, a URL or a word of a sentence.
fn package(registry: Registry, text: &str) -> Option<ListedPackage> {
    let is_file = FILE_ENDS.iter().any(|end| text.ends_with(end));
    let is_word = SENTENCE_WORDS.contains(&text.to_lowercase().as_str());
    if is_file || is_word {
        return None;
    }
    ListedPackage::of_registry(registry, text, SOURCE).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let packages = mentioned_packages(text);
        let packages: Vec<String> = packages.iter().map(ToString::to_string).collect();
        assert_eq!(packages, expected, "{text}");
    }

    #[test]
    fn commands_of_public_skills_name_packages() {
        let code = |line: &str| format!("Text\n\n```bash\n{line}\n```\n");
        for (line, expected) in [
            (
                "pip install pillow imageio numpy",
                &["pillow", "imageio", "numpy"][..],
            ),
            (
                "# Requires: pip install pytesseract pdf2image",
                &["pytesseract", "pdf2image"],
            ),
            (
                "pip3 install --upgrade 'requests>=2.31,<3'",
                &["requests>=2.31,<3"],
            ),
            ("python3 -m pip install -q openpyxl", &["openpyxl"]),
            (
                "cd x && uv pip install --system pandas==2.2.0; ls",
                &["pandas==2.2.0"],
            ),
            ("uv add httpx[http2]", &["httpx[http2]"]),
            ("$ sudo pip install pypdf # PDF files", &["pypdf"]),
            ("!pip install \\\n  rich \\\n  typer", &["rich", "typer"]),
            (
                "npm i -D @mermaid-js/mermaid-cli@11 sharp",
                &["npm:@mermaid-js/mermaid-cli@11", "npm:sharp"],
            ),
            ("pip install pypdf>=4 > log.txt 2>&1", &["pypdf>=4"]),
            ("PIP_NO_INPUT=1 pip install pypdf || exit 1", &["pypdf"]),
            ("npm i 'left-pad '", &["npm:left-pad"]),
            ("pip install PyPDF pypdf py.pdf", &["PyPDF", "py.pdf"]),
        ] {
            check(&code(line), expected);
        }
        check(
            "- **docx**: `npm install -g docx` (new documents)",
            &["npm:docx"],
        );
        check(
            "- `pip install \"markitdown[pptx]\"` - text extraction",
            &["markitdown[pptx]"],
        );
        check("| a | ``pip install defusedxml`` |", &["defusedxml"]);
        check("    pip install PyYAML\n", &["PyYAML"]);
        check(
            "1. pip install lxml, python-pptx (once).\n",
            &["lxml", "python-pptx"],
        );
    }

    #[test]
    fn other_sources_options_and_sentences_name_nothing() {
        for line in [
            "pip install -r requirements.txt -e . ./local ../x /opt/x.whl x.whl",
            "pip install git+https://x.example/y https://x.example/z.tar.gz 'a @ https://x.example/a'",
            "pip install --index-url https://x.example/simple torch",
            "pip install --extra-index-url=https://x.example torch",
            "pip install -i https://x.example torch",
            "npm install --registry=https://x.example left-pad",
            "npm install user/repository ./x file:../x x@git+ssh://x.example",
            "pip install $PACKAGE ${A} `cat list` <package> pkg==$VERSION",
            "pip install --config-settings torch torch",
            "npm install",
            "npm ci left-pad",
            "pip download pypdf",
            "echo 'pip install pypdf'",
            "pip uninstall pypdf",
            "subprocess.run(['pip', 'install', 'pypdf'])",
            "# pip install fails when the network is off",
        ] {
            check(&format!("```\n{line}\n```\n"), &[]);
        }
        check("pip install is not needed here.", &[]);
        check("Run pip install pypdf to read files.", &[]);
        check("Use npm install for the rest", &[]);
        check("`pip` install pypdf", &[]);
    }

    #[test]
    fn the_number_of_packages_is_bounded() {
        let lines: String = (0..1_000)
            .map(|n| format!("pip install p{n} q{n}\n"))
            .collect();
        assert_eq!(mentioned_packages(&lines).len(), MAX_PACKAGES);
        for filler in ["x ", "`", "x\\\n", "```\n", "'"] {
            let text = format!("```\npip install {}", filler.repeat(400_000));
            assert!(mentioned_packages(&text).len() <= 1);
        }
    }

    proptest! {
        #[test]
        fn every_text_is_searched(text in "(pip |install |npm |i |uv |add |-r |`|```|\n|'|\"|\\\\|#|;|[a-z]{1,3}|\\PC){0,40}") {
            let packages = mentioned_packages(&text);
            prop_assert!(packages.len() <= MAX_PACKAGES);
            for package in packages {
                // What is offered can be accepted.
                let parsed = ListedPackage::parse(&package.to_string(), SOURCE);
                prop_assert_eq!(parsed, Ok(package));
            }
        }
    }
}
