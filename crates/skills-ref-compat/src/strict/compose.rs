//! Builds the tree of nodes of a document; rejects flow style, anchors and tags, as strictyaml
//! does.

use super::cursor::ScanResult;
use super::mark::{Context, Mark, MarkedError};
use super::python::repr;
use super::scanner::Scanner;
use super::token::{Directive, TokenKind};

/// Maximum nesting of collections. The reference validator crashes at about 300 levels.
const MAX_DEPTH: usize = 250;

/// A node with its position.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

impl Node {
    fn new(content: Content, start: Mark, end: Mark) -> Self {
        Self {
            content,
            start,
            end,
        }
    }
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar { text: String, plain: bool },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
}

/// Parses the only document of `text`, which ends with NUL; `None` if there is no document.
pub(super) fn compose_document(text: &[char]) -> ScanResult<Option<Node>> {
    let mut composer = Composer {
        scanner: Scanner::new(text),
        depth: 0,
    };
    if composer.is_explicit_start()? {
        // Only an empty stream gets here without an error.
        composer.reject_explicit_document()?;
        return Ok(None);
    }
    let node = composer.block_node()?;
    if composer.next_is(&TokenKind::DocumentEnd)? {
        composer.scanner.next_token()?;
    }
    if composer.is_explicit_start()? {
        composer.reject_explicit_document()?;
        return Ok(Some(node));
    }
    let another = composer.scanner.peek_token()?.start;
    let context = ("expected a single document in the stream", node.start);
    Err(MarkedError::within(
        context,
        "but found another document",
        another,
    ))
}

struct Composer<'a> {
    scanner: Scanner<'a>,
    depth: usize,
}

impl Composer<'_> {
    fn next_is(&mut self, kind: &TokenKind) -> ScanResult<bool> {
        Ok(self.scanner.peek_token()?.kind == *kind)
    }

    fn next_is_any(&mut self, kinds: &[TokenKind]) -> ScanResult<bool> {
        let token = self.scanner.peek_token()?;
        Ok(kinds.contains(&token.kind))
    }

    fn is_explicit_start(&mut self) -> ScanResult<bool> {
        Ok(matches!(
            self.scanner.peek_token()?.kind,
            TokenKind::Directive(_) | TokenKind::StreamEnd
        ))
    }

    /// Skips the end of the stream and rejects directives.
    ///
    /// A directive must be followed by `---`, which frontmatter cannot contain, so there is always
    /// an error; which one depends on the directives.
    fn reject_explicit_document(&mut self) -> ScanResult<()> {
        while self.next_is(&TokenKind::DocumentEnd)? {
            self.scanner.next_token()?;
        }
        if self.next_is(&TokenKind::StreamEnd)? {
            return Ok(());
        }
        let mut version_seen = false;
        let mut handles = Vec::new();
        while let TokenKind::Directive(directive) = self.scanner.peek_token()?.kind.clone() {
            let start = self.scanner.next_token()?.start;
            let problem = match directive {
                Directive::Version { .. } if version_seen => {
                    "found duplicate YAML directive".to_owned()
                }
                Directive::Version { major } if major.trim_start_matches('0') != "1" => {
                    "found incompatible YAML document (version 1.* is required)".to_owned()
                }
                Directive::Tag { handle } if handles.contains(&handle) => {
                    format!("duplicate tag handle {}", repr(&handle))
                }
                Directive::Version { .. } => {
                    version_seen = true;
                    continue;
                }
                Directive::Tag { handle } => {
                    handles.push(handle);
                    continue;
                }
                Directive::Other => continue,
            };
            return Err(MarkedError::new(problem, start));
        }
        let (found, start) = self.peek_id()?;
        let problem = format!("expected '<document start>', but found {found}");
        Err(MarkedError::new(problem, start))
    }

    /// Returns the name of the next token, as messages show it, and its start.
    fn peek_id(&mut self) -> ScanResult<(String, Mark)> {
        let token = self.scanner.peek_token()?;
        Ok((repr(&token.kind.id()), token.start))
    }

    fn block_node(&mut self) -> ScanResult<Node> {
        let token = self.scanner.peek_token()?.clone();
        let start = token.start;
        match token.kind {
            // No anchor is ever defined, since anchors are rejected.
            TokenKind::Alias(name) => {
                let problem = format!("found undefined alias {}", repr(&name));
                Err(MarkedError::new(problem, start))
            }
            TokenKind::Anchor => Err(disallowed_token(
                start,
                "Found confusing disallowed anchor token (surround with ' and ' to make text appear literally)",
                token.end,
            )),
            // The reference validator reports the two positions of a tag in reverse.
            TokenKind::Tag => Err(disallowed_token(
                token.end,
                "Found disallowed tag tokens (do not specify types in markup)",
                start,
            )),
            TokenKind::Flow('[' | '{') => Err(disallowed_token(
                start,
                "Found ugly disallowed JSONesque flow mapping (surround with ' and ' to make text appear literally)",
                token.end,
            )),
            TokenKind::Scalar { value, plain } => {
                self.scanner.next_token()?;
                Ok(Node::new(
                    Content::Scalar { text: value, plain },
                    start,
                    token.end,
                ))
            }
            TokenKind::BlockSequenceStart => self.with_depth(start, Self::block_sequence),
            TokenKind::BlockMappingStart => self.with_depth(start, Self::block_mapping),
            _ => {
                let (found, at) = self.peek_id()?;
                Err(MarkedError::within(
                    ("while parsing a block node", start),
                    format!("expected the node content, but found {found}"),
                    at,
                ))
            }
        }
    }

    fn with_depth(
        &mut self,
        start: Mark,
        build: fn(&mut Self, Mark) -> ScanResult<Node>,
    ) -> ScanResult<Node> {
        // Bounds the recursion of the composer and of all functions that walk its tree.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let problem = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(MarkedError::new(problem, start));
        }
        let node = build(self, start);
        self.depth -= 1;
        node
    }

    fn block_sequence(&mut self, start: Mark) -> ScanResult<Node> {
        self.scanner.next_token()?;
        let items = self.sequence_items(&[TokenKind::BlockEntry, TokenKind::BlockEnd])?;
        let end = self.block_end(("while parsing a block collection", start))?;
        Ok(Node::new(Content::Sequence(items), start, end))
    }

    /// Parses a sequence on the level of its key.
    fn indentless_sequence(&mut self, start: Mark) -> ScanResult<Node> {
        let items = self.sequence_items(&[
            TokenKind::BlockEntry,
            TokenKind::Key,
            TokenKind::Value,
            TokenKind::BlockEnd,
        ])?;
        Ok(Node::new(
            Content::Sequence(items),
            start,
            self.scanner.peek_token()?.start,
        ))
    }

    /// Parses entries; one that is directly before one of `ends` is empty.
    fn sequence_items(&mut self, ends: &[TokenKind]) -> ScanResult<Vec<Node>> {
        let mut items = Vec::new();
        while self.next_is(&TokenKind::BlockEntry)? {
            let entry = self.scanner.next_token()?;
            items.push(if self.next_is_any(ends)? {
                empty_scalar(entry.end)
            } else {
                self.block_node()?
            });
        }
        Ok(items)
    }

    fn block_mapping(&mut self, start: Mark) -> ScanResult<Node> {
        self.scanner.next_token()?;
        let mut pairs = Vec::new();
        // Keys and values can each be missing; an empty scalar takes their place.
        while self.next_is_any(&[TokenKind::Key, TokenKind::Value])? {
            let key = self.mapping_part(&TokenKind::Key)?;
            pairs.push((key, self.mapping_part(&TokenKind::Value)?));
        }
        let end = self.block_end(("while parsing a block mapping", start))?;
        Ok(Node::new(Content::Mapping(pairs), start, end))
    }

    /// Parses the key or the value of an entry, which `indicator` introduces.
    fn mapping_part(&mut self, indicator: &TokenKind) -> ScanResult<Node> {
        const ENDS: [TokenKind; 3] = [TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        if !self.next_is(indicator)? {
            return Ok(empty_scalar(self.scanner.peek_token()?.start));
        }
        let token = self.scanner.next_token()?;
        if self.next_is_any(&ENDS)? {
            return Ok(empty_scalar(token.end));
        }
        if self.next_is(&TokenKind::BlockEntry)? {
            let start = self.scanner.peek_token()?.start;
            return self.with_depth(start, Self::indentless_sequence);
        }
        self.block_node()
    }

    fn block_end(&mut self, context: Context) -> ScanResult<Mark> {
        if self.next_is(&TokenKind::BlockEnd)? {
            return Ok(self.scanner.next_token()?.end);
        }
        let (found, at) = self.peek_id()?;
        let problem = format!("expected <block end>, but found {found}");
        Err(MarkedError::within(context, problem, at))
    }
}

fn empty_scalar(at: Mark) -> Node {
    let (text, plain) = (String::new(), true);
    Node::new(Content::Scalar { text, plain }, at, at)
}

fn disallowed_token(start: Mark, problem: &str, end: Mark) -> Box<MarkedError> {
    MarkedError::within(("While scanning", start), problem, end)
}
