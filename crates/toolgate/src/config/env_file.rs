//! Files of variables that a server gets, as editors' projects have them. What `env` says counts more.

use std::collections::BTreeMap;

use model::Secret;

use super::tree::Config;
use super::upstream::Target;

/// Reads the files that the upstreams name into their variables.
pub(super) fn take_in(config: &mut Config) -> Result<(), String> {
    for (name, upstream) in &mut config.upstreams {
        let Target::Stdio { env, env_file: Some(path), .. } = &mut upstream.target else {
            continue;
        };
        let text = std::fs::read_to_string(path.as_path()).map_err(|error| {
            format!("`{}`, the variables of `{name}`, cannot be read: {error}", path.shown())
        })?;
        for (variable, value) in variables(&text) {
            env.entry(variable).or_insert(value);
        }
    }
    Ok(())
}

/// `NAME=value` in each line; quotes around a value, `export`, empty lines and comments do not count.
fn variables(text: &str) -> BTreeMap<String, Secret> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=')?;
        let value = value.trim();
        let bare = ['"', '\''].into_iter().find_map(|quote| {
            value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote))
        });
        Some((name.trim().to_owned(), Secret::new(bare.unwrap_or(value).to_owned())))
    });
    pairs.filter(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables() {
        let text =
            "# keys\nA=1\n\n export B = \"two words\" \nC='x=y'\nD=\nnonsense\n=3\nE=\"half\n";
        let found = variables(text);
        let found: Vec<_> = found.iter().map(|(k, v)| (k.as_str(), v.reveal())).collect();
        assert_eq!(
            found,
            [("A", "1"), ("B", "two words"), ("C", "x=y"), ("D", ""), ("E", "\"half")]
        );
    }
}
