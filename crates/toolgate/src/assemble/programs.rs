//! The programs a configuration starts, as people are shown them. Nothing is started here.

use std::path::Path;

use model::{Secret, UpstreamName, canonical};
use serde_json::json;

use crate::config::{Config, Target, Text};

/// Variables that make a program another one: their values count, and are shown.
const STEERING: &[&str] = &[
    "BASH_ENV",
    "DYLD_",
    "ENV",
    "GIT_",
    "JAVA_TOOL_OPTIONS",
    "LD_",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_CONFIG_",
    "PATH",
    "PERL5",
    "PIP_",
    "PYTHON",
    "RUBY",
    "UV_",
];

/// One program, word for word as the file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) upstream: UpstreamName,
    pub(crate) line: String,
    /// The folder it starts in, where the file names one.
    pub(crate) folder: Option<String>,
    /// The names of the variables it gets, with the values of those that steer it.
    pub(crate) variables: Vec<String>,
    /// What the words do not show, and what would be better.
    pub(crate) warning: Option<String>,
    /// The same for the same program of the same folder, and for no other.
    pub(crate) hash: String,
}

/// The programs of upstreams that are enabled. The same words in a file elsewhere are another program.
pub(crate) fn programs(config: &Config, file: &Path) -> Vec<Program> {
    let home = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let home = home.parent().unwrap_or(Path::new("")).display().to_string();
    let enabled = config.upstreams.iter().filter(|(_, upstream)| upstream.enabled);
    let each = enabled.filter_map(|(name, upstream)| {
        let line = command(&upstream.target)?;
        let Target::Stdio { command, args, env, cwd, .. } = &upstream.target else { return None };
        let folder = cwd.as_ref().map(|cwd| cwd.shown().to_owned());
        let variables: Vec<String> = env.iter().map(variable).collect();
        let words: Vec<&str> = args.iter().map(Text::shown).collect();
        let warning = manifest::hidden_in(command.shown(), &words).map(|(_, why)| why);
        let hash = canonical::hash(&json!([home, command.shown(), words, folder, variables]));
        Some(Program { upstream: name.clone(), line, folder, variables, warning, hash })
    });
    each.collect()
}

/// As a shell would be told it. Values of the environment stay the names they have in the file.
pub(crate) fn command(target: &Target) -> Option<String> {
    let Target::Stdio { command, args, .. } = target else { return None };
    let words = std::iter::once(command.shown()).chain(args.iter().map(Text::shown));
    Some(words.map(quoted).collect::<Vec<_>>().join(" "))
}

fn variable((name, value): (&String, &Secret)) -> String {
    let upper = name.to_ascii_uppercase();
    let steers = STEERING.iter().any(|known| match known.strip_suffix('_') {
        Some(_) => upper.starts_with(known),
        None => upper == *known || (known.len() > 4 && upper.starts_with(known)),
    });
    if steers { format!("{name}={}", quoted(value.reveal())) } else { name.clone() }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%${}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let printable: String = word.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", printable.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn words_are_shown_as_a_shell_takes_them() {
        let check = |word: &str, wanted: &str| assert_eq!(quoted(word), wanted);
        check("npx", "npx");
        check("${TOKEN}", "${TOKEN}");
        check("a b", "'a b'");
        check("it's", r"'it'\''s'");
        check("", "''");
        check("a\u{1b}[2Jb", "'a [2Jb'");
    }

    fn read(text: &str, folder: &str) -> Vec<Program> {
        let env = |name: &str| (name == "TOKEN").then(|| "secret-value".to_owned());
        let file = Path::new(folder).join("toolgate.yaml");
        programs(&config::read(text, &file, &env).unwrap().config, &file)
    }

    #[test]
    fn secrets_stay_names_and_what_steers_a_program_is_shown() {
        let text = "upstreams: {a: {command: crm, args: ['${TOKEN}'], env: {KEY: '${TOKEN}', NODE_OPTIONS: '--require ./x.js'}}}";
        let all = read(text, "/a");
        let program = all.first().unwrap();
        assert_eq!(program.line, "crm ${TOKEN}");
        assert_eq!(program.variables, ["KEY", "NODE_OPTIONS='--require ./x.js'"]);
        assert!(!format!("{program:?}").contains("secret-value"));
    }

    #[test]
    fn another_word_folder_or_steering_value_is_another_program() {
        let base = "upstreams: {a: {command: crm, env: {LD_PRELOAD: x, KEY: k}}}";
        let hash = |text: &str, folder: &str| read(text, folder).first().unwrap().hash.clone();
        assert_eq!(hash(base, "/a"), hash(&base.replace("KEY: k", "KEY: other"), "/a"));
        assert_eq!(hash(base, "/a"), hash(&base.replace("{a: {", "{b: {"), "/a"));
        for (text, folder) in [
            (base.to_owned(), "/b"),
            (base.replace("crm", "crm2"), "/a"),
            (base.replace("command: crm", "command: crm, args: [x]"), "/a"),
            (base.replace("command: crm", "command: crm, cwd: x"), "/a"),
            (base.replace("LD_PRELOAD: x", "LD_PRELOAD: y"), "/a"),
            (base.replace("KEY", "KEYS"), "/a"),
        ] {
            assert_ne!(hash(base, "/a"), hash(&text, folder), "{text} {folder}");
        }
        assert!(
            read("upstreams: {a: {command: crm, enabled: false}, d: {type: demo}}", "/a")
                .is_empty()
        );
    }
}
