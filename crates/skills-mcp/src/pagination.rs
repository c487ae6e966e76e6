//! Pagination of lists that are ordered by name.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rmcp::ErrorData;

/// Number of items on a page.
pub(crate) const PAGE_SIZE: usize = 100;

/// One page, with the cursor of the next one.
pub(crate) struct Page<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Returns the requested page of a list that is ordered by unique names. If the list changes
    /// between two pages, items that remain are neither skipped nor repeated.
    ///
    /// # Errors
    /// Fails if the cursor is invalid.
    pub(crate) fn after_cursor(
        list: Vec<T>,
        name: impl Fn(&T) -> &str,
        cursor: Option<String>,
    ) -> Result<Self, ErrorData> {
        let after = decode_cursor(cursor)?;
        // By name and not by position, so that added or removed items do not shift the next page.
        let is_later = |item: &T| after.as_deref().is_none_or(|after| name(item) > after);
        let mut items: Vec<T> = list
            .into_iter()
            .filter(is_later)
            // One more than fits, to know whether there is a next page.
            .take(PAGE_SIZE + 1)
            .collect();
        let is_more = items.len() > PAGE_SIZE;
        items.truncate(PAGE_SIZE);
        let last = items.last().filter(|_| is_more);
        let next = last.map(|last| encode_cursor(name(last)));
        Ok(Self { items, next })
    }
}

/// Returns the cursor of the page after the item with this name: encoded, so that clients treat
/// cursors as opaque.
pub(crate) fn encode_cursor(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(name)
}

/// Returns the name of the last item on the page before.
///
/// # Errors
/// Fails if the cursor is invalid.
pub(crate) fn decode_cursor(cursor: Option<String>) -> Result<Option<String>, ErrorData> {
    let decode = |cursor: String| String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok();
    let invalid = || ErrorData::invalid_params("invalid cursor", None);
    cursor
        .map(|cursor| decode(cursor).ok_or_else(invalid))
        .transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(list: &[String], cursor: Option<String>) -> Page<String> {
        Page::after_cursor(list.to_vec(), |item| item, cursor).unwrap()
    }

    #[test]
    fn pages_are_consecutive() {
        let list: Vec<String> = (0..250)
            .map(|number| format!("skill-{number:03}"))
            .collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = page(&list, cursor);
            assert!(page.items.len() <= PAGE_SIZE);
            seen.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, list);
        assert!(page(&list[..100], None).next.is_none());
        assert!(page(&[], None).next.is_none());
        let first = page(&list, None);
        assert_eq!(page(&list[150..], first.next).items[0], "skill-150");
    }

    #[test]
    fn invalid_cursors_are_rejected() {
        for cursor in ["*", "_w", "a b"] {
            let cursor = cursor.to_owned();
            assert!(
                Page::after_cursor(Vec::<String>::new(), |item| item, Some(cursor.clone()))
                    .is_err(),
                "{cursor}"
            );
        }
    }
}
