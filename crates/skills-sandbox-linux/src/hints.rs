//! One-line remedies for unavailable restrictions.
#![expect(
    clippy::disallowed_methods,
    reason = "settings of the kernel are read from its own files"
)]

use crate::setup_step::{SetupStep, StepFailure};

/// Returns how to enable user namespaces on a host that denies them.
///
/// Settings of the kernel come first: they apply to any process, while the remedies for a container
/// are derived from the step that failed.
pub(crate) fn namespaces_hint(failure: &StepFailure) -> &'static str {
    if has_setting("/proc/sys/user/max_user_namespaces", "0") {
        return "allow them: sysctl user.max_user_namespaces=15000";
    }
    // Debian and its derivatives only; missing in other kernels.
    if has_setting("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "allow them: sysctl kernel.unprivileged_userns_clone=1";
    }
    // Ubuntu 23.10 and newer.
    if has_setting(
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
    ) {
        return "allow them with an AppArmor profile for this program that says `userns,`, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";
    }
    match failure.step {
        None => {
            "let the container create them: a seccomp profile that allows `clone` with CLONE_NEWUSER (Docker: --security-opt seccomp=…)"
        }
        Some(SetupStep::Root | SetupStep::RootFs | SetupStep::Pivot) => {
            "let the container mount inside its own user namespaces (Docker: --security-opt seccomp=… --security-opt apparmor=…)"
        }
        _ => "run on a kernel and in a container that give user namespaces their capabilities",
    }
}

fn has_setting(path: &str, value: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
}

/// The remedy if a network namespace is unavailable.
pub(crate) const NETWORK_HINT: &str = "let the container create network namespaces";

/// How to enable a new `/proc` mount.
pub(crate) const PROC_MOUNT_HINT: &str = "unmask the container's /proc (Docker: --security-opt systempaths=unconfined; Podman: --security-opt unmask=ALL)";
