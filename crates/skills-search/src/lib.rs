//! Ranks skills, and sections of their references, by a request.
//!
//! ```text
//! name, description, body --IndexBuilder----------> SearchIndex --search--> documents that fit
//!                                                        |  \--rank----> order, to fill a budget
//!                                                        \--to_bytes---> file, for the next process
//! files of skills ----------ReferenceIndexBuilder-> ReferenceIndex --search--> spans of lines
//! ```
//!
//! Documents are ranked by BM25F: words of the name count most, then those of the description, then
//! those of the body, which no list shows but which says best what a skill is for. Words are
//! normalized (NFKC), folded, stemmed (Snowball English) and split at changes of case; scripts
//! without spaces are searched by characters and pairs of characters. Words with which users ask,
//! in English and Chinese, are ignored. No model is needed and nothing is downloaded.
//!
//! That nothing fits is an answer: a search for small talk finds nothing. A ranking orders and fills
//! a budget; it is never a reason to put the text of a skill into a prompt.
//!
//! This crate must never know the disk, the model or how often skills are used. The same documents
//! and the same query give the same order.
//!
//! ```
//! use skills_search::{Document, IndexBuilder, SearchIndex};
//!
//! let mut builder = IndexBuilder::new();
//! builder.add(&Document::new("pdf-forms", "Fills forms.", "Also merges PDF files."));
//! builder.add(&Document::new("weather", "Tells the forecast.", ""));
//! let index = builder.build();
//! let result = index.search("could you merge these two PDFs for me?");
//! assert_eq!(result.hits[0].document, 0);
//! assert!(index.search("thanks a lot!").hits.is_empty());
//!
//! // The next process does not analyze the texts again.
//! let bytes = index.to_bytes().unwrap_or_default();
//! assert_eq!(SearchIndex::from_bytes(&bytes)?.len(), 2);
//! # Ok::<(), skills_search::IndexError>(())
//! ```

mod analysis;
mod bm25f;
mod builder;
mod document;
mod encoding;
mod error;
mod evidence;
mod index;
mod near_duplicates;
mod query;
mod references;
mod search;
mod sections;
mod stop_words;
mod term_table;
mod vocabulary;

pub use builder::IndexBuilder;
pub use document::{Document, Field, MAX_BODY_BYTES, MAX_DESCRIPTION_BYTES, SourceTag, TextDigest};
pub use encoding::MAX_INDEX_BYTES;
pub use error::IndexError;
pub use evidence::Confidence;
pub use index::SearchIndex;
pub use near_duplicates::{MAX_NEAR_DUPLICATES, NearDuplicate, NearDuplicates};
pub use query::Ranked;
pub use references::{MAX_REFERENCE_BYTES, ReferenceIndex, ReferenceIndexBuilder, Span};
pub use search::{Explanation, MAX_HITS, SearchResult, TermExplanation};
pub use sections::{MAX_SECTION_BYTES, Section, TextKind, split_sections};
