//! Plans are values: the commands of a build, on every system.
#![cfg(unix)]

use std::path::PathBuf;

use insta::assert_snapshot;
use skills_build::{
    BuildDirs, InstalledTool, Language, Plan, RustToolchain, Source, SourceAccess, Tool, Toolchain,
};

fn plan(
    language: Language,
    entries: &[&str],
    sources: &[&str],
    cargo_target: Option<&str>,
) -> String {
    plan_in(
        "/skills/x/guest",
        SourceAccess::Full,
        language,
        entries,
        sources,
        cargo_target,
    )
}

fn plan_in(
    workspace: &str,
    access: SourceAccess,
    language: Language,
    entries: &[&str],
    sources: &[&str],
    cargo_target: Option<&str>,
) -> String {
    let installed = |tool: Tool| InstalledTool {
        program: PathBuf::from(format!("/tools/{tool}")),
        version: "1".to_owned(),
    };
    let found = Toolchain {
        tools: Tool::for_language(language)
            .iter()
            .map(|tool| (*tool, installed(*tool)))
            .collect(),
        rust: Some(RustToolchain {
            sysroot: "/toolchain".into(),
            commit: "abc".to_owned(),
            workspace: Some(workspace.into()),
        }),
        search_path: "/tools:/bin".into(),
    };
    let source = Source {
        language,
        directory: "/skills/x/guest".into(),
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
    };
    let sources: Vec<_> = sources
        .iter()
        .map(|path| ((*path).to_owned(), b"text".to_vec()))
        .collect();
    let directories = BuildDirs {
        stage_dir: "/scratch/stage".into(),
        work_dir: "/scratch".into(),
        cargo_target: cargo_target.map(PathBuf::from),
        source: access,
        cargo_home: "/home/.cargo".into(),
    };
    Plan::new(&source, &sources, &found, &directories).to_string()
}

#[test]
fn rust() {
    assert_snapshot!(plan(Language::Rust, &["code-review"], &["Cargo.toml", "Cargo.lock"], Some("/target")), @"
    language rust
    in /skills/x/guest
      CARGO_TARGET_DIR=/target
      CARGO_ENCODED_RUSTFLAGS=--remap-path-prefix=/home/.cargo=/cargo --remap-path-prefix=/skills/x/guest=/guest --remap-path-prefix=/toolchain/lib/rustlib/src/rust=/rustc/abc
      PATH=/tools:/bin
      /tools/cargo build --release --quiet --locked --target wasm32-wasip2
    product /target/wasm32-wasip2/release/code-review.wasm
    ");
    let without_a_lock = plan(Language::Rust, &["skill"], &["Cargo.toml"], None);
    assert!(
        without_a_lock.contains("\n  /tools/cargo generate-lockfile\n"),
        "{without_a_lock}"
    );
    assert!(
        without_a_lock.contains("CARGO_TARGET_DIR=/scratch/rust/"),
        "{without_a_lock}"
    );
    for (workspace, access) in [
        ("/skills", SourceAccess::Full),
        ("/skills/x/guest", SourceAccess::ReadOnly),
    ] {
        let plan = plan_in(
            workspace,
            access,
            Language::Rust,
            &["skill"],
            &["Cargo.toml"],
            None,
        );
        assert!(
            !plan.contains("generate-lockfile") && plan.contains(" --locked "),
            "{workspace} {access:?}: {plan}"
        );
    }
}

#[test]
fn javascript_and_typescript() {
    let javascript = plan(Language::JavaScript, &["main.js"], &["main.js"], None);
    assert_snapshot!(javascript, @"
    language js
    write entry.js (426 bytes)
    write skill.js (3811 bytes)
    write utf8.js (2098 bytes)
    write wit/skill.wit (653 bytes)
    write wit/deps/cli/cli.wit (467 bytes)
    write wit/deps/filesystem/filesystem.wit (1879 bytes)
    write wit/deps/io/io.wit (441 bytes)
    in /skills/x/guest
      PATH=/tools:/bin
      /tools/esbuild /scratch/stage/entry.js --bundle --format=esm --platform=neutral --main-fields=module,main --target=es2023 --external:wasi:* --log-level=warning --alias:skill=/scratch/stage/skill.js --alias:guest=/skills/x/guest/main.js --outfile=/scratch/stage/bundle.js
    in /scratch/stage
      PATH=/tools:/bin
      /tools/componentize-qjs --sync --world script --wit /scratch/stage/wit --js /scratch/stage/bundle.js --output /scratch/stage/skill.wasm
    product /scratch/stage/skill.wasm
    ");
    let typescript = plan(Language::TypeScript, &["main.ts"], &["main.ts"], None);
    assert_eq!(
        typescript
            .replace("main.ts", "main.js")
            .replace("language ts", "language js"),
        javascript
    );
}

#[test]
fn c() {
    assert_snapshot!(plan(Language::C, &["a.c", "main.c"], &["a.c", "a.h", "main.c"], None), @"
    language c
    in /skills/x/guest
      ZIG_GLOBAL_CACHE_DIR=/scratch/zig
      ZIG_LOCAL_CACHE_DIR=/scratch/zig
      PATH=/tools:/bin
      /tools/zig cc -target wasm32-wasi -Os -s -Wall -o /scratch/stage/skill.wasm ./a.c ./main.c
    product /scratch/stage/skill.wasm
    ");
}

#[test]
fn python() {
    assert_snapshot!(plan(Language::Python, &["main.py"], &["main.py", "more/x.py"], None), @"
    language python
    write skill_entry.py (585 bytes)
    write wit/skill.wit (653 bytes)
    write wit/deps/cli/cli.wit (467 bytes)
    write wit/deps/filesystem/filesystem.wit (1879 bytes)
    write wit/deps/io/io.wit (441 bytes)
    write guest/main.py (4 bytes)
    write guest/more/x.py (4 bytes)
    in /scratch/stage
      PATH=/tools:/bin
      /tools/componentize-py --wit-path /scratch/stage/wit --world command componentize --python-path /scratch/stage/guest --python-path /scratch/stage skill_entry --output /scratch/stage/skill.wasm
    product /scratch/stage/skill.wasm
    ");
}

#[test]
fn file_names_are_not_parsed_by_a_shell() {
    let plan = Plan::new(
        &Source {
            language: Language::C,
            directory: "/x/guest".into(),
            entries: vec!["a; rm -rf $HOME.c".to_owned()],
        },
        &[],
        &Toolchain::default(),
        &BuildDirs {
            stage_dir: "/stage".into(),
            work_dir: "/scratch".into(),
            cargo_target: None,
            source: SourceAccess::ReadOnly,
            cargo_home: "/cargo".into(),
        },
    );
    assert_eq!(plan.commands[0].args.last().unwrap(), "./a; rm -rf $HOME.c");
}
