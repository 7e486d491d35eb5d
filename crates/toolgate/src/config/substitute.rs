//! Puts variables into texts: `${VAR}`, `${env:VAR}`, and `${VAR:-text}` with a text to fall back
//! on. `$${` stands for a literal `${`. Keys, and the tools a stub lists inline, stay as they are.

use super::choices::Unset;
use super::node::{Data, Node};
use super::problem::Problems;

/// Looks a variable up.
pub type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

pub(super) fn substitute(node: &mut Node, env: Env<'_>, unset: Unset, problems: &mut Problems) {
    match &mut node.data {
        Data::List(items) => {
            for item in items {
                substitute(item, env, unset, problems);
            }
        }
        Data::Map(pairs) => {
            for (key, value) in pairs {
                let inline_tools = key.text == "tools" && matches!(value.data, Data::List(_));
                if !inline_tools {
                    substitute(value, env, unset, problems);
                }
            }
        }
        Data::Text(text) if text.contains("${") => match expand(text, env, unset) {
            Ok((value, from_env)) => {
                node.data = Data::Text(value);
                node.from_env = from_env;
            }
            Err(troubles) => {
                for trouble in troubles {
                    problems.add(Some(node.at), trouble);
                }
                node.data = Data::Broken;
            }
        },
        _ => {}
    }
}

/// The text with its variables in place, and whether any came from the environment.
fn expand(text: &str, env: Env<'_>, unset: Unset) -> Result<(String, bool), Vec<String>> {
    let (mut value, mut from_env, mut troubles) = (String::new(), false, Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            value.push_str(before);
            value.push_str("${");
            rest = after;
            continue;
        }
        value.push_str(before);
        let Some((inside, after)) = after.split_once('}') else {
            troubles.push("`${` is never closed; write `$${` for the plain text".to_owned());
            break;
        };
        match look_up(inside, env, unset) {
            Ok(Found::Set(found)) => (value, from_env) = (value + &found, true),
            Ok(Found::Fallback(text)) => value.push_str(text),
            Err(trouble) => troubles.push(trouble),
        }
        rest = after;
    }
    value.push_str(rest);
    if troubles.is_empty() { Ok((value, from_env)) } else { Err(troubles) }
}

enum Found<'a> {
    Set(String),
    Fallback(&'a str),
}

fn look_up<'a>(inside: &'a str, env: Env<'_>, unset: Unset) -> Result<Found<'a>, String> {
    let (name, fallback) = match inside.split_once(":-") {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (inside, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if !is_name(name) && name != "/" {
        return Err(format!(
            "`${{{inside}}}` names no variable; write `${{NAME}}`, or `$${{` for the plain text"
        ));
    }
    match (env(name), fallback, unset) {
        (Some(value), _, _) => Ok(Found::Set(value)),
        (None, Some(fallback), _) => Ok(Found::Fallback(fallback)),
        (None, None, Unset::Empty) => Ok(Found::Set(String::new())),
        (None, None, Unset::Error) => Err(format!(
            "variable `{name}` is not set; set it, or write `env: {{unset: empty}}` to read unset variables as empty"
        )),
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        (name == "KEY").then(|| "v4lue".to_owned())
    }

    #[test]
    fn variables_are_put_in() {
        let check = |text: &str, expected: &str, from_env: bool| {
            let expected = (expected.to_owned(), from_env);
            assert_eq!(expand(text, &env, Unset::Error), Ok(expected), "{text}");
        };
        check("${KEY}", "v4lue", true);
        check("a${env:KEY}b${KEY}", "av4luebv4lue", true);
        check("${NONE:-fallback}", "fallback", false);
        check("${KEY:-fallback}", "v4lue", true);
        check("$${KEY}", "${KEY}", false);
        check("$KEY {KEY} $", "$KEY {KEY} $", false);
        assert_eq!(expand("<${NONE}>", &env, Unset::Empty), Ok(("<>".to_owned(), true)));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        let check = |text: &str, part: &str| {
            let troubles = expand(text, &env, Unset::Error).unwrap_err().join("\n");
            assert!(troubles.contains(part), "{troubles}");
            assert!(!troubles.contains("v4lue"), "{troubles}");
        };
        check("${KEY} ${NONE}", "variable `NONE` is not set");
        check("${input:token}", "`${input:token}` names no variable");
        check("${KEY", "never closed");
        check("${}", "names no variable");
        check("${A} ${B}", "`B`");
    }
}
