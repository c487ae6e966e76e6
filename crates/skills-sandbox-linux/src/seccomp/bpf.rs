//! Turns a table of verdicts into a program for the kernel.
//!
//! The kernel runs it for every system call, and once for every number as it is installed. So the
//! numbers are searched, not compared one after the other, and one program does the work of
//! several.

use std::collections::BTreeMap;

use libc::sock_filter;

/// What a call is answered with: the error, 0 for one that does nothing and says that it did, none
/// when it goes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Error(u16),
}

/// What becomes of a call: the answer of the first case that fits, else it goes through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyscallRule(pub(super) Vec<RuleCase>);

/// All checks fit, also when there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleCase {
    pub(super) conditions: Vec<ArgCondition>,
    pub(super) action: Action,
}

/// A look at one argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArgCondition {
    pub(super) arg_index: u8,
    pub(super) cmp: ArgCmp,
}

/// What an argument is compared with. Numbers are its low 32 bits, which are all that the kernel
/// looks at in these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgCmp {
    Eq(u32),
    NotEq(u32),
    /// The bits of the first are those of the second.
    MaskedEq(u32, u32),
    Null,
    NotNull,
}

/// Numbers of calls and what becomes of them.
pub(super) type Table = BTreeMap<u32, SyscallRule>;

const BPF_LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const BPF_AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const BPF_JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
const BPF_JUMP_EQ: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const BPF_JUMP_GE: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const BPF_RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;

/// The newest call that the lists have judged (`file_setattr`); numbers are the same everywhere
/// since long before. Behind it are also those of x86-64's x32 convention, which would bypass every
/// other rule.
const NEWEST_KNOWN_SYSCALL: u32 = 469;

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xc000_00b7;

type Program = Vec<sock_filter>;

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn return_action(answer: Action) -> sock_filter {
    let value = match answer {
        Action::Allow => libc::SECCOMP_RET_ALLOW,
        Action::Error(error) => libc::SECCOMP_RET_ERRNO | u32::from(error),
    };
    instruction(BPF_RETURN, 0, 0, value)
}

/// Makes the program. A call of another architecture, as 32-bit code makes it, kills the process.
pub(super) fn compile(table: &Table) -> Program {
    let mut program = vec![
        instruction(BPF_LOAD, 0, 0, ARCHITECTURE_OFFSET),
        instruction(BPF_JUMP_EQ, 1, 0, THIS_ARCHITECTURE),
        instruction(BPF_RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        instruction(BPF_LOAD, 0, 0, NUMBER_OFFSET),
    ];
    program.extend(compile_search(&ranges(table)));
    program
}

/// From where on numbers have a verdict; up to the next.
type Range = (u32, SyscallRule);

fn ranges(table: &Table) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, SyscallRule::default())];
    let mut add = |from: u32, verdict: SyscallRule| match ranges.last_mut() {
        Some((known, last)) if *known == from => *last = verdict,
        Some((_, last)) if *last == verdict => {}
        _ => ranges.push((from, verdict)),
    };
    for (number, verdict) in table {
        add(*number, verdict.clone());
        // The next number begins where this one ends, unless it is in the table too.
        if !table.contains_key(&(number + 1)) {
            add(number + 1, SyscallRule::default());
        }
    }
    // What newer kernels will know, nobody has judged.
    add(
        NEWEST_KNOWN_SYSCALL + 1,
        SyscallRule(vec![RuleCase {
            conditions: Vec::new(),
            action: Action::Error(libc::ENOSYS as u16),
        }]),
    );
    ranges
}

/// Every path ends in an answer.
fn compile_search(ranges: &[Range]) -> Program {
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let (Some(_), Some((from, _))) = (left.first(), right.first()) else {
        return ranges.first().map_or_else(
            || vec![return_action(Action::Allow)],
            |(_, verdict)| compile_rule(verdict),
        );
    };
    let left = compile_search(left);
    let mut program = match u8::try_from(left.len()) {
        Ok(over) => vec![instruction(BPF_JUMP_GE, over, 0, *from)],
        Err(_) => vec![
            instruction(BPF_JUMP_GE, 0, 1, *from),
            instruction(BPF_JUMP, 0, 0, left.len() as u32),
        ],
    };
    program.extend(left);
    program.extend(compile_search(right));
    program
}

fn compile_rule(SyscallRule(cases): &SyscallRule) -> Program {
    let mut program = Program::new();
    for case in cases {
        let mut checks: Vec<Program> = case
            .conditions
            .iter()
            .map(|check| compile_condition(*check))
            .collect();
        let length: usize = checks.iter().map(Vec::len).sum();
        let mut at = 0;
        for check in &mut checks {
            for step in check {
                at += 1;
                // What does not fit goes on behind this case's answer.
                let out = (length - at + 1) as u8;
                step.jt = if step.jt == UNRESOLVED_JUMP {
                    out
                } else {
                    step.jt
                };
                step.jf = if step.jf == UNRESOLVED_JUMP {
                    out
                } else {
                    step.jf
                };
            }
        }
        program.extend(checks.into_iter().flatten());
        program.push(return_action(case.action));
    }
    // A case without checks has answered for all.
    if cases.last().is_none_or(|case| !case.conditions.is_empty()) {
        program.push(return_action(Action::Allow));
    }
    program
}

/// Stands for "out of this case" until the distance is known; no real distance is that long.
const UNRESOLVED_JUMP: u8 = u8::MAX;

fn compile_condition(
    ArgCondition {
        arg_index: argument,
        cmp: test,
    }: ArgCondition,
) -> Program {
    // Both architectures keep the low half first.
    let low = ARGUMENTS_OFFSET + 8 * u32::from(argument);
    let load = |at| instruction(BPF_LOAD, 0, 0, at);
    match test {
        ArgCmp::Eq(value) => vec![
            load(low),
            instruction(BPF_JUMP_EQ, 0, UNRESOLVED_JUMP, value),
        ],
        ArgCmp::NotEq(value) => vec![
            load(low),
            instruction(BPF_JUMP_EQ, UNRESOLVED_JUMP, 0, value),
        ],
        ArgCmp::MaskedEq(mask, value) => vec![
            load(low),
            instruction(BPF_AND, 0, 0, mask),
            instruction(BPF_JUMP_EQ, 0, UNRESOLVED_JUMP, value),
        ],
        ArgCmp::Null => vec![
            load(low),
            instruction(BPF_JUMP_EQ, 0, UNRESOLVED_JUMP, 0),
            load(low + 4),
            instruction(BPF_JUMP_EQ, 0, UNRESOLVED_JUMP, 0),
        ],
        ArgCmp::NotNull => vec![
            load(low),
            instruction(BPF_JUMP_EQ, 0, 2, 0),
            load(low + 4),
            instruction(BPF_JUMP_EQ, UNRESOLVED_JUMP, 0, 0),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with one call.
    fn run(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> u32 {
        let load = |at: u32| match at {
            NUMBER_OFFSET => number,
            ARCHITECTURE_OFFSET => THIS_ARCHITECTURE,
            _ => {
                let value = arguments[((at - ARGUMENTS_OFFSET) / 8) as usize];
                if at.is_multiple_of(8) {
                    value as u32
                } else {
                    (value >> 32) as u32
                }
            }
        };
        let (mut at, mut value) = (0, 0u32);
        loop {
            let step = program[at];
            at += 1;
            let jump = |is: bool| usize::from(if is { step.jt } else { step.jf });
            match step.code {
                BPF_LOAD => value = load(step.k),
                BPF_AND => value &= step.k,
                BPF_JUMP => at += step.k as usize,
                BPF_JUMP_EQ => at += jump(value == step.k),
                BPF_JUMP_GE => at += jump(value >= step.k),
                BPF_RETURN => return step.k,
                other => panic!("unknown code {other:#x}"),
            }
        }
    }

    /// The same by the words of the types.
    fn expected(table: &Table, number: u32, arguments: [u64; 6]) -> u32 {
        let fits = |check: &ArgCondition| {
            let argument = arguments[usize::from(check.arg_index)];
            match check.cmp {
                ArgCmp::Eq(value) => argument as u32 == value,
                ArgCmp::NotEq(value) => argument as u32 != value,
                ArgCmp::MaskedEq(mask, value) => argument as u32 & mask == value,
                ArgCmp::Null => argument == 0,
                ArgCmp::NotNull => argument != 0,
            }
        };
        let cases = table
            .get(&number)
            .map(|verdict| verdict.0.as_slice())
            .unwrap_or_default();
        let found = cases
            .iter()
            .find(|case| case.conditions.iter().all(fits))
            .map_or(Action::Allow, |case| case.action);
        super::return_action(if number > NEWEST_KNOWN_SYSCALL {
            Action::Error(libc::ENOSYS as u16)
        } else {
            found
        })
        .k
    }

    #[test]
    fn programs_do_what_their_tables_say() {
        use super::super::{
            AllocationPolicy, FilterConfig, ProcessPolicy, SharedMemoryPolicy, SocketPolicy,
            build_table,
        };
        use crate::isolation::IsolationLevel;
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
            (
                IsolationLevel::Namespaces,
                ProcessPolicy::SingleProcess,
                SocketPolicy::None,
                SharedMemoryPolicy::Deny,
                AllocationPolicy::Any,
            ),
            (
                IsolationLevel::Namespaces,
                ProcessPolicy::MultiProcess,
                SocketPolicy::Streams,
                SharedMemoryPolicy::Allow,
                AllocationPolicy::WriteOnly,
            ),
            (
                IsolationLevel::Landlock,
                ProcessPolicy::SingleProcess,
                SocketPolicy::None,
                SharedMemoryPolicy::Allow,
                AllocationPolicy::WriteOnly,
            ),
            (
                IsolationLevel::Landlock,
                ProcessPolicy::MultiProcess,
                SocketPolicy::None,
                SharedMemoryPolicy::Deny,
                AllocationPolicy::Any,
            ),
        ] {
            let table = build_table(FilterConfig {
                isolation: tier,
                processes,
                sockets,
                shared_memory: shared,
                allocation,
            });
            let program = compile(&table);
            for number in (0..600).chain([0x4000_0000, 0x4000_0027, u32::MAX]) {
                for (index, value) in values.iter().enumerate() {
                    for other in values {
                        let arguments = [
                            *value,
                            other,
                            values[(index + 1) % values.len()],
                            other,
                            *value,
                            0,
                        ];
                        let (is, should) = (
                            run(&program, number, arguments),
                            expected(&table, number, arguments),
                        );
                        assert_eq!(is, should, "{tier:?} {number} {arguments:x?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_program_is_short_and_the_search_is_too() {
        let table: Table = (0..400)
            .step_by(2)
            .map(|number| {
                (
                    number,
                    SyscallRule(vec![RuleCase {
                        conditions: Vec::new(),
                        action: Action::Error(1),
                    }]),
                )
            })
            .collect();
        let program = compile(&table);
        assert!(program.len() < 850, "{}", program.len());
        assert_eq!(run(&program, 398, [0; 6]), libc::SECCOMP_RET_ERRNO | 1);
        assert_eq!(run(&program, 399, [0; 6]), libc::SECCOMP_RET_ALLOW);
    }
}
