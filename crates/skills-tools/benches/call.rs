//! Overhead of the tools: a call compared with the same work without them.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "benches make their own files and fail by panicking"
)]

use std::fs;

use divan::Bencher;
use serde_json::{Value, json};
use skills_runtime::{Root, Scope, SkillRuntime};
use skills_tools::{CallContext, Mount, ToolErrorCode, ToolGroup, ToolSet};
use tempfile::TempDir;
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// Skills with one script each, 100 by default, and a workspace with a text of 16 KiB.
struct Host {
    directory: TempDir,
    executor: Runtime,
}

impl Host {
    fn new() -> Self {
        Self::of(100)
    }

    fn of(skills: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..skills {
            let scripts = directory
                .path()
                .join(format!("skills/skill-{number}/scripts"));
            fs::create_dir_all(&scripts).unwrap();
            let text = format!(
                "---\nname: skill-{number}\ndescription: Does the {number}th thing.\n---\n# Skill\n"
            );
            fs::write(scripts.parent().unwrap().join("SKILL.md"), text).unwrap();
            let source = "\"\"\"Does it.\"\"\"\nimport argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--city', required=True)\n";
            fs::write(scripts.join("run.py"), source).unwrap();
        }
        fs::create_dir(directory.path().join("workspace")).unwrap();
        fs::write(
            directory.path().join("workspace/text"),
            "line\n".repeat(3_276),
        )
        .unwrap();
        Self {
            directory,
            executor: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
        }
    }

    fn tools(&self, groups: &[ToolGroup]) -> ToolSet {
        let runtime = SkillRuntime::builder()
            .root(Root::new(
                self.directory.path().join("skills"),
                Scope::Custom,
            ))
            .build();
        let workspace = Mount::writable("workspace", self.directory.path().join("workspace"));
        ToolSet::builder(runtime)
            .workspace(workspace)
            .tool_groups(groups.iter().copied())
            .build()
            .unwrap()
    }

    fn call(&self, tools: &ToolSet, name: &str, arguments: &Value) -> usize {
        let outcome = self
            .executor
            .block_on(tools.call(name, arguments.clone(), &CallContext::default()))
            .unwrap();
        assert!(!outcome.is_error, "{}", outcome.text());
        outcome.text().len()
    }

    fn refused(&self, tools: &ToolSet, name: &str) -> usize {
        let outcome = self
            .executor
            .block_on(tools.call(name, json!({"nothing": 1}), &CallContext::default()))
            .unwrap();
        assert!(
            outcome.has_code(ToolErrorCode::InvalidArguments),
            "{}",
            outcome.text()
        );
        outcome.text().len()
    }
}

/// The minimum for any tool set: reading all files of the skills.
#[divan::bench]
fn floor(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    bencher.bench_local(|| {
        let mut bytes = 0;
        for number in 0..100 {
            let skill = host.directory.path().join(format!("skills/skill-{number}"));
            bytes += fs::read(skill.join("SKILL.md")).unwrap().len();
            for file in fs::read_dir(skill.join("scripts")).unwrap() {
                bytes += fs::read(file.unwrap().path()).unwrap().len();
            }
        }
        bytes
    });
}

/// The definitions of 100 scripts.
#[divan::bench]
fn definitions(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    let tools = host.tools(&[
        ToolGroup::Workspace,
        ToolGroup::ScriptExecutor,
        ToolGroup::Catalog,
        ToolGroup::ScriptTools,
    ]);
    bencher.bench_local(|| tools.definitions().unwrap().len());
}

/// Reading a file of 16 KiB with `skills_read`.
#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    let tools = host.tools(&[ToolGroup::Workspace]);
    bencher.bench_local(|| host.call(&tools, "skills_read", &json!({"path": "text"})));
}

/// A search in 100 skills.
#[divan::bench]
fn search(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    let tools = host.tools(&[ToolGroup::Catalog]);
    bencher.bench_local(|| host.call(&tools, "search_skills", &json!({"query": "the 42th thing"})));
}

/// Listing a small workspace with 1,000 skills, which are not needed for it.
#[divan::bench]
fn ls_beside_a_thousand(bencher: Bencher<'_, '_>) {
    let host = Host::of(1_000);
    let tools = host.tools(&[
        ToolGroup::Workspace,
        ToolGroup::ScriptExecutor,
        ToolGroup::Catalog,
        ToolGroup::ScriptTools,
    ]);
    host.call(&tools, "skills_ls", &json!({"path": "skills"}));
    bencher.bench_local(|| host.call(&tools, "skills_ls", &json!({})));
}

/// A page of 1,000 skills, scanned on each call.
#[divan::bench]
fn ls_a_thousand(bencher: Bencher<'_, '_>) {
    let host = Host::of(1_000);
    let tools = host.tools(&[ToolGroup::Workspace]);
    bencher.bench_local(|| host.call(&tools, "skills_ls", &json!({"path": "skills", "limit": 1})));
}

/// A script tool among 1,000, with invalid arguments, so that nothing runs.
#[divan::bench]
fn script_among_a_thousand(bencher: Bencher<'_, '_>) {
    let host = Host::of(1_000);
    let tools = host.tools(&[ToolGroup::ScriptTools]);
    bencher.bench_local(|| host.refused(&tools, "skill__skill-7__run"));
}

/// The same with an active watcher.
#[cfg(feature = "watch")]
mod watched {
    use super::*;

    /// Waits until calls rely on the watcher.
    fn tools(
        host: &Host,
        groups: &[ToolGroup],
    ) -> (ToolSet, skills_runtime::discovery::RootWatcher) {
        let tools = host.tools(groups);
        let (sender, changes) = std::sync::mpsc::channel();
        let watching = tools
            .watch(
                skills_runtime::discovery::WatchOptions::default(),
                move || sender.send(()).unwrap_or_default(),
            )
            .unwrap();
        assert!(watching.is_event_driven(), "this system reports no events");
        fs::create_dir(host.directory.path().join("skills/last")).unwrap();
        fs::write(
            host.directory.path().join("skills/last/SKILL.md"),
            "---\nname: last\ndescription: Comes last.\n---\n",
        )
        .unwrap();
        changes.recv().unwrap();
        (tools, watching)
    }

    #[divan::bench]
    fn ls_beside_a_thousand(bencher: Bencher<'_, '_>) {
        let host = Host::of(1_000);
        let (tools, _watching) = tools(
            &host,
            &[
                ToolGroup::Workspace,
                ToolGroup::ScriptExecutor,
                ToolGroup::Catalog,
                ToolGroup::ScriptTools,
            ],
        );
        bencher.bench_local(|| host.call(&tools, "skills_ls", &json!({})));
    }

    #[divan::bench]
    fn ls_a_thousand(bencher: Bencher<'_, '_>) {
        let host = Host::of(1_000);
        let (tools, _watching) = tools(&host, &[ToolGroup::Workspace]);
        bencher
            .bench_local(|| host.call(&tools, "skills_ls", &json!({"path": "skills", "limit": 1})));
    }

    #[divan::bench]
    fn script_among_a_thousand(bencher: Bencher<'_, '_>) {
        let host = Host::of(1_000);
        let (tools, _watching) = tools(&host, &[ToolGroup::ScriptTools]);
        bencher.bench_local(|| host.refused(&tools, "skill__skill-7__run"));
    }
}

/// Publishing 100 skills for the first time: all files are read.
#[divan::bench]
fn publications_first(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    bencher
        .with_inputs(|| host.tools(&[]))
        .bench_local_values(|tools| tools.published_skills().skills.len());
}

/// Publishing 100 skills that have not changed.
#[divan::bench]
fn publications_again(bencher: Bencher<'_, '_>) {
    let host = Host::new();
    let tools = host.tools(&[]);
    bencher.bench_local(|| tools.published_skills().skills.len());
}
