//! Skills of sources through the tools: no path tells a model that they have no directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use skills_runtime::discovery::{
    ListedSkill, MemorySkill, MemorySource, ReceiveFile, SkillSource, SourceFailure, SourceKind,
    SourceListing, SourceRoot, TreePath,
};
use skills_runtime::policy::{Effect, Rule, RuleSource};
use skills_runtime::{Policy, Scope};
use skills_test_support::skip_without_sandbox;
use skills_tools::SkillWrites;

use crate::fixture::{Host, Tools};
use crate::run::run;

/// A file with such a name holds a key if its content says so.
const PRIVATE_KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nZebra\n";

/// Tools for the skill `kit` in memory.
fn tools(host: &Host) -> (Tools, Arc<MemorySource>) {
    tools_with(host, SkillWrites::default())
}

fn tools_with(host: &Host, skill_writes: SkillWrites) -> (Tools, Arc<MemorySource>) {
    let path = |text: &str| TreePath::new(text).unwrap();
    let text = "---\nname: kit\ndescription: Counts zebras.\n---\nRead `references/zebras.md`.\n";
    let script = "import os\nprint(open(os.environ['SKILL_DIR'] + '/assets/zebra.txt').read())\n";
    let kit = MemorySkill::new(path("kit"))
        .file(path("SKILL.md"), text)
        .file(
            path("references/zebras.md"),
            "# Stripes\n\nBlack and white.\n",
        )
        .file(path("assets/zebra.txt"), "a zebra")
        .file(path("assets/deploy_rsa"), PRIVATE_KEY)
        .file(path("assets/server-key"), PRIVATE_KEY)
        .file(path("scripts/zebra.py"), script);
    let source = Arc::new(MemorySource::new("app", [kit]));
    let root = SourceRoot::new(source.clone(), Scope::User, host.path("scratch"));
    let allow = Rule::parse(Effect::Allow, RuleSource::Invocation, "spawn").unwrap();
    let runtime = host.runtime().policy(Policy::default().rule(allow));
    let builder = host.builder(runtime.source(root));
    let set = builder.skill_writes(skill_writes).build().unwrap();
    (host.wrap(set), source)
}

#[tokio::test]
async fn a_skill_of_a_source_is_used_like_one_of_a_directory() {
    let host = Host::new();
    let (tools, source) = tools(&host);
    let mut texts = Vec::new();
    for (tool, arguments, expected) in [
        ("skills_ls", json!({"path": "/skills"}), "kit"),
        (
            "skills_ls",
            json!({"path": "/skills/kit/assets"}),
            "zebra.txt",
        ),
        (
            "skills_read",
            json!({"path": "/skills/kit/SKILL.md"}),
            "Read `references",
        ),
        (
            "skills_read",
            json!({"path": "/skills/kit/references/zebras.md"}),
            "Black and white.",
        ),
        ("skills_read", json!({"path": "/skills/kit/../../x"}), ""),
        (
            "skills_write",
            json!({"path": "/skills/kit/SKILL.md", "content": "x"}),
            "read-only",
        ),
    ] {
        let output = tools.call(tool, arguments.clone()).await;
        let text = output.text().into_owned();
        assert!(text.contains(expected), "{tool} {arguments}: {text}");
        texts.push(text);
    }
    if !skip_without_sandbox() {
        for command in [
            "scripts/zebra.py",
            "cat assets/zebra.txt",
            "cd /skills/kit/scripts && ls .",
        ] {
            let output = run(&tools, command).await;
            assert!(output.text().contains("zebra"), "{}", output.text());
            texts.push(output.text().into_owned());
        }
    }
    let shown = texts.join("\n");
    assert!(!shown.contains("skill-sources"), "{shown}");

    source.replace([]);
    let output = tools
        .call("skills_read", json!({"path": "/skills/kit/SKILL.md"}))
        .await;
    assert!(output.is_error, "{}", output.text());
}

/// Nothing is at the path of the skill, so that the content cannot be read there.
#[tokio::test]
async fn files_of_a_source_that_can_hold_keys_are_neither_read_nor_published() {
    let host = Host::new();
    host.file("skills/local/assets/deploy_rsa", PRIVATE_KEY)
        .file("skills/local/assets/server-key", PRIVATE_KEY)
        .file(
            "skills/local/SKILL.md",
            "---\nname: local\ndescription: A directory.\n---\n",
        );
    let (tools, _source) = tools(&host);
    for skill in ["local", "kit"] {
        for file in ["deploy_rsa", "server-key"] {
            let path = format!("/skills/{skill}/assets/{file}");
            let output = tools.call("skills_read", json!({"path": path})).await;
            let text = output.text();
            assert_eq!(output.code(), Some("permission_denied"), "{path}: {text}");
        }
    }
    let published = tools.set.published_skills();
    assert_eq!(published.skills.len(), 2, "{published:?}");
    let files = published.skills.iter().flat_map(|skill| &skill.files);
    let keys = files.filter(|file| {
        ["deploy_rsa", "server-key"]
            .iter()
            .any(|name| file.path.ends_with(name))
    });
    assert_eq!(keys.count(), 0, "{published:?}");
}

/// They would change a temporary copy.
#[tokio::test]
async fn skills_of_a_source_are_not_written() {
    let host = Host::new();
    let (tools, _source) = tools_with(&host, SkillWrites::All);
    for path in ["new.md", "SKILL.md", "assets/zebra.txt"] {
        let path = format!("/skills/kit/{path}");
        let arguments = json!({"path": path, "content": "x"});
        let output = tools.call("skills_write", arguments).await;
        assert_eq!(output.code(), Some("read_only"), "{}", output.text());
        assert!(output.text().contains("a skill without a directory"));
    }
}

/// Counts how often its skills are read.
struct Counting(MemorySource, AtomicUsize);

impl SkillSource for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn kind(&self) -> SourceKind {
        self.0.kind()
    }

    fn list(&self) -> Result<SourceListing, SourceFailure> {
        self.0.list()
    }

    fn open(
        &self,
        skill: &ListedSkill,
        receive: &mut ReceiveFile<'_>,
    ) -> Result<(), SourceFailure> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.open(skill, receive)
    }

    fn revision(&self) -> u64 {
        self.0.revision()
    }
}

/// More skills than stay open: a comparison that opened them would read all of them again.
#[test]
fn scripts_of_sources_are_listed_once() {
    let host = Host::new();
    let path = |text: &str| TreePath::new(text).unwrap();
    let skills = (0..40).map(|number| {
        let text = format!("---\nname: s{number}\ndescription: d\n---\n");
        MemorySkill::new(path(&format!("s{number}")))
            .file(path("SKILL.md"), text)
            .file(path("scripts/x.py"), "print(1)\n")
    });
    let source = MemorySource::new("app", skills);
    let source = Arc::new(Counting(source, AtomicUsize::new(0)));
    let root = SourceRoot::new(source.clone(), Scope::User, host.path("scratch"));
    let tools = host.builder(host.runtime().source(root)).build().unwrap();
    let read = || {
        let definitions = tools.definitions().unwrap();
        let scripts = definitions.iter();
        let scripts = scripts.filter(|tool| tool.name.starts_with("skill__"));
        assert_eq!(scripts.count(), 40);
        source.1.load(Ordering::SeqCst)
    };
    // Directories that were just written are scanned again.
    let end = Instant::now() + Duration::from_secs(10);
    while read() != read() {
        assert!(Instant::now() < end, "read again for each call");
    }
}
