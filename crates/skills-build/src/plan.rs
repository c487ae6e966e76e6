//! The plan of a build, as a value.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::files::SourceFile;
use crate::hash;
use crate::invocation::{Invocation, option};
use crate::language::Language;
use crate::source::{Source, SourceAccess};
use crate::tool::Tool;
use crate::tool_finder::RUST_TARGET;
use crate::toolchain::{RustToolchain, Toolchain};

/// The directories that a build may write, and those of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildDirs {
    /// An empty staging directory of this build.
    pub stage_dir: PathBuf,
    /// A persistent directory for caches of compilers.
    pub work_dir: PathBuf,
    /// Cargo's target directory; by default a directory in `work_dir`.
    pub cargo_target: Option<PathBuf>,
    /// The access of the build to the source directory.
    pub source: SourceAccess,
    /// Cargo's home with the sources of packages; its path is removed from artifacts.
    pub cargo_home: PathBuf,
}

/// The plan of a build: files to write, programs to run in sequence, and the path of the artifact.
/// Plain data, which can be printed and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The language.
    pub language: Language,
    /// Files to write into the staging directory first: their paths in it, and their content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The commands.
    pub commands: Vec<Invocation>,
    /// The artifact.
    pub artifact: PathBuf,
}

impl Plan {
    /// Computes how a source is built with the given tools. Does not access the file system.
    #[must_use]
    pub fn new(
        source: &Source,
        sources: &[SourceFile],
        toolchain: &Toolchain,
        dirs: &BuildDirs,
    ) -> Self {
        let (commands, product) = match source.language {
            Language::Rust => plan_rust(source, sources, toolchain, dirs),
            Language::JavaScript | Language::TypeScript => plan_script(source, toolchain, dirs),
            Language::C => plan_c(source, toolchain, dirs),
            Language::Python => plan_python(toolchain, dirs),
        };
        let commands = commands
            .into_iter()
            .map(|command| command.env("PATH", &toolchain.search_path))
            .collect();
        Self {
            language: source.language,
            files: staged_files(source, sources),
            commands,
            artifact: product,
        }
    }
}

/// Lists the files that are copied to the staging directory.
fn staged_files(source: &Source, sources: &[SourceFile]) -> Vec<(String, Vec<u8>)> {
    let entry = source.entry();
    // Generated files import the module of the author by its name.
    let own = |text: &str| {
        text.replace("MODULE", entry.trim_end_matches(".py"))
            .into_bytes()
    };
    let mut files: Vec<_> = source
        .language
        .generated()
        .iter()
        .map(|(path, text)| ((*path).to_owned(), own(text)))
        .collect();
    if source.language == Language::Python {
        // Built in place, Python would leave its caches in the source.
        files.extend(
            sources
                .iter()
                .map(|(path, content)| (format!("guest/{path}"), content.clone())),
        );
    }
    files
}

fn plan_rust(
    source: &Source,
    sources: &[SourceFile],
    toolchain: &Toolchain,
    dirs: &BuildDirs,
) -> (Vec<Invocation>, PathBuf) {
    // One for each source, since cargo locks its target directory. A part of the hash keeps paths
    // short.
    let default_target = || {
        dirs.work_dir.join("rust").join(
            hash::hash_bytes(source.directory.as_os_str().as_encoded_bytes())
                .split_at(16)
                .0,
        )
    };
    let target = dirs.cargo_target.clone().unwrap_or_else(default_target);
    let cargo = || Invocation::new(toolchain.program(Tool::Cargo), &source.directory);
    let mut commands = Vec::new();
    let is_locked = sources.iter().any(|(path, _)| path == "Cargo.lock");
    // The lock file of a larger workspace does not belong to this skill.
    let is_member = |rust: &RustToolchain| {
        rust.workspace
            .as_ref()
            .is_some_and(|workspace| *workspace != source.directory)
    };
    if !is_locked
        && dirs.source == SourceAccess::Full
        && !toolchain.rust.as_ref().is_some_and(is_member)
    {
        commands.push(cargo().arg("generate-lockfile"));
    }
    // With `--locked`, since versions of packages are part of the source that is hashed.
    let build = cargo().args([
        "build",
        "--release",
        "--quiet",
        "--locked",
        "--target",
        RUST_TARGET,
    ]);
    // In the encoded form paths may contain spaces.
    let build = build.env("CARGO_TARGET_DIR", &target).env(
        "CARGO_ENCODED_RUSTFLAGS",
        remap_flags(source, toolchain, dirs),
    );
    commands.push(build);
    let name = source.entry();
    (
        commands,
        target
            .join(RUST_TARGET)
            .join("release")
            .join(format!("{name}.wasm")),
    )
}

/// Remaps absolute paths, so artifacts are reproducible across hosts.
fn remap_flags(source: &Source, toolchain: &Toolchain, dirs: &BuildDirs) -> String {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        remap(&dirs.cargo_home, "/cargo"),
        remap(&source.directory, "/guest"),
    ];
    if let Some(rust) = &toolchain.rust {
        // If the sources of the standard library are installed, the compiler would embed their
        // path.
        flags.push(remap(
            &rust.sysroot.join("lib/rustlib/src/rust"),
            &format!("/rustc/{}", rust.commit),
        ));
    }
    flags.join("\u{1f}")
}

fn plan_script(
    source: &Source,
    toolchain: &Toolchain,
    dirs: &BuildDirs,
) -> (Vec<Invocation>, PathBuf) {
    let stage = &dirs.stage_dir;
    let bundle = stage.join("bundle.js");
    let product = stage.join("skill.wasm");
    let entry = source.entry();
    // One file, since QuickJS supports neither packages nor TypeScript.
    let bundled = Invocation::new(toolchain.program(Tool::Esbuild), &source.directory)
        .arg(stage.join("entry.js"))
        .args([
            "--bundle",
            "--format=esm",
            "--platform=neutral",
            "--main-fields=module,main",
            "--target=es2023",
        ])
        // The host provides these modules.
        .args(["--external:wasi:*", "--log-level=warning"])
        .arg(option("--alias:skill=", stage.join("skill.js")))
        .arg(option("--alias:guest=", source.directory.join(entry)))
        .arg(option("--outfile=", &bundle));
    // Without `--sync` it imports asynchronous calls of components, which are not part of WASI 0.2.
    let component = Invocation::new(toolchain.program(Tool::ComponentizeQjs), stage)
        .args(["--sync", "--world", "script", "--wit"])
        .arg(stage.join("wit"))
        .arg("--js")
        .arg(&bundle)
        .arg("--output")
        .arg(&product);
    (vec![bundled, component], product)
}

fn plan_c(source: &Source, toolchain: &Toolchain, dirs: &BuildDirs) -> (Vec<Invocation>, PathBuf) {
    let product = dirs.stage_dir.join("skill.wasm");
    let cache = dirs.work_dir.join("zig");
    // Relative names, since `assert` embeds them; with the prefix none is parsed as an option.
    let sources = source.entries.iter().map(|name| format!("./{name}"));
    let compile = Invocation::new(toolchain.program(Tool::Zig), &source.directory)
        .args(["cc", "-target", "wasm32-wasi", "-Os", "-s", "-Wall", "-o"])
        .arg(&product)
        .args(sources)
        // By default the caches are in the home directory of the author.
        .env("ZIG_GLOBAL_CACHE_DIR", &cache)
        .env("ZIG_LOCAL_CACHE_DIR", &cache);
    (vec![compile], product)
}

fn plan_python(toolchain: &Toolchain, dirs: &BuildDirs) -> (Vec<Invocation>, PathBuf) {
    let stage = &dirs.stage_dir;
    let product = stage.join("skill.wasm");
    let component = Invocation::new(toolchain.program(Tool::ComponentizePy), stage)
        .arg("--wit-path")
        .arg(stage.join("wit"))
        .args(["--world", "command", "componentize", "--python-path"])
        .arg(stage.join("guest"))
        .arg("--python-path")
        .arg(stage)
        .args(["skill_entry", "--output"])
        .arg(&product);
    (vec![component], product)
}

/// Human-readable plan, also used in snapshots: one line per file and command, with the variables
/// of commands.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "language {}", self.language)?;
        self.files.iter().try_for_each(|(path, content)| {
            writeln!(f, "write {path} ({} bytes)", content.len())
        })?;
        for command in &self.commands {
            writeln!(f, "in {}", command.current_dir.display())?;
            for (name, value) in &command.envs {
                writeln!(
                    f,
                    "  {name}={}",
                    value.to_string_lossy().replace('\u{1f}', " ")
                )?;
            }
            writeln!(f, "  {command}")?;
        }
        writeln!(f, "product {}", self.artifact.display())
    }
}
