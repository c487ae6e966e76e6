//! Compiles a table of rules to a BPF program.
//!
//! The kernel runs the program for every system call, and once for every call number when it is
//! installed. So it uses a binary search of the numbers, and one program instead of several.

use std::collections::BTreeMap;

use libc::sock_filter;

/// The action for a call. Error 0 means that the call has no effect and reports success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Allow,
    Error(u16),
    /// The host process is notified and answers. Without a listener the call fails with `ENOSYS`.
    Notify,
}

/// The rule for a call: the action of the first case that matches; otherwise the call is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyscallRule(pub(super) Vec<RuleCase>);

/// A case matches if all of its conditions hold; without conditions it always does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleCase {
    pub(super) conditions: Vec<ArgCondition>,
    pub(super) action: Action,
}

/// A condition for one argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArgCondition {
    pub(super) arg_index: u8,
    pub(super) cmp: ArgCmp,
}

/// A comparison of an argument. Numbers are compared with its low 32 bits, which are the only ones
/// that the kernel uses of these arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgCmp {
    Eq(u32),
    NotEq(u32),
    /// The bits of the mask, the first value, equal the second value.
    MaskedEq(u32, u32),
    /// They do not.
    MaskedNotEq(u32, u32),
    Null,
    NotNull,
}

/// The rules by call number.
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

/// The newest call that the lists take into account (`file_setattr`). Newer ones fail, since their
/// effects are unknown, and so do those of the x32 ABI of x86-64, whose numbers are higher and
/// would bypass all other rules.
const NEWEST_KNOWN_SYSCALL: u32 = 469;

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xc000_00b7;

type Program = Vec<sock_filter>;

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn return_action(action: Action) -> sock_filter {
    let value = match action {
        Action::Allow => libc::SECCOMP_RET_ALLOW,
        Action::Error(error) => libc::SECCOMP_RET_ERRNO | u32::from(error),
        Action::Notify => libc::SECCOMP_RET_USER_NOTIF,
    };
    instruction(BPF_RETURN, 0, 0, value)
}

/// Compiles the program. A call of another architecture, such as of 32-bit code, kills the process,
/// since its numbers mean other calls.
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

/// The first number of a range of calls with the same rule. It ends where the next range starts.
type Range = (u32, SyscallRule);

fn ranges(table: &Table) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, SyscallRule::default())];
    let mut add = |from: u32, rule: SyscallRule| match ranges.last_mut() {
        Some((known, last)) if *known == from => *last = rule,
        Some((_, last)) if *last == rule => {}
        _ => ranges.push((from, rule)),
    };
    for (number, rule) in table {
        add(*number, rule.clone());
        // Calls after this one are allowed, unless the next number is in the table too.
        if !table.contains_key(&(number + 1)) {
            add(number + 1, SyscallRule::default());
        }
    }
    // Calls of newer kernels.
    add(
        NEWEST_KNOWN_SYSCALL + 1,
        SyscallRule(vec![RuleCase {
            conditions: Vec::new(),
            action: Action::Error(libc::ENOSYS as u16),
        }]),
    );
    ranges
}

/// Compiles a binary search. Every path through it returns an action.
fn compile_search(ranges: &[Range]) -> Program {
    let (left, right) = ranges.split_at(ranges.len() / 2);
    let (Some(_), Some((from, _))) = (left.first(), right.first()) else {
        return ranges.first().map_or_else(
            || vec![return_action(Action::Allow)],
            |(_, rule)| compile_rule(rule),
        );
    };
    let left = compile_search(left);
    let mut program = match u8::try_from(left.len()) {
        Ok(distance) => vec![instruction(BPF_JUMP_GE, distance, 0, *from)],
        // Conditional jumps have 8 bits for the distance, unconditional ones 32.
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
        let mut conditions: Program = case
            .conditions
            .iter()
            .flat_map(|condition| compile_condition(*condition))
            .collect();
        let length = conditions.len();
        for (index, instruction) in conditions.iter_mut().enumerate() {
            // A condition that does not hold jumps behind the action of this case.
            let distance = (length - index) as u8;
            if instruction.jt == UNRESOLVED_JUMP {
                instruction.jt = distance;
            }
            if instruction.jf == UNRESOLVED_JUMP {
                instruction.jf = distance;
            }
        }
        program.extend(conditions);
        program.push(return_action(case.action));
    }
    // Nothing follows a case without conditions, which always matches.
    if cases.last().is_none_or(|case| !case.conditions.is_empty()) {
        program.push(return_action(Action::Allow));
    }
    program
}

/// A jump out of the current case, before its distance is known. Real distances are shorter.
const UNRESOLVED_JUMP: u8 = u8::MAX;

fn compile_condition(ArgCondition { arg_index, cmp }: ArgCondition) -> Program {
    // Both supported architectures are little-endian, so the low half comes first.
    let low = ARGUMENTS_OFFSET + 8 * u32::from(arg_index);
    let load = |offset| instruction(BPF_LOAD, 0, 0, offset);
    match cmp {
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
        ArgCmp::MaskedNotEq(mask, value) => vec![
            load(low),
            instruction(BPF_AND, 0, 0, mask),
            instruction(BPF_JUMP_EQ, UNRESOLVED_JUMP, 0, value),
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

    /// Interprets a program for one call, as the kernel does.
    fn run(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> u32 {
        let load = |offset: u32| match offset {
            NUMBER_OFFSET => number,
            ARCHITECTURE_OFFSET => THIS_ARCHITECTURE,
            _ => {
                let value = arguments[((offset - ARGUMENTS_OFFSET) / 8) as usize];
                if offset.is_multiple_of(8) {
                    value as u32
                } else {
                    (value >> 32) as u32
                }
            }
        };
        let mut counter = 0;
        let mut value = 0u32;
        loop {
            let step = program[counter];
            counter += 1;
            let distance = |holds: bool| usize::from(if holds { step.jt } else { step.jf });
            match step.code {
                BPF_LOAD => value = load(step.k),
                BPF_AND => value &= step.k,
                BPF_JUMP => counter += step.k as usize,
                BPF_JUMP_EQ => counter += distance(value == step.k),
                BPF_JUMP_GE => counter += distance(value >= step.k),
                BPF_RETURN => return step.k,
                other => panic!("unknown code {other:#x}"),
            }
        }
    }

    /// Evaluates a table directly.
    fn expected(table: &Table, number: u32, arguments: [u64; 6]) -> u32 {
        let holds = |condition: &ArgCondition| {
            let argument = arguments[usize::from(condition.arg_index)];
            match condition.cmp {
                ArgCmp::Eq(value) => argument as u32 == value,
                ArgCmp::NotEq(value) => argument as u32 != value,
                ArgCmp::MaskedEq(mask, value) => argument as u32 & mask == value,
                ArgCmp::MaskedNotEq(mask, value) => argument as u32 & mask != value,
                ArgCmp::Null => argument == 0,
                ArgCmp::NotNull => argument != 0,
            }
        };
        let cases = table
            .get(&number)
            .map(|rule| rule.0.as_slice())
            .unwrap_or_default();
        let action = cases
            .iter()
            .find(|case| case.conditions.iter().all(holds))
            .map_or(Action::Allow, |case| case.action);
        super::return_action(if number > NEWEST_KNOWN_SYSCALL {
            Action::Error(libc::ENOSYS as u16)
        } else {
            action
        })
        .k
    }

    #[test]
    fn a_program_returns_the_actions_of_its_table() {
        use super::super::{
            AllocationPolicy, FilterConfig, LinkPolicy, LocalSocketPolicy, MetadataPolicy,
            Observation, ProcessPolicy, SharedMemoryPolicy, SocketPolicy, build_table,
        };
        let values = [
            0,
            1,
            2,
            3,
            5,
            77,
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
        for (metadata, processes, sockets, shared, allocation, observation) in [
            (
                MetadataPolicy::Any,
                ProcessPolicy::SingleProcess,
                SocketPolicy::Loopback,
                SharedMemoryPolicy::Decide,
                AllocationPolicy::Any,
                Observation::Enabled,
            ),
            (
                MetadataPolicy::Any,
                ProcessPolicy::MultiProcess,
                SocketPolicy::Proxy,
                SharedMemoryPolicy::Allow,
                AllocationPolicy::WriteOnly,
                Observation::Enabled,
            ),
            (
                MetadataPolicy::Deny,
                ProcessPolicy::SingleProcess,
                SocketPolicy::None,
                SharedMemoryPolicy::Allow,
                AllocationPolicy::WriteOnly,
                Observation::Disabled,
            ),
            (
                MetadataPolicy::Deny,
                ProcessPolicy::MultiProcess,
                SocketPolicy::None,
                SharedMemoryPolicy::Decide,
                AllocationPolicy::Any,
                Observation::Disabled,
            ),
        ] {
            let table = build_table(FilterConfig {
                metadata,
                links: match metadata {
                    MetadataPolicy::Any => LinkPolicy::Any,
                    MetadataPolicy::Deny => LinkPolicy::Deny,
                },
                processes,
                sockets,
                local_sockets: match metadata {
                    MetadataPolicy::Any => LocalSocketPolicy::Supervised,
                    MetadataPolicy::Deny => LocalSocketPolicy::StreamPairs,
                },
                shared_memory: shared,
                allocation,
                observation,
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
                        assert_eq!(
                            run(&program, number, arguments),
                            expected(&table, number, arguments),
                            "{metadata:?} {number} {arguments:x?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_program_for_many_calls_is_short() {
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
