//! What to do about a missing wall, in one line.
#![expect(
    clippy::disallowed_methods,
    reason = "settings of the kernel are read from its own files"
)]

use crate::setup_step::{SetupStep, StepFailure};

/// Says how user namespaces can be had on a machine that refuses them.
pub(crate) fn namespaces_hint(failure: &StepFailure) -> &'static str {
    let is = |path: &str, wanted: &str| {
        std::fs::read_to_string(path).is_ok_and(|text| text.trim() == wanted)
    };
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return "allow them: sysctl user.max_user_namespaces=15000";
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return "allow them: sysctl kernel.unprivileged_userns_clone=1";
    }
    if is(
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

/// Says how a new `/proc` can be had.
pub(crate) const PROC_MOUNT_HINT: &str = "unmask the container's /proc (Docker: --security-opt systempaths=unconfined; Podman: --security-opt unmask=ALL)";
