//! Values that the name before them calls a secret: `password = …`, `"api_key": "…"`.
//!
//! A name alone is not enough: what is assigned must also look drawn at random, and names of
//! identifiers, hashes and page cursors are left in peace.

use std::ops::Range;

use super::random::{entropy, is_random, is_random_by};
use super::shape::COMMON;
use super::table::{Alphabet, Anchor};

/// What a name says about the value after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Password,
    Secret,
    /// The name of an issuer whose tokens have no shape of their own.
    Issuer,
}

/// `at` is where the name stands; the secret, if one is assigned to it.
pub(super) fn assigned(text: &str, at: Range<usize>, name: Name) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let rest = bytes.get(at.end..)?;
    let tail = count(rest, REST_OF_NAME_MAX, |b| Alphabet::Name.has(b));
    let quotes =
        count(rest.get(tail..)?, 3, |b| b.is_ascii_whitespace() || matches!(b, b'\'' | b'"'));
    let operator = operator(rest.get(tail + quotes..)?)?;
    let open = tail + quotes + operator;
    let opening = count(rest.get(open..)?, 6, |b| {
        b.is_ascii_whitespace() || matches!(b, b'`' | b'\'' | b'"' | b'=')
    });
    let start = at.end + open + opening;
    let alphabet = if name == Name::Password { Alphabet::Password } else { Alphabet::Value };
    let run = count(bytes.get(start..)?, VALUE_BYTES_MAX, |b| alphabet.has(b));
    let value = text.get(start..start + run)?;
    let whole_name = text.get(at.start.saturating_sub(PART_OF_NAME_MAX)..at.end + tail);
    let whole_name = whole_name.or_else(|| text.get(at.start..at.end + tail))?;
    (is_secret(value, name) && !is_harmless(whole_name)).then_some(start..start + run)
}

/// A cheap look at what no secret lacks: digits, or small and capital letters, and no white space.
pub(super) fn may_be_secret(value: &str) -> bool {
    let bytes = value.as_bytes();
    let (mut drawn, mut spaced) = (false, false);
    if !(7..=VALUE_BYTES_MAX).contains(&bytes.len()) {
        return false;
    }
    for byte in bytes {
        drawn |= byte.is_ascii_digit() || byte.is_ascii_uppercase();
        spaced |= byte.is_ascii_whitespace();
    }
    drawn && !spaced
}

/// The same for a field of an object, whose name and value stand apart.
pub(super) fn names_secret(key: &str, value: &str) -> bool {
    let fits = |name: Name| is_secret(value, name);
    may_be_secret(value) && any_word(key, fits) && !is_harmless(key)
}

/// Whether the name speaks of passwords, tokens or keys.
pub(super) fn is_about_secrets(key: &str) -> bool {
    any_word(key, |_| true)
}

/// Issuers are no such words: what stands in a field called `jira` is seldom a token.
fn any_word(key: &str, fits: impl Fn(Name) -> bool) -> bool {
    let mut found = false;
    COMMON.each(key, |hit| {
        if let Anchor::Name(name @ (Name::Password | Name::Secret)) = hit.anchor {
            found = found || fits(*name);
        }
    });
    found
}

#[rustfmt::skip]
pub(super) const NAMES: &[(&str, Name)] = &[
    ("password", Name::Password), ("passwd", Name::Password), ("passphrase", Name::Password),
    ("pwd", Name::Password),
    ("secret", Name::Secret), ("token", Name::Secret), ("credential", Name::Secret),
    ("creds", Name::Secret), ("api_key", Name::Secret), ("api-key", Name::Secret),
    ("apikey", Name::Secret), ("api key", Name::Secret), ("access_key", Name::Secret),
    ("access-key", Name::Secret), ("accesskey", Name::Secret), ("private_key", Name::Secret),
    ("privatekey", Name::Secret), ("signing_key", Name::Secret), ("encryption_key", Name::Secret),
    ("account_key", Name::Secret), ("accountkey", Name::Secret), ("auth", Name::Secret),
    ("adafruit", Name::Issuer), ("adobe", Name::Issuer), ("airtable", Name::Issuer),
    ("algolia", Name::Issuer), ("alibaba", Name::Issuer), ("asana", Name::Issuer),
    ("atlassian", Name::Issuer), ("confluence", Name::Issuer), ("jira", Name::Issuer),
    ("aws", Name::Issuer), ("beamer", Name::Issuer), ("bitbucket", Name::Issuer), ("bittrex", Name::Issuer),
    ("meraki", Name::Issuer), ("cloudflare", Name::Issuer), ("codecov", Name::Issuer),
    ("cohere", Name::Issuer), ("co_api", Name::Issuer), ("coinbase", Name::Issuer), ("confluent", Name::Issuer),
    ("contentful", Name::Issuer), ("datadog", Name::Issuer), ("discord", Name::Issuer),
    ("droneci", Name::Issuer), ("dropbox", Name::Issuer), ("etsy", Name::Issuer),
    ("facebook", Name::Issuer), ("fastly", Name::Issuer), ("finicity", Name::Issuer),
    ("finnhub", Name::Issuer), ("flickr", Name::Issuer), ("freshbooks", Name::Issuer),
    ("gitter", Name::Issuer), ("gocardless", Name::Issuer), ("heroku", Name::Issuer),
    ("hubspot", Name::Issuer), ("intercom", Name::Issuer), ("jfrog", Name::Issuer),
    ("artifactory", Name::Issuer), ("bintray", Name::Issuer), ("xray", Name::Issuer),
    ("kraken", Name::Issuer), ("kucoin", Name::Issuer), ("launchdarkly", Name::Issuer),
    ("linear", Name::Issuer), ("linkedin", Name::Issuer), ("linked_in", Name::Issuer), ("linked-in", Name::Issuer),
    ("lob", Name::Issuer), ("looker", Name::Issuer), ("mailchimp", Name::Issuer),
    ("mailgun", Name::Issuer), ("mapbox", Name::Issuer), ("mattermost", Name::Issuer),
    ("messagebird", Name::Issuer), ("message_bird", Name::Issuer), ("message-bird", Name::Issuer),
    ("netlify", Name::Issuer), ("newrelic", Name::Issuer), ("new_relic", Name::Issuer),
    ("new-relic", Name::Issuer), ("nytimes", Name::Issuer), ("newyorktimes", Name::Issuer), ("york-times", Name::Issuer), ("okta", Name::Issuer),
    ("plaid", Name::Issuer), ("privateai", Name::Issuer), ("private_ai", Name::Issuer),
    ("private-ai", Name::Issuer), ("rapidapi", Name::Issuer), ("sendbird", Name::Issuer),
    ("sentry", Name::Issuer), ("contribsys", Name::Issuer), ("snyk", Name::Issuer),
    ("sonar", Name::Issuer), ("squarespace", Name::Issuer), ("sumo", Name::Issuer),
    ("telegr", Name::Issuer), ("travis", Name::Issuer), ("twitch", Name::Issuer),
    ("twitter", Name::Issuer), ("typeform", Name::Issuer), ("yandex", Name::Issuer),
    ("zendesk", Name::Issuer),
];

const REST_OF_NAME_MAX: usize = 40;
/// How far before the word the rest of its name is looked at.
const PART_OF_NAME_MAX: usize = 16;
const VALUE_BYTES_MAX: usize = 256;

fn count(bytes: &[u8], max: usize, holds: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(max).take_while(|byte| holds(**byte)).count()
}

fn operator(rest: &[u8]) -> Option<usize> {
    match rest {
        [b':', b':', b':', b'=', ..] => Some(4),
        [b':', b':', b'=', ..] => Some(3),
        [b':' | b'?', b'=', ..] | [b'=', b'>', ..] | [b'|', b'|', ..] => Some(2),
        [b'=' | b'>' | b':' | b',', ..] => Some(1),
        _ => None,
    }
}

fn is_secret(value: &str, name: Name) -> bool {
    let has = |holds: fn(&u8) -> bool| value.as_bytes().iter().any(holds);
    match name {
        Name::Password => {
            let mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
            (7..=128).contains(&value.len()) && mixed && entropy(value) >= 2.0
        }
        Name::Secret => value.len() >= 10 && is_random_by(value, 3.0) && !value.contains("://"),
        Name::Issuer => value.len() >= 14 && is_random(value) && !value.contains("://"),
    }
}

/// Names that end in a word for something public, or speak of pages.
fn is_harmless(name: &str) -> bool {
    const PUBLIC: [&str; 20] = [
        "id", "ids", "uuid", "guid", "hash", "sha", "digest", "commit", "etag", "version",
        "cursor", "url", "uri", "name", "checksum", "revision", "ref", "path", "count", "at",
    ];
    let name = name.trim_end();
    let parts = |byte: &u8| matches!(byte, b'_' | b'-' | b'.' | b' ' | b'\t');
    let last = name.as_bytes().rsplit(parts).next().unwrap_or_default();
    // `tokenId` ends in a word of its own, `valid` does not.
    let camel = name.ends_with("Id") || name.ends_with("Hash");
    camel
        || PUBLIC.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(last))
        || speaks_of_pages(name)
}

fn speaks_of_pages(name: &str) -> bool {
    let bytes = name.as_bytes();
    let stands = |at: usize, word: &[u8]| {
        bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
    };
    let begins = |at: usize, byte: u8| match byte | 0x20 {
        b'p' => stands(at, b"page"),
        b'n' => stands(at, b"next"),
        b's' => stands(at, b"sync"),
        b'c' => stands(at, b"cursor") || stands(at, b"continuation"),
        _ => false,
    };
    bytes.iter().enumerate().any(|(at, byte)| begins(at, *byte))
}
