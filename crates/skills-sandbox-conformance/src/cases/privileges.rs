//! Attempts on output, privileges, the system call interface and the runtime.

use super::row::{
    CONTAINED, DENIED, NO_EFFECT, NOT_APPLICABLE, REJECTED, REPORTED, Row, SUCCEEDED, row,
};

pub(super) const OUTPUT: &[Row] = &[
    row(
        75,
        "output-flood",
        "Write without bound to one stream, to both, byte by byte.",
        [CONTAINED; 5],
    ),
    row(
        76,
        "non-utf8-output",
        "Write bytes that are not text, zeros, and no final newline; all arrive.",
        [SUCCEEDED; 5],
    ),
    row(
        77,
        "unread-input",
        "Get ten megabytes of input and read none.",
        [SUCCEEDED; 5],
    ),
    row(
        78,
        "closed-output",
        "Close the output early and go on.",
        [SUCCEEDED; 5],
    ),
    row(
        79,
        "endings",
        "Terminate with a high exit code and by a signal; the two are distinguished.",
        [SUCCEEDED, SUCCEEDED, SUCCEEDED, SUCCEEDED, REPORTED],
    ),
];

pub(super) const PRIVILEGES: &[Row] = &[
    row(
        80,
        "setuid-programs",
        "Change the user with setuid programs and with setuid calls.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        81,
        "make-setuid",
        "Create a setuid file.",
        [DENIED, NO_EFFECT, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        82,
        "namespaces",
        "Create or join namespaces, with every system call that can.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
    row(
        83,
        "mounts",
        "Mount, unmount, change roots, by old and new calls.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        84,
        "io-uring",
        "Make system calls through io_uring, which bypasses filters.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
    row(
        85,
        "kernel-administration",
        "Load code into the kernel, trace it, restart it, read its log, set its clock.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        86,
        "file-handles",
        "Open files by handle instead of path.",
        [DENIED, DENIED, DENIED, NOT_APPLICABLE, DENIED],
    ),
    row(
        87,
        "custom-binaries",
        "Run custom code, from memory and from a file, and retry with it.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE, CONTAINED],
    ),
    row(
        88,
        "own-libraries",
        "Preload a library into started programs, and retry.",
        [CONTAINED, CONTAINED, CONTAINED, NOT_APPLICABLE, CONTAINED],
    ),
    row(
        89,
        "foreign-abi",
        "Make system calls with the ABI of another word size.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    )
    .requires("x86-64"),
    row(
        90,
        "personality",
        "Request fixed addresses and executable data.",
        [DENIED, DENIED, NOT_APPLICABLE, NOT_APPLICABLE, DENIED],
    ),
    row(
        91,
        "nested-landlock",
        "Install further restrictions; they can only restrict.",
        [
            SUCCEEDED,
            SUCCEEDED,
            NOT_APPLICABLE,
            NOT_APPLICABLE,
            SUCCEEDED,
        ],
    )
    .requires("Landlock"),
    row(
        92,
        "nested-run",
        "Run a sandbox in the sandbox: it reports what is unavailable and runs nothing.",
        [REJECTED, REJECTED, REJECTED, NOT_APPLICABLE, REJECTED],
    ),
    row(
        93,
        "shared-memory",
        "Share memory, semaphores and queues with the host by name or number.",
        [DENIED; 5],
    ),
];

pub(super) const RUNTIME: &[Row] = &[
    row(
        94,
        "no-restrictions",
        "Run where no restriction is available.",
        [REJECTED, REJECTED, REJECTED, NOT_APPLICABLE, REJECTED],
    ),
    row(
        95,
        "setup-step-fails",
        "Run although one setup step fails, each in turn.",
        [REJECTED; 5],
    ),
    row(
        96,
        "many-runs",
        "Many runs at once: none waits forever, none sees another, nothing is left.",
        [SUCCEEDED; 5],
    ),
    row(
        97,
        "thread-ends",
        "End the thread that began a run: the run goes on.",
        [SUCCEEDED; 5],
    ),
    row(
        98,
        "report-accuracy",
        "Compare the enforcement report with what was enforced.",
        [SUCCEEDED; 5],
    ),
    row(
        99,
        "interpreters",
        "Start the interpreters of the machine with their libraries.",
        [SUCCEEDED, SUCCEEDED, SUCCEEDED, NOT_APPLICABLE, SUCCEEDED],
    ),
    row(
        100,
        "profile-decides",
        "Evaluate the macOS profile for files, sockets and processes.",
        [
            NOT_APPLICABLE,
            NOT_APPLICABLE,
            SUCCEEDED,
            NOT_APPLICABLE,
            NOT_APPLICABLE,
        ],
    ),
];
