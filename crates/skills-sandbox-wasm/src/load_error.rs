//! Why a program cannot be loaded.

use std::time::Duration;

/// The maximum size of a component, in bytes: 32 MiB.
pub const MAX_COMPONENT_BYTES: usize = 32 << 20;

/// Why a program cannot be loaded, worded for the author of a skill.
/// [`SandboxError::downcast_ref`](skills_sandbox::SandboxError::downcast_ref) returns it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file has no bytes.
    #[error("file is empty")]
    Empty,
    /// It is larger than [`MAX_COMPONENT_BYTES`].
    #[error("size is {bytes} bytes, limit {MAX_COMPONENT_BYTES}")]
    TooLarge {
        /// The size in bytes.
        bytes: usize,
    },
    /// It is text, such as WebAssembly's text format.
    #[error("text, not WebAssembly")]
    Text,
    /// It is compiled machine code (`.cwasm`, or a native executable), which cannot be validated.
    #[error("compiled machine code; ship the WebAssembly component it was compiled from")]
    MachineCode,
    /// It does not start like WebAssembly.
    #[error("not WebAssembly")]
    NotWasm,
    /// It starts like WebAssembly, with an unknown version.
    #[error("unknown WebAssembly version")]
    UnknownVersion,
    /// It is not valid WebAssembly.
    #[error("invalid WebAssembly: {reason}")]
    Invalid {
        /// What is invalid, and where.
        reason: String,
    },
    /// It imports interfaces that are not supported.
    #[error("unsupported imports: {}{}", .names.join(", "), import_hint(.names))]
    UnknownImports {
        /// The names of the imports.
        names: Vec<String>,
    },
    /// It imports a WASI interface with an unsupported signature.
    #[error("unsupported import: {reason}")]
    Unsupported {
        /// The import, and what is wrong with it.
        reason: String,
    },
    /// It imports HTTP, which this build does not include.
    #[error(
        "requires wasi:http, which this build does not include; enable the feature `http` of skills-sandbox-wasm"
    )]
    HttpDisabled,
    /// It is built for WASI 0.3, which this build does not include.
    #[error(
        "requires WASI 0.3, which this build does not include; enable the feature `wasi-p3`, or build the program for WASI 0.2"
    )]
    WasiP3Disabled,
    /// It has no entry point.
    #[error("no `run` export; build it as a command, not as a library")]
    NoEntryPoint,
    /// It is larger than 256 KiB, and the host has no compile command.
    #[error(
        "too large ({bytes} bytes) to compile in this process; configure a compile command \
         (`WasmSandbox::compile_command`, `Builder::wasm_compile_command`)"
    )]
    NeedsCompileCommand {
        /// The size of the component in bytes.
        bytes: usize,
    },
    /// Compiling it exceeded the memory limit of the compiler.
    #[error(
        "too large to compile: compilation exceeds {} MiB of memory; split its largest functions, or remove what it does \
         not need",
        .limit_bytes >> 20
    )]
    CompileMemoryLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// Compiling it was stopped after some time; it is tried again only with much more time.
    #[error(
        "too large to compile: compilation did not finish within {} ms; precompile it (`skills wasm precompile`) or allow at least \
         twice the time, else split its largest functions",
        .limit.as_millis()
    )]
    CompileTimeout {
        /// The time after which it was stopped.
        limit: Duration,
    },
    /// The compiler failed.
    #[error("compiler failed: {reason}")]
    CompilerFailed {
        /// How it failed.
        reason: String,
    },
}

/// Returns a hint for imports whose names show their purpose.
fn import_hint(names: &[String]) -> &'static str {
    if names.iter().any(|name| starts_processes(name)) {
        "; WebAssembly cannot start processes, use a script of the skill instead"
    } else {
        ""
    }
}

/// Returns true if the name of an import contains a word for starting processes.
fn starts_processes(name: &str) -> bool {
    // Whole words: `system` is a part of harmless names, too.
    name.to_lowercase()
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| PROCESS_WORDS.contains(&word))
}

/// Words for starting processes.
const PROCESS_WORDS: [&str; 7] = [
    "exec",
    "fork",
    "popen",
    "posix_spawn",
    "process",
    "spawn",
    "system",
];
