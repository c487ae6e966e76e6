//! Checks the scripts of a skill for what makes them fail where they run.

use std::fmt;
use std::path::Path;

use skills_discovery::SkillFiles;
use skills_sandbox::{ScriptType, Shebang};

use crate::program_search::{ProgramSearch, find_interpreter, has_program};
use crate::script_language::ScriptLanguage;
use crate::scripts::SkillPrograms;
use crate::unusable_scripts::{UnusableScript, unusable_scripts};

/// The maximum size of a script that is checked, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// The maximum number of scripts that are checked, of each kind of directory.
const MAX_SCRIPTS: usize = 200;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Something in a script that makes it fail, here or with other clients.
///
/// [`Display`](fmt::Display) writes path and reason as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The path relative to the skill directory.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub kind: ScriptProblemKind,
}

/// The kinds of problems of scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScriptProblemKind {
    /// All lines of a script, or its first line, end like those of Windows.
    WindowsLineEnds,
    /// Single lines of a shell script end like those of Windows. They are not repaired.
    MixedLineEnds,
    /// A byte order mark is before the first line.
    ByteOrderMark,
    /// The first line names this program, which runs another language than that of the extension.
    OtherLanguage(String),
    /// The first line names no program.
    InvalidFirstLine,
    /// A file without an extension is not executable, so that clients that start it fail.
    NotExecutable,
    /// This program, which runs the script, is not found on this host.
    MissingProgram(String),
    /// No run starts it.
    Unusable(UnusableScript),
}

impl ScriptProblemKind {
    /// Returns the stable code of the problem.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::WindowsLineEnds | Self::MixedLineEnds => "script-line-ends",
            Self::ByteOrderMark => "script-byte-order-mark",
            Self::OtherLanguage(_) | Self::InvalidFirstLine => "script-first-line",
            Self::NotExecutable => "script-mode",
            Self::MissingProgram(_) => "script-interpreter",
            Self::Unusable(_) => "script-unusable",
        }
    }
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ScriptProblemKind::Unusable(script) = &self.kind {
            return script.fmt(f);
        }
        write!(f, "`{}` ", self.path)?;
        match &self.kind {
            ScriptProblemKind::WindowsLineEnds => f.write_str(
                "has line ends of Windows (CRLF), which are repaired for a run; other clients fail",
            ),
            ScriptProblemKind::MixedLineEnds => f.write_str(
                "has a line end of Windows (CRLF) among others, which a shell reads as a part of a word",
            ),
            ScriptProblemKind::ByteOrderMark => f.write_str(
                "begins with a byte order mark, which is removed for a run; other clients fail",
            ),
            ScriptProblemKind::OtherLanguage(program) => write!(
                f,
                "has a first line that names `{program}`, which decides before the extension"
            ),
            ScriptProblemKind::InvalidFirstLine => f.write_str(
                "has a first line that names no program: expected an absolute path, without quotes that stay open, `$` and `\\`",
            ),
            ScriptProblemKind::NotExecutable => {
                f.write_str("has no extension and is not executable; other clients cannot start it")
            }
            ScriptProblemKind::MissingProgram(program) => {
                write!(f, "runs with `{program}`, which is not found on this host")
            }
            ScriptProblemKind::Unusable(script) => script.fmt(f),
        }
    }
}

/// Checks the scripts of a skill, at most 200 of a kind of directory and 1 MiB of each. Programs are
/// searched with `finder`, if there is one. Ordered by path and line.
#[must_use]
pub fn check_scripts(files: &SkillFiles, finder: Option<&ProgramSearch>) -> Vec<ScriptProblem> {
    let programs = SkillPrograms::list(files);
    let lists = [
        programs.scripts,
        programs.nested_scripts,
        programs.root_scripts,
    ];
    let scripts = lists.iter().flat_map(|list| list.iter().take(MAX_SCRIPTS));
    let mut problems: Vec<ScriptProblem> = scripts
        .flat_map(|path| check_script(files, path, finder))
        .collect();
    let unusable = unusable_scripts(files, "").into_iter();
    // Data and texts beside scripts are not problems.
    let unusable = unusable.filter(UnusableScript::leads_nowhere);
    problems.extend(unusable.map(|script| ScriptProblem {
        path: script.path.clone(),
        line: 1,
        kind: ScriptProblemKind::Unusable(script),
    }));
    problems.sort_by(|one, other| (&one.path, one.line).cmp(&(&other.path, other.line)));
    problems
}

fn check_script(
    files: &SkillFiles,
    path: &str,
    finder: Option<&ProgramSearch>,
) -> Vec<ScriptProblem> {
    // A larger file is not checked; it is more likely a program with data.
    let Ok(bytes) = files.read(path, MAX_BYTES) else {
        return Vec::new();
    };
    let language = ScriptLanguage::of_file(files, path);
    let is_shell = language.as_ref().and_then(ScriptLanguage::known) == Some(ScriptType::Shell);
    let mut kinds: Vec<(usize, ScriptProblemKind)> = Vec::new();
    kinds.extend(line_ends(&bytes, is_shell));
    let text = bytes.strip_prefix(BOM).unwrap_or(&bytes);
    if bytes.starts_with(BOM) && (is_shell || text.starts_with(b"#!")) {
        kinds.push((1, ScriptProblemKind::ByteOrderMark));
    }
    kinds.extend(first_line(path, text, language.as_ref()).map(|kind| (1, kind)));
    let has_extension = Path::new(path).extension().is_some();
    if cfg!(unix) && !has_extension && !files.is_executable(path) {
        kinds.push((1, ScriptProblemKind::NotExecutable));
    }
    let missing = finder.zip(language.as_ref());
    let missing = missing.and_then(|(finder, language)| missing_program(finder, language));
    kinds.extend(missing.map(|program| (1, ScriptProblemKind::MissingProgram(program))));
    let of_path = |(line, kind)| ScriptProblem {
        path: path.to_owned(),
        line,
        kind,
    };
    kinds.into_iter().map(of_path).collect()
}

/// Returns the first line that ends like those of Windows, if that makes the script fail.
fn line_ends(bytes: &[u8], is_shell: bool) -> Option<(usize, ScriptProblemKind)> {
    if bytes.contains(&0) {
        return None;
    }
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let index = lines.position(|line| line.ends_with(b"\r\n"))?;
    let has_shebang = bytes.strip_prefix(BOM).unwrap_or(bytes).starts_with(b"#!");
    match index {
        0 if is_shell || has_shebang => Some((1, ScriptProblemKind::WindowsLineEnds)),
        _ if is_shell && index > 0 => Some((index + 1, ScriptProblemKind::MixedLineEnds)),
        _ => None,
    }
}

fn first_line(
    path: &str,
    text: &[u8],
    language: Option<&ScriptLanguage>,
) -> Option<ScriptProblemKind> {
    let length = usize::try_from(Shebang::MAX_BYTES).unwrap_or(usize::MAX);
    let start = &text[..text.len().min(length)];
    if !text.starts_with(b"#!") || text.starts_with(b"#![") {
        return None;
    }
    let Some(shebang) = Shebang::parse(start) else {
        return Some(ScriptProblemKind::InvalidFirstLine);
    };
    let of_extension = ScriptType::from_path(path.as_ref())?;
    let is_other = match language? {
        ScriptLanguage::Known(known) => *known != of_extension,
        ScriptLanguage::Other { .. } => true,
    };
    let program = shebang.command().into_iter().next()?;
    is_other.then_some(ScriptProblemKind::OtherLanguage(program))
}

fn missing_program(finder: &ProgramSearch, language: &ScriptLanguage) -> Option<String> {
    match language {
        ScriptLanguage::Known(known) => find_interpreter(finder, *known)
            .is_none()
            .then(|| known.program_names().first().map(|name| (*name).to_owned()))?,
        ScriptLanguage::Other { program, .. } => {
            (!has_program(finder, program)).then(|| program.clone())
        }
    }
}
