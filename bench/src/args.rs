//! The command line. The last two modes are for the program itself, when it starts its servers.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::fleet::Kind;

pub(crate) const HELP: &str = "\
Usage: bench call [--quick] [--json] [--only TARGETS] [--toolgate FILE]

  --quick          a few hundred calls instead of 30,000; shows that it works, not how fast
  --json           the figures as JSON on stdout, and nothing kept in bench/results
  --only TARGETS   some of echo,proxy,toolgate-read,toolgate-write; nothing is kept either
  --toolgate FILE  load this binary instead of building one

Usage: bench search

  Ranks the sets in ../shared/retrieval (or in $TOOLGATE_SHARED) and keeps a table, JSON and a plot
  in bench/results.
";

/// What this process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Help,
    Call(CallArgs),
    Search(SearchArgs),
    Echo,
    Proxy { to: SocketAddr },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallArgs {
    pub(crate) size: Size,
    pub(crate) output: Output,
    /// In the order of the table.
    pub(crate) kinds: Vec<Kind>,
    pub(crate) toolgate: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchArgs {
    Everything,
    /// Time and memory at so many tools, for the program itself: each size has its own process.
    Scale(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    Full,
    Quick,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Table,
    Json,
}

pub(crate) fn parse(arguments: &[String]) -> Result<Mode, String> {
    let words = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    match words.as_slice() {
        ["call", flags @ ..] => parse_call(flags).map(Mode::Call),
        ["search"] => Ok(Mode::Search(SearchArgs::Everything)),
        ["search", "--scale", tools] => {
            let tools =
                tools.parse().map_err(|error| format!("`{tools}` is no number: {error}"))?;
            Ok(Mode::Search(SearchArgs::Scale(tools)))
        }
        ["search", flag, ..] => Err(format!("`{flag}` is no flag of `search`; it has none")),
        ["role", "echo"] => Ok(Mode::Echo),
        ["role", "proxy", to] => {
            let to = to.parse().map_err(|error| format!("`{to}` is no address: {error}"))?;
            Ok(Mode::Proxy { to })
        }
        ["help" | "--help" | "-h"] => Ok(Mode::Help),
        [] => Err("name a benchmark; there are `call` and `search`".to_owned()),
        [other, ..] => Err(format!("`{other}` is no benchmark; there are `call` and `search`")),
    }
}

fn parse_call(flags: &[&str]) -> Result<CallArgs, String> {
    let mut args = CallArgs {
        size: Size::Full,
        output: Output::Table,
        kinds: Kind::ALL.to_vec(),
        toolgate: None,
    };
    let mut flags = flags.iter().copied();
    while let Some(flag) = flags.next() {
        let mut value = || flags.next().ok_or_else(|| format!("`{flag}` needs a value"));
        match flag {
            "--quick" => args.size = Size::Quick,
            "--json" => args.output = Output::Json,
            "--only" => args.kinds = parse_kinds(value()?)?,
            "--toolgate" => args.toolgate = Some(PathBuf::from(value()?)),
            _ => return Err(format!("`{flag}` is no flag of `call`; try `--help`")),
        }
    }
    Ok(args)
}

fn parse_kinds(names: &str) -> Result<Vec<Kind>, String> {
    let names = names.split(',').collect::<Vec<_>>();
    let known = |name: &str| Kind::ALL.iter().any(|kind| kind.name() == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let all = Kind::ALL.map(Kind::name).join("`, `");
        return Err(format!("`{unknown}` is no target; there are `{all}`"));
    }
    Ok(Kind::ALL.into_iter().filter(|kind| names.contains(&kind.name())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Mode, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_bare_call_is_the_full_table() {
        let expected = CallArgs {
            size: Size::Full,
            output: Output::Table,
            kinds: Kind::ALL.to_vec(),
            toolgate: None,
        };
        assert_eq!(parsed("call"), Ok(Mode::Call(expected)));
    }

    #[test]
    fn flags_come_in_any_order() {
        let expected = Mode::Call(CallArgs {
            size: Size::Quick,
            output: Output::Json,
            kinds: vec![Kind::Echo, Kind::Proxy],
            toolgate: Some("gate".into()),
        });
        let check = |line: &str| assert_eq!(parsed(line), Ok(expected.clone()), "{line}");
        check("call --quick --json --only echo,proxy --toolgate gate");
        check("call --toolgate gate --only proxy,echo --json --quick");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let check = |line: &str, part: &str| {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        };
        check("", "name a benchmark");
        check("list", "`list` is no benchmark");
        check("call --fast", "`--fast` is no flag");
        check("call --only", "`--only` needs a value");
        check("call --only echo,nginx", "`nginx` is no target");
        check("search --scale many", "`many` is no number");
        check("search --fast", "`--fast` is no flag");
        check("role proxy nowhere", "`nowhere` is no address");
    }
}
