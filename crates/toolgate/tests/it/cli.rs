//! The frame of the command line: help, usage, completions, pipes.

use std::process::Stdio;

use clap::{Command, Parser as _};
use serde_json::Value;
use toolgate::cli::args::{Cli, Command as Chosen, McpCommand, ServeArgs};
use toolgate::config::{Overrides, Transport};

use crate::{Ran, run, toolgate};

fn serve_args(line: &str) -> ServeArgs {
    match Cli::try_parse_from(line.split(' ')).unwrap().command {
        Chosen::Serve(args) | Chosen::Mcp { command: McpCommand::Serve(args) } => args,
        other => panic!("not serve: {other:?}"),
    }
}

/// CW-99 and CW-100: nothing said leaves stdio to be the transport, and the flag takes it.
#[test]
fn serve_is_over_stdio_unless_told() {
    assert_eq!(serve_args("toolgate serve").transport, None);
    assert_eq!(serve_args("toolgate serve --transport stdio").transport, Some(Transport::Stdio));
    let help = toolgate::cli::command();
    let serve = help.find_subcommand("serve").unwrap().clone();
    let text = serve.term_width(100).render_long_help().to_string();
    assert!(text.contains("else stdio"), "{text}");
}

/// CW-101, CW-77: the flags of the SSE transport and the name.
#[test]
fn serve_takes_its_flags() {
    let line = "toolgate serve --transport sse --host 127.0.0.1 --port 8000 --name example-gateway";
    let flags = Overrides::from(serve_args(line));
    let expected = Overrides {
        transport: Some(Transport::Sse),
        host: Some("127.0.0.1".to_owned()),
        port: Some(8000),
        name: Some("example-gateway".to_owned()),
        ..Overrides::default()
    };
    assert_eq!(flags, expected);
}

/// CW-112: the seed's form of the command.
#[test]
fn mcp_serve_is_serve() {
    let line = "toolgate mcp serve --config toolgate.yaml --transport sse --port 8080";
    let flags = Overrides::from(serve_args(line));
    assert_eq!((flags.transport, flags.port), (Some(Transport::Sse), Some(8080)));
    let cli = Cli::try_parse_from(line.split(' ')).unwrap();
    assert_eq!(cli.globals.config.unwrap().to_str(), Some("toolgate.yaml"));
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], part: &str| {
        let Ran { code, stdout, stderr } = run(toolgate(folder.path()).args(arguments));
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(part), "{stderr}");
    };
    check(&[], "Usage: toolgate");
    check(&["nonsense"], "error: unrecognized subcommand 'nonsense'");
    check(&["up", "--port", "70000"], "error: invalid value '70000'");
    check(&["up", "--transport", "stdio"], "possible values: http, sse");
    check(&["serve", "--mode", "x"], "possible values: auto, gateway, transparent, native");
    check(&["records", "list", "--limit", "0"], "error: invalid value '0'");
    check(&["records", "list", "--status", "x"], "possible values: open, completed");
    check(&["call", "echo", "{"], "error: the arguments are not JSON");
    check(&["completions", "cmd"], "error: invalid value 'cmd'");
    check(&["approvals", "approve"], "required arguments");
}

#[test]
fn usage_errors_are_json_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(toolgate(folder.path()).args(["--json", "nonsense"]));
    let value = serde_json::from_str::<Value>(&ran.stderr).unwrap();
    assert_eq!((ran.code, &value["error"]["code"]), (2, &Value::from("usage")));
    let ran = run(toolgate(folder.path()).args(["--json", "config"]));
    let value = serde_json::from_str::<Value>(&ran.stderr).unwrap();
    assert_eq!(value["error"]["message"], "a command is missing");
}

#[test]
fn a_bad_log_filter_is_a_usage_error() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(toolgate(folder.path()).args(["tools", "list"]).env("TOOLGATE_LOG", "a=b=c"));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("error: TOOLGATE_LOG is not a log filter"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: write a level"), "{}", ran.stderr);
}

#[test]
fn every_shell_gets_completions() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = run(toolgate(folder.path()).args(["completions", shell]));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        assert!(ran.stdout.contains("toolgate") && ran.stdout.contains("approvals"), "{shell}");
    }
}

#[test]
fn help_and_version_are_answers() {
    let folder = tempfile::tempdir().unwrap();
    let help = run(toolgate(folder.path()).arg("--help"));
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    assert!(help.stdout.contains("Exit codes:"), "{}", help.stdout);
    let version = run(toolgate(folder.path()).arg("--version"));
    assert_eq!(version.stdout, format!("toolgate {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = toolgate(folder.path());
    command.args(["config", "schema"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

/// Each command's help is part of the product; a change of it is seen in review.
#[test]
fn the_help_is_as_agreed() {
    let mut root = toolgate::cli::command().term_width(100);
    root.build();
    let mut pages = Vec::new();
    collect("toolgate", &mut root, &mut pages);
    for (name, page) in pages {
        insta::assert_snapshot!(name, page);
    }
}

fn collect(name: &str, command: &mut Command, pages: &mut Vec<(String, String)>) {
    pages.push((format!("help-{name}"), command.render_long_help().to_string()));
    for child in command.get_subcommands_mut().filter(|child| child.get_name() != "help") {
        let name = format!("{name}-{}", child.get_name());
        collect(&name, child, pages);
    }
}

#[test]
fn tools_are_found_by_plain_words_and_the_score_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let search = |more: &[&str]| {
        let query = "pay back the customer's transaction";
        run(toolgate(folder.path()).args(["tools", "search", query]).args(more))
    };
    let Ran { code, stdout, stderr } = search(&[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("payments_issue_refund("), "{stdout}");
    let told: Value = serde_json::from_str(&search(&["--explain", "--json"]).stdout).unwrap();
    let best = &told[0];
    let part = |key: &str| best[key].as_f64().unwrap();
    let sum =
        part("from_words") + part("from_meaning") + part("from_names") + part("from_coverage");
    assert!((sum - part("score")).abs() < 1e-4, "{best}");
    assert_eq!(best["reasons"][0]["fields"].as_array().map(Vec::is_empty), Some(false));
}
