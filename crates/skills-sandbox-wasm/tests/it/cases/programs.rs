//! Programs in text format that compilers do not produce.

use super::fixture::Generation;

/// Compiles text to bytes.
pub(crate) fn compile(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Creates a command from the fields of a core module, which exports `run: func() -> i32`; 0 is
/// success.
pub(crate) fn command(generation: Generation, core: &str) -> Vec<u8> {
    component(generation, "", core)
}

/// Creates a command with more definitions before it, such as imports.
pub(crate) fn component(generation: Generation, definitions: &str, core: &str) -> Vec<u8> {
    let (version, result) = match generation {
        Generation::P2 => ("0.2.0", "(func (result (result)))"),
        Generation::P3 => ("0.3.0", "(func async (result (result)))"),
    };
    compile(&format!(
        r#"(component
            {definitions}
            (core module $module {core})
            (core instance $instance (instantiate $module))
            (type $run {result})
            (func $run (type $run) (canon lift (core func $instance "run")))
            (instance $exported (export "run" (func $run)))
            (export "wasi:cli/run@{version}" (instance $exported)))"#
    ))
}

/// A command that succeeds and does nothing else.
pub(crate) fn nothing(generation: Generation) -> Vec<u8> {
    command(
        generation,
        r#"(func (export "run") (result i32) i32.const 0)"#,
    )
}

/// A command that never ends.
pub(crate) fn endless(generation: Generation) -> Vec<u8> {
    command(
        generation,
        r#"(func (export "run") (result i32) (loop $again (br $again)) unreachable)"#,
    )
}
