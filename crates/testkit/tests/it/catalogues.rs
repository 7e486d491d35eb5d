//! What servers list is shown letter by letter: catalogues of real servers, from the wire of an
//! upstream to the wire of a client, and lists that are longer than a page.

use std::path::{Path, PathBuf};

use gateway::Mode;
use model::limits::PAGE_ITEMS;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use server::stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;
use toolgate_testkit::{Recorder, Script, TestGateway, World, tool};
use upstream::mcp::{Age, Revision};
use upstream::stdio::{Config, Stdio};

use crate::around::line::{Era, Line, Over};
use crate::{mcp, open_door};

/// A server that lists what is in a file, as it is there.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\),"method".*/\1/p')
  case $line in
    *'"method":"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$id" ;;
    *'"method":"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":' "$id"; cat "$1"; printf '}}\n' ;;
    *) : ;;
  esac
done
"#;

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Listed<'a>,
}

#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

fn tools(text: &str) -> Vec<String> {
    let answer: Answer<'_> = serde_json::from_str(text).unwrap();
    answer.result.tools.iter().map(|tool| compact(tool.get())).collect()
}

/// The same letters without the space between them that means nothing.
fn compact(text: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for letter in text.chars() {
        if !quoted && letter.is_ascii_whitespace() {
            continue;
        }
        if letter == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && letter == '\\' && !escaped;
        out.push(letter);
    }
    out
}

/// What a client in mode `native` is shown of what an upstream lists so.
async fn shown(listed: &[String]) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("tools");
    std::fs::write(&file, format!("[{}]", listed.join(","))).unwrap();
    let args = ["-c", SERVER, "sh", &file.display().to_string()].map(str::to_owned).to_vec();
    let age = Age::Pinned(Revision::V2025_11_25);
    let stdio = Stdio::new(Config { args, age, ..Config::new("sh") });
    let gate = TestGateway::new().upstream("it", stdio);
    let world = gate.settings(|settings| settings.mode = Mode::Native).start().await;
    assert!(world.refreshed.failures.is_empty(), "{:?}", world.refreshed.failures);
    let (mut client, input) = tokio::io::duplex(1 << 16);
    let (output, answers) = tokio::io::duplex(1 << 16);
    let stop = CancellationToken::new();
    tokio::spawn(stdio::serve(mcp(&world, open_door()), input, answers, stop));
    client.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").await.unwrap();
    let line = BufReader::new(output).lines().next_line().await.unwrap().unwrap();
    world.gateway.close(std::time::Duration::from_secs(1)).await;
    tools(&line)
}

fn catalogues(folder: &Path) -> Option<Vec<PathBuf>> {
    let files = std::fs::read_dir(folder).ok()?.map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    Some(files)
}

/// How many files there are, and how many tools in them.
async fn unchanged(folder: &Path) -> Option<(usize, usize)> {
    let (mut items, files) = (0, catalogues(folder)?);
    for file in &files {
        let mut listed = tools(&std::fs::read_to_string(file).unwrap());
        let mut shown = shown(&listed).await;
        assert_eq!(shown.len(), listed.len(), "{}", file.display());
        // A list is shown in the order of its names, whatever that of the upstream.
        listed.sort();
        shown.sort();
        for (shown, listed) in shown.iter().zip(&listed) {
            assert_eq!(shown, listed, "{}", file.display());
        }
        items += listed.len();
    }
    Some((files.len(), items))
}

/// Unknown fields, the order of keys, numbers and letters: what goes in comes out.
#[tokio::test]
async fn our_own_catalogues_are_shown_letter_by_letter() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog/fixtures/catalogs");
    assert_eq!(unchanged(Path::new(folder)).await, Some((3, 13)));
}

/// The same for what real servers list.
#[tokio::test]
async fn real_catalogues_are_shown_letter_by_letter() {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let shared = std::env::var_os("TOOLGATE_SHARED").map_or_else(|| beside.into(), PathBuf::from);
    match unchanged(&shared.join("catalogs")).await {
        // So many are kept of those that were seen.
        Some(found) => assert_eq!(found, (38, 483)),
        None => eprintln!("!!! SKIPPED: no real catalogues at {}", shared.display()),
    }
}

async fn many() -> World {
    let one = |recorder: Recorder, number: usize| {
        recorder.tool(tool(&format!("a{number:04}"), json!({})), Script::Echo)
    };
    let recorder = (0..=PAGE_ITEMS).fold(Recorder::new(), one);
    let gate = TestGateway::new().upstream("it", recorder);
    gate.settings(|settings| settings.mode = Mode::Native).start().await
}

/// A list of more than one page is had whole, once each, and by a cursor on any gate that shows it.
#[tokio::test]
async fn the_second_page_goes_on_where_the_first_ended() {
    let (world, same) = (many().await, many().await);
    let mut line = Line::connect(&world, Over::Stdio, Era::Old).await;
    let first = line.ask("tools/list", json!({})).await;
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    assert_eq!(first["result"]["tools"].as_array().unwrap().len(), PAGE_ITEMS);
    for gate in [&world, &same] {
        let mut line = Line::connect(gate, Over::Http, Era::Old).await;
        let second = line.ask("tools/list", json!({"cursor": cursor})).await;
        let tools = second["result"]["tools"].as_array().unwrap();
        assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["a2000"]);
        assert_eq!(second["result"].get("nextCursor"), None);
    }
    let refused = line.ask("tools/list", json!({"cursor": cursor.replace('.', "0.")})).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
