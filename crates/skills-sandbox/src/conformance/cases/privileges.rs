//! Attempts on output, privileges, the kernel's surface and the runtime.

use super::{CONTAINED, DENIED, NO_EFFECT, NOT_APPLICABLE, REJECTED, Row, SUCCEEDED, row};

pub(super) const OUTPUT: &[Row] = &[
    row(
        75,
        "output-flood",
        "Write without end to one stream, to both, byte by byte.",
        [CONTAINED; 4],
    ),
    row(
        76,
        "odd-bytes",
        "Write bytes that are no text, zeros, and no final newline; all arrive.",
        [SUCCEEDED; 4],
    ),
    row(
        77,
        "unread-input",
        "Get ten megabytes of input and read none.",
        [SUCCEEDED; 4],
    ),
    row(
        78,
        "closed-output",
        "Close the output early and go on.",
        [SUCCEEDED; 4],
    ),
    row(
        79,
        "endings",
        "End by a high exit code and by a signal; the two are told apart.",
        [SUCCEEDED; 4],
    ),
];

pub(super) const PRIVILEGES: &[Row] = &[
    row(
        80,
        "setuid-programs",
        "Become somebody else by programs that run as their owner, and by asking.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        81,
        "make-setuid",
        "Make a file that runs as its owner.",
        [DENIED, NO_EFFECT, DENIED, NOT_APPLICABLE],
    ),
    row(
        82,
        "namespaces",
        "Make or join namespaces, by all calls that can.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    ),
    row(
        83,
        "mounts",
        "Mount, unmount, change roots, by old and new calls.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        84,
        "io-uring",
        "Make system calls through a ring that no filter sees.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    ),
    row(
        85,
        "kernel-administration",
        "Load code into the kernel, trace it, restart it, read its log, set its clock.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        86,
        "file-handles",
        "Open files by numbers instead of paths.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE],
    ),
    row(
        87,
        "own-programs",
        "Run code of one's own, from memory and from a file, and try again with it.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE],
    ),
    row(
        88,
        "own-libraries",
        "Load a library of one's own into programs that are started, and try again.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE],
    ),
    row(
        89,
        "other-conventions",
        "Make system calls by conventions of other word sizes.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    )
    .requires("x86-64"),
    row(
        90,
        "personality",
        "Ask for fixed addresses and executable data.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE],
    ),
    row(
        91,
        "narrower-walls",
        "Put up walls of one's own; they only narrow.",
        [SUCCEEDED, SUCCEEDED, NOT_APPLICABLE, NOT_APPLICABLE],
    )
    .requires("Landlock"),
    row(
        92,
        "nested-run",
        "Run a sandbox in the sandbox: it says what it lacks and runs nothing.",
        [REJECTED, REJECTED, REJECTED, NOT_APPLICABLE],
    ),
    row(
        93,
        "shared-memory",
        "Share memory, semaphores and queues with the host by name or number.",
        [DENIED; 4],
    ),
];

pub(super) const RUNTIME: &[Row] = &[
    row(
        94,
        "no-wall",
        "Run where no wall can be had.",
        [REJECTED, REJECTED, REJECTED, NOT_APPLICABLE],
    ),
    row(
        95,
        "failing-wall",
        "Run although one step of putting up the walls fails, each in turn.",
        [REJECTED; 4],
    ),
    row(
        96,
        "many-runs",
        "A thousand runs, 64 at a time: none waits for ever, none sees another, nothing is left.",
        [SUCCEEDED; 4],
    ),
    row(
        97,
        "thread-ends",
        "End the thread that began a run: the run goes on.",
        [SUCCEEDED; 4],
    ),
    row(
        98,
        "honest-report",
        "Compare what a report calls enforced with what held.",
        [SUCCEEDED; 4],
    ),
    row(
        99,
        "interpreters",
        "Start the interpreters of the machine with their libraries.",
        [SUCCEEDED, SUCCEEDED, SUCCEEDED, NOT_APPLICABLE],
    ),
    row(
        100,
        "profile-decides",
        "Ask the macOS profile itself about files, sockets and processes.",
        [NOT_APPLICABLE, NOT_APPLICABLE, SUCCEEDED, NOT_APPLICABLE],
    ),
];
