//! Programs of the host that a caller runs without a rule and an approval.

/// Programs that read the files of a run and print text, sorted. None starts another program.
const READING: [&str; 24] = [
    "basename",
    "cat",
    "cmp",
    "comm",
    "cut",
    "diff",
    "dirname",
    "du",
    "echo",
    "false",
    "file",
    "grep",
    "head",
    "ls",
    "md5sum",
    "nl",
    "printf",
    "pwd",
    "realpath",
    "sha256sum",
    "stat",
    "tail",
    "true",
    "wc",
];

/// Programs that also write files, start programs or print variables if their arguments say so, sorted,
/// with options that say so.
const CONFINED: [(&str, &[&str]); 12] = [
    ("awk", &["--include"]),
    ("date", &[]),
    (
        "find",
        &[
            "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok",
            "-okdir",
        ],
    ),
    ("jq", &[]),
    ("rg", &["--pre", "-z", "--search-zip"]),
    ("sed", &["-i", "--in-place"]),
    ("seq", &[]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("test", &[]),
    ("tr", &[]),
    ("uniq", &[]),
    ("which", &[]),
];

/// A program of the host that needs no rule and no approval as the command of a caller: one that reads and
/// prints, or one that [does more](Self::does_more), if its request is
/// [confined](crate::Request::confine).
///
/// The restrictions are those of the sandbox, not of its arguments: no list of dangerous options is
/// complete.
///
/// ```
/// use skills_policy::FreeProgram;
///
/// let sort = FreeProgram::of("sort").expect("it is free");
/// assert!(sort.does_more());
/// assert!(sort.wants_more(&["-o".to_owned(), "out.txt".to_owned()]));
/// assert!(FreeProgram::of("tee").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeProgram {
    name: &'static str,
    /// Options with which it does more than read; `None` for a program that only reads.
    options: Option<&'static [&'static str]>,
}

impl FreeProgram {
    /// Returns the free program of this name, which is compared exactly.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        if let Ok(row) = READING.binary_search(&name) {
            return Some(Self {
                name: READING[row],
                options: None,
            });
        }
        let row = CONFINED
            .binary_search_by_key(&name, |(name, _)| name)
            .ok()?;
        Some(Self {
            name: CONFINED[row].0,
            options: Some(CONFINED[row].1),
        })
    }

    /// Returns true if its arguments can make it do more than read. It is free only where the sandbox
    /// keeps it from starting processes.
    #[must_use]
    pub fn does_more(self) -> bool {
        self.options.is_some()
    }

    /// Returns true if its arguments have an option with which it is useless while confined, such as
    /// `sed -i`, or name the file that `uniq` writes. Without them it can still try the same.
    #[must_use]
    pub fn wants_more(self, args: &[String]) -> bool {
        match self.name {
            // The second operand is the file that it writes.
            "uniq" if operands_of_uniq(args) > 1 => return true,
            // `-i inplace`. In `-vi=1` and `-Fi`, the letter is a value.
            "awk" if args.iter().any(|arg| arg.starts_with("-i")) => return true,
            _ => {}
        }
        let options = self.options.unwrap_or_default();
        let args = args.iter().take_while(|arg| *arg != "--");
        let mut args = args.map(String::as_str);
        args.any(|arg| options.iter().any(|option| is_option(option, arg)))
    }
}

/// Returns how many files `uniq` gets.
fn operands_of_uniq(args: &[String]) -> usize {
    let mut count = 0;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--" => return count + args.len(),
            "-f" | "-s" | "-w" | "--skip-fields" | "--skip-chars" | "--check-chars" => {
                args.next();
            }
            "-" => count += 1,
            arg if arg.starts_with(['-', '+']) => {}
            _ => count += 1,
        }
    }
    count
}

/// Returns true if an argument is an option, with or without its value. `-i` can also be among other
/// letters, as in `-ni`.
fn is_option(option: &str, arg: &str) -> bool {
    if option.starts_with("--") {
        let rest = arg.strip_prefix(option);
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    }
    let (Some(letter), Some(letters)) = (option.strip_prefix('-'), arg.strip_prefix('-')) else {
        return false;
    };
    if letter.len() > 1 {
        return arg == option;
    }
    let mut before = letters.chars().take_while(|c| c.is_ascii_alphabetic());
    arg.starts_with(option) || before.any(|c| letter.starts_with(c))
}

#[cfg(test)]
mod tests {
    use super::FreeProgram;

    #[test]
    fn options_and_operands_that_write_want_more() {
        for (command, expected) in [
            ("uniq", false),
            ("uniq -c in", false),
            ("uniq -f 1 in", false),
            ("uniq in out", true),
            ("uniq -c - out", true),
            ("uniq -- in out", true),
            ("awk {print} a b", false),
            ("awk -vi=1 -Fi {print}", false),
            ("awk -i inplace {print} a", true),
            ("awk -iinplace {print} a", true),
            ("awk --include=inplace {print} a", true),
            ("sed -n -i s/a/b/ a", true),
            ("sort -o a a", true),
            ("cat -i a", false),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let program = FreeProgram::of(&words.next().unwrap()).unwrap();
            let args: Vec<String> = words.collect();
            assert_eq!(program.wants_more(&args), expected, "{command}");
        }
    }
}
