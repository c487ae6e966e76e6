//! Why a program cannot be loaded.

use std::time::Duration;

use crate::MAX_COMPONENT_BYTES;

/// Why a program cannot be loaded, in words for the author of a skill.
/// [`SandboxError::cause`](skills_sandbox::SandboxError::cause) gives it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// It is longer than [`MAX_COMPONENT_BYTES`].
    #[error("it has {bytes} bytes, at most {MAX_COMPONENT_BYTES} are loaded")]
    TooLarge {
        /// How long it is.
        bytes: usize,
    },
    /// It is text, such as WebAssembly's text format.
    #[error("it is text, not WebAssembly")]
    Text,
    /// It is compiled machine code (`.cwasm`, or a program of an operating system), which nobody
    /// can check.
    #[error("it is compiled machine code; ship the WebAssembly component it was made from")]
    MachineCode,
    /// It does not begin as WebAssembly does.
    #[error("it is not WebAssembly")]
    NotWasm,
    /// It begins as WebAssembly does, in a version that nobody knows.
    #[error("its version of WebAssembly is not known")]
    UnknownVersion,
    /// It breaks the rules of WebAssembly.
    #[error("it is not valid: {reason}")]
    Invalid {
        /// Which, and where.
        reason: String,
    },
    /// It asks for interfaces that there are not.
    #[error("this host does not offer what it needs: {}{}", .names.join(", "), import_hint(.names))]
    UnknownImports {
        /// Their names.
        names: Vec<String>,
    },
    /// It asks for an interface of WASI in a form that there is not.
    #[error("this host does not offer what it needs: {reason}")]
    Unsupported {
        /// Which, and what is wrong with it.
        reason: String,
    },
    /// It asks for HTTP, and this program was built without it.
    #[error(
        "it needs wasi:http, and this program was built without it; enable the feature `http` of skills-sandbox-wasm"
    )]
    HttpDisabled,
    /// It is made for WASI 0.3, and this program was built without it.
    #[error(
        "it is made for WASI 0.3, and this program was built without it; enable the feature `wasi-p3`, or build it for WASI 0.2"
    )]
    WasiP3Disabled,
    /// It has nothing that could be run.
    #[error("it has no `run` function to call; build it as a command, not as a library")]
    NoEntryPoint,
    /// It may take the compiler long or much memory, and the host has no compile command.
    #[error(
        "it is too large or too complex ({bytes} bytes) to be compiled in this process; give the host a compile command \
         (`WasmSandbox::compile_command`, `Builder::wasm_compile_command`)"
    )]
    NeedsCompileCommand {
        /// How long the component is.
        bytes: usize,
    },
    /// Compiling it took all the memory that the compiler may use.
    #[error(
        "it is too large to compile: compiling it takes more than {} MiB of memory; split its largest functions, or remove what it does \
         not need",
        .limit_bytes >> 20
    )]
    CompileMemoryLimit {
        /// The limit, in bytes.
        limit_bytes: u64,
    },
    /// Compiling it was stopped after some time, and is tried again only with much more.
    #[error(
        "it is too large to compile: compiling it did not finish within {} ms; precompile it (`skills precompile`) or allow at least \
         twice the time, else split its largest functions",
        .limit.as_millis()
    )]
    CompileTimeout {
        /// How long it was compiled.
        limit: Duration,
    },
    /// The compiler or its thread failed.
    #[error("the compiler failed on it: {reason}")]
    CompilerFailed {
        /// How.
        reason: String,
    },
}

/// What to say of imports whose names tell what they are for.
fn import_hint(names: &[String]) -> &'static str {
    const WORDS: [&str; 7] = [
        "exec",
        "fork",
        "popen",
        "posix_spawn",
        "process",
        "spawn",
        "system",
    ];
    let starts_processes = |name: &String| {
        WORDS.iter().any(|word| {
            name.to_lowercase()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|part| part == *word)
        })
    };
    if names.iter().any(starts_processes) {
        "; there are no processes in WebAssembly, a script of the skill can start them"
    } else {
        ""
    }
}
