//! Archives: what is installed and what is refused.

use std::io::Write;

use skills_install::{FetchLimits, GitOptions, InstallErrorKind, LocalEdits};
use tar::EntryType;
use zip::System;
use zip::write::SimpleFileOptions;

use crate::fixture::{Fixture, TarEntry, skill_text, words};

fn skill_entry(text: &str) -> TarEntry<'_> {
    TarEntry::file("repo-1.0/pdf/SKILL.md", text)
}

/// Returns the error for an archive with a valid skill and one more entry.
fn refusal(entry: TarEntry<'_>) -> String {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    fixture.tar_gz("a.tar.gz", &[skill_entry(&text), entry]);
    let error = fixture.add("./a.tar.gz").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
    assert!(!fixture.path("skills/pdf").exists());
    error.to_string()
}

#[test]
fn a_skill_of_an_archive_is_installed_with_its_modes_and_inner_links() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "license: MIT\n");
    let run = TarEntry {
        mode: 0o755,
        ..TarEntry::file("repo-1.0/pdf/scripts/run.sh", "echo 1\n")
    };
    let link = TarEntry::of_kind(
        "repo-1.0/pdf/scripts/again.sh",
        EntryType::Symlink,
        "run.sh",
    );
    let other = TarEntry::file("repo-1.0/README.md", "");
    let directory = TarEntry::of_kind("repo-1.0/pdf/", EntryType::Directory, "");
    fixture.tar_gz("a.tgz", &[directory, link, skill_entry(&text), run, other]);
    fixture.add("./a.tgz//pdf").unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(fixture.read("skills/pdf/scripts/again.sh"), "echo 1\n");
    let lock = fixture.store();
    let locked = &lock.lock_file().skills()["pdf"];
    assert_eq!((locked.files(), locked.license()), (3, Some("MIT")));
    assert!(locked.revision().unwrap().starts_with("sha256:"));
    assert_eq!(locked.source().path().as_str(), "repo-1.0/pdf");
    assert!(
        fixture
            .read("skills/skills.lock")
            .contains("executable = [\"scripts/run.sh\"]")
    );
}

#[test]
fn entries_that_lead_out_or_are_no_files_are_refused() {
    for (path, kind, link) in [
        ("../evil", EntryType::Regular, ""),
        ("/etc/evil", EntryType::Regular, ""),
        ("repo-1.0/pdf/../../evil", EntryType::Regular, ""),
        ("C:\\evil", EntryType::Regular, ""),
        ("repo-1.0/pdf/a\\..\\evil", EntryType::Regular, ""),
        ("repo-1.0/pdf/.git/config", EntryType::Regular, ""),
        ("repo-1.0/pdf/NUL", EntryType::Regular, ""),
        ("repo-1.0/pdf/x.", EntryType::Regular, ""),
        ("repo-1.0/pdf/x", EntryType::Symlink, "/etc/passwd"),
        ("repo-1.0/pdf/x", EntryType::Symlink, "../other"),
        ("repo-1.0/pdf/x", EntryType::Symlink, "a/../.."),
        ("repo-1.0/pdf/x", EntryType::Symlink, ""),
        ("repo-1.0/pdf/x", EntryType::Link, "repo-1.0/pdf/SKILL.md"),
        ("repo-1.0/pdf/x", EntryType::Char, ""),
        ("repo-1.0/pdf/x", EntryType::Block, ""),
        ("repo-1.0/pdf/x", EntryType::Fifo, ""),
        ("repo-1.0/pdf/skill.md", EntryType::Regular, ""),
        ("repo-1.0/PDF/x", EntryType::Regular, ""),
        ("repo-1.0/pdf/SKILL.md", EntryType::Regular, ""),
        ("repo-1.0/pdf/SKILL.md/x", EntryType::Regular, ""),
        ("repo-1.0/pdf", EntryType::Regular, ""),
    ] {
        refusal(TarEntry::of_kind(path, kind, link));
    }
    let not_utf8 = TarEntry {
        path: b"repo-1.0/pdf/\xff",
        ..TarEntry::file("", "")
    };
    assert!(refusal(not_utf8).contains("not UTF-8"));
    let pointer = TarEntry::file(
        "repo-1.0/pdf/big.bin",
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    );
    assert!(refusal(pointer).contains("Git LFS"));
}

#[test]
fn a_file_below_a_symlink_is_refused() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    let link = TarEntry::of_kind("repo-1.0/pdf/a", EntryType::Symlink, "b");
    let below = TarEntry::file("repo-1.0/pdf/a/x", "");
    fixture.tar_gz("a.tar.gz", &[skill_entry(&text), link, below]);
    let error = fixture.add("./a.tar.gz").unwrap_err();
    assert!(error.to_string().contains("below a symlink"), "{error}");
}

#[test]
fn archives_that_unpack_to_too_much_are_refused() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    let zeros = "\0".repeat(8 << 20);
    let bomb = TarEntry::file("repo-1.0/pdf/zeros", &zeros);
    fixture.tar_gz("ratio.tar.gz", &[skill_entry(&text), bomb]);
    let error = fixture.add("./ratio.tar.gz").unwrap_err();
    assert!(format!("{error:?}").contains("BudgetExceeded"), "{error:?}");

    let many: Vec<String> = (0..20).map(|n| format!("repo-1.0/pdf/{n}")).collect();
    let mut entries = vec![skill_entry(&text)];
    entries.extend(many.iter().map(|path| TarEntry::file(path, "0123456789")));
    fixture.tar_gz("many.tar.gz", &entries);
    for change in [
        (|limits| limits.max_entries = 10) as fn(&mut FetchLimits),
        |limits| limits.max_bytes = 100,
        |limits| limits.max_archive_bytes = 100,
    ] {
        let mut limits = FetchLimits::default();
        change(&mut limits);
        let fetcher = skills_install::Fetcher::new(GitOptions::new("git")).limits(limits);
        let spec = fixture.spec("./many.tar.gz");
        let mut store = fixture.store();
        let error = store
            .plan_add(&fetcher, &spec, &[], LocalEdits::Refuse, &words)
            .unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
    }
}

#[test]
fn an_archive_with_another_digest_than_the_given_one_is_refused() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    fixture.tar_gz("a.tar.gz", &[skill_entry(&text)]);
    let wrong = format!("./a.tar.gz#sha256:{}", "0".repeat(64));
    let error = fixture.add(&wrong).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Fetch);
    fixture.add("./a.tar.gz").unwrap();
    let digest = fixture.store().lock_file().skills()["pdf"]
        .revision()
        .unwrap()
        .to_owned();
    fixture.add(&format!("./a.tar.gz#{digest}")).unwrap();
}

#[test]
fn a_damaged_archive_installs_nothing() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    fixture.tar_gz("a.tar.gz", &[skill_entry(&text)]);
    let bytes = std::fs::read(fixture.path("a.tar.gz")).unwrap();
    for end in [0, 1, 20, bytes.len() / 2, bytes.len() - 1] {
        fixture.file("cut.tar.gz", &bytes[..end]);
        let error = fixture.add("./cut.tar.gz").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Fetch, "{end}: {error}");
    }
    assert!(fixture.states().is_empty());
}

/// Writes a zip with a skill and one more entry.
fn zip(fixture: &Fixture, name: &str, mode: u32, content: &[u8]) {
    let file = std::fs::File::create(fixture.path("a.zip")).unwrap();
    let mut zip = zip::ZipWriter::new(file);
    let options = SimpleFileOptions::default();
    zip.start_file("pdf/SKILL.md", options).unwrap();
    zip.write_all(skill_text("pdf", "").as_bytes()).unwrap();
    if mode & 0o170_000 == 0o120_000 {
        let target = String::from_utf8(content.to_vec()).unwrap();
        zip.add_symlink(name, target, options).unwrap();
    } else {
        zip.start_file(name, options.unix_permissions(mode))
            .unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn a_zip_follows_the_same_rules() {
    let fixture = Fixture::new();
    zip(&fixture, "pdf/scripts/run.sh", 0o755, b"echo 1");
    fixture.add("./a.zip").unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert!(
        fixture
            .read("skills/skills.lock")
            .contains("scripts/run.sh")
    );
    for (name, mode, content) in [
        ("../evil", 0o644, ""),
        ("/etc/evil", 0o644, ""),
        ("pdf/a\\b", 0o644, ""),
        ("pdf/x", 0o120_777, "/etc/passwd"),
        ("pdf/x", 0o120_777, "../../x"),
        ("pdf/skill.MD", 0o644, ""),
    ] {
        let fixture = Fixture::new();
        zip(&fixture, name, mode, content.as_bytes());
        let error = fixture.add("./a.zip").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{name}: {error}");
    }
    let fixture = Fixture::new();
    zip(&fixture, "pdf/zeros", 0o644, &vec![0; 8 << 20]);
    let error = fixture.add("./a.zip").unwrap_err();
    assert!(format!("{error:?}").contains("BudgetExceeded"), "{error:?}");
}

/// Writes a zip of files with the names that a tool of a system writes.
fn zip_of(fixture: &Fixture, system: System, files: &[(&str, &[u8])]) {
    let file = std::fs::File::create(fixture.path("a.zip")).unwrap();
    let mut zip = zip::ZipWriter::new(file);
    let options = SimpleFileOptions::default().system(system);
    for (name, content) in files {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
}

#[test]
fn a_zip_of_windows_has_backslashes_between_names() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    let files = [
        ("pdf\\SKILL.md", text.as_bytes()),
        ("pdf\\scripts\\a.py", b"print(1)"),
        ("pdf\\caf\u{e9}\\b.txt", b"b"),
    ];
    zip_of(&fixture, System::Dos, &files);
    fixture.add("./a.zip").unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert_eq!(fixture.read("skills/pdf/scripts/a.py"), "print(1)");
    assert_eq!(fixture.read("skills/pdf/caf\u{e9}/b.txt"), "b");
}

/// Each name is checked as one with `/`, and only the tools that write `\` are believed.
#[test]
fn a_backslash_in_a_zip_leads_nowhere_else() {
    for (system, name) in [
        (System::Dos, "..\\evil"),
        (System::Dos, "pdf\\..\\..\\evil"),
        (System::Dos, "\\evil"),
        (System::Dos, "\\\\server\\evil"),
        (System::Dos, "C:\\evil"),
        (System::Dos, "pdf\\a:b"),
        (System::Dos, "pdf\\\\x"),
        (System::Dos, "pdf\\.git\\config"),
        (System::Dos, "pdf\\NUL"),
        (System::Dos, "pdf\\x."),
        (System::Dos, "pdf\\skill.MD"),
        (System::Dos, "pdf\\SKILL.md"),
        (System::Dos, "pdf\\SKILL.md\\x"),
        // Programs differ in how they read these.
        (System::Dos, "pdf/a\\b"),
        (System::Unix, "pdf\\x"),
    ] {
        let fixture = Fixture::new();
        let text = skill_text("pdf", "");
        let files = [("pdf/SKILL.md", text.as_bytes()), (name, b"x")];
        zip_of(&fixture, system, &files);
        let error = fixture.add("./a.zip").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{name}: {error}");
        assert!(fixture.states().is_empty());
    }
}

/// Code pages of Windows read the same bytes as other names.
#[test]
fn a_name_of_a_zip_in_an_unknown_code_page_is_refused() {
    let fixture = Fixture::new();
    zip(&fixture, "pdf/caf?.txt", 0o644, b"x");
    rename_entries(&fixture, b"pdf/caf?.txt", b"pdf/caf\x82.txt", 2);
    let error = fixture.add("./a.zip").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
    insta::assert_snapshot!(error, @"cannot use `pdf/caf�.txt` of the source: path is not UTF-8");
    insta::assert_snapshot!(error.help().unwrap(), @"write names of files in UTF-8: nothing says in which other encoding they are");
}

#[test]
fn what_macos_adds_to_a_zip_is_ignored() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    let evil = skill_text("evil", "");
    let files: [(&str, &[u8]); 6] = [
        ("SKILL.md", text.as_bytes()),
        (".DS_Store", b"x"),
        ("__MACOSX/._SKILL.md", b"x"),
        ("__MACOSX/evil/SKILL.md", evil.as_bytes()),
        ("__MACOSX/__MACOSX/x", b"x"),
        ("notes/__MACOSX/x", b"kept"),
    ];
    zip_of(&fixture, System::Unix, &files);
    fixture.add("./a.zip").unwrap();
    assert_eq!(fixture.states(), ["pdf unchanged"]);
    assert!(!fixture.path("skills/pdf/__MACOSX").exists());
    assert!(!fixture.path("skills/pdf/.DS_Store").exists());
    assert_eq!(fixture.read("skills/pdf/notes/__MACOSX/x"), "kept");
}

/// An ignored entry has the checks of its name and of the limits.
#[test]
fn an_ignored_entry_of_a_zip_is_checked() {
    let text = skill_text("pdf", "");
    for name in ["__MACOSX/../evil", "__MACOSX/a\\b", "__MACOSX/.git/config"] {
        let fixture = Fixture::new();
        let files = [("pdf/SKILL.md", text.as_bytes()), (name, b"x")];
        zip_of(&fixture, System::Unix, &files);
        let error = fixture.add("./a.zip").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{name}: {error}");
    }
    let fixture = Fixture::new();
    zip(&fixture, "__MACOSX/zeros", 0o644, &vec![0; 8 << 20]);
    let error = fixture.add("./a.zip").unwrap_err();
    assert!(format!("{error:?}").contains("BudgetExceeded"), "{error:?}");
    let names: Vec<String> = (0..20).map(|number| format!("__MACOSX/{number}")).collect();
    let mut files = vec![("pdf/SKILL.md", text.as_bytes())];
    files.extend(names.iter().map(|name| (name.as_str(), &b"x"[..])));
    zip_of(&fixture, System::Unix, &files);
    let mut limits = FetchLimits::default();
    limits.max_entries = 10;
    let fetcher = skills_install::Fetcher::new(GitOptions::new("git")).limits(limits);
    let error = fixture.add_with(&fetcher, "./a.zip").unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Limit, "{error}");
}

/// Replaces the first `count` of a name by another one of the same length.
fn rename_entries(fixture: &Fixture, from: &[u8], to: &[u8], count: usize) {
    let path = fixture.path("a.zip");
    let mut bytes = std::fs::read(&path).unwrap();
    for _ in 0..count {
        let found = bytes.windows(from.len()).position(|part| part == from);
        let start = found.unwrap();
        bytes[start..start + to.len()].copy_from_slice(to);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Programs differ in which of two entries or names they use.
#[test]
fn a_zip_that_two_programs_read_differently_is_refused() {
    // A name is in the header before the content and in the directory of the archive.
    for (count, reason) in [(2, "the same name"), (1, "two names")] {
        let fixture = Fixture::new();
        zip(&fixture, "pdf/OTHER.md", 0o644, b"other content");
        rename_entries(&fixture, b"pdf/OTHER.md", b"pdf/SKILL.md", count);
        let error = fixture.add("./a.zip").unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unsafe, "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

/// A header of GNU tar for a file of 4 TiB without any bytes.
fn sparse_header() -> tar::Header {
    const SIZE: u64 = 1 << 42;
    let number = |field: &mut [u8; 12], number: u64| {
        field[0] = 0x80;
        field[4..].copy_from_slice(&number.to_be_bytes());
    };
    let mut header = tar::Header::new_gnu();
    header.set_path("pdf/big").unwrap();
    header.set_entry_type(EntryType::GNUSparse);
    header.set_size(0);
    header.set_mode(0o644);
    let gnu = header.as_gnu_mut().unwrap();
    number(&mut gnu.realsize, SIZE);
    number(&mut gnu.sparse[0].offset, SIZE);
    number(&mut gnu.sparse[0].numbytes, 0);
    header.set_cksum();
    header
}

#[test]
fn sparse_files_are_refused() {
    let fixture = Fixture::new();
    let mut archive = sparse_header().as_bytes().to_vec();
    archive.extend([0; 1_024]);
    fixture.file("a.tar", archive);
    let error = fixture.add("./a.tar").unwrap_err();
    assert!(error.to_string().contains("it is a sparse file"), "{error}");

    let field = "22 GNU.sparse.major=1\n";
    let text = skill_text("pdf", "");
    let header = TarEntry {
        kind: EntryType::XHeader,
        ..TarEntry::file("pdf/x", field)
    };
    let entries = [header, TarEntry::file("pdf/big", ""), skill_entry(&text)];
    fixture.tar_gz("b.tgz", &entries);
    let error = fixture.add("./b.tgz").unwrap_err();
    assert!(error.to_string().contains("it is a sparse file"), "{error}");
}

#[test]
fn an_archive_is_read_until_a_deadline() {
    let fixture = Fixture::new();
    let text = skill_text("pdf", "");
    fixture.tar_gz("a.tgz", &[skill_entry(&text)]);
    zip(&fixture, "a.zip", 0o100_644, b"");
    let mut limits = FetchLimits::default();
    limits.timeout = std::time::Duration::ZERO;
    let fetcher = skills_install::Fetcher::new(GitOptions::new("git")).limits(limits);
    for source in ["./a.tgz", "./a.zip"] {
        let error = fixture.add_with(&fetcher, source).unwrap_err();
        assert!(error.to_string().contains("takes too long"), "{error}");
    }
}

/// Another user of a shared directory can put it there.
#[cfg(unix)]
#[test]
fn a_signature_that_never_ends_is_an_error() {
    let fixture = Fixture::new();
    fixture.tar_gz("a.tgz", &[skill_entry(&skill_text("pdf", ""))]);
    fixture.fifo("a.tgz.minisig");
    let error = fixture.add("./a.tgz").unwrap_err();
    let cause = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(cause.as_deref(), Some("not a regular file"), "{error}");
}
