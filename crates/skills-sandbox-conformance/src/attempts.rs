//! Attempts as Python code, for backends that run Python: the lists, the script that makes them, and
//! its output.
//!
//! A list has expressions or statements by case. They use the names that the prelude of the script, a
//! prelude of the list and [`paths_prelude`] define. Whatever an attempt changes outside of the sandbox,
//! the test checks from there.
//!
//! ```
//! use skills_sandbox_conformance::attempts::{attempts_of, parse_output, python_script};
//!
//! let attempts = attempts_of(&[(1, &["open('/etc/shadow').read()"]), (14, &["open('../x')"])]);
//! let script = python_script("", &attempts);
//! assert!(script.contains("attempt(1, 'open(\\'../x\\')')"));
//! let outputs = parse_output("0\terror\tEACCES\n1\tok\tNone\n", &attempts)?;
//! assert_eq!(outputs[0].result, Err("EACCES".to_owned()));
//! assert_eq!((outputs[1].case, outputs[1].result.is_ok()), (14, true));
//! # Ok::<(), String>(())
//! ```

mod files;
mod network;
mod privileges;
mod processes;

pub use files::{
    CHANGES, GRANTED, KERNEL_FILES, KEYS, LINKS, METADATA, PROCESS_FILES, PROTECTED, READ_ONLY,
    READS,
};
pub use network::{
    FAMILIES, FORGET_PROXY, HIDDEN_HOSTS, LOCAL_SOCKET_FUNCTIONS, LOCAL_SOCKETS, NEXT_TO_PROXY,
    PRIVATE_HOSTS, REACHED_HOSTS, SOCKETS, TO_PROXY,
};
pub use privileges::{PRIVILEGES, SETUID_FILES, SYSTEM_CALLS};
pub use processes::{
    ALL_AT_ONCE, DAEMON, DESCRIPTORS, DOCUMENTED_VARIABLES, HOG, HOST_VARIABLES, LIMITS, POOLS,
    SET_LIMIT, SIGNALS, SPAWNING, TERMINALS, TIMERS, TOGETHER, WAYS_OF_HOG,
};

/// An attempt with its value or error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptOutput {
    /// The number of its case.
    pub case: u8,
    /// The code.
    pub code: String,
    /// What it returned, or the name of the error of the system.
    pub result: Result<String, String>,
}

/// The prelude of Python attempts. Only errors of the system count as failing; a mistake in an
/// attempt must not look like a restriction.
const PYTHON: &str = r#"import ctypes, errno, fcntl, mmap, os, resource, signal, socket, stat, subprocess, sys, time
home = os.environ['HOME']
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    answer = libc.syscall(ctypes.c_long(number), *arguments)
    if answer < 0: raise OSError(ctypes.get_errno(), '')
    return answer
def named(name, *arguments):
    answer = getattr(libc, name)(*arguments)
    if answer < 0: raise OSError(ctypes.get_errno(), '')
    return answer
def write(path, text='x'):
    with open(path, 'w') as file: file.write(text)
def attempt(index, code):
    try:
        try: value = eval(compile(code, 'attempt', 'eval'), globals())
        except SyntaxError: value = exec(code, globals())
        print(index, 'ok', ascii(value), sep='\t', flush=True)
    except OSError as e: print(index, 'error', errno.errorcode.get(e.errno, str(e.errno)), sep='\t', flush=True)
    except (subprocess.SubprocessError, EOFError) as e: print(index, 'error', type(e).__name__, sep='\t', flush=True)
    except BaseException as e: print(index, 'mistake', ascii(e), sep='\t', flush=True)
"#;

/// Returns a script that makes the attempts in their order, after `prelude`.
#[must_use]
pub fn python_script<C: AsRef<str>>(prelude: &str, attempts: &[(u8, C)]) -> String {
    let mut script = format!("{PYTHON}{prelude}\n");
    for (index, (_, code)) in attempts.iter().enumerate() {
        script.push_str(&format!("attempt({index}, {})\n", quoted(code.as_ref())));
    }
    script
}

/// Parses the output of a script: a line for each attempt.
///
/// # Errors
/// With a description if an attempt has no line, or contains a mistake.
pub fn parse_output<C: AsRef<str>>(
    text: &str,
    attempts: &[(u8, C)],
) -> Result<Vec<AttemptOutput>, String> {
    let outputs: Vec<AttemptOutput> = text
        .lines()
        .map(|line| parse_line(line, attempts))
        .collect::<Result<_, _>>()?;
    if outputs.len() == attempts.len() {
        Ok(outputs)
    } else {
        Err(format!(
            "{} of {} attempts were made: {text}",
            outputs.len(),
            attempts.len()
        ))
    }
}

fn parse_line<C: AsRef<str>>(line: &str, attempts: &[(u8, C)]) -> Result<AttemptOutput, String> {
    let mut parts = line.splitn(3, '\t');
    let attempt = parts
        .next()
        .and_then(|index| attempts.get(index.parse::<usize>().ok()?));
    let (Some((case, code)), Some(kind), Some(value)) = (attempt, parts.next(), parts.next())
    else {
        return Err(format!("unexpected line {line:?}"));
    };
    let code = code.as_ref().to_owned();
    let result = match kind {
        "ok" => Ok(value.to_owned()),
        "error" => Err(value.to_owned()),
        _ => return Err(format!("a mistake in {code:?}: {value}")),
    };
    Ok(AttemptOutput {
        case: *case,
        code,
        result,
    })
}

/// Returns assignments of the paths around a skill, which lists use: `root` is the directory above it.
#[must_use]
pub fn paths_prelude(root: &std::path::Path) -> String {
    let root = root.display().to_string();
    let root = root.trim_end_matches('/');
    format!("root = '{root}'\noutside = root + '/outside'\nworkspace = root + '/workspace'\n")
}

/// Quotes a text for Python and for the shells of these scripts.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!(
        "'{}'",
        text.replace('\\', "\\\\")
            .replace('\'', "\\'")
            .replace('\n', "\\n")
    )
}

/// Returns the attempts of a list, each with the number of its case.
#[must_use]
pub fn attempts_of(list: &[(u8, &[&'static str])]) -> Vec<(u8, &'static str)> {
    list.iter()
        .flat_map(|(case, codes)| codes.iter().map(|code| (*case, *code)))
        .collect()
}
