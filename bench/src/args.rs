//! The command line. The last two modes are for the program itself, when it starts its servers.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::fleet::Kind;
use crate::streams::Over;

pub(crate) const HELP: &str = "\
Usage: bench call [--quick] [--json] [--only TARGETS] [--toolgate FILE]

  --quick          a few hundred calls instead of 30,000; shows that it works, not how fast
  --json           the figures as JSON on stdout, and nothing kept in bench/results
  --only TARGETS   some of echo,proxy,toolgate-read,toolgate-unrecorded,toolgate-write;
                   nothing is kept either
  --toolgate FILE  load this binary instead of building one

Usage: bench list [--quick] [--json] [--toolgate FILE]

  Lists 1,000 tools, and fetches the same bytes as a file.

Usage: bench idle [--quick] [--json] [--toolgate FILE] [--over KIND]

  Holds 10,000 streams open (500 if quick) and says how much memory each takes.

  --over KIND      one of listen (subscriptions/listen of 2026-07-28), get (GET /mcp in a session),
                   sse (GET /sse of 2024-11-05); listen unless told

Usage: bench records [--quick]

  Writes records with and without shared commits, and reads a history of 1,000,000.

Usage: bench search

  Ranks the sets in ../shared/retrieval (or in $TOOLGATE_SHARED) and keeps a table, JSON and a plot
  in bench/results.

Usage: bench catalogue

  Builds a catalogue of 10,000 tools and browses it: processor time, tokens, memory.

Usage: bench clean

  Cleans texts and answers of 1 MB, beside memcpy and a JSON parser.
";

/// What this process is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Help,
    Call(CallArgs),
    List(GateArgs),
    Idle { gate: GateArgs, over: Over },
    Search(SearchArgs),
    Clean,
    Catalogue,
    Records(Size),
    Echo,
    Proxy { to: SocketAddr },
    Pages { folder: PathBuf },
    Streams(StreamsArgs),
}

/// What every benchmark of the gate alone can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GateArgs {
    pub(crate) size: Size,
    pub(crate) output: Output,
    pub(crate) toolgate: Option<PathBuf>,
}

/// What the process that holds streams open is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamsArgs {
    pub(crate) to: SocketAddr,
    pub(crate) over: Over,
    pub(crate) streams: usize,
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
        ["list", flags @ ..] => parse_gate("list", flags).map(|(gate, _)| Mode::List(gate)),
        ["idle", flags @ ..] => {
            parse_gate("idle", flags).map(|(gate, over)| Mode::Idle { gate, over })
        }
        ["search"] => Ok(Mode::Search(SearchArgs::Everything)),
        ["search", "--scale", tools] => {
            let tools =
                tools.parse().map_err(|error| format!("`{tools}` is no number: {error}"))?;
            Ok(Mode::Search(SearchArgs::Scale(tools)))
        }
        ["search", flag, ..] => Err(format!("`{flag}` is no flag of `search`; it has none")),
        ["clean"] => Ok(Mode::Clean),
        ["catalogue"] => Ok(Mode::Catalogue),
        ["records"] => Ok(Mode::Records(Size::Full)),
        ["records", "--quick"] => Ok(Mode::Records(Size::Quick)),
        ["role", "echo"] => Ok(Mode::Echo),
        ["role", "proxy", to] => Ok(Mode::Proxy { to: parse_address(to)? }),
        ["role", "pages", folder] => Ok(Mode::Pages { folder: folder.into() }),
        ["role", "streams", to, over, streams] => {
            let streams =
                streams.parse().map_err(|error| format!("`{streams}` is no number: {error}"))?;
            Ok(Mode::Streams(StreamsArgs {
                to: parse_address(to)?,
                over: parse_over(over)?,
                streams,
            }))
        }
        ["help" | "--help" | "-h"] => Ok(Mode::Help),
        [] => Err(
            "name a benchmark; there are `call`, `list`, `idle`, `search`, `catalogue`, `clean` and `records`"
                .to_owned(),
        ),
        [other, ..] => Err(format!(
            "`{other}` is no benchmark; there are `call`, `list`, `idle`, `search`, `catalogue`, `clean` and `records`"
        )),
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

/// The flags of `list` and `idle`; only `idle` takes `--over`.
fn parse_gate(name: &str, flags: &[&str]) -> Result<(GateArgs, Over), String> {
    let mut args = GateArgs { size: Size::Full, output: Output::Table, toolgate: None };
    let mut over = Over::Listen;
    let mut flags = flags.iter().copied();
    while let Some(flag) = flags.next() {
        let mut value = || flags.next().ok_or_else(|| format!("`{flag}` needs a value"));
        match flag {
            "--quick" => args.size = Size::Quick,
            "--json" => args.output = Output::Json,
            "--toolgate" => args.toolgate = Some(PathBuf::from(value()?)),
            "--over" if name == "idle" => over = parse_over(value()?)?,
            _ => return Err(format!("`{flag}` is no flag of `{name}`; try `--help`")),
        }
    }
    Ok((args, over))
}

fn parse_over(name: &str) -> Result<Over, String> {
    let known = Over::ALL.into_iter().find(|over| over.name() == name);
    known.ok_or_else(|| {
        format!(
            "`{name}` is no kind of stream; there are `{}`",
            Over::ALL.map(Over::name).join("`, `")
        )
    })
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|error| format!("`{text}` is no address: {error}"))
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
    fn idle_streams_are_of_the_newest_kind_unless_told() {
        let gate = GateArgs { size: Size::Full, output: Output::Table, toolgate: None };
        let expected = |over| Ok(Mode::Idle { gate: gate.clone(), over });
        assert_eq!(parsed("idle"), expected(Over::Listen));
        assert_eq!(parsed("idle --over sse"), expected(Over::Sse));
        assert_eq!(parsed("list"), Ok(Mode::List(gate)));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let check = |line: &str, part: &str| {
            let error = parsed(line).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        };
        check("", "name a benchmark");
        check("lists", "`lists` is no benchmark");
        check("list --over sse", "`--over` is no flag of `list`");
        check("idle --over pigeon", "`pigeon` is no kind of stream");
        check("idle --toolgate", "`--toolgate` needs a value");
        check("role streams 127.0.0.1:1 sse many", "`many` is no number");
        check("call --fast", "`--fast` is no flag");
        check("call --only", "`--only` needs a value");
        check("call --only echo,nginx", "`nginx` is no target");
        check("search --scale many", "`many` is no number");
        check("search --fast", "`--fast` is no flag");
        check("role proxy nowhere", "`nowhere` is no address");
    }
}
