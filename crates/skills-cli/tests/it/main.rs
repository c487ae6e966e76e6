//! Tests of the command as users call it: arguments in, text, JSON and exit codes out.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests start the command and fail by panicking"
)]

mod audit;
#[cfg(unix)]
mod build;
mod check;
mod collections;
#[cfg(unix)]
mod company_proxy;
mod compile_wasm;
#[cfg(all(target_os = "linux", feature = "container", feature = "packages"))]
mod containers;
#[cfg(all(target_os = "linux", feature = "packages"))]
mod deps;
mod exit_codes;
#[cfg(target_os = "linux")]
mod explanations;
mod findings;
mod first_try;
mod fixture;
#[cfg(all(unix, feature = "install"))]
mod frozen;
mod help;
mod hooks;
#[cfg(unix)]
mod host_directories;
#[cfg(all(target_os = "linux", feature = "packages"))]
mod imported_packages;
mod inspect;
mod install;
#[cfg(all(unix, feature = "install"))]
mod install_https;
#[cfg(all(
    feature = "install",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod install_killed;
#[cfg(feature = "install")]
mod install_memory;
#[cfg(feature = "install")]
mod install_packages;
#[cfg(all(unix, feature = "install"))]
mod install_signatures;
mod interpreters;
mod json_errors;
#[cfg(target_os = "linux")]
mod live_output;
mod locale;
mod lookup;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_install;
#[cfg(all(target_os = "linux", feature = "mcp"))]
mod mcp_killed;
#[cfg(all(unix, feature = "mcp"))]
mod mcp_roots;
#[cfg(feature = "mcp-http")]
mod mcp_token;
mod model;
#[cfg(target_os = "linux")]
mod named_paths;
#[cfg(unix)]
mod omitted_scripts;
#[cfg(all(target_os = "linux", feature = "packages"))]
mod package_index;
#[cfg(target_os = "linux")]
mod planned_once;
mod policy;
mod precompile;
#[cfg(target_os = "linux")]
mod program_options;
mod project_skills;
#[cfg(target_os = "linux")]
mod readme;
mod reference;
mod run;
mod run_exit;
#[cfg(target_os = "linux")]
mod run_terminal;
#[cfg(unix)]
mod script_checks;
mod settings;
#[cfg(target_os = "linux")]
mod signals;
mod skills;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(all(target_os = "linux", feature = "install", feature = "mcp"))]
mod thread_limits;
mod tools;
#[cfg(all(
    feature = "install",
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod traced;
#[cfg(target_os = "linux")]
mod trusted_files;
#[cfg(unix)]
mod typed_paths;
#[cfg(unix)]
mod unreadable;
#[cfg(target_os = "linux")]
mod unseen_file;
mod usage;
#[cfg(all(unix, feature = "install"))]
mod verify;
#[cfg(all(unix, feature = "install"))]
#[expect(dead_code, reason = "the tests of the library use more of it")]
#[path = "../../../skills-install/tests/it/web_server.rs"]
mod web_server;
