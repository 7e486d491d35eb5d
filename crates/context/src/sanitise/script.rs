//! Which script a character belongs to, as far as invisible characters depend on it.
//!
//! Blocks rather than exact properties: a block too many keeps one joiner more, between two
//! characters that can be seen.

/// Arabic, Syriac, N'Ko and the scripts of India and its neighbours, where joiners shape letters.
pub(super) const fn is_indic_or_arabic(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{61B}' | '\u{61D}'..='\u{8FF}' | '\u{900}'..='\u{DFF}'
        | '\u{F00}'..='\u{109F}' | '\u{1780}'..='\u{17B3}' | '\u{17B6}'..='\u{17FF}'
        | '\u{1820}'..='\u{18AF}' | '\u{1A20}'..='\u{1CFF}' | '\u{A800}'..='\u{ABFF}'
        | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}' | '\u{11000}'..='\u{11FFF}'
        | '\u{1E900}'..='\u{1E95F}')
}

pub(super) const fn is_right_to_left(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{61B}' | '\u{61D}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFE}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
}

pub(super) const fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{2E80}'..='\u{303F}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}')
}

/// What can stand in a joined emoji, skin tones included.
pub(super) const fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{27BF}' | '\u{2900}'..='\u{297F}'
        | '\u{2B00}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

/// What has both a text and an emoji form.
pub(super) const fn takes_variation(c: char) -> bool {
    is_emoji(c)
        || matches!(c,
            '#' | '*' | '0'..='9' | '©' | '®' | '\u{203C}' | '\u{2049}' | '\u{2100}'..='\u{214F}'
            | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}')
}
