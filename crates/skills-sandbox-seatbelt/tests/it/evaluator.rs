//! An evaluator for the subset of SBPL that the profiles use; anything else in a profile is an
//! error.
//!
//! ```text
//! text --expression--> s-expressions --filter--> rules --decide--> the last rule that fits
//! ```

mod expression;
mod filter;
mod operation;

use std::collections::BTreeMap;

use self::expression::Expression;
use self::filter::Filter;
pub(crate) use self::filter::Subject;

/// A profile that decides operations.
pub(crate) struct Evaluator {
    rules: Vec<Rule>,
}

struct Rule {
    allows: bool,
    operations: Vec<String>,
    filters: Vec<Filter>,
}

impl Evaluator {
    /// Parses a profile; `parameters` are those of the command line, each used and none given
    /// twice.
    pub(crate) fn new(text: &str, parameters: &[(&str, &str)]) -> Self {
        let known: BTreeMap<&str, &str> = parameters.iter().copied().collect();
        assert_eq!(known.len(), parameters.len(), "a parameter is given twice");
        let expressions = expression::parse(text);
        let (version, rules) = expressions.split_first().expect("an empty profile");
        assert_eq!(
            version.list(),
            [
                Expression::Symbol("version".into()),
                Expression::Symbol("1".into())
            ]
        );
        for name in known.keys() {
            assert!(
                text.contains(&format!("(param \"{name}\")")),
                "{name} is not used"
            );
        }
        let rules: Vec<Rule> = rules.iter().map(|rule| Rule::read(rule, &known)).collect();
        assert!(
            !rules[0].allows && rules[0].operations == ["default"],
            "the first rule denies everything"
        );
        Self { rules }
    }

    /// Returns true if an operation is allowed.
    pub(crate) fn allows(&self, operation: &str, subject: &Subject) -> bool {
        operation::check(operation);
        self.rules
            .iter()
            .rev()
            .find(|rule| rule.fits(operation, subject))
            .is_some_and(|rule| rule.allows)
    }
}

impl Rule {
    fn read(rule: &Expression, parameters: &BTreeMap<&str, &str>) -> Self {
        let (verdict, rest) = rule.list().split_first().expect("an empty rule");
        let allows = match verdict.symbol() {
            "allow" => true,
            "deny" => false,
            other => panic!("unknown verdict {other}"),
        };
        let is_symbol = |part: &&Expression| matches!(part, Expression::Symbol(_));
        let operations: Vec<String> = rest
            .iter()
            .take_while(is_symbol)
            .map(|part| part.symbol().to_owned())
            .collect();
        assert!(!operations.is_empty(), "a rule without operations");
        operations
            .iter()
            .for_each(|operation| operation::check(operation));
        let filters = rest[operations.len()..]
            .iter()
            .map(|filter| Filter::read(filter, parameters))
            .collect();
        Self {
            allows,
            operations,
            filters,
        }
    }

    fn fits(&self, operation: &str, subject: &Subject) -> bool {
        let covers = self
            .operations
            .iter()
            .any(|rule| operation::covers(rule, operation));
        covers
            && (self.filters.is_empty() || self.filters.iter().any(|filter| filter.fits(subject)))
    }
}

#[test]
fn the_last_matching_rule_decides() {
    let text = r#"(version 1)(deny default)(allow file-read* file-write-data (subpath (param "A")))
        (deny file-read-data (require-all (subpath "/a/b") (require-not (literal "/a/b/c"))) (regex #"^/a/[xX]$"))"#;
    let evaluator = Evaluator::new(text, &[("A", "/a")]);
    let allows = |operation: &str, path: &str| evaluator.allows(operation, &Subject::path(path));
    assert!(
        allows("file-read-data", "/a")
            && allows("file-read-data", "/a/b/c")
            && allows("file-read-metadata", "/a/b/d")
    );
    assert!(
        !allows("file-read-data", "/a/b")
            && !allows("file-read-data", "/a/X")
            && !allows("file-read-data", "/ab")
    );
    assert!(
        allows("file-write-data", "/a/b")
            && !allows("file-write-create", "/a/b")
            && !allows("process-fork", "/a")
    );
}

#[test]
fn unknown_syntax_is_rejected() {
    for wrong in [
        "(version 2)(deny default)",
        "(version 1)(allow default)",
        "(version 1)(deny default)(allow file-reed*)",
        "(version 1)(deny default)(allow file-read* (subpath \"a\"))",
        "(version 1)(deny default)(allow file-read* (prefix \"/a\"))",
        "(version 1)(deny default)(allow file-read* (subpath (param \"A\")))",
        "(version 1)(deny default)(allow file-read* (subpath \"/a\\x41\"))",
        "(version 1)(deny default",
        "(version 1)(deny default))",
    ] {
        assert!(
            std::panic::catch_unwind(|| Evaluator::new(wrong, &[])).is_err(),
            "{wrong}"
        );
    }
    let twice = "(version 1)(deny default)(allow file-read* (subpath (param \"A\")))";
    assert!(
        std::panic::catch_unwind(|| Evaluator::new(twice, &[("A", "/a"), ("A", "/b")])).is_err()
    );
    assert!(
        std::panic::catch_unwind(|| Evaluator::new(twice, &[("A", "/a"), ("B", "/b")])).is_err()
    );
}
