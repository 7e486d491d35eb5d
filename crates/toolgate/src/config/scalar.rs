//! What an unquoted word means: nothing, true, a number or text (the YAML 1.2 core schema, of which
//! JSON's literals are a part). `.inf` and `.nan` stay text, for JSON has no such numbers.

use serde_json::Number;

use super::node::Data;

pub(super) fn resolve(word: &str) -> Data {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => Data::Null,
        "true" | "True" | "TRUE" => Data::Bool(true),
        "false" | "False" | "FALSE" => Data::Bool(false),
        _ => number(word).map_or_else(|| Data::Text(word.to_owned()), Data::Number),
    }
}

pub(super) fn number(word: &str) -> Option<Number> {
    if let Some(digits) = word.strip_prefix("0x") {
        return radix(digits, 16);
    }
    if let Some(digits) = word.strip_prefix("0o") {
        return radix(digits, 8);
    }
    let allowed = |char: char| char.is_ascii_digit() || "+-.eE".contains(char);
    if !word.starts_with(|char: char| char.is_ascii_digit() || "+-.".contains(char))
        || !word.chars().all(allowed)
    {
        return None;
    }
    let whole = word.parse::<i64>().map(Number::from);
    let whole = whole.or_else(|_| word.parse::<u64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(word.parse().ok()?))
}

fn radix(digits: &str, radix: u32) -> Option<Number> {
    let unsigned = !digits.starts_with(['+', '-']);
    unsigned.then(|| u64::from_str_radix(digits, radix).ok().map(Number::from)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_yaml_1_2_says() {
        let check = |word: &str, expected: &str| {
            let shown = match resolve(word) {
                Data::Null => "null".to_owned(),
                Data::Bool(value) => format!("bool {value}"),
                Data::Number(value) => format!("number {value}"),
                Data::Text(value) => format!("text {value}"),
                Data::List(_) | Data::Map(_) | Data::Broken => "no scalar".to_owned(),
            };
            assert_eq!(shown, expected, "{word}");
        };
        check("", "null");
        check("~", "null");
        check("True", "bool true");
        check("no", "text no");
        check("8080", "number 8080");
        check("-1", "number -1");
        check("18446744073709551615", "number 18446744073709551615");
        check("0x1F", "number 31");
        check("0o17", "number 15");
        check("0x-1", "text 0x-1");
        check("1.10", "number 1.1");
        check("1e3", "number 1000.0");
        check("1e999", "text 1e999");
        check(".inf", "text .inf");
        check("-", "text -");
        check("1.2.3", "text 1.2.3");
        check("infinity", "text infinity");
    }
}
