//! Builds the tree of nodes of a document; rejects flow style, anchors and tags, as strictyaml
//! does.

use super::mark::{Mark, MarkedError};
use super::python::repr;
use super::scanner::{ScanResult, Scanner};
use super::token::{Directive, Token, TokenKind};

/// Maximum nesting of collections. The reference validator crashes at about 300 levels.
const MAX_DEPTH: usize = 250;

/// A node with its position.
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

/// Parses the only document of `text`, which ends with NUL; `None` if there is no document.
pub(super) fn compose_document(text: &[char]) -> ScanResult<Option<Node>> {
    let mut composer = Composer {
        scanner: Scanner::new(text),
        depth: 0,
    };
    composer.scanner.next_token()?;
    composer.scanner.peek_token()?;
    if composer.is_explicit_start()? {
        // Only an empty stream gets here without an error.
        composer.reject_explicit_document()?;
        return Ok(None);
    }
    let node = composer.block_node(SequenceStyle::Indented)?;
    if composer.next_is(&TokenKind::DocumentEnd)? {
        composer.scanner.next_token()?;
    }
    if composer.is_explicit_start()? {
        composer.reject_explicit_document()?;
        return Ok(Some(node));
    }
    let another = composer.scanner.peek_token()?.start;
    let context = "expected a single document in the stream";
    Err(MarkedError::with_context(
        context,
        node.start,
        "but found another document",
        another,
    ))
}

/// Whether the entries of a sequence may be on the level of its key.
#[derive(PartialEq)]
enum SequenceStyle {
    Indented,
    Indentless,
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
            TokenKind::Directive(_) | TokenKind::DocumentStart | TokenKind::StreamEnd
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
            let token = self.scanner.next_token()?;
            match directive {
                Directive::Version { .. } if version_seen => {
                    return Err(MarkedError::new(
                        "found duplicate YAML directive",
                        token.start,
                    ));
                }
                Directive::Version { major } if major.trim_start_matches('0') != "1" => {
                    return Err(MarkedError::new(
                        "found incompatible YAML document (version 1.* is required)",
                        token.start,
                    ));
                }
                Directive::Version { .. } => version_seen = true,
                Directive::Tag { handle } if handles.contains(&handle) => {
                    return Err(MarkedError::new(
                        format!("duplicate tag handle {}", repr(&handle)),
                        token.start,
                    ));
                }
                Directive::Tag { handle } => handles.push(handle),
                Directive::Other => {}
            }
        }
        let token = self.scanner.peek_token()?;
        Err(MarkedError::new(
            format!(
                "expected '<document start>', but found {}",
                repr(token.kind.id())
            ),
            token.start,
        ))
    }

    fn block_node(&mut self, sequences: SequenceStyle) -> ScanResult<Node> {
        let token = self.scanner.peek_token()?.clone();
        let start = token.start;
        match token.kind {
            // No anchor is ever defined, since anchors are rejected.
            TokenKind::Alias(name) => Err(MarkedError::new(
                format!("found undefined alias {}", repr(&name)),
                start,
            )),
            TokenKind::Anchor => Err(disallowed_token(
                token,
                "Found confusing disallowed anchor token (surround with ' and ' to make text appear literally)",
            )),
            TokenKind::Tag => {
                // The reference validator reports the two positions of a tag in reverse.
                let (start, end) = (token.end, token.start);
                Err(disallowed_token(
                    Token {
                        start,
                        end,
                        ..token
                    },
                    "Found disallowed tag tokens (do not specify types in markup)",
                ))
            }
            TokenKind::BlockEntry if sequences == SequenceStyle::Indentless => {
                self.with_depth(start, Self::indentless_sequence)
            }
            TokenKind::Scalar { .. } => {
                let token = self.scanner.next_token()?;
                let TokenKind::Scalar { value: text, plain } = token.kind else {
                    return self.unexpected_token(start);
                };
                Ok(Node {
                    content: Content::Scalar { text, plain },
                    start,
                    end: token.end,
                })
            }
            TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart => Err(disallowed_token(
                token,
                "Found ugly disallowed JSONesque flow mapping (surround with ' and ' to make text appear literally)",
            )),
            TokenKind::BlockSequenceStart => self.with_depth(start, Self::block_sequence),
            TokenKind::BlockMappingStart => self.with_depth(start, Self::block_mapping),
            _ => self.unexpected_token(start),
        }
    }

    fn unexpected_token(&mut self, start: Mark) -> ScanResult<Node> {
        let token = self.scanner.peek_token()?;
        let text = format!(
            "expected the node content, but found {}",
            repr(token.kind.id())
        );
        Err(MarkedError::with_context(
            "while parsing a block node",
            start,
            text,
            token.start,
        ))
    }

    fn with_depth(
        &mut self,
        start: Mark,
        build: fn(&mut Self, Mark) -> ScanResult<Node>,
    ) -> ScanResult<Node> {
        // Bounds the recursion of the composer and of all functions that walk its tree.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(MarkedError::new(
                format!("nested deeper than {MAX_DEPTH} levels"),
                start,
            ));
        }
        let node = build(self, start);
        self.depth -= 1;
        node
    }

    fn block_sequence(&mut self, start: Mark) -> ScanResult<Node> {
        self.scanner.next_token()?;
        let mut items = Vec::new();
        while self.next_is(&TokenKind::BlockEntry)? {
            let entry = self.scanner.next_token()?;
            let is_empty = self.next_is_any(&[TokenKind::BlockEntry, TokenKind::BlockEnd])?;
            items.push(if is_empty {
                empty_scalar(entry.end)
            } else {
                self.block_node(SequenceStyle::Indented)?
            });
        }
        let end = self.block_end("while parsing a block collection", start)?;
        Ok(Node {
            content: Content::Sequence(items),
            start,
            end,
        })
    }

    fn indentless_sequence(&mut self, start: Mark) -> ScanResult<Node> {
        let mut items = Vec::new();
        while self.next_is(&TokenKind::BlockEntry)? {
            let entry = self.scanner.next_token()?;
            let is_empty = self.next_is_any(&[
                TokenKind::BlockEntry,
                TokenKind::Key,
                TokenKind::Value,
                TokenKind::BlockEnd,
            ])?;
            items.push(if is_empty {
                empty_scalar(entry.end)
            } else {
                self.block_node(SequenceStyle::Indented)?
            });
        }
        let end = self.scanner.peek_token()?.start;
        Ok(Node {
            content: Content::Sequence(items),
            start,
            end,
        })
    }

    fn block_mapping(&mut self, start: Mark) -> ScanResult<Node> {
        const ENDS: [TokenKind; 3] = [TokenKind::Key, TokenKind::Value, TokenKind::BlockEnd];
        self.scanner.next_token()?;
        let mut pairs = Vec::new();
        loop {
            // Keys and values can each be missing; an empty scalar takes their place.
            let key = if self.next_is(&TokenKind::Key)? {
                let token = self.scanner.next_token()?;
                if self.next_is_any(&ENDS)? {
                    empty_scalar(token.end)
                } else {
                    self.block_node(SequenceStyle::Indentless)?
                }
            } else if self.next_is(&TokenKind::Value)? {
                empty_scalar(self.scanner.peek_token()?.start)
            } else {
                break;
            };
            let value = if self.next_is(&TokenKind::Value)? {
                let token = self.scanner.next_token()?;
                if self.next_is_any(&ENDS)? {
                    empty_scalar(token.end)
                } else {
                    self.block_node(SequenceStyle::Indentless)?
                }
            } else {
                empty_scalar(self.scanner.peek_token()?.start)
            };
            pairs.push((key, value));
        }
        let end = self.block_end("while parsing a block mapping", start)?;
        Ok(Node {
            content: Content::Mapping(pairs),
            start,
            end,
        })
    }

    fn block_end(&mut self, context: &'static str, start: Mark) -> ScanResult<Mark> {
        let token = self.scanner.peek_token()?;
        if token.kind != TokenKind::BlockEnd {
            let text = format!("expected <block end>, but found {}", repr(token.kind.id()));
            return Err(MarkedError::with_context(context, start, text, token.start));
        }
        Ok(self.scanner.next_token()?.end)
    }
}

fn empty_scalar(at: Mark) -> Node {
    Node {
        content: Content::Scalar {
            text: String::new(),
            plain: true,
        },
        start: at,
        end: at,
    }
}

fn disallowed_token(token: Token, text: &str) -> Box<MarkedError> {
    MarkedError::with_context("While scanning", token.start, text, token.end)
}
