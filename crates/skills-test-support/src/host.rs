//! Detects what this host supports, by trying it.

#[cfg(target_os = "linux")]
mod attempt;
#[cfg(target_os = "linux")]
mod events;
#[cfg(target_os = "linux")]
mod linux;

use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
pub use linux::{landlock, landlock_version, namespaces};

/// The directories in which programs of the system are searched.
const PROGRAMS: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// Succeeds if scripts can be sandboxed: with user namespaces or Landlock on Linux, with
/// `sandbox-exec` on macOS.
///
/// # Errors
/// With the missing feature and the cause.
pub fn sandbox() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return namespaces().or_else(|namespaces| {
        landlock().map_err(|landlock| {
            format!(
                "no sandbox: user namespaces are unavailable ({namespaces}), and so is Landlock ({landlock})"
            )
        })
    });
    #[cfg(target_os = "macos")]
    return sandbox_exec();
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return Err("no sandbox: this system has no sandbox for scripts".to_owned());
}

#[cfg(target_os = "macos")]
fn sandbox_exec() -> Result<(), String> {
    let result = std::process::Command::new("/usr/bin/sandbox-exec")
        .args(["-p", "(version 1)(allow default)", "/usr/bin/true"])
        .output();
    match result {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "no sandbox: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("no sandbox: /usr/bin/sandbox-exec: {error}")),
    }
}

/// Succeeds if the system reports changes of files: with inotify on Linux, always on other systems.
///
/// # Errors
/// With the missing feature and the cause.
pub fn file_events() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return events::inotify().map_err(|error| format!("no file events: {error}"));
    #[cfg(not(target_os = "linux"))]
    return Ok(());
}

/// Finds a program of the system by its name, in `/usr/local/bin`, `/usr/bin` and `/bin`. `PATH` is
/// not used, since the sandbox does not use it either.
///
/// ```
/// use skills_test_support::host;
///
/// let error = host::program("no-such-program").unwrap_err();
/// assert_eq!(error, "no program `no-such-program` in /usr/local/bin, /usr/bin, /bin");
/// ```
///
/// # Errors
/// With the reason for a skip, if the program does not exist.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let found = PROGRAMS
        .iter()
        .map(|directory| Path::new(directory).join(name))
        .find(|path| path.is_file());
    found.ok_or_else(|| format!("no program `{name}` in {}", PROGRAMS.join(", ")))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_by_name() {
        assert!(program("sh").is_ok());
        assert_eq!(
            program("no-such-program").unwrap_err(),
            "no program `no-such-program` in /usr/local/bin, /usr/bin, /bin"
        );
    }
}

/// Returns the socket of a container engine, and an image of it by its digest, with Python, a shell
/// and basic programs. `cargo xtask image` prepares them and `cargo xtask test` passes them on, in
/// `SKILLS_TEST_CONTAINER_SOCKET` and `SKILLS_TEST_CONTAINER_IMAGE`.
///
/// # Errors
/// With the reason for a skip, if there is none.
pub fn container_engine() -> Result<(PathBuf, String), String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let socket = variable("SKILLS_TEST_CONTAINER_SOCKET").ok_or(
        "no container engine: `cargo xtask image` prepares one for root, with podman and runc",
    )?;
    let image = variable("SKILLS_TEST_CONTAINER_IMAGE")
        .ok_or("no container image: `cargo xtask image` prepares one")?;
    match std::os::unix::net::UnixStream::connect(&socket) {
        Ok(_) => Ok((socket.into(), image)),
        Err(error) => Err(format!(
            "no container engine: cannot connect to {socket}: {error}"
        )),
    }
}
/// Returns true if child processes ignore a signal, as under `nohup` or in the background of a
/// script.
#[must_use]
pub fn is_ignored(signal: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & (1 << (signal - 1)) != 0
}
