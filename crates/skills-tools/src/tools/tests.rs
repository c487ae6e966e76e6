//! The table of the tools, and the tools for files, called as by a host application, with canary
//! files outside of the mounts.

mod create;
mod ls;
#[cfg(unix)]
mod race;
mod read;
mod write;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde_json::json;
use skills_runtime::discovery::Trust;
use skills_runtime::{Root, Scope};
use tempfile::TempDir;

use super::*;
use crate::mount::{Access, Mount, MountTable};
use crate::tool::FileCall;
use crate::virtual_files::{SkillWrites, VirtualFiles};
use crate::virtual_path::VirtualPath;
use crate::{ToolErrorCode, ToolOutput};

const PDF: &str = "---\nname: pdf\ndescription: Reads PDF files.\n---\n# PDF\n";
const NOTE: &str = "---\nname: note\ndescription: A draft.\n---\n";

/// A workspace, a mount of each kind, two skills (`pdf`, and `note` as a draft), and a file outside
/// that must stay unchanged.
struct Fixture {
    held: TempDir,
    top: Dir,
    files: VirtualFiles,
}

impl Fixture {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(adjust: impl FnOnce(&mut VirtualFiles)) -> Self {
        let held = tempfile::tempdir().unwrap();
        let path = held.path().canonicalize().unwrap();
        let top = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
        for directory in [
            "work",
            "data",
            "out",
            "skills/pdf/scripts",
            "drafts/note",
            "outside",
        ] {
            top.create_dir_all(directory).unwrap();
        }
        top.write("outside/canary", "alive").unwrap();
        top.write("data/facts.txt", "facts").unwrap();
        top.write("skills/pdf/SKILL.md", PDF).unwrap();
        top.write("skills/pdf/scripts/run.py", "print(1)\n")
            .unwrap();
        top.write("drafts/note/SKILL.md", NOTE).unwrap();
        let runtime = SkillRuntime::builder()
            .root(Root::new(path.join("skills"), Scope::Repo))
            .root(Root::new(path.join("drafts"), Scope::User).trust(Trust::Untrusted))
            .build();
        let workspace = Mount::writable("anything", path.join("work")).with_host_path();
        let mounts = vec![
            Mount::read_only("data", path.join("data")),
            Mount::writable("out", path.join("out")).quota_bytes(10),
        ];
        let table = MountTable::new(Some(workspace), mounts).unwrap();
        let mut files = VirtualFiles::new(runtime, table);
        files.drafts_dir = Some(path.join("drafts"));
        adjust(&mut files);
        Self { held, top, files }
    }

    fn ls(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.checked(call(&skills_ls::TOOL, &self.files, arguments))
    }

    fn read(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.checked(call(&skills_read::TOOL, &self.files, arguments))
    }

    fn write(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.checked(call(&skills_write::TOOL, &self.files, arguments))
    }

    fn create(&self, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.checked(call(&skills_create::TOOL, &self.files, arguments))
    }

    /// Asserts that a result contains no host path.
    fn checked(&self, result: Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError> {
        let path = self.held.path().to_string_lossy().into_owned();
        let said = match &result {
            Ok(outcome) => format!(
                "{} {} {:?}",
                outcome.text(),
                outcome.structured,
                outcome.files
            ),
            Err(error) => json!(error).to_string(),
        };
        assert!(!said.contains(&path), "{said}");
        result
    }

    fn text(&self, path: &str) -> String {
        self.top.read_to_string(path).unwrap()
    }

    /// Returns true if nothing outside was changed or added.
    fn is_outside_untouched(&self) -> bool {
        self.text("outside/canary") == "alive" && self.top.read_dir("outside").unwrap().count() == 1
    }
}

fn call(tool: &Tool, files: &VirtualFiles, arguments: Value) -> Result<ToolOutput, ToolError> {
    let Call::Files(call) = tool.call else {
        panic!("{} is not a tool for files", tool.name);
    };
    let session = None;
    call(
        FileCall {
            files,
            session,
            loaded: &[],
            outputs: None,
            max_text_bytes: None,
        },
        arguments,
    )
}

#[track_caller]
fn done(result: Result<ToolOutput, ToolError>) {
    assert!(!result.unwrap().is_error);
}

#[track_caller]
fn code(result: Result<ToolOutput, ToolError>) -> ToolErrorCode {
    result.expect_err("it is refused").code
}

#[test]
fn every_tool_is_in_a_group_and_has_a_schema_that_is_validated() {
    assert_eq!(builtin_tools(&ToolGroup::ALL).len(), TOOLS.len());
    for builtin in &TOOLS {
        let schema = &builtin.definition().input_schema;
        let name = builtin.tool.name;
        assert!(ArgumentValidator::new(schema).is_ok(), "{name}");
        let is_program = !matches!(builtin.tool.call, Call::Files(_));
        let annotations = builtin.tool.annotations;
        assert_eq!(annotations == Annotations::EXECUTES, is_program, "{name}");
    }
}

#[test]
fn a_tool_of_two_groups_is_listed_once() {
    let names: Vec<&str> = builtin_tools(&[ToolGroup::Core, ToolGroup::Catalog])
        .iter()
        .map(|builtin| builtin.tool.name)
        .collect();
    assert_eq!(
        names.join(" "),
        "search_skills load_skill skills_ls skills_read skills_write skills_run skills_bash read_skill_resource search_references"
    );
}

#[test]
fn integral_floats_are_converted_to_integers() {
    let schema = json!({"properties": {"limit": {"type": "integer"}, "args": {"type": "object"}}});
    let cases = [
        (json!({"limit": 10.0}), json!({"limit": 10})),
        (json!({"limit": -0.0}), json!({"limit": 0})),
        (json!({"limit": 1.5}), json!({"limit": 1.5})),
        (json!({"limit": 1e300}), json!({"limit": 1e300})),
        (json!({"limit": u64::MAX}), json!({"limit": u64::MAX})),
        (
            json!({"args": {"limit": 10.0}, "other": 10.0}),
            json!({"args": {"limit": 10.0}, "other": 10.0}),
        ),
        (json!([10.0]), json!([10.0])),
    ];
    for (given, expected) in cases {
        assert_eq!(
            normalize_integers(given.clone(), &schema),
            expected,
            "{given}"
        );
    }
}

const INVALID_PATHS: [&str; 16] = [
    "skills/../../x",
    "./../x",
    "a/../../x",
    "/skills/../etc/passwd",
    "/skillsX/f",
    "/workspace2/f",
    "/etc/passwd",
    "skills/a//etc/passwd",
    "workspace/%2e%2e/x",
    "..\\x",
    "C:\\x",
    "\\\\h\\s",
    "~",
    "a\0b",
    "trailing ",
    "trailing.",
];

#[test]
fn every_tool_rejects_paths_outside_of_mounts() {
    let fixture = Fixture::new();
    for path in INVALID_PATHS {
        let results = [
            fixture.ls(json!({"path": path})),
            fixture.read(json!({"path": path})),
            fixture.write(json!({"path": path, "content": "x"})),
        ];
        for result in results {
            let code = code(result);
            assert!(
                matches!(
                    code,
                    ToolErrorCode::InvalidPath | ToolErrorCode::PathOutsideMounts
                ),
                "{path:?}: {code:?}"
            );
        }
    }
    assert!(fixture.is_outside_untouched());
}

#[test]
fn unknown_skills_are_rejected_with_suggestions() {
    let fixture = Fixture::new();
    let error = fixture.ls(json!({"path": "/skills/pfd"})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str(), error.hint.as_deref()),
        (
            ToolErrorCode::SkillNotFound,
            "skill `pfd` not found",
            Some("did you mean `pdf`?")
        )
    );
    assert_eq!(
        ToolOutput::from(error).text(),
        "Error: skill `pfd` not found\nHint: did you mean `pdf`?"
    );
}

#[test]
fn a_mount_with_host_path_is_accessible_by_that_path() {
    let fixture = Fixture::new();
    let path = fixture
        .held
        .path()
        .canonicalize()
        .unwrap()
        .join("work/a.txt");
    let written = fixture
        .write(json!({"path": path, "content": "x"}))
        .unwrap();
    assert_eq!(
        written.text(),
        "Successfully wrote 1 bytes to '/workspace/a.txt'"
    );
    let data = fixture
        .held
        .path()
        .canonicalize()
        .unwrap()
        .join("data/facts.txt");
    let read = call(&skills_read::TOOL, &fixture.files, json!({"path": data}));
    let error = read.unwrap_err();
    assert_eq!(error.code, ToolErrorCode::PathOutsideMounts);
}

#[test]
fn definitions_are_valid_schemas_and_match_the_results() {
    let fixture = Fixture::new();
    let draft = json!({"name": "new", "description": "New.", "instructions": ""});
    let cases = [
        (skills_ls::TOOL, fixture.ls(json!({}))),
        (skills_ls::TOOL, fixture.ls(json!({"path": "/skills"}))),
        (
            skills_read::TOOL,
            fixture.read(json!({"path": "data/facts.txt"})),
        ),
        (
            skills_write::TOOL,
            fixture.write(json!({"path": "a", "content": "b"})),
        ),
        (skills_read::TOOL, fixture.read(json!({"path": "gone"}))),
        (skills_create::TOOL, fixture.create(draft)),
    ];
    for (tool, result) in cases {
        jsonschema::meta::validate(&(tool.input_schema)()).unwrap();
        let schema = jsonschema::validator_for(&(tool.output_schema)()).unwrap();
        let outcome = result.unwrap_or_else(ToolOutput::from);
        assert!(
            schema.is_valid(&outcome.structured),
            "{}: {}",
            tool.name,
            outcome.structured
        );
        assert!(!schema.is_valid(&json!({})));
    }
}

#[test]
fn resolved_paths_have_host_paths_for_programs() {
    let fixture = Fixture::new();
    fixture.top.create_dir("work/src").unwrap();
    let top = fixture.held.path().canonicalize().unwrap();
    let cases = [
        ("", "work", "/workspace", Access::ReadWrite),
        ("src", "work/src", "/workspace/src", Access::ReadWrite),
        ("data", "data", "/data", Access::ReadOnly),
        (
            "skills/pdf/scripts",
            "skills/pdf/scripts",
            "/skills/pdf/scripts",
            Access::ReadOnly,
        ),
        (
            "skills/note",
            "drafts/note",
            "/skills/note",
            Access::ReadWrite,
        ),
    ];
    for (path, host, shown, access) in cases {
        let resolved = fixture
            .files
            .resolve(&VirtualPath::parse(path).unwrap())
            .unwrap();
        assert_eq!(
            (
                &resolved.host_path,
                resolved.display.as_str(),
                resolved.access
            ),
            (&top.join(host), shown, access)
        );
        assert!(fixture.files.open_directory(&resolved).is_ok());
        assert_eq!(resolved.skill.is_some(), path.starts_with("skills"));
    }
    let file = fixture
        .files
        .resolve(&VirtualPath::parse("data/facts.txt").unwrap())
        .unwrap();
    assert_eq!(
        fixture.files.open_directory(&file).unwrap_err().code,
        ToolErrorCode::NotADirectory
    );
    let error = fixture
        .files
        .resolve(&VirtualPath::parse("skills").unwrap())
        .map(|_| ())
        .unwrap_err();
    assert_eq!(error.code, ToolErrorCode::IsADirectory);
}
