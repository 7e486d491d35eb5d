//! One character of a text as a lenient reader would take it: entities resolved, width folded.

/// The character `text` means first, and what follows it.
///
/// `&amp;lt;` means `<`, however often the ampersand is escaped again.
pub(super) fn take_char(text: &str) -> Option<(char, &str)> {
    let first = text.chars().next()?;
    let rest = text.get(first.len_utf8()..)?;
    match first {
        '&' => Some(entity(rest).unwrap_or((first, rest))),
        '\u{FF01}'..='\u{FF5E}' => Some((char::from_u32(u32::from(first) - 0xFEE0)?, rest)),
        _ => Some((first, rest)),
    }
}

const NAMED: [(&str, char); 6] = [
    ("lt", '<'),
    ("gt", '>'),
    ("vert", '|'),
    ("verbar", '|'),
    ("verticalline", '|'),
    ("lowbar", '_'),
];

fn entity(after_ampersand: &str) -> Option<(char, &str)> {
    let mut name = after_ampersand;
    while let Some(deeper) = ampersand(name) {
        name = deeper;
    }
    if let Some(number) = name.strip_prefix('#') {
        return numbered(number);
    }
    let (word, rest) = name.split_at_checked(name.bytes().take(13).position(|b| b == b';')?)?;
    let found = NAMED.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    Some((found?.1, rest.strip_prefix(';')?))
}

/// What follows when the ampersand was itself escaped.
fn ampersand(name: &str) -> Option<&str> {
    if !name.starts_with(['a', 'A', '#']) {
        return None;
    }
    ["amp;", "AMP;", "#38;", "#x26;", "#X26;"].iter().find_map(|escaped| name.strip_prefix(escaped))
}

fn numbered(number: &str) -> Option<(char, &str)> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hexadecimal) => (hexadecimal, 16),
        None => (number, 10),
    };
    let end = digits.bytes().take(9).position(|byte| byte == b';')?;
    let (code, rest) = digits.split_at_checked(end)?;
    let c = char::from_u32(u32::from_str_radix(code, radix).ok()?)?;
    Some((c, rest.strip_prefix(';')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_and_widths_are_seen_through() {
        let check = |text: &str, c: char, rest: &str| {
            assert_eq!(take_char(text), Some((c, rest)), "{text}");
        };
        check("ab", 'a', "b");
        check("&lt;b", '<', "b");
        check("&amp;amp;GT;b", '>', "b");
        check("&#x3C;b", '<', "b");
        check("&#0060;b", '<', "b");
        check("&#38;lowbar;b", '_', "b");
        check("｜b", '|', "b");
        check("&b", '&', "b");
        check("&#xD800;", '&', "#xD800;");
        check("&漢字漢字;", '&', "漢字漢字;");
        assert_eq!(take_char(""), None);
    }
}
