//! Counts the tokens of source text, and removes the items that only tests compile.

use proc_macro2::{Delimiter, Group, LineColumn, Spacing, TokenStream, TokenTree};

/// Returns the positions of the tokens of a file, in order.
///
/// A token is a word, a literal, a delimiter or a run of punctuation. Comments and documentation are
/// none.
pub(super) fn positions(stream: TokenStream) -> Vec<LineColumn> {
    let mut positions = Vec::new();
    add_positions(stream, &mut positions);
    positions
}

fn add_positions(stream: TokenStream, positions: &mut Vec<LineColumn>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Punct(hash) if hash.as_char() == '#' => {
                // Of an attribute of the whole file.
                let bang = trees.next_if(|next| is_punct(next, '!'));
                if trees.next_if(is_documentation).is_none() {
                    positions.push(bang.map_or(hash.span(), |bang| bang.span()).start());
                }
            }
            // The last character of a run counts for all.
            TokenTree::Punct(punct) if punct.spacing() == Spacing::Joint => {}
            TokenTree::Group(group) => {
                positions.push(group.span_open().start());
                add_positions(group.stream(), positions);
                positions.push(group.span_close().start());
            }
            tree => positions.push(tree.span().start()),
        }
    }
}

fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Comments such as `/// text` are read as `#[doc = "text"]`.
fn is_documentation(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc")
}

/// Returns the stream without its items for tests, and the number of lines of those.
///
/// An item is for tests if it has `#[cfg(test)]` or `#[cfg(all(test, …))]`.
pub(super) fn without_tests(stream: TokenStream) -> (TokenStream, usize) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut kept = Vec::with_capacity(trees.len());
    let mut removed_lines = 0;
    let mut rest = trees.as_slice();
    while !rest.is_empty() {
        let (attributes, item) = rest.split_at(attributes_length(rest));
        if attributes.iter().any(is_test_attribute) {
            let length = attributes.len() + item_length(item);
            let (removed, next) = rest.split_at(length.min(rest.len()));
            removed_lines += lines(removed);
            rest = next;
            continue;
        }
        kept.extend_from_slice(attributes);
        rest = item;
        if let Some((tree, next)) = item.split_first() {
            kept.push(match tree {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let (inner, lines) = without_tests(group.stream());
                    removed_lines += lines;
                    TokenTree::Group(with_content(group, inner))
                }
                tree => tree.clone(),
            });
            rest = next;
        }
    }
    (kept.into_iter().collect(), removed_lines)
}

/// Returns how many trees at the start are attributes of an item.
fn attributes_length(trees: &[TokenTree]) -> usize {
    let attributes = trees
        .chunks_exact(2)
        .take_while(|pair| matches!(pair, [hash, TokenTree::Group(_)] if is_punct(hash, '#')));
    2 * attributes.count()
}

fn is_test_attribute(tree: &TokenTree) -> bool {
    let TokenTree::Group(group) = tree else {
        return false;
    };
    let content: Vec<TokenTree> = group.stream().into_iter().collect();
    let [TokenTree::Ident(cfg), TokenTree::Group(condition)] = content.as_slice() else {
        return false;
    };
    let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
    cfg == "cfg"
        && match condition.as_slice() {
            [TokenTree::Ident(word)] => word == "test",
            [TokenTree::Ident(all), TokenTree::Group(conditions)] if all == "all" => conditions
                .stream()
                .into_iter()
                .any(|tree| matches!(tree, TokenTree::Ident(word) if word == "test")),
            _ => false,
        }
}

/// Returns how many trees belong to the first item: up to a semicolon or to braces, and to a
/// semicolon after them.
fn item_length(trees: &[TokenTree]) -> usize {
    for (index, tree) in trees.iter().enumerate() {
        let is_semicolon = |tree: &TokenTree| is_punct(tree, ';');
        if is_semicolon(tree) {
            return index + 1;
        }
        if matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) {
            return index + 1 + usize::from(trees.get(index + 1).is_some_and(is_semicolon));
        }
    }
    trees.len()
}

fn lines(trees: &[TokenTree]) -> usize {
    let (Some(first), Some(last)) = (trees.first(), trees.last()) else {
        return 0;
    };
    last.span().end().line - first.span().start().line + 1
}

fn with_content(group: &Group, content: TokenStream) -> Group {
    let mut changed = Group::new(group.delimiter(), content);
    changed.set_span(group.span());
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        positions(text.parse().expect("valid tokens")).len()
    }

    #[test]
    fn comments_and_documentation_have_no_tokens() {
        assert_eq!(count("//! Text.\n/// Text.\nfn a() {} // text\n"), 6);
        assert_eq!(count("#[inline] fn a() {}"), 10);
    }

    #[test]
    fn a_run_of_punctuation_is_one_token() {
        assert_eq!(count("a::b"), 3);
        assert_eq!(count("a += 'b'"), 3);
    }

    #[test]
    fn items_for_tests_are_removed_with_their_attributes() {
        let remaining = |text: &str| {
            let (stream, lines) = without_tests(text.parse().expect("valid tokens"));
            (stream.to_string(), lines)
        };
        for (text, lines) in [
            (
                "fn a() {}\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n",
                4,
            ),
            ("fn a() {}\n#[cfg(unix)]\n#[cfg(test)]\nmod tests;\n", 3),
            (
                "/// Text.\n#[cfg(all(test, unix))]\nuse b::{c, d};\nfn a() {}\n",
                3,
            ),
            ("#[cfg(test)]\nconst B: C = C { d: 1 };\nfn a() {}\n", 2),
        ] {
            assert_eq!(remaining(text), ("fn a () { }".to_owned(), lines), "{text}");
        }
        let (method, lines) = remaining("impl A { #[cfg(test)] fn b() {} fn c() {} }");
        assert_eq!(
            (method.contains('b'), method.contains('c'), lines),
            (false, true, 1)
        );
        for kept in [
            "#[cfg(not(test))] mod a {}",
            "#[cfg(any(test, unix))] mod a;",
        ] {
            assert_eq!(remaining(kept).1, 0, "{kept}");
        }
    }
}
