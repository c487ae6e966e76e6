//! Decides from the bytes whether a component may be compiled in this process.
//!
//! The length of a component bounds neither the time nor the memory of the compiler: 300 nested
//! loops over 300 variables are 4.6 KB and take 43 s, and a call of a function with a thousand
//! parameters is two bytes. So the shape of each function is measured, and components that are not
//! known to be cheap are compiled in a child process. Real tools in Rust and C of 27 to 200 KB are
//! below each limit.
//!
//! The worst known components below the limits take 3.6 s of processor time or 0.34 GB, with a
//! compiler built for tests:
//!
//! ```text
//! cargo test -p skills-sandbox-wasm --lib -- --nocapture the_cost_of_expensive_small_components_is_measured
//! ```

use wasmparser::{
    BlockType, CanonicalFunction, ComponentCanonicalSectionReader, CompositeInnerType, DataKind,
    DataSectionReader, ElementKind, ElementSectionReader, FunctionBody, ImportSectionReader,
    Operator, Parser, Payload, TypeRef, TypeSectionReader,
};

/// The maximum length of a component that is compiled in this process.
const MAX_BYTES: usize = 512 << 10;
/// The maximum work in one function, and in total: one unit per instruction, more if an instruction
/// passes many values.
const MAX_WORK: u64 = 20_000;
const MAX_TOTAL_WORK: u64 = 250_000;
/// The maximum of branches times variables in one function, and in total. At each branch the
/// compiler assigns a location to each variable.
const MAX_BRANCH_VARIABLES: u64 = 150_000;
const MAX_TOTAL_BRANCH_VARIABLES: u64 = 300_000;
/// The maximum number of variables of a function, including parameters and results.
const MAX_VARIABLES: u64 = 256;
/// The maximum nesting depth of loops, and of blocks of any kind. The time grows with the square of
/// the depth of loops.
const MAX_LOOP_DEPTH: usize = 8;
const MAX_BLOCK_DEPTH: usize = 256;
/// The maximum number of parameters and results of a function or block. Language compilers pass
/// more in memory.
const MAX_ARITY: usize = 32;
/// The cost of a function, a module or a function of the component model in addition to its
/// instructions.
const FUNCTION_WORK: u64 = 25;
/// The maximum number of memory and table images that the compiler creates from segments; each has
/// up to 16 MiB. Real components have three.
const MAX_IMAGES: usize = 4;

/// Returns true if compiling the component is known to take little time and memory.
pub(super) fn is_small(component: &[u8]) -> bool {
    component.len() <= MAX_BYTES
        && CostEstimator::default()
            .fits_limits(component)
            .unwrap_or(false)
}

/// What was counted in a component so far.
#[derive(Default)]
struct CostEstimator {
    cost: Cost,
    /// The nesting depth of components and modules at the current position.
    depth: u32,
    has_lift: bool,
    images: usize,
    module: ModuleState,
}

/// The core module that is being read; modules are not nested.
#[derive(Default)]
struct ModuleState {
    /// Parameters and results of each type.
    arities: Vec<usize>,
    /// The type of each function; imported ones come first.
    functions: Vec<u32>,
    /// How many functions are imported, or have a body that was read.
    bodies_read: usize,
    has_memory_image: bool,
    has_table_image: bool,
}

/// The estimated cost of compiling.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Cost {
    work: u64,
    branch_variables: u64,
}

/// The open blocks at the current instruction of a function.
struct Nesting {
    /// Whether each open block is a loop.
    is_loop: Vec<bool>,
    /// The number of open loops.
    loops: usize,
    /// The number of values that the widest block of the function so far passes on.
    widest: usize,
}

impl CostEstimator {
    /// Reads everything; `None` if the component is invalid, or has parts that are not known to be
    /// cheap.
    fn fits_limits(mut self, component: &[u8]) -> Option<bool> {
        for payload in Parser::new(0).parse_all(component) {
            self.add_payload(payload.ok()?)?;
            if self.cost.work > MAX_TOTAL_WORK
                || self.cost.branch_variables > MAX_TOTAL_BRANCH_VARIABLES
                || self.images > MAX_IMAGES
            {
                return Some(false);
            }
        }
        Some(true)
    }

    fn add_payload(&mut self, payload: Payload<'_>) -> Option<()> {
        match payload {
            Payload::ModuleSection { .. } => {
                self.depth += 1;
                self.cost.work += FUNCTION_WORK;
                self.module = ModuleState::default();
            }
            Payload::ComponentSection { .. } => self.depth += 1,
            Payload::End(_) => self.depth = self.depth.saturating_sub(1),
            Payload::TypeSection(types) => self.module.add_types(types)?,
            Payload::ImportSection(imports) => self.add_imports(imports)?,
            Payload::FunctionSection(functions) => {
                for ty in functions {
                    self.add_function(ty.ok()?)?;
                }
            }
            Payload::TagSection(_) => return None,
            Payload::CodeSectionEntry(body) => {
                let ty = *self.module.functions.get(self.module.bodies_read)?;
                self.module.bodies_read += 1;
                let cost = self.module.body_cost(ty, &body)?;
                self.cost.work += cost.work;
                self.cost.branch_variables += cost.branch_variables;
            }
            Payload::DataSection(segments) => self.add_data_images(segments)?,
            Payload::ElementSection(segments) => self.add_table_images(segments)?,
            Payload::ComponentCanonicalSection(functions) => {
                self.add_canonical_functions(functions)?;
            }
            _ => {}
        }
        Some(())
    }

    fn add_imports(&mut self, imports: ImportSectionReader<'_>) -> Option<()> {
        for import in imports.into_imports() {
            match import.ok()?.ty {
                TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                    self.add_function(ty)?;
                    // Bodies are numbered after the imported functions.
                    self.module.bodies_read += 1;
                }
                TypeRef::Tag(_) => return None,
                _ => {}
            }
        }
        Some(())
    }

    /// Counts the images of memories: one for the first memory of a module, and one for each
    /// segment that is not part of it.
    fn add_data_images(&mut self, segments: DataSectionReader<'_>) -> Option<()> {
        for segment in segments {
            let is_first = matches!(
                segment.ok()?.kind,
                DataKind::Active {
                    memory_index: 0,
                    ..
                }
            );
            self.images += usize::from(
                !is_first || !std::mem::replace(&mut self.module.has_memory_image, true),
            );
        }
        Some(())
    }

    /// Counts the images of tables, in the same way.
    fn add_table_images(&mut self, segments: ElementSectionReader<'_>) -> Option<()> {
        for segment in segments {
            let is_first = matches!(
                segment.ok()?.kind,
                ElementKind::Active {
                    table_index: None | Some(0),
                    ..
                }
            );
            self.images += usize::from(
                !is_first || !std::mem::replace(&mut self.module.has_table_image, true),
            );
        }
        Some(())
    }

    fn add_canonical_functions(
        &mut self,
        functions: ComponentCanonicalSectionReader<'_>,
    ) -> Option<()> {
        for function in functions {
            self.cost.work += FUNCTION_WORK;
            match function.ok()? {
                CanonicalFunction::Lift { .. } => self.has_lift = true,
                // A lifted function could be lowered again. For such calls between components the
                // compiler generates code that grows with their types.
                CanonicalFunction::Lower { .. } if self.has_lift || self.depth > 0 => {
                    return None;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Counts a function, and the code with which it is called from outside.
    fn add_function(&mut self, ty: u32) -> Option<()> {
        self.cost.work += FUNCTION_WORK + self.module.arity(ty)? as u64;
        self.module.functions.push(ty);
        Some(())
    }
}

impl ModuleState {
    fn add_types(&mut self, types: TypeSectionReader<'_>) -> Option<()> {
        for group in types {
            for ty in group.ok()?.types() {
                // Types of garbage-collected objects are rare, and the costs of their instructions
                // differ widely.
                let CompositeInnerType::Func(function) = &ty.composite_type.inner else {
                    return None;
                };
                self.arities
                    .push(function.params().len() + function.results().len());
            }
        }
        Some(())
    }

    fn arity(&self, ty: u32) -> Option<usize> {
        self.arities
            .get(ty as usize)
            .copied()
            .filter(|arity| *arity <= MAX_ARITY)
    }

    fn block_arity(&self, ty: BlockType) -> Option<usize> {
        match ty {
            BlockType::Empty => Some(0),
            BlockType::Type(_) => Some(1),
            BlockType::FuncType(ty) => self.arity(ty),
        }
    }

    /// Returns the cost of a function; `None` if it exceeds a limit.
    fn body_cost(&self, ty: u32, body: &FunctionBody<'_>) -> Option<Cost> {
        let mut variables = self.arity(ty)? as u64;
        for locals in body.get_locals_reader().ok()? {
            variables += u64::from(locals.ok()?.0);
        }
        let mut work = 0;
        let mut branches = 1u64;
        let mut nesting = Nesting {
            is_loop: Vec::new(),
            loops: 0,
            widest: self.arity(ty)?,
        };
        for operator in body.get_operators_reader().ok()? {
            let (values, ways) = self.operator_shape(&operator.ok()?, &mut nesting)?;
            branches += ways;
            work += (1 + values as u64) * ways.max(1);
            let places = branches.saturating_mul(variables);
            if work > MAX_WORK
                || places > MAX_BRANCH_VARIABLES
                || nesting.loops > MAX_LOOP_DEPTH
                || nesting.is_loop.len() > MAX_BLOCK_DEPTH
                || variables > MAX_VARIABLES
            {
                return None;
            }
        }
        Some(Cost {
            work,
            branch_variables: branches * variables,
        })
    }

    /// Returns how many values an instruction passes on, and how many branches it has; `None` if
    /// its cost is not known.
    fn operator_shape(
        &self,
        operator: &Operator<'_>,
        nesting: &mut Nesting,
    ) -> Option<(usize, u64)> {
        Some(match operator {
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                let is_loop = matches!(operator, Operator::Loop { .. });
                nesting.loops += usize::from(is_loop);
                nesting.is_loop.push(is_loop);
                nesting.widest = nesting.widest.max(self.block_arity(*blockty)?);
                (nesting.widest, 1)
            }
            Operator::End => {
                nesting.loops -= usize::from(nesting.is_loop.pop().unwrap_or(false));
                (nesting.widest, 1)
            }
            Operator::TryTable { .. } => return None,
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => (
                self.arity(*self.functions.get(*function_index as usize)?)?,
                0,
            ),
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => (self.arity(*type_index)?, 1),
            Operator::BrTable { targets } => (nesting.widest, 1 + u64::from(targets.len())),
            Operator::Else
            | Operator::Br { .. }
            | Operator::BrIf { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::Return => (nesting.widest, 1),
            // Elements of tables are initialized on first use.
            Operator::TableGet { .. } | Operator::TableSet { .. } => (0, 1),
            _ => (0, 0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WasmProfile;
    use crate::engine::{Allocation, engine_config};

    fn bytes(text: &str) -> Vec<u8> {
        wat::parse_str(format!("(component {text})")).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A module with an empty function, and functions with this many `i32` variables and this code.
    fn functions(number: usize, variables: usize, code: &str) -> Vec<u8> {
        let function = format!("(func (local {}) {code})", "i32 ".repeat(variables));
        bytes(&format!(
            "(core module (memory 1) (func $nothing) {})",
            function.repeat(number)
        ))
    }

    /// Nested loops, each with a conditional exit, around code that modifies each variable.
    fn loops(depth: usize, variables: usize) -> String {
        let changes: String = (0..variables)
            .map(|at| format!("(local.set {at} (i32.add (local.get {at}) (i32.const 1)))"))
            .collect();
        let (open, close) = (
            "loop ".repeat(depth),
            "local.get 0 br_if 0 end ".repeat(depth),
        );
        format!("{open}{changes} {close}")
    }

    /// Modules that each have an image of 16 MiB, since their data segments are far apart.
    fn images(number: usize) -> Vec<u8> {
        let module = r#"(core module (memory 256) (data (i32.const 0) "x") (data (i32.const 16777214) "x"))"#;
        bytes(&module.repeat(number))
    }

    #[test]
    fn real_components_are_small() {
        for component in [
            &include_bytes!("../../tests/guest/probe.wasm")[..],
            include_bytes!("../../tests/guest-p3/probe3.wasm"),
            include_bytes!("../../tests/guest-http/fetch.wasm"),
            include_bytes!("../../tests/guest-http-p3/fetch3.wasm"),
        ] {
            assert_eq!(CostEstimator::default().fits_limits(component), Some(true));
        }
    }

    #[test]
    fn expensive_components_are_not_small() {
        let wide = "i32 ".repeat(MAX_ARITY + 1);
        let cases = [
            (
                "one long function",
                functions(1, 0, &"call 0 ".repeat(20_001)),
            ),
            (
                "many long functions",
                functions(14, 0, &"nop ".repeat(19_000)),
            ),
            ("many short functions", functions(10_000, 0, "")),
            ("deep loops", functions(1, 1, &loops(MAX_LOOP_DEPTH + 1, 1))),
            (
                "deep blocks",
                functions(
                    1,
                    1,
                    &format!(
                        "{}{}",
                        "block ".repeat(MAX_BLOCK_DEPTH + 1),
                        "end ".repeat(MAX_BLOCK_DEPTH + 1)
                    ),
                ),
            ),
            (
                "many branches and variables",
                functions(1, 200, &loops(1, 1).repeat(300)),
            ),
            ("many variables", functions(1, 257, "")),
            (
                "long tables",
                functions(
                    1,
                    0,
                    &format!("block i32.const 0 br_table {} end", "0 ".repeat(20_000)),
                ),
            ),
            (
                "many parameters",
                bytes(&format!("(core module (func (param {wide})))")),
            ),
            (
                "many parameters of an import",
                bytes(&format!(
                    r#"(core module (import "a" "b" (func (param {wide}))))"#
                )),
            ),
            (
                "many parameters of a block",
                functions(
                    1,
                    0,
                    &format!("unreachable block (param {wide}) unreachable end"),
                ),
            ),
            (
                "many parameters of a call",
                functions(1, 0, &format!("unreachable call_indirect (param {wide})")).to_vec(),
            ),
            ("many images", images(MAX_IMAGES + 1)),
            (
                "other types",
                bytes("(core module (type (struct (field i32))))"),
            ),
            ("not a component", b"\0asm\x0d\0\x01\0\x01".to_vec()),
            (
                "calls between components",
                bytes(
                    r#"(core module $m (func (export "f"))) (core instance $i (instantiate $m))
                    (func $f (canon lift (core func $i "f"))) (core func (canon lower (func $f)))"#,
                ),
            ),
            (
                "calls in a component",
                bytes(r#"(component (import "f" (func $f)) (core func (canon lower (func $f))))"#),
            ),
            (
                "too long",
                bytes(&format!(
                    r#"(core module (memory 9) (data (i32.const 0) "{}"))"#,
                    "x".repeat(MAX_BYTES)
                )),
            ),
        ];
        for (what, component) in cases {
            assert!(!is_small(&component), "{what}");
        }
    }

    /// The worst known components below the limits. Prints what they cost, for the figures at the
    /// head of this file.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_cost_of_expensive_small_components_is_measured() {
        let engine =
            wasmtime::Engine::new(&engine_config(WasmProfile::Fast, Allocation::OnDemand)).unwrap();
        let wide = "i32 ".repeat(MAX_ARITY);
        let call = format!("{} call $wide ", "i32.const 0 ".repeat(MAX_ARITY));
        let calls = format!("(func {})", call.repeat(300));
        let cases = [
            ("calls", functions(11, 0, &"call 0 ".repeat(19_900))),
            ("empty functions", functions(9_500, 0, "")),
            (
                "8 loops, 60 variables, 70 times",
                functions(2, 60, &loops(8, 60).repeat(70)),
            ),
            (
                "8 loops, 8 variables, 300 times",
                functions(5, 8, &loops(8, 8).repeat(300)),
            ),
            (
                "8 loops, 250 variables, 18 times",
                functions(2, 250, &loops(8, 250).repeat(18)),
            ),
            (
                "3 loops, 20 variables, 180 times",
                functions(9, 20, &loops(3, 20).repeat(180)),
            ),
            (
                "wide calls",
                bytes(&format!(
                    "(core module (type $wide (func (param {wide}))) (func $wide (type $wide)) {})",
                    calls.repeat(11)
                )),
            ),
            ("images", images(MAX_IMAGES)),
        ];
        for (what, component) in cases {
            assert!(is_small(&component), "{what}");
            let now = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
            let started = now();
            let compiled = engine.precompile_component(&component).unwrap();
            #[expect(clippy::disallowed_methods, reason = "a procfs file")]
            let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
            let peak = status
                .lines()
                .find(|line| line.starts_with("VmHWM"))
                .unwrap_or_default()
                .to_owned();
            let spent = now() - started;
            let milliseconds = spent.tv_sec * 1_000 + spent.tv_nsec / 1_000_000;
            println!(
                "{what}: {} bytes, {milliseconds} ms of processor time, {} bytes of code, so far {peak}",
                component.len(),
                compiled.len()
            );
        }
    }
}
