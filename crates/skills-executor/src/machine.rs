//! What the machine has, of which a run gets a part by default.

use skills_policy::ResourceLimits;

/// Returns the memory that a run may use by default, in bytes: that of
/// [`ResourceLimits::default`], or a quarter of the memory of the machine if that is less.
#[must_use]
pub fn default_memory_bytes() -> u64 {
    part_of(ResourceLimits::default().memory_bytes, machine_bytes())
}

fn part_of(default: u64, machine: Option<u64>) -> u64 {
    machine.map_or(default, |machine| default.min(machine / 4))
}

/// Returns the memory of the machine in bytes, where the system tells it.
#[cfg(target_os = "linux")]
fn machine_bytes() -> Option<u64> {
    let value = |name| nix::unistd::sysconf(name).ok()?;
    let pages = value(nix::unistd::SysconfVar::_PHYS_PAGES)?;
    let page_bytes = value(nix::unistd::SysconfVar::PAGE_SIZE)?;
    u64::try_from(pages)
        .ok()?
        .checked_mul(u64::try_from(page_bytes).ok()?)
}

#[cfg(not(target_os = "linux"))]
fn machine_bytes() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_gets_a_quarter_of_a_small_machine() {
        let default = ResourceLimits::default().memory_bytes;
        assert_eq!(default, 2 << 30);
        assert_eq!(part_of(default, Some(64 << 30)), default);
        assert_eq!(part_of(default, Some(4 << 30)), 1 << 30);
        assert_eq!(part_of(default, None), default);
        assert!((1..=default).contains(&default_memory_bytes()));
    }
}
