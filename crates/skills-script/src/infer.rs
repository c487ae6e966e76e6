//! Inference of the arguments of a script from its text.
//!
//! Each submodule parses one framework or convention and returns an [`ArgumentSpec`], or `None` if
//! the text does not use it, or uses it without constants. Nothing is executed. Arguments that
//! cannot be inferred leave the result open, so that a call that the script accepts is always
//! possible.

mod argparse;
mod argument_list;
mod javascript;
mod option_literals;
mod position;
mod python;
mod shell;
mod signs;
pub(crate) mod usage;

pub(crate) use self::shell::{ShellLines, is_function_start, is_variable};

use crate::argument::{ArgumentSpec, InputConvention};
use crate::source::{MAX_SOURCE_BYTES, Tokens};
use crate::{Language, ScriptWarning, file_stem};

/// Maximum number of arguments of a script and all its commands together.
const MAX_TOTAL_ARGUMENTS: usize = 300;

/// Infers the arguments from source of at most 256 KiB.
pub(crate) fn infer_arguments(
    source: &str,
    file: &str,
    warnings: &mut Vec<ScriptWarning>,
) -> ArgumentSpec {
    if source.len() > MAX_SOURCE_BYTES {
        return ArgumentSpec::unknown(InputConvention::Words);
    }
    let stem = file_stem(file);
    limit_arguments(match Language::of(file) {
        Language::Python => python::infer(source, stem, &Tokens::python(source), warnings),
        Language::JavaScript => javascript::infer(source, stem, &Tokens::javascript(source)),
        Language::Shell => shell::infer(source, stem),
    })
}

/// Leaves the arguments of commands open if there are too many for a schema.
fn limit_arguments(mut spec: ArgumentSpec) -> ArgumentSpec {
    if spec.all_arguments().count() <= MAX_TOTAL_ARGUMENTS {
        return spec;
    }
    for command in spec.commands.iter_mut().flat_map(|set| &mut set.commands) {
        command.arguments.clear();
    }
    spec.open()
}

#[cfg(test)]
mod tests;
