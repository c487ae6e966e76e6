//! Where a runtime finds the programs of skills.

/// Finds interpreters.
#[cfg(all(feature = "native", unix))]
pub(crate) type ProgramSearch = skills_process::ProgramFinder;
/// Without a backend for scripts, no interpreters are searched.
#[cfg(not(all(feature = "native", unix)))]
pub(crate) type ProgramSearch = ();

/// Returns true if a program with this name exists where runs find it.
#[cfg(all(feature = "native", unix))]
pub(crate) fn has_program(finder: &ProgramSearch, name: &str) -> bool {
    // A skill must not use a path to find out which files exist on the host.
    is_bare_name(name) && finder.has_program(name)
}

/// Returns true if a program with this name is in a directory of the system. This build starts no
/// programs itself, but the application may.
#[cfg(not(all(feature = "native", unix)))]
pub(crate) fn has_program(_finder: &ProgramSearch, name: &str) -> bool {
    let directories = ["/usr/bin", "/bin", "/usr/local/bin"];
    is_bare_name(name)
        && directories
            .iter()
            .any(|directory| std::path::Path::new(directory).join(name).is_file())
}

fn is_bare_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\\']) && name != "." && name != ".."
}
