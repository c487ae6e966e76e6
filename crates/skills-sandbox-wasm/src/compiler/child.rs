//! The child process.

use std::io::{self, Read, Write};

use wasmtime::Engine;

use crate::WasmProfile;
use crate::engine::{Allocation, engine_config};

use super::protocol::{CompileRequest, CompileStatus, MAX_REPLY_BYTES};

/// Compiles one component. The program of a [`CompileCommand`](crate::CompileCommand) calls this
/// with its standard input and output, then exits.
///
/// It lowers the limits of the whole process before it reads the component: processor time, no core
/// dump, no writing to files, and on Linux memory (data and address space) and no new files or
/// sockets. On Linux it also raises its OOM score, so that it is killed first, and is killed with
/// its parent. So do not call it in a process that does anything else. The component is compiled,
/// never run.
///
/// # Errors
///
/// Fails if the input is not a request of this version, or if the output is closed. A component
/// that cannot be compiled is a reply, not an error.
pub fn compile_child(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let request = CompileRequest::read(&mut input)?;
    // Before the component is read, so that nothing of it is parsed without limits.
    confine(&request);
    let component = request.read_component(&mut input)?;
    let (status, content) = compile_component(&component, request.profile());
    request.reply(status, &content, &mut output)
}

fn compile_component(component: &[u8], profile: WasmProfile) -> (CompileStatus, Vec<u8>) {
    let engine = match Engine::new(&engine_config(profile, Allocation::OnDemand)) {
        Ok(engine) => engine,
        Err(error) => return (CompileStatus::Failed, format!("{error:#}").into_bytes()),
    };
    match engine.precompile_component(component) {
        // The parent would reject a longer reply, and could not tell why.
        Ok(compiled) if compiled.len() > MAX_REPLY_BYTES => {
            let reason = format!(
                "compiled code is {} bytes, limit {MAX_REPLY_BYTES}",
                compiled.len()
            );
            (CompileStatus::Failed, reason.into_bytes())
        }
        Ok(compiled) => (CompileStatus::Compiled, compiled),
        Err(error) => (
            CompileStatus::Invalid,
            error.root_cause().to_string().into_bytes(),
        ),
    }
}

/// Lowers the limits of this process. Limits that the system does not support or rejects are
/// skipped: the parent still enforces the time.
#[cfg(unix)]
fn confine(request: &CompileRequest) {
    use rustix::process::Resource;

    set_limit(Resource::Cpu, request.cpu_seconds);
    set_limit(Resource::Core, 0);
    set_limit(Resource::Fsize, 0);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // If the parent died before this call, it has closed the input, so there is no component to
        // read.
        let _ =
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        #[expect(clippy::disallowed_methods, reason = "a procfs file")]
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        // Counts private writable memory. The address space also holds the program, its libraries
        // and reserved heaps.
        set_limit(Resource::Data, request.memory_bytes);
        set_limit(
            Resource::As,
            request
                .memory_bytes
                .saturating_add(ADDRESS_SPACE_HEADROOM_BYTES),
        );
        set_limit(Resource::Nofile, MAX_OPEN_FILES);
    }
}

/// How much larger the address space limit is than the memory limit: each thread's heap reserves 64
/// MiB.
#[cfg(any(target_os = "linux", target_os = "android"))]
const ADDRESS_SPACE_HEADROOM_BYTES: u64 = 1 << 30;
/// Standard input, output and error; with this limit no other file can be opened.
#[cfg(any(target_os = "linux", target_os = "android"))]
const MAX_OPEN_FILES: u64 = 3;

#[cfg(unix)]
fn set_limit(resource: rustix::process::Resource, value: u64) {
    let known = rustix::process::getrlimit(resource);
    // Raising a limit above the maximum needs privileges, and a lower one is stricter anyway.
    let value = known.maximum.map_or(value, |maximum| maximum.min(value));
    let limit = rustix::process::Rlimit {
        current: Some(value),
        maximum: Some(value),
    };
    let _ = rustix::process::setrlimit(resource, limit);
}

#[cfg(not(unix))]
fn confine(_request: &CompileRequest) {}
