//! From bytes to something that can be started.

use skills_sandbox::SandboxError;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::p2::bindings::CommandPre;

use crate::MAX_COMPONENT_BYTES;
use crate::context::Context;

/// A compiled component whose imports are all resolved.
pub(crate) type Prepared = CommandPre<Context>;

const MAGIC: &[u8] = b"\0asm";
/// The fifth to eighth byte: version and layer.
const CORE_MODULE: &[u8] = &[1, 0, 0, 0];
const COMPONENT_LAYER: &[u8] = &[1, 0];

/// Compiles a component. Never accepts compiled code (`.cwasm`), which could hold anything.
pub(crate) fn load(engine: &Engine, linker: &Linker<Context>, bytes: &[u8]) -> Result<Prepared, SandboxError> {
    sniff(bytes)?;
    let component =
        Component::from_binary(engine, bytes).map_err(|error| SandboxError::load(format!("it is not valid: {}", error.root_cause())))?;
    // The outermost message names the import.
    let instance = linker
        .instantiate_pre(&component)
        .map_err(|error| SandboxError::load(format!("this host does not offer what it needs: {error}")))?;
    CommandPre::new(instance).map_err(|_| SandboxError::load("it has no `run` function to call; build it as a command, not as a library"))
}

/// Says in plain words what the bytes are when they are no component.
fn sniff(bytes: &[u8]) -> Result<(), SandboxError> {
    if bytes.len() > MAX_COMPONENT_BYTES {
        let length = bytes.len();
        return Err(SandboxError::load(format!("it has {length} bytes, at most {MAX_COMPONENT_BYTES} are loaded")));
    }
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let what = match bytes {
            [] => "it is empty",
            [0x7f, b'E', b'L', b'F', ..] => "it is compiled machine code; ship the WebAssembly component it was made from",
            _ if bytes.first().is_some_and(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => "it is text, not WebAssembly",
            _ => "it is not WebAssembly",
        };
        return Err(SandboxError::load(what));
    };
    match rest.get(..4) {
        Some(CORE_MODULE) => {
            Err(SandboxError::load("it is a core module; build it as a component, for example for the target `wasm32-wasip2`"))
        }
        Some([_, _, layer @ ..]) if layer == COMPONENT_LAYER => Ok(()),
        _ => Err(SandboxError::load("its version of WebAssembly is not known")),
    }
}
