//! Constructs of a shell that a line has itself: variables, conditions, loops over lines, here-documents.

use std::fs;
use std::pin::pin;

use serde_json::json;
use skills_runtime::CancellationToken;
use skills_test_support::skip_without_sandbox;
use skills_tools::CallContext;

use super::bash;
use super::lines::{CANARY, asked, given, host};

#[tokio::test]
async fn constructs_do_what_a_shell_does() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/list.txt", "a.txt x\n  c.txt  y z \n\nlast");
    let tools = given(&host);
    for (line, expected) in [
        ("N=$(wc -l < a.txt); echo \"lines $N\"", "lines 2\n"),
        (
            "A=1 B=\"x  y\" && echo $A \"$B\" $B ${#B}",
            "1 x  y x y 4\n",
        ),
        ("F='*.json'; echo \"$F\" ${F}", "*.json *.json\n"),
        ("X=$(ls none 2>/dev/null) || echo failed", "failed\n"),
        ("false; X=$?; true; echo $X $?", "1 0\n"),
        ("false && X=1; echo [$X]", ""),
        ("false && X=1; echo \"x$X\"", "x\n"),
        (
            "X=a; X=$X$X; for i in 1 2; do X=$X$i; done; echo $X",
            "aa12\n",
        ),
        ("X=a; echo $(X=b; echo $X) $X", "b a\n"),
        ("X=a; { X=b; echo $X; } | cat; echo $X", "b\na\n"),
        ("echo $(<c.txt) \"$(<a.txt)\"", "b foo b foo\na bar\n"),
        ("if [ -f a.txt ]; then echo yes; else echo no; fi", "yes\n"),
        (
            "if false; then echo a; elif ! true; then echo b; else echo c; fi; echo d",
            "c\nd\n",
        ),
        ("if false; then echo a; fi; echo $?", "0\n"),
        (
            "if grep -q foo a.txt && [ -d src ]; then\n  echo both # of them\nfi",
            "both\n",
        ),
        (
            "# first\n\ntrue || { echo a; }; { echo b; echo c; } | tail -1",
            "c\n",
        ),
        ("! grep -q nothing a.txt && echo none", "none\n"),
        (
            "while read l; do echo \"<$l>\"; done < list.txt; echo \"[$l\"",
            "<a.txt x>\n<c.txt  y z>\n<>\n[last\n",
        ),
        (
            "cat list.txt | while read f rest; do echo \"$f,$rest\"; done",
            "a.txt,x\nc.txt,y z\n,\n",
        ),
        (
            "head -2 list.txt | while IFS= read -r l; do echo \"<$l>\"; done",
            "<a.txt x>\n<  c.txt  y z >\n",
        ),
        (
            "seq 3 | while read i; do X=$i; [ $i = 2 ] && exit 7; echo $i; done; echo end $?",
            "1\nend 7\n",
        ),
        ("for f in *.txt; do echo $f; done | wc -l", "5\n"),
        (
            "cat <<EOF\n'a' \"b\" $(echo c) \\$d\\n\nEOF",
            "'a' \"b\" c $d\\n\n",
        ),
        (
            "X=1\ncat <<'EOF' | tr a-z A-Z\n$X `id` \\\nEOF\necho $X",
            "$X `ID` \\\n1\n",
        ),
        (
            "cat <<-E > note.md && cat note.md\n\t# T\n\t- a\n\tE",
            "# T\n- a\n",
        ),
        ("while read a; do echo $a; done <<E\n1\n2\nE", "1\n2\n"),
        (
            "ls [ac].txt; echo [x-z].none {1..3} a{,.b} {src,no}/m*",
            "a.txt\nc.txt\n[x-z].none 1 2 3 a a.b src/m.py no/m*\n",
        ),
        (
            "mkdir -p {one,two}/sub && cp {a,c}.txt one && ls one two",
            "one:\na.txt\nc.txt\nsub\n\ntwo:\nsub\n",
        ),
        ("echo a; exit 0; echo b", "a\n"),
        ("echo $(echo a; exit 3) $?", "a 3\n"),
        (": > empty.txt; wc -c < empty.txt", "0\n"),
    ] {
        let outcome = bash(&tools, line, "").await;
        let printed = outcome.structured["stdout"].as_str();
        if expected.is_empty() {
            assert!(outcome.is_error, "{line}: {}", outcome.text());
        } else {
            assert_eq!(printed, Some(expected), "{line}: {}", outcome.text());
        }
    }
    for (line, code) in [
        ("echo a; exit 3", 3),
        ("ls none; exit", 2),
        ("true; ! true", 1),
        ("if true; then false; fi", 1),
        ("X=$(false)", 1),
        ("for f in $(true); do echo $f; done; X=1", 0),
    ] {
        let outcome = bash(&tools, line, "").await;
        assert_eq!(
            outcome.structured["exit_code"],
            code,
            "{line}: {}",
            outcome.text()
        );
    }
}

/// A hostile workspace or model: values, lines and texts are words, never commands, options or patterns.
#[tokio::test]
async fn values_are_words_and_nothing_else() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file(
        "workspace/bad.txt",
        "$(id)\n`id`\n; id\n| id\n-o stolen.txt\n*.txt\n'x\n> stolen.txt\n{a,b}\n[a]\n~\n",
    );
    let tools = given(&host);
    for (line, expected) in [
        (
            "X='$(id); `id` > stolen.txt'; echo $X",
            "$(id); `id` > stolen.txt\n",
        ),
        (
            "X='*.txt {a,b} [ac].txt ~'; echo $X",
            "*.txt {a,b} [ac].txt ~\n",
        ),
        (
            "while read l; do echo $l; done < bad.txt",
            "$(id)\n`id`\n; id\n| id\n-o stolen.txt\n*.txt\n'x\n> stolen.txt\n{a,b}\n[a]\n~\n",
        ),
        ("cat <<E\n$(head -2 bad.txt)\nE", "$(id)\n`id`\n"),
        (
            "F=$(head -1 bad.txt); if [ \"$F\" = x ]; then echo a; else echo \"$F\"; fi",
            "$(id)\n",
        ),
    ] {
        let outcome = bash(&tools, line, "").await;
        let printed = outcome.structured["stdout"].as_str();
        assert_eq!(printed, Some(expected), "{line}: {}", outcome.text());
    }
    for line in [
        "X='-o stolen.txt'; sort $X a.txt",
        "sort {-o,stolen.txt} a.txt",
        "while read l; do sort $l a.txt; done < bad.txt",
        "X=id; $X",
        "while read l; do $l; done < bad.txt",
        "awk \"$(<bad.txt)\" a.txt",
        "X=.git; echo x > $X/config",
        "D=.git; cp a.txt $D/config",
        "D=.git/hooks; mkdir -p \"$D\"",
        "for d in {.git,x}; do mkdir -p $d/hooks; done",
        "O=-r; cp $O src copy",
        "cat <<E > .git/config\nx\nE",
        "while read l; do echo $l; done < .env",
        "while read l; do echo $l; done < link.txt",
        "echo $(<.env) $(<link.txt)",
        "cat <<E\n$(<.env)\nE",
        "cat .[e]nv outward/[s]* | cat",
        "if ls; then echo $(<outward/secret.txt); fi",
        "read x < .env; echo $x",
        "PATH=.; ls",
        "LD_PRELOAD=./x.so; ls",
        "{ echo x; } > .git/config",
    ] {
        let outcome = bash(&tools, line, "").await;
        let text = outcome.text();
        assert!(
            !text.contains(CANARY) && !text.contains("uid="),
            "{line}: {text}"
        );
        assert!(
            outcome.is_error || line.contains(".[e]nv"),
            "{line}: {text}"
        );
    }
    let config = fs::read_to_string(host.path("workspace/.git/config")).unwrap();
    assert_eq!(config, "[core]\n");
    for made in ["stolen.txt", "copy", ".git/hooks"] {
        assert!(!host.path(&format!("workspace/{made}")).exists(), "{made}");
    }
}

#[tokio::test]
async fn a_construct_has_at_most_one_question() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    for (line, questions) in [
        (
            "if [ -f a.txt ]; then ln a.txt l; else echo no; fi",
            &["ln a.txt l"][..],
        ),
        ("false && { ln a.txt m; }; echo end", &[]),
        (
            "if ln a.txt n; then ln a.txt o; fi",
            &["sh -c if ln a.txt n; then ln a.txt o; fi"],
        ),
        (
            "seq 2 | while read i; do ln a.txt p; done",
            &["sh -c seq 2 | while read i; do ln a.txt p; done"],
        ),
        ("X=q; ln a.txt $X", &["sh -c X=q; ln a.txt $X"]),
        ("env -i <<E\n$(id)\nE", &["sh -c env -i <<E\n$(id)\nE"]),
        ("echo a | { cat; }", &["sh -c echo a | { cat; }"]),
    ] {
        let asked = asked();
        let arguments = json!({"command": line});
        let _ = tools
            .call_in("skills_bash", arguments, &asked.context)
            .await;
        let seen = asked.questions.lock().unwrap().clone();
        assert_eq!(seen, questions, "{line}");
    }
}

#[tokio::test]
async fn constructs_have_limits() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    host.file("workspace/many.txt", "x\n".repeat(1_500));
    let tools = given(&host);
    let doubled = "X=$X$X; ".repeat(40);
    let braces = "{1..100}".repeat(4);
    for line in [
        "while read l; do X=$l; done < many.txt; ls".to_owned(),
        format!("X=xxxxxxxx; {doubled} echo ${{#X}}"),
        format!("echo {braces}"),
        "seq 70 | while read i; do echo $i; done".to_owned(),
    ] {
        let outcome = bash(&tools, &line, "").await;
        assert_eq!(
            outcome.code(),
            Some("too_large"),
            "{line}: {}",
            outcome.text()
        );
    }
    let outcome = bash(&tools, "echo 'a\\b' | while read l; do echo $l; done", "").await;
    assert_eq!(
        outcome.code(),
        Some("invalid_arguments"),
        "{}",
        outcome.text()
    );
}

/// The words are counted before they are made.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn alternatives_of_a_long_word_need_little_memory() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let long = "A".repeat(60_000);
    for line in [
        format!("echo {long}{{1..100}}{{1..100}}{{0..2}}"),
        format!("echo {{1..100}}{{1..100}}{{0..2}}{long}"),
        format!("echo {}{{1..100}}{{1..100}}{{0..2}}", "?".repeat(60_000)),
    ] {
        let outcome = bash(&tools, &line, "").await;
        assert_eq!(outcome.code(), Some("too_large"), "{}", outcome.text());
    }
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| {
        let line = line.strip_prefix("VmHWM:")?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    let peak = peak.unwrap();
    assert!(peak < 1 << 20, "{peak} KiB");
}

/// Also while no program runs.
#[tokio::test]
async fn a_cancelled_line_ends_at_its_next_step() {
    if skip_without_sandbox() {
        return;
    }
    let host = host();
    let tools = given(&host);
    let cancellation = CancellationToken::new();
    let context = CallContext::default().cancellation(cancellation.clone());
    let values = "x ".repeat(30);
    let line = format!(
        "touch mark; for a in {values}; do for b in {values}; do touch mark; done; done; touch end"
    );
    let has_begun = async {
        while !host.path("workspace/mark").exists() {
            tokio::task::yield_now().await;
        }
    };
    let arguments = json!({"command": line});
    let mut call = pin!(tools.call_in("skills_bash", arguments, &context));
    tokio::select! {
        outcome = &mut call => panic!("it ended by itself: {}", outcome.text()),
        () = has_begun => cancellation.cancel(),
    }
    let outcome = call.await;
    assert_eq!(outcome.code(), Some("cancelled"), "{}", outcome.text());
    assert!(outcome.repeats_effects && !host.path("workspace/end").exists());
    // A call that was cancelled before does nothing.
    for line in ["touch end", "X=1; touch end"] {
        let arguments = json!({"command": line});
        let outcome = tools.call_in("skills_bash", arguments, &context).await;
        assert_eq!(outcome.code(), Some("cancelled"), "{}", outcome.text());
    }
    assert!(!host.path("workspace/end").exists());
}
