//! Secrets known by what is said around them: key blocks, headers, addresses, command lines.

use std::ops::Range;

use super::random::is_random;
use super::table::Alphabet;

#[derive(Clone, Copy, Debug)]
pub(super) enum Phrase {
    KeyBlock,
    WebToken,
    Header,
    Address,
    Curl,
    Webhook,
}

pub(super) const PHRASES: &[(&str, Phrase)] = &[
    ("-----BEGIN", Phrase::KeyBlock),
    (".ey", Phrase::WebToken),
    ("authorization", Phrase::Header),
    ("bearer ", Phrase::Header),
    ("basic ", Phrase::Header),
    ("://", Phrase::Address),
    ("curl ", Phrase::Curl),
    ("webhook.office.com/webhookb2/", Phrase::Webhook),
    ("discord.com/api/webhooks/", Phrase::Webhook),
];

/// How far a key block or a command line is followed.
const BLOCK_BYTES_MAX: usize = 16 * 1024;
const LINE_BYTES_MAX: usize = 512;

pub(super) fn find(text: &str, at: Range<usize>, phrase: Phrase) -> Option<Range<usize>> {
    match phrase {
        Phrase::KeyBlock => key_block(text, at),
        Phrase::WebToken => web_token(text, at),
        Phrase::Header => header(text, at),
        Phrase::Address => address(text, at),
        Phrase::Curl => curl(text, at),
        Phrase::Webhook => {
            Some(at.end..at.end + run(text, at.end, 512, |b| Alphabet::Value.has(b) || b == b'@'))
        }
    }
}

/// From the first dashes to the last; a block that never ends is covered as far as it goes.
fn key_block(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let title = run(text, at.end, 120, |b| b != b'\n' && b != b'\\');
    if !text.get(at.end..at.end + title)?.to_ascii_uppercase().contains("PRIVATE KEY") {
        return None;
    }
    let body = at.end + title;
    let window = window(text, body, BLOCK_BYTES_MAX);
    let end = window.find("-----END").and_then(|end| {
        let closing = window.get(end + 8..)?.find("-----")?;
        Some(body + end + 8 + closing + 5)
    });
    let of_block = |b: u8| Alphabet::Base64.has(b) || b.is_ascii_whitespace() || b == b'\\';
    let end = end.unwrap_or_else(|| body + run(text, body, BLOCK_BYTES_MAX, of_block));
    Some(at.start..end)
}

/// `ey….ey….…`: the hit is the dot before the second part.
fn web_token(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let of_part = |b: u8| Alphabet::Base64.has(b) || b == b'\\';
    let before = text.as_bytes().get(at.start.saturating_sub(2_048)..at.start)?;
    let first = before.iter().rev().take_while(|byte| of_part(**byte)).count();
    let starts = text.get(at.start - first..)?.starts_with("ey");
    let second = run(text, at.end, 64 * 1024, of_part);
    let dot = at.end + second;
    let signed = text.as_bytes().get(dot) == Some(&b'.');
    let end = if signed { dot + 1 + run(text, dot + 1, 4_096, of_part) } else { dot };
    (starts && first >= 12 && second >= 12 && signed).then_some(at.start - first..end)
}

/// The credentials behind `Authorization:`, with or without a scheme, and behind a scheme alone.
fn header(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let named = text.get(at.clone())?.eq_ignore_ascii_case("authorization");
    let mut start = at.end;
    if named {
        start += run(text, start, 6, |b| matches!(b, b'"' | b'\'' | b' ' | b':' | b'=' | b'\t'));
        let scheme = run(text, start, 12, |b| b.is_ascii_alphabetic() || b == b'-');
        if scheme > 2 && text.as_bytes().get(start + scheme) == Some(&b' ') {
            start += scheme + 1;
        }
    }
    let value = run(text, start, 8_192, |b| Alphabet::Value.has(b) || b == b'@');
    let body = text.get(start..start + value)?;
    let digits = body.bytes().any(|byte| byte.is_ascii_digit());
    let secret =
        if named { body.len() >= 8 && digits } else { body.len() >= 12 && is_random(body) };
    secret.then_some(start..start + value)
}

/// The password of `scheme://user:password@host`.
fn address(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let of_user = |b: u8| {
        b.is_ascii_graphic() && !matches!(b, b'/' | b'@' | b':' | b'"' | b'<' | b'?' | b'#')
    };
    let user = run(text, at.end, 128, of_user);
    let start = at.end + user + 1;
    let password = run(text, start, 256, of_user);
    let bytes = text.as_bytes();
    let placed = bytes.get(start - 1) == Some(&b':') && bytes.get(start + password) == Some(&b'@');
    let filled = !matches!(bytes.get(start), Some(b'$' | b'{' | b'*' | b'['));
    (placed && filled && password > 2).then_some(start..start + password)
}

/// The password of `curl -u user:password`.
fn curl(text: &str, at: Range<usize>) -> Option<Range<usize>> {
    let line = window(text, at.end.saturating_sub(1), LINE_BYTES_MAX);
    let flag = |flag: &str| line.find(flag).map(|found| found + flag.len());
    let flag = flag(" -u").or_else(|| flag(" --user")).or_else(|| flag("\n-u"))?;
    let from = at.end - 1 + flag;
    let open = from + run(text, from, 6, |b| matches!(b, b' ' | b'\t' | b'=' | b'"' | b'\''));
    let value = argument(text, open);
    let given = text.get(open..open + value)?;
    let colon = given.find(':').filter(|_| !given.starts_with("http"))?;
    let start = if colon + 1 == given.len() { open } else { open + colon + 1 };
    (value > 3).then_some(start..open + value)
}

/// One argument of a command line; quotes hold it together.
fn argument(text: &str, from: usize) -> usize {
    let quoted = from.checked_sub(1).and_then(|before| text.as_bytes().get(before).copied());
    let mut quote = quoted.filter(|byte| matches!(byte, b'"' | b'\''));
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    let within = |byte: &&u8| match (quote, **byte) {
        (Some(open), byte) if open == byte => {
            quote = None;
            true
        }
        (Some(_), byte) => !byte.is_ascii_control(),
        (None, open @ (b'"' | b'\'')) => {
            quote = Some(open);
            true
        }
        (None, byte) => byte.is_ascii_graphic(),
    };
    rest.iter().take(256).take_while(within).count()
}

fn run(text: &str, from: usize, max: usize, holds: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    rest.iter().take(max).take_while(|byte| holds(**byte)).count()
}

/// The next bytes, cut where a character ends.
fn window(text: &str, from: usize, max: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let end = (0..=max.min(rest.len())).rev().find(|end| rest.is_char_boundary(*end));
    rest.get(..end.unwrap_or_default()).unwrap_or_default()
}
