//! Turns a table of verdicts into a program for the kernel.
//!
//! The kernel runs it for every system call, and once for every number as it is installed. So the numbers are searched, not compared one after
//! the other, and one program does the work of several.

use std::collections::BTreeMap;

use libc::sock_filter;

/// What a call is answered with: the error, 0 for one that does nothing and says that it did, none when it goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Allow,
    Error(u16),
}

/// What becomes of a call: the answer of the first case that fits, else it goes through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Verdict(pub(super) Vec<Case>);

/// All checks fit, also when there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) checks: Vec<Check>,
    pub(super) answer: Answer,
}

/// A look at one argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) argument: u8,
    pub(super) test: Test,
}

/// What an argument is compared with. Numbers are its low 32 bits, which are all that the kernel looks at in these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    Is(u32),
    IsNot(u32),
    /// The bits of the first are those of the second.
    Has(u32, u32),
    Null,
    NotNull,
}

/// Numbers of calls and what becomes of them.
pub(super) type Table = BTreeMap<u32, Verdict>;

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The newest call that the lists have judged (`file_setattr`); numbers are the same everywhere since long before. Behind it are also those of
/// x86-64's x32 convention, which would bypass every other rule.
const NEWEST: u32 = 469;

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xc000_00b7;

type Program = Vec<sock_filter>;

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn answer(answer: Answer) -> sock_filter {
    let value = match answer {
        Answer::Allow => libc::SECCOMP_RET_ALLOW,
        Answer::Error(error) => libc::SECCOMP_RET_ERRNO | u32::from(error),
    };
    step(RETURN, 0, 0, value)
}

/// Makes the program. A call of another architecture, as 32-bit code makes it, kills the process.
pub(super) fn program(table: &Table) -> Program {
    let mut program = vec![
        step(LOAD, 0, 0, ARCHITECTURE),
        step(EQUAL, 1, 0, THIS_ARCHITECTURE),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, 0, 0, NUMBER),
    ];
    program.extend(search(&ranges(table)));
    program
}

/// From where on numbers have a verdict; up to the next.
type Range = (u32, Verdict);

fn ranges(table: &Table) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, Verdict::default())];
    let mut add = |from: u32, verdict: Verdict| match ranges.last_mut() {
        Some((known, last)) if *known == from => *last = verdict,
        Some((_, last)) if *last == verdict => {}
        _ => ranges.push((from, verdict)),
    };
    for (number, verdict) in table {
        add(*number, verdict.clone());
        // The next number begins where this one ends, unless it is in the table too.
        if !table.contains_key(&(number + 1)) {
            add(number + 1, Verdict::default());
        }
    }
    // What newer kernels will know, nobody has judged.
    add(NEWEST + 1, Verdict(vec![Case { checks: Vec::new(), answer: Answer::Error(libc::ENOSYS as u16) }]));
    ranges
}

/// Every path ends in an answer.
fn search(ranges: &[Range]) -> Program {
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let (Some(_), Some((from, _))) = (left.first(), right.first()) else {
        return ranges.first().map_or_else(|| vec![answer(Answer::Allow)], |(_, verdict)| decide(verdict));
    };
    let left = search(left);
    let mut program = match u8::try_from(left.len()) {
        Ok(over) => vec![step(AT_LEAST, over, 0, *from)],
        Err(_) => vec![step(AT_LEAST, 0, 1, *from), step(JUMP, 0, 0, left.len() as u32)],
    };
    program.extend(left);
    program.extend(search(right));
    program
}

fn decide(Verdict(cases): &Verdict) -> Program {
    let mut program = Program::new();
    for case in cases {
        let mut checks: Vec<Program> = case.checks.iter().map(|check| code(*check)).collect();
        let length: usize = checks.iter().map(Vec::len).sum();
        let mut at = 0;
        for check in &mut checks {
            for step in check {
                at += 1;
                // What does not fit goes on behind this case's answer.
                let out = (length - at + 1) as u8;
                step.jt = if step.jt == MISS { out } else { step.jt };
                step.jf = if step.jf == MISS { out } else { step.jf };
            }
        }
        program.extend(checks.into_iter().flatten());
        program.push(answer(case.answer));
    }
    // A case without checks has answered for all.
    if cases.last().is_none_or(|case| !case.checks.is_empty()) {
        program.push(answer(Answer::Allow));
    }
    program
}

/// Stands for "out of this case" until the distance is known; no real distance is that long.
const MISS: u8 = u8::MAX;

fn code(Check { argument, test }: Check) -> Program {
    // Both architectures keep the low half first.
    let low = ARGUMENTS + 8 * u32::from(argument);
    let load = |at| step(LOAD, 0, 0, at);
    match test {
        Test::Is(value) => vec![load(low), step(EQUAL, 0, MISS, value)],
        Test::IsNot(value) => vec![load(low), step(EQUAL, MISS, 0, value)],
        Test::Has(mask, value) => vec![load(low), step(AND, 0, 0, mask), step(EQUAL, 0, MISS, value)],
        Test::Null => vec![load(low), step(EQUAL, 0, MISS, 0), load(low + 4), step(EQUAL, 0, MISS, 0)],
        Test::NotNull => vec![load(low), step(EQUAL, 0, 2, 0), load(low + 4), step(EQUAL, MISS, 0, 0)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with one call.
    fn run(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> u32 {
        let load = |at: u32| match at {
            NUMBER => number,
            ARCHITECTURE => THIS_ARCHITECTURE,
            _ => {
                let value = arguments[((at - ARGUMENTS) / 8) as usize];
                if at.is_multiple_of(8) { value as u32 } else { (value >> 32) as u32 }
            }
        };
        let (mut at, mut value) = (0, 0u32);
        loop {
            let step = program[at];
            at += 1;
            let jump = |is: bool| usize::from(if is { step.jt } else { step.jf });
            match step.code {
                LOAD => value = load(step.k),
                AND => value &= step.k,
                JUMP => at += step.k as usize,
                EQUAL => at += jump(value == step.k),
                AT_LEAST => at += jump(value >= step.k),
                RETURN => return step.k,
                other => panic!("unknown code {other:#x}"),
            }
        }
    }

    /// The same by the words of the types.
    fn expected(table: &Table, number: u32, arguments: [u64; 6]) -> u32 {
        let fits = |check: &Check| {
            let argument = arguments[usize::from(check.argument)];
            match check.test {
                Test::Is(value) => argument as u32 == value,
                Test::IsNot(value) => argument as u32 != value,
                Test::Has(mask, value) => argument as u32 & mask == value,
                Test::Null => argument == 0,
                Test::NotNull => argument != 0,
            }
        };
        let cases = table.get(&number).map(|verdict| verdict.0.as_slice()).unwrap_or_default();
        let found = cases.iter().find(|case| case.checks.iter().all(fits)).map_or(Answer::Allow, |case| case.answer);
        super::answer(if number > NEWEST { Answer::Error(libc::ENOSYS as u16) } else { found }).k
    }

    #[test]
    fn programs_do_what_their_tables_say() {
        use super::super::{Allocation, Filter, Processes, SharedMemory, Sockets, table};
        use crate::tier::Tier;
        let values = [
            0,
            1,
            2,
            3,
            10,
            17,
            0x11,
            0x21,
            0x22,
            0x122,
            0x40022,
            0x100,
            0o4755,
            0o2000,
            0o100,
            0x8000,
            0x1000_0000,
            0x5412,
            0xffff_ffff,
            1 << 32,
            1 << 63,
        ];
        for (tier, processes, sockets, shared, allocation) in [
            (Tier::Isolated, Processes::One, Sockets::None, SharedMemory::Refused, Allocation::AtOnce),
            (Tier::Isolated, Processes::Many, Sockets::Streams, SharedMemory::Allowed, Allocation::ByWriting),
            (Tier::Landlock, Processes::One, Sockets::None, SharedMemory::Allowed, Allocation::ByWriting),
            (Tier::Landlock, Processes::Many, Sockets::None, SharedMemory::Refused, Allocation::AtOnce),
        ] {
            let table = table(Filter { tier, processes, sockets, shared, allocation });
            let program = program(&table);
            for number in (0..600).chain([0x4000_0000, 0x4000_0027, u32::MAX]) {
                for (index, value) in values.iter().enumerate() {
                    for other in values {
                        let arguments = [*value, other, values[(index + 1) % values.len()], other, *value, 0];
                        let (is, should) = (run(&program, number, arguments), expected(&table, number, arguments));
                        assert_eq!(is, should, "{tier:?} {number} {arguments:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_program_is_short_and_the_search_is_too() {
        let table: Table =
            (0..400).step_by(2).map(|number| (number, Verdict(vec![Case { checks: Vec::new(), answer: Answer::Error(1) }]))).collect();
        let program = program(&table);
        assert!(program.len() < 850, "{}", program.len());
        assert_eq!(run(&program, 398, [0; 6]), libc::SECCOMP_RET_ERRNO | 1);
        assert_eq!(run(&program, 399, [0; 6]), libc::SECCOMP_RET_ALLOW);
    }
}
