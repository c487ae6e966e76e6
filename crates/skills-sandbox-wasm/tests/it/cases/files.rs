//! Escapes from the granted directories.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::fixture::{Fixture, Generation};

const NOT_PERMITTED: &[&str] = &["PermissionDenied"];
const NOT_FOUND: &[&str] = &["NotFound"];

#[tokio::test]
async fn case_09_absolute_paths_are_rejected() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let secret = fixture.path("secret.txt");
        let elsewhere = [
            "/etc/passwd",
            "/proc/self/environ",
            "/dev/zero",
            "/skills/data.txt",
            secret.to_str().unwrap(),
        ];
        for path in elsewhere {
            fixture
                .rejects(&[&["read", path], &["raw-read", path]], NOT_FOUND)
                .await;
            // Resolved in a granted directory, an absolute path is rejected as well.
            fixture
                .rejects(
                    &[&["open-in", "/skill", path], &["open-in", "/work", path]],
                    NOT_PERMITTED,
                )
                .await;
        }
        assert_eq!(
            fixture.attempt(&["open-in", "/skill", "data.txt"]).await,
            "ok: data"
        );
    }
}

#[tokio::test]
async fn case_10_parents_of_a_granted_directory_are_inaccessible() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let paths = [
            "/skill/../secret.txt",
            "/skill/../../../../../../etc/passwd",
            "/skill/./../secret.txt",
            "/skill/sub/../../secret.txt",
            "/skill/sub/../sub/../../outside/data.txt",
            "/work/../secret.txt",
        ];
        for path in paths {
            fixture
                .rejects(&[&["read", path], &["raw-read", path]], NOT_PERMITTED)
                .await;
        }
        fixture
            .rejects(
                &[
                    &["open-in", "/skill", ".."],
                    &["open-in", "/skill", "../secret.txt"],
                ],
                NOT_PERMITTED,
            )
            .await;
        assert_eq!(
            fixture
                .attempt(&["raw-read", "/skill/sub/../data.txt"])
                .await,
            "ok: data"
        );
    }
}

#[tokio::test]
async fn case_11_symlinks_end_at_the_granted_directory() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        let secret = fixture.path("secret.txt");
        let links = [
            ("passwd", "/etc/passwd"),
            ("etc", "/etc"),
            ("up", ".."),
            ("relative", "../secret.txt"),
            ("chain", "relative"),
        ];
        for (name, target) in links {
            symlink(target, fixture.path("skill").join(name)).unwrap();
        }
        symlink(&secret, fixture.path("skill/absolute")).unwrap();
        symlink("data.txt", fixture.path("skill/inside")).unwrap();
        symlink("../data.txt", fixture.path("skill/sub/inside")).unwrap();
        for path in [
            "passwd",
            "etc/passwd",
            "up/secret.txt",
            "relative",
            "chain",
            "absolute",
            "sub/../up/outside/data.txt",
        ] {
            let path = format!("/skill/{path}");
            fixture
                .rejects(&[&["read", &path], &["raw-read", &path]], NOT_PERMITTED)
                .await;
        }
        for path in ["/skill/inside", "/skill/sub/inside"] {
            assert_eq!(
                fixture.attempt(&["raw-read", path]).await,
                "ok: data",
                "{generation:?}: {path}"
            );
        }
        symlink("circle", fixture.path("skill/circle")).unwrap();
        assert!(
            fixture
                .attempt(&["raw-read", "/skill/circle"])
                .await
                .starts_with("refused")
        );
    }
}

#[tokio::test]
async fn case_12_a_trailing_slash_does_not_follow_a_symlink_out() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation).writable();
        for (name, target) in [
            ("out", "../outside"),
            ("file", "../secret.txt"),
            ("etc", "/etc"),
        ] {
            for directory in ["skill", "workspace"] {
                symlink(target, fixture.path(directory).join(name)).unwrap();
            }
        }
        std::fs::create_dir(fixture.path("workspace/mine")).unwrap();
        std::fs::write(fixture.path("workspace/mine/data.txt"), "mine").unwrap();
        let before = (
            fixture.tree("outside"),
            fixture.tree("skill"),
            std::fs::read_to_string(fixture.path("secret.txt")).unwrap(),
        );
        let attempts: &[&[&str]] = &[
            &["raw-read", "/skill/out/"],
            &["raw-read", "/skill/out/data.txt"],
            &["raw-read", "/skill/file/"],
            &["raw-read", "/skill/etc/passwd/"],
            &["list", "/skill/out/"],
            &["create", "/workspace/out/new.txt"],
            &["create", "/workspace/out/"],
            &["make-directory", "/workspace/out/new/"],
            &["unlink", "/workspace/out/data.txt"],
            &["remove-directory", "/workspace/out/"],
            &["rename", "/workspace/out/", "/workspace/stolen"],
            &["rename", "/workspace/out/data.txt", "/workspace/stolen"],
            &[
                "rename",
                "/workspace/mine/data.txt",
                "/workspace/out/data.txt",
            ],
            &["rename", "/workspace/mine", "/workspace/out/"],
            &["rename", "/workspace/mine/", "/workspace/etc/"],
            &["link", "/workspace/out/data.txt", "/workspace/stolen"],
            &["link", "/workspace/file/", "/workspace/stolen"],
            &["set-times", "/workspace/out/"],
            &["truncate", "/workspace/file/"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        let after = (
            fixture.tree("outside"),
            fixture.tree("skill"),
            std::fs::read_to_string(fixture.path("secret.txt")).unwrap(),
        );
        assert_eq!(before, after, "{generation:?}");
        assert!(!fixture.path("workspace/stolen").exists());
    }
}

#[tokio::test]
async fn case_13_a_skill_cannot_change_itself() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation).writable();
        std::fs::write(fixture.path("workspace/mine.txt"), "mine").unwrap();
        let before = fixture.tree("skill");
        let attempts: &[&[&str]] = &[
            &["write", "/skill/data.txt"],
            &["write", "/skill/new.txt"],
            &["create", "/skill/new.txt"],
            &["truncate", "/skill/data.txt"],
            &["set-size", "/skill/data.txt"],
            &["set-times", "/skill/data.txt"],
            &["make-directory", "/skill/new"],
            &["remove-directory", "/skill/sub"],
            &["remove", "/skill/data.txt"],
            &["unlink", "/skill/data.txt"],
            &["rename", "/skill/data.txt", "/skill/other.txt"],
            &["rename", "/skill/data.txt", "/work/data.txt"],
            &["rename", "/workspace/mine.txt", "/skill/mine.txt"],
            &["symlink", "data.txt", "/skill/link"],
            &["link", "/skill/data.txt", "/skill/link"],
            // A second name in a writable directory would make the file itself writable.
            &["link", "/skill/data.txt", "/workspace/link"],
            &["link", "/workspace/mine.txt", "/skill/link"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("refused: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        assert_eq!(before, fixture.tree("skill"), "{generation:?}");
    }
}

/// The same calls with write access, so that the previous case is known to fail for the right
/// reason.
#[tokio::test]
async fn case_13_a_granted_directory_can_be_changed() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation).writable();
        std::fs::write(fixture.path("workspace/mine.txt"), "mine").unwrap();
        let attempts: &[&[&str]] = &[
            &["create", "/workspace/new.txt"],
            &["write", "/workspace/new.txt"],
            &["truncate", "/workspace/new.txt"],
            &["set-times", "/workspace/new.txt"],
            &["make-directory", "/workspace/sub"],
            &["rename", "/workspace/new.txt", "/workspace/sub/other.txt"],
            &["link", "/workspace/mine.txt", "/workspace/sub/link"],
            &["symlink", "mine.txt", "/workspace/symlink"],
            &["unlink", "/workspace/sub/other.txt"],
            &["unlink", "/workspace/sub/link"],
            &["remove-directory", "/workspace/sub"],
        ];
        for attempt in attempts {
            let output = fixture.attempt(attempt).await;
            assert!(
                output.starts_with("ok: "),
                "{generation:?}: {attempt:?}: {output}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(fixture.path("workspace/symlink")).unwrap(),
            "mine"
        );
    }
}

/// How often the guest tries, in each version.
const LOOKS: usize = 150;

/// Replaces a directory with a symlink and back as fast as possible.
struct Swapper {
    stop: Arc<AtomicBool>,
    swaps: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Swapper {
    fn start(place: PathBuf, directory: PathBuf, link: PathBuf) -> Self {
        let (stop, swaps) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopped, counter) = (Arc::clone(&stop), Arc::clone(&swaps));
        let swap = move || {
            while !stopped.load(Ordering::Relaxed) {
                for other in [&directory, &link] {
                    std::fs::rename(other, &place).unwrap();
                    counter.fetch_add(1, Ordering::Relaxed);
                    std::fs::rename(&place, other).unwrap();
                }
            }
        };
        Self {
            stop,
            swaps,
            thread: Some(std::thread::spawn(swap)),
        }
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

#[tokio::test]
async fn case_14_a_racing_symlink_is_never_followed_out() {
    for &generation in Generation::ALL {
        let fixture = Fixture::new(generation);
        std::fs::create_dir(fixture.path("skill/directory")).unwrap();
        std::fs::write(fixture.path("skill/directory/data.txt"), "inside").unwrap();
        symlink("../outside", fixture.path("skill/link")).unwrap();
        let swapper = Swapper::start(
            fixture.path("skill/place"),
            fixture.path("skill/directory"),
            fixture.path("skill/link"),
        );
        let mut found = 0;
        for _ in 0..LOOKS {
            let output = fixture
                .attempt(&["raw-read", "/skill/place/data.txt"])
                .await;
            assert!(
                output == "ok: inside" || output.starts_with("refused: "),
                "{generation:?}: {output}"
            );
            found += usize::from(output == "ok: inside");
        }
        assert!(
            found > 0 && found < LOOKS,
            "{generation:?}: the guest met one side only"
        );
        assert!(
            swapper.swaps.load(Ordering::Relaxed) > 0,
            "nothing was swapped"
        );
    }
}
