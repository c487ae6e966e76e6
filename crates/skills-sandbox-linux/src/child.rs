//! The code of the child between `clone` and `execve`.
//!
//! The child shares the parent's memory while the parent's thread waits, and other threads of the
//! parent keep running. So nothing here allocates, locks, panics or unwinds: it makes system calls
//! with the data of a [`SetupSlot`], and ends in `execve` or `_exit`. The child and the
//! process that it creates have the thread-local data of that thread, so nothing here reads `errno`,
//! and only a failed `clone` writes it.
#![expect(
    unsafe_code,
    reason = "system calls between clone and exec have no safe form"
)]

mod channel;
mod init;
mod layer;
mod mount;
mod namespaces;
mod network;
mod proc;
mod syscall;

use libc::{AT_FDCWD, c_int, c_long, c_ulong, c_void, sock_filter};

use crate::child_setup::{ChildSetup, Namespaces, NetworkSetup, Ruleset};
use crate::name_server::NAME_SERVER_PORT;
use crate::setup_slot::{EarlySetup, SetupSlot};
use crate::setup_step::{Message, READY, SetupStep};
pub(crate) use channel::{
    FILTER_LISTENER, HOME_DIRECTORY, LAYER_DIRECTORY, MOUNT_NAMESPACE, NAME_LISTENER,
    NETWORK_LISTENER, SERVICE_LISTENER,
};
pub(crate) use syscall::system_call;
use syscall::{Descriptor, StepError, check_result, fail, open, write};

/// The child's entry point; `argument` is a [`SetupSlot`].
pub(crate) extern "C" fn main(argument: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a pointer to a `SetupSlot` that lives until the child has executed
    // its program or exited, because the parent's thread waits until then.
    let slot = unsafe { &*argument.cast::<SetupSlot>() };
    let early = set_up_early(&slot.early);
    let Some(setup) = slot.wait() else { exit(0) };
    let mut op_index = -1;
    let result = match early {
        Ok(()) => set_up_and_execute(&slot.early, setup, &mut op_index),
        Err(error) => Err(error),
    };
    finish(setup, result, op_index)
}

/// The entry point of the program's process in a process namespace.
extern "C" fn main_of_program(argument: *mut c_void) -> c_int {
    // SAFETY: `init` passes a pointer to the setup, and `spawn` waits for this process too.
    let setup = unsafe { &*argument.cast::<ChildSetup>() };
    finish(setup, start_program(setup), -1)
}

/// Reports a failed step, and exits.
fn finish(setup: &ChildSetup, result: Result<(), StepError>, op_index: i32) -> c_int {
    let exit_code = match result {
        Ok(()) => 0,
        Err(error) => {
            // If reporting fails too, the parent sees a child that sent nothing.
            let _ = send_status(setup, [error.step as i32, error.errno, op_index]);
            127
        }
    };
    exit(exit_code)
}

fn exit(exit_code: c_int) -> ! {
    // SAFETY: exits without running destructors, which belong to the parent.
    unsafe {
        system_call!(libc::SYS_exit_group, exit_code);
        libc::_exit(127)
    }
}

fn send_status(setup: &ChildSetup, message: Message) -> Result<(), StepError> {
    let [step, errno, op_index] = message.map(i32::to_ne_bytes);
    let mut bytes = [0u8; size_of::<Message>()];
    // Copied byte by byte, since slicing could panic.
    for (target, byte) in bytes
        .iter_mut()
        .zip(step.into_iter().chain(errno).chain(op_index))
    {
        *target = byte;
    }
    write(setup.status, &bytes, SetupStep::Ready)
}

/// The size of the kernel's signal set.
const SIGNAL_SET_BYTES: usize = 8;

/// Does what does not depend on the plan of the run. Opens no descriptor that stays open: they may
/// be shared with the host process.
fn set_up_early(early: &EarlySetup) -> Result<(), StepError> {
    create_session(early)?;
    prefer_as_victim();
    let Some(namespaces) = &early.namespaces else {
        return Ok(());
    };
    begin_step(early.fault, SetupStep::Identity)?;
    namespaces::write_id_maps(&namespaces.uid_map, &namespaces.gid_map)?;
    if namespaces.own_network {
        begin_step(early.fault, SetupStep::Network)?;
        network::bring_up_loopback()?;
    }
    begin_step(early.fault, SetupStep::Root)?;
    begin_step(early.fault, SetupStep::Proc)?;
    namespaces::begin_rootfs(&namespaces.rootfs)
}

/// Goes through the other setup steps and executes the program. Returns `Ok` only for a probe.
///
/// The order matters: mounts and ID maps need the capabilities that are dropped later, Landlock
/// must not restrict those mounts, and seccomp comes last because it denies the calls of the other
/// steps.
fn set_up_and_execute(
    early: &EarlySetup,
    setup: &ChildSetup,
    op_index: &mut i32,
) -> Result<(), StepError> {
    own_descriptors(setup)?;
    join_cgroups(setup)?;
    match (&setup.namespaces, &setup.init) {
        (Some(namespaces), Some(init)) => {
            begin_network(early, namespaces)?;
            let executable = enter_namespaces(setup, namespaces, &init.image, op_index)?;
            begin_step(setup.fault, SetupStep::Init)?;
            init::start(setup, init, &executable)
        }
        _ => restrict_and_execute(setup),
    }
}

/// Starts the program in a process namespace, as soon as the first process there is ready. Until
/// then it restricts itself, while that process starts.
fn start_program(setup: &ChildSetup) -> Result<(), StepError> {
    if setup.init.is_some() {
        // Programs expect to lead the process group of their number, such as to signal it.
        // SAFETY: takes no memory.
        check_result(
            unsafe { system_call!(libc::SYS_setsid) },
            SetupStep::Session,
        )?;
    }
    restrict_and_execute(setup)
}

/// Restricts this process and executes the program.
fn restrict_and_execute(setup: &ChildSetup) -> Result<(), StepError> {
    install_streams(setup)?;
    begin_step(setup.fault, SetupStep::Limits)?;
    set_rlimits(setup)?;
    use_processors(setup);
    drop_privileges(setup)?;
    begin_step(setup.fault, SetupStep::Landlock)?;
    setup.ruleset.as_ref().map_or(Ok(()), restrict_self)?;
    begin_step(setup.fault, SetupStep::Seccomp)?;
    install_filter(setup)?;
    begin_step(setup.fault, SetupStep::Signals)?;
    reset_signals()?;
    setup.init.as_ref().map_or(Ok(()), init::wait_ready)?;
    begin_step(setup.fault, SetupStep::Ready)?;
    // Also fails if the host process has died, since the pipe then has no reader.
    send_status(setup, READY)?;
    begin_step(setup.fault, SetupStep::Execute)?;
    execute(setup)
}

/// Fails if a test lets this step fail.
fn begin_step(fault: Option<SetupStep>, step: SetupStep) -> Result<(), StepError> {
    if fault == Some(step) {
        Err(fail(libc::EPERM, step))
    } else {
        Ok(())
    }
}

fn join_cgroups(setup: &ChildSetup) -> Result<(), StepError> {
    begin_step(setup.fault, SetupStep::Cgroup)?;
    for procs_file in &setup.cgroup_procs_files {
        write(*procs_file, b"0", SetupStep::Cgroup)?;
    }
    Ok(())
}

/// Sets up the namespaces that `clone` created. Returns the executable file of the first process.
fn enter_namespaces(
    setup: &ChildSetup,
    namespaces: &Namespaces,
    init_image: &[u8],
    op_index: &mut i32,
) -> Result<Descriptor, StepError> {
    send_mount_namespace(namespaces.channel);
    begin_step(setup.fault, SetupStep::RootFs)?;
    begin_step(setup.fault, SetupStep::Pivot)?;
    namespaces::enter_rootfs(&namespaces.rootfs, op_index, |root| {
        send_home(root, namespaces);
        layer::detach(root, namespaces.channel)?;
        init::create_file(root, init_image)
    })
}

/// Sends the home directory to the host process, which lists after the run what the program left in
/// it. If that fails, nothing is listed.
fn send_home(root: &Descriptor, namespaces: &Namespaces) {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let step = SetupStep::RootFs;
    if let Ok(home) = open(root.number(), &namespaces.home, flags, step) {
        let _ = channel::send_descriptor(home.number(), HOME_DIRECTORY, namespaces.channel, step);
    }
}

/// Sends the mount namespace to the host process, which thereby decides when the kernel removes the
/// mounts. If that fails, it removes them when the last process of the run exits, which takes
/// longer.
fn send_mount_namespace(channel: c_int) {
    let step = SetupStep::Identity;
    if let Ok(namespace) = open(AT_FDCWD, c"/proc/self/ns/mnt", libc::O_RDONLY, step) {
        let _ = channel::send_descriptor(namespace.number(), MOUNT_NAMESPACE, channel, step);
    }
}

/// Creates the listeners in the network namespace, if the child has one.
fn begin_network(early: &EarlySetup, namespaces: &Namespaces) -> Result<(), StepError> {
    let listener = match namespaces.network {
        NetworkSetup::Shared => return Ok(()),
        NetworkSetup::Loopback => None,
        NetworkSetup::Proxy(listener) => Some(listener),
    };
    // Listeners never belong to the network of the host.
    if early
        .namespaces
        .as_ref()
        .is_none_or(|early| !early.own_network)
    {
        return Err(fail(libc::ENONET, SetupStep::Network));
    }
    // A granted service of this port answers lookups itself.
    if !namespaces.services.contains(&NAME_SERVER_PORT) {
        // Without it lookups fail as well, in the words of the program.
        let _ = network::listen_for_names(namespaces.channel);
    }
    let Some(listener) = listener else {
        return Ok(());
    };
    network::listen(listener)?;
    for port in &namespaces.services {
        network::listen_for_service(*port, listener.channel)?;
    }
    Ok(())
}

/// Creates a session and process group without a controlling terminal, and sets
/// `PR_SET_PDEATHSIG`.
fn create_session(early: &EarlySetup) -> Result<(), StepError> {
    begin_step(early.fault, SetupStep::Session)?;
    // SAFETY: system calls without pointers.
    unsafe {
        check_result(system_call!(libc::SYS_setsid), SetupStep::Session)?;
        begin_step(early.fault, SetupStep::Lifetime)?;
        check_result(
            system_call!(
                libc::SYS_prctl,
                libc::PR_SET_PDEATHSIG,
                libc::SIGKILL as c_ulong,
                0,
                0,
                0,
            ),
            SetupStep::Lifetime,
        )
        .map(drop)
    }
}

/// Makes the kernel kill processes of the run first if memory of the machine runs out. Its children
/// inherit that, and only privileged processes can take it back. The host process keeps its own
/// value, although it shares its memory: the kernel knows that it waits for this child
/// (`CLONE_VFORK`). Errors are ignored, since some hosts have no writable `/proc`.
fn prefer_as_victim() {
    let step = SetupStep::Session;
    if let Ok(file) = open(
        AT_FDCWD,
        c"/proc/self/oom_score_adj",
        libc::O_WRONLY | libc::O_CLOEXEC,
        step,
    ) {
        let _ = write(file.number(), b"1000", step);
    }
}

/// Copies the descriptors if they are shared with the host process, marks all of them as
/// close-on-exec, and announces the process group to the watchdog.
fn own_descriptors(setup: &ChildSetup) -> Result<(), StepError> {
    const CLOSE_RANGE_UNSHARE: u32 = 2;
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    begin_step(setup.fault, SetupStep::Descriptors)?;
    // They stay open until `execve`, since the status pipe and the ruleset are still needed. The
    // range has no end, so it includes what the host leaked without close-on-exec.
    // SAFETY: system calls without pointers, on the descriptors of this process alone.
    unsafe {
        check_result(
            system_call!(
                libc::SYS_close_range,
                3u32,
                u32::MAX,
                CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC,
            ),
            SetupStep::Descriptors,
        )?;
        // The host may have died before the signal was requested. Without this copy of the reading
        // end the status pipe then has no reader, so reporting readiness fails.
        check_result(
            system_call!(libc::SYS_close, setup.status_reader),
            SetupStep::Lifetime,
        )?;
    }
    setup.watchdog.map_or(Ok(()), |(pipe, _)| announce(pipe))
}

/// Asks the watchdog to kill this process group if the host process dies.
fn announce(watchdog: c_int) -> Result<(), StepError> {
    // SAFETY: takes no memory.
    let mut pid = unsafe { system_call!(libc::SYS_getpid) };
    // A sign, a space, at most ten digits and a newline, written from the end: formatting could
    // allocate or panic.
    let mut line = [b'\n'; 13];
    let mut start = line.len() - 1;
    while pid > 0 && start > 2 {
        start -= 1;
        line[start] = b'0' + (pid % 10) as u8;
        pid /= 10;
    }
    line[start - 1] = b' ';
    line[start - 2] = b'+';
    write(watchdog, &line[start - 2..], SetupStep::Lifetime)
}

/// Installs the standard streams and enters the working directory.
fn install_streams(setup: &ChildSetup) -> Result<(), StepError> {
    begin_step(setup.fault, SetupStep::Streams)?;
    if let Some(terminal) = setup.streams.terminal {
        // This process leads a session without a terminal, so it takes that of no other session.
        // SAFETY: system call without pointers.
        check_result(
            unsafe { system_call!(libc::SYS_ioctl, terminal, libc::TIOCSCTTY, 0) },
            SetupStep::Streams,
        )?;
    }
    for (target, source) in (0..).zip(setup.streams.standard) {
        // SAFETY: system call without pointers; the sources are above 2, so none is overwritten
        // before it is used.
        check_result(
            unsafe { system_call!(libc::SYS_dup3, source, target, 0) },
            SetupStep::Streams,
        )?;
    }
    begin_step(setup.fault, SetupStep::Directory)?;
    // SAFETY: the path is a valid string.
    check_result(
        unsafe { system_call!(libc::SYS_chdir, setup.directory.as_ptr()) },
        SetupStep::Directory,
    )
    .map(drop)
}

/// Restricts the processors. Errors are ignored: some of them can have been removed from the host.
fn use_processors(setup: &ChildSetup) {
    if let Some(set) = &setup.processors {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: reads the set of the passed size; process 0 is the calling one.
        let _ = unsafe {
            system_call!(
                libc::SYS_sched_setaffinity,
                0,
                size,
                std::ptr::from_ref(set)
            )
        };
    }
}

fn set_rlimits(setup: &ChildSetup) -> Result<(), StepError> {
    for (resource, value) in &setup.limits {
        let limit = libc::rlimit64 {
            rlim_cur: *value,
            rlim_max: *value,
        };
        // SAFETY: reads a local structure, writes nothing; process 0 is the calling one.
        let result = unsafe {
            system_call!(
                libc::SYS_prlimit64,
                0,
                *resource,
                &raw const limit,
                std::ptr::null::<u8>(),
            )
        };
        check_result(result, SetupStep::Limits)?;
    }
    Ok(())
}

/// Drops all capabilities and sets `no_new_privs`, so that no program can gain new ones.
fn drop_privileges(setup: &ChildSetup) -> Result<(), StepError> {
    begin_step(setup.fault, SetupStep::Capabilities)?;
    drop_bounding_set();
    drop_capabilities(SetupStep::Capabilities)?;
    begin_step(setup.fault, SetupStep::NoNewPrivileges)?;
    set_no_new_privileges(SetupStep::NoNewPrivileges)
}

fn drop_bounding_set() {
    const LAST_CAPABILITY: c_ulong = 63;
    for capability in 0..=LAST_CAPABILITY {
        // Fails for capabilities that do not exist, and without CAP_SETPCAP. Failing is harmless,
        // since this is defense in depth: with no permitted capabilities and no_new_privs, the
        // bounding set has no effect.
        // SAFETY: takes no memory.
        if unsafe { system_call!(libc::SYS_prctl, libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } < 0
        {
            break;
        }
    }
}

fn drop_capabilities(step: SetupStep) -> Result<(), StepError> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let empty_sets = [0u32; 6];
    // SAFETY: the header and the two empty sets are local and have the layout of version 3.
    let result = unsafe { system_call!(libc::SYS_capset, &raw const header, empty_sets.as_ptr()) };
    check_result(result, step).map(drop)
}

fn set_no_new_privileges(step: SetupStep) -> Result<(), StepError> {
    // SAFETY: takes no memory.
    let result = unsafe { system_call!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    check_result(result, step).map(drop)
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    access_rights: u64,
    parent: i32,
}

/// Adds the rules for paths of the new root file system, and applies the ruleset to this thread,
/// which is the only one.
fn restrict_self(ruleset: &Ruleset) -> Result<(), StepError> {
    const PATH_BENEATH: c_int = 1;
    for rule in &ruleset.deferred_rules {
        let path = open(
            AT_FDCWD,
            &rule.path,
            libc::O_PATH | libc::O_NOFOLLOW,
            SetupStep::Landlock,
        )?;
        let beneath = PathBeneath {
            access_rights: rule.rights,
            parent: path.number(),
        };
        // SAFETY: reads a local structure of the layout that the kernel defines for this kind of
        // rule.
        let result = unsafe {
            system_call!(
                libc::SYS_landlock_add_rule,
                ruleset.descriptor,
                PATH_BENEATH,
                &raw const beneath,
                0u32,
            )
        };
        check_result(result, SetupStep::Landlock)?;
    }
    // SAFETY: the ruleset is an open descriptor; close-on-exec keeps it open until `execve`.
    check_result(
        unsafe { system_call!(libc::SYS_landlock_restrict_self, ruleset.descriptor, 0u32) },
        SetupStep::Landlock,
    )
    .map(drop)
}

/// Installs the seccomp filter, unless it is empty because sandboxing is disabled. A filter that
/// notifies the host process is preferred; it is refused where the run is already below one with a
/// listener, as in some containers.
fn install_filter(setup: &ChildSetup) -> Result<(), StepError> {
    if setup.filter.is_empty() {
        return Ok(());
    }
    if let Some(observed) = &setup.observed {
        let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // Without the second flag (Linux 5.19) a signal restarts a call that waits for its answer.
        let killable = listens | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        for flags in [killable, listens] {
            let listener = set_filter(&observed.filter, flags);
            if listener >= 0 {
                return channel::send_descriptor(
                    listener as c_int,
                    FILTER_LISTENER,
                    observed.channel,
                    SetupStep::Seccomp,
                );
            }
        }
    }
    check_result(set_filter(&setup.filter, 0), SetupStep::Seccomp).map(drop)
}

/// Returns the listener of the filter if the flags ask for one, otherwise 0.
fn set_filter(filter: &[sock_filter], flags: c_ulong) -> c_long {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the kernel copies the program, whose length is that of the slice; both types have the
    // kernel's layout.
    unsafe {
        system_call!(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    }
}

/// Sets all signals to their default action and unblocks them. `execve` keeps ignored and blocked
/// signals, and the parent's thread blocked all of them before `clone`.
fn reset_signals() -> Result<(), StepError> {
    // Functions of the C library may take a lock, so these are direct system calls. The kernel's
    // structure has four words; all zero is the default action.
    let default = [0usize; 4];
    let empty_mask = 0u64;
    // SAFETY: the handlers are this process's own copy, since they are not shared; the structures
    // are local plain data of the kernel's size.
    unsafe {
        for signal in 1..=64 {
            // Fails for SIGKILL and SIGSTOP, which cannot be changed.
            system_call!(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                std::ptr::null::<u8>(),
                SIGNAL_SET_BYTES,
            );
        }
        let unblocked = system_call!(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const empty_mask,
            std::ptr::null::<u8>(),
            SIGNAL_SET_BYTES,
        );
        check_result(unblocked, SetupStep::Signals).map(drop)
    }
}

fn execute(setup: &ChildSetup) -> Result<(), StepError> {
    let Some(program) = &setup.exec_target else {
        return Ok(());
    };
    // The descriptor marks the one call of which the host process is not notified.
    // SAFETY: `setup` owns the strings and the arrays of pointers to them, which end with null.
    let result = unsafe {
        system_call!(
            libc::SYS_execveat,
            program.directory,
            program.executable.as_ptr(),
            program.args.as_ptr(),
            program.env.as_ptr(),
            0,
        )
    };
    check_result(result, SetupStep::Execute).map(drop)
}
