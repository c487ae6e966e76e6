//! Scripts that an editor of Windows saved.

use std::os::unix::fs::symlink;
use std::path::Path;

use skills_runtime::policy::{AnswerFuture, Question};
use skills_runtime::{Answer, Approver, ExecutionOptions, FileApprovalStore};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fixture::{Fixture, OptionsExt as _};
use skills_test_support::skip_without_sandbox;

/// Approves permanently, and counts.
#[derive(Default)]
struct Host(AtomicUsize);

impl Approver for Host {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(Some(Answer::AllowAlways))))
    }
}

#[tokio::test]
async fn line_ends_of_windows_are_repaired_in_the_copy() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    let script = "\u{feff}#!/bin/bash\r\nset -euo pipefail\r\nif true; then\r\necho hi\r\nfi\r\n";
    fixture
        .skill("cr", "")
        .file("cr/scripts/a.sh", script)
        .file(
            "cr/scripts/tools/b.py",
            "#!/usr/bin/env python3\r\nprint(1)\r\n",
        );
    let runtime = fixture.builder().build();
    for _ in 0..2 {
        let run = runtime
            .execute_skill("cr", ExecutionOptions::default())
            .await
            .unwrap();
        assert_eq!(
            (run.stdout.text(), run.stderr.text()),
            ("hi\n".into(), String::new())
        );
        let expected = "scripts with line ends or a byte order mark of Windows run from a repaired private copy: `scripts/a.sh`, `scripts/tools/b.py`";
        assert_eq!(run.notes, [expected]);
    }
    let original = std::fs::read_to_string(fixture.path("cr/scripts/a.sh")).unwrap();
    assert_eq!(original, script);
}

/// A run can name a file of any directory, and a script can load others.
#[tokio::test]
async fn scripts_of_all_directories_are_repaired() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("cr", "")
        .file(
            "cr/tools/run.sh",
            "#!/bin/sh\r\n. \"${0%/*}/../lib/hi.sh\"\r\nhi\r\n",
        )
        .file("cr/lib/hi.sh", "hi() {\r\necho hi\r\n}\r\n");
    let options = ExecutionOptions::default().script("tools/run.sh");
    let runtime = fixture.builder().build();
    let run = runtime.execute_skill("cr", options).await.unwrap();
    assert_eq!(run.stdout.text(), "hi\n", "{}", run.stderr.text());
}

/// Other files than texts of Windows run as they are: an archive after a script, line ends in a text of Unix.
#[tokio::test]
async fn other_bytes_are_kept() {
    if skip_without_sandbox() {
        return;
    }
    let fixture = Fixture::new();
    fixture
        .skill("keep", "")
        .file(
            "keep/scripts/unix.sh",
            "#!/bin/sh\nread -r one <<'E'\na\r\nE\nprintf '%q' \"$one\"\n",
        )
        .file(
            "keep/scripts/windows.py",
            "#!/usr/bin/env python3\r\nimport os\nhere = os.path.dirname(__file__)\n\
             for name in ['archive', 'unix.sh']:\n    print(open(here + '/' + name, 'rb').read().count(13))\n",
        )
        .file("keep/scripts/archive", "#!/bin/sh\r\nexit\r\n\0\r\n")
        .file("outside", "#!/bin/sh\r\n");
    symlink(
        fixture.path("outside"),
        fixture.path("keep/scripts/link.sh"),
    )
    .unwrap();
    let runtime = fixture.builder().build();
    let options = ExecutionOptions::default().script("unix.sh");
    let run = runtime.execute_skill("keep", options).await.unwrap();
    assert_eq!(run.stdout.text(), "$'a\\r'", "{}", run.stderr.text());
    assert_eq!(run.notes, [""; 0]);
    // In a copy in which another script is repaired.
    let options = ExecutionOptions::default().script("windows.py");
    let run = runtime.execute_skill("keep", options).await.unwrap();
    // Carriage returns.
    assert_eq!(run.stdout.text(), "3\n1\n", "{}", run.stderr.text());
    let expected = "scripts with line ends or a byte order mark of Windows run from a repaired private copy: `scripts/windows.py`";
    assert_eq!(run.notes, [expected]);
    assert_eq!(
        std::fs::read(fixture.path("outside")).unwrap(),
        b"#!/bin/sh\r\n"
    );
}

/// The digest that an approval is for is that of the original bytes.
#[tokio::test]
async fn a_repair_changes_no_approval() {
    let fixture = Fixture::new();
    fixture
        .skill("cr", "allowed-tools: Bash(git:*)\n")
        .file("cr/scripts/a.sh", "#!/bin/sh\r\necho hi\r\n");
    let host = Arc::new(Host::default());
    let approvals = |path: &Path| Arc::new(FileApprovalStore::new(path.to_owned()));
    let state = fixture.path("state/approvals.json");
    let run = async || {
        let builder = fixture
            .recording()
            .approver(host.clone() as Arc<dyn Approver>);
        let runtime = builder.approval_store(approvals(&state)).build();
        let run = runtime.execute_skill("cr", ExecutionOptions::default());
        assert!(run.await.unwrap().exit_status.is_success());
        host.0.load(Ordering::Relaxed)
    };
    assert_eq!(run().await, 1);
    assert_eq!(run().await, 1);
    // The same text with other line ends is other content.
    fixture.file("cr/scripts/a.sh", "#!/bin/sh\necho hi\n");
    assert_eq!(run().await, 2);
}
