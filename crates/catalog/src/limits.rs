//! Bounds of the catalogue: what a definition may cost and how much of it is shown.

/// Tools that one thread reads before it looks for more.
pub const SHEET_TOOLS: usize = 128;
/// One schema as JSON text.
pub const SCHEMA_BYTES_MAX: usize = 256 * 1024;
/// Subschemas within subschemas.
pub const SCHEMA_DEPTH_MAX: usize = 32;
/// Subschemas of one schema, as written.
pub const SUBSCHEMAS_MAX: usize = 2_000;
/// Subschemas of one schema with every reference followed: two lines of `$ref` can mean a billion.
pub const SUBSCHEMAS_EXPANDED_MAX: u64 = 100_000;
/// References of one schema with every repetition counted.
pub const REFERENCES_EXPANDED_MAX: u64 = 10_000;
/// Subschemas within subschemas with every reference followed.
pub const REFERENCES_IN_A_ROW_MAX: usize = 128;
/// Steps of the backtracking matcher, for patterns the linear one cannot express.
pub const PATTERN_STEPS_MAX: usize = 10_000;
/// A compiled pattern.
pub const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// Checks of subschemas that one verdict on a value may come to: a second of work or so.
pub const VERDICT_CHECKS_MAX: u64 = 50_000_000;
/// The same for finding every error: each is kept until all are found.
pub const ERROR_CHECKS_MAX: u64 = 100_000;
/// Text that takes as long to go through as one check.
pub const TEXT_BYTES_PER_CHECK: usize = 16;
/// Names in a schema's lists that take as long to go through as one check.
pub const NAMES_PER_CHECK: usize = 16;
/// A shorter text cannot keep the backtracking matcher busy.
pub const TRIED_TEXT_BYTES_MIN: usize = 12;
/// Matches of the backtracking matcher for one verdict, each of `PATTERN_STEPS_MAX` at worst.
pub const TRIED_MATCHES_MAX: u64 = 20_000;
/// The message of one violation.
pub const VIOLATION_CHARS_MAX: usize = 200;

/// A schema within an error message.
pub const OUTLINE_BYTES_MAX: usize = 4_000;
/// Properties in it that nobody must give.
pub const OUTLINE_PROPERTIES_MAX: usize = 60;
/// A subschema in it that is given in full.
pub const OUTLINE_PART_BYTES_MAX: usize = 2_000;
/// A list of values in it, where only types are told.
pub const OUTLINE_WORD_BYTES_MAX: usize = 200;

/// A name clients accept as a tool name.
pub const WIRE_NAME_CHARS_MAX: usize = 128;
pub const NAMESPACE_CHARS_MAX: usize = 64;
/// The name within a canonical id.
pub const LOCAL_NAME_CHARS_MAX: usize = 128;
pub const VERSION_CHARS_MAX: usize = 32;

/// What a card's line aims at, and what it never exceeds.
pub const CARD_TOKENS_TARGET: usize = 60;
pub const CARD_TOKENS_MAX: usize = 80;
/// What a card's line aims at where an answer has no room for more.
pub const BARE_CARD_TOKENS_TARGET: usize = 40;
/// What a description gets beside a long signature.
pub const CARD_WORDS_TOKENS_MIN: usize = 12;
/// The longest safety mark behind a card's words.
pub const CARD_MARK_TOKENS_MAX: usize = 6;
/// What an answer of up to ten cards may cost, all it says beside them included, and what each
/// further card adds.
pub const ANSWER_TOKENS_MAX: usize = 490;
pub const ANSWER_TOKENS_PER_CARD: usize = 49;
/// The call as a card writes it; parameters that do not fit become an ellipsis.
pub const SIGNATURE_TOKENS_MAX: usize = 26;
/// The same where there is room for more.
pub const FULL_SIGNATURE_TOKENS_MAX: usize = 40;
/// A dearer name is shown cut, with a hash, so that a card of it still has room for words.
pub const NAME_TOKENS_MAX: usize = 36;
/// Such a name, hash included.
pub const CUT_NAME_CHARS_MAX: usize = 40;
/// A tool name as model providers take it.
pub const PROVIDER_NAME_CHARS_MAX: usize = 64;
pub const CARD_NAME_CHARS_MAX: usize = 64;
pub const CARD_DESCRIPTION_CHARS_MAX: usize = 200;
pub const CARD_TAGS_MAX: usize = 5;
pub const CARD_TAG_CHARS_MAX: usize = 24;
pub const SIGNATURE_PARAMS_MAX: usize = 12;
pub const SIGNATURE_PARAM_CHARS_MAX: usize = 40;

pub const TOP_K_DEFAULT: usize = 10;
pub const TOP_K_MAX: usize = 50;
/// Cards kept in their place for one caller; further ones are always new.
pub const SEEN_CARDS_MAX: usize = 40;
/// Names offered when a path leads nowhere, and upstreams named that do not answer.
pub const NEAR_MAX: usize = 5;
/// Words of a query compared with names when nothing matches.
pub const NEAR_WORDS_MAX: usize = 8;
/// Namespaces named in the description of a meta-tool.
pub const NAMESPACES_NAMED_MAX: usize = 20;
/// Servers named where one word of each must do.
pub const SERVERS_NAMED_MAX: usize = 5;
/// Namespaces or groups in one answer to a path.
pub const FOLDERS_MAX: usize = 60;
/// An address by which a resource is read, and a name by which a prompt is got.
pub const URI_CHARS_MAX: usize = 4_096;
pub const PROMPT_NAME_CHARS_MAX: usize = 300;
/// One segment of a browse path.
pub const SEGMENT_CHARS_MAX: usize = 64;
/// A whole browse path.
pub const PATH_CHARS_MAX: usize = 200;
