//! Builds the tree of a frontmatter as strictyaml does: every scalar is text; flow style, anchors and tags are refused.

use super::mark::{Mark, Problem};
use super::python::repr;
use super::scanner::{Scan, Scanner};
use super::token::{Directive, Kind, Token};

/// How deep collections may nest. The reference tool crashes on some three hundred levels.
const MAX_DEPTH: usize = 250;

/// A node and where it stands.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar { text: String, plain: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// Reads the one document of `text`, which ends with NUL; nothing when it holds none.
pub(super) fn document(text: &[char]) -> Scan<Option<Node>> {
    let mut composer = Composer { scanner: Scanner::new(text), depth: 0 };
    composer.scanner.next()?;
    composer.scanner.peek()?;
    if composer.at_explicit_start()? {
        composer.refuse_explicit_document()?;
        return Ok(None);
    }
    let node = composer.block_node(Sequences::Indented)?;
    if composer.is(&Kind::DocumentEnd)? {
        composer.scanner.next()?;
    }
    if composer.at_explicit_start()? {
        composer.refuse_explicit_document()?;
        return Ok(Some(node));
    }
    let another = composer.scanner.peek()?.start;
    let context = "expected a single document in the stream";
    Err(Problem::within(context, node.start, "but found another document", another))
}

/// Whether the entries of a sequence may stand below its key without indentation.
#[derive(PartialEq)]
enum Sequences {
    Indented,
    Indentless,
}

struct Composer<'a> {
    scanner: Scanner<'a>,
    depth: usize,
}

impl Composer<'_> {
    fn is(&mut self, kind: &Kind) -> Scan<bool> {
        Ok(self.scanner.peek()?.kind == *kind)
    }

    fn is_any(&mut self, kinds: &[Kind]) -> Scan<bool> {
        let token = self.scanner.peek()?;
        Ok(kinds.contains(&token.kind))
    }

    fn at_explicit_start(&mut self) -> Scan<bool> {
        Ok(matches!(self.scanner.peek()?.kind, Kind::Directive(_) | Kind::DocumentStart | Kind::StreamEnd))
    }

    /// Passes the end of the stream; directives and what follows them are refused, since no frontmatter can hold a `---`.
    fn refuse_explicit_document(&mut self) -> Scan<()> {
        while self.is(&Kind::DocumentEnd)? {
            self.scanner.next()?;
        }
        if self.is(&Kind::StreamEnd)? {
            return Ok(());
        }
        let (mut version_seen, mut handles) = (false, Vec::new());
        while let Kind::Directive(directive) = self.scanner.peek()?.kind.clone() {
            let token = self.scanner.next()?;
            match directive {
                Directive::Version { .. } if version_seen => {
                    return Err(Problem::new("found duplicate YAML directive", token.start));
                }
                Directive::Version { major } if major.trim_start_matches('0') != "1" => {
                    return Err(Problem::new("found incompatible YAML document (version 1.* is required)", token.start));
                }
                Directive::Version { .. } => version_seen = true,
                Directive::Tag { handle } if handles.contains(&handle) => {
                    return Err(Problem::new(format!("duplicate tag handle {}", repr(&handle)), token.start));
                }
                Directive::Tag { handle } => handles.push(handle),
                Directive::Other => {}
            }
        }
        let token = self.scanner.peek()?;
        Err(Problem::new(format!("expected '<document start>', but found {}", repr(token.kind.id())), token.start))
    }

    fn block_node(&mut self, sequences: Sequences) -> Scan<Node> {
        let token = self.scanner.peek()?.clone();
        let (start, indentless) = (token.start, sequences == Sequences::Indentless);
        match token.kind {
            Kind::Alias(name) => Err(Problem::new(format!("found undefined alias {}", repr(&name)), start)),
            Kind::Anchor => {
                Err(disallowed(token, "Found confusing disallowed anchor token (surround with ' and ' to make text appear literally)"))
            }
            Kind::Tag => {
                let (start, end) = (token.end, token.start);
                Err(disallowed(Token { start, end, ..token }, "Found disallowed tag tokens (do not specify types in markup)"))
            }
            Kind::BlockEntry if indentless => self.deeper(start, Self::indentless_sequence),
            Kind::Scalar { .. } => {
                let token = self.scanner.next()?;
                let Kind::Scalar { value: text, plain } = token.kind else { return self.unexpected(start) };
                Ok(Node { content: Content::Scalar { text, plain }, start, end: token.end })
            }
            Kind::FlowSequenceStart | Kind::FlowMappingStart => {
                Err(disallowed(token, "Found ugly disallowed JSONesque flow mapping (surround with ' and ' to make text appear literally)"))
            }
            Kind::BlockSequenceStart => self.deeper(start, Self::sequence),
            Kind::BlockMappingStart => self.deeper(start, Self::mapping),
            _ => self.unexpected(start),
        }
    }

    fn unexpected(&mut self, start: Mark) -> Scan<Node> {
        let token = self.scanner.peek()?;
        let text = format!("expected the node content, but found {}", repr(token.kind.id()));
        Err(Problem::within("while parsing a block node", start, text, token.start))
    }

    fn deeper(&mut self, start: Mark, build: fn(&mut Self, Mark) -> Scan<Node>) -> Scan<Node> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Problem::new(format!("nested deeper than {MAX_DEPTH} levels"), start));
        }
        let node = build(self, start);
        self.depth -= 1;
        node
    }

    fn sequence(&mut self, start: Mark) -> Scan<Node> {
        self.scanner.next()?;
        let mut items = Vec::new();
        while self.is(&Kind::BlockEntry)? {
            let entry = self.scanner.next()?;
            let is_empty = self.is_any(&[Kind::BlockEntry, Kind::BlockEnd])?;
            items.push(if is_empty { empty(entry.end) } else { self.block_node(Sequences::Indented)? });
        }
        let end = self.block_end("while parsing a block collection", start)?;
        Ok(Node { content: Content::Sequence(items), start, end })
    }

    fn indentless_sequence(&mut self, start: Mark) -> Scan<Node> {
        let mut items = Vec::new();
        while self.is(&Kind::BlockEntry)? {
            let entry = self.scanner.next()?;
            let is_empty = self.is_any(&[Kind::BlockEntry, Kind::Key, Kind::Value, Kind::BlockEnd])?;
            items.push(if is_empty { empty(entry.end) } else { self.block_node(Sequences::Indented)? });
        }
        let end = self.scanner.peek()?.start;
        Ok(Node { content: Content::Sequence(items), start, end })
    }

    fn mapping(&mut self, start: Mark) -> Scan<Node> {
        const ENDS: [Kind; 3] = [Kind::Key, Kind::Value, Kind::BlockEnd];
        self.scanner.next()?;
        let mut pairs = Vec::new();
        loop {
            let key = if self.is(&Kind::Key)? {
                let token = self.scanner.next()?;
                if self.is_any(&ENDS)? { empty(token.end) } else { self.block_node(Sequences::Indentless)? }
            } else if self.is(&Kind::Value)? {
                empty(self.scanner.peek()?.start)
            } else {
                break;
            };
            let value = if self.is(&Kind::Value)? {
                let token = self.scanner.next()?;
                if self.is_any(&ENDS)? { empty(token.end) } else { self.block_node(Sequences::Indentless)? }
            } else {
                empty(self.scanner.peek()?.start)
            };
            pairs.push((key, value));
        }
        let end = self.block_end("while parsing a block mapping", start)?;
        Ok(Node { content: Content::Mapping(pairs), start, end })
    }

    fn block_end(&mut self, context: &'static str, start: Mark) -> Scan<Mark> {
        let token = self.scanner.peek()?;
        if token.kind != Kind::BlockEnd {
            let text = format!("expected <block end>, but found {}", repr(token.kind.id()));
            return Err(Problem::within(context, start, text, token.start));
        }
        Ok(self.scanner.next()?.end)
    }
}

fn empty(at: Mark) -> Node {
    Node { content: Content::Scalar { text: String::new(), plain: true }, start: at, end: at }
}

fn disallowed(token: Token, text: &str) -> Box<Problem> {
    Problem::within("While scanning", token.start, text, token.end)
}
