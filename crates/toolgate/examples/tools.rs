//! The servers of an `mcp.json` in a program of one's own: connected, filtered, listed, called. The
//! manual page `docs/embedding.md` shows the part in the middle.

#![expect(clippy::print_stdout, reason = "an example shows what it did")]

use std::error::Error;

use serde_json::json;
use toolgate::tools::{Client, Filter};

#[tokio::main]
pub async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (file, data) = (folder.path().join("mcp.json"), folder.path().join("data"));
    let tools = json!([{"name": "search"}, {"name": "dangerous_tool"}]);
    std::fs::write(folder.path().join("tools.json"), tools.to_string())?;
    std::fs::write(&file, json!({"catalog": "tools.json"}).to_string())?;

    let client = Client::load(&file, &data).await?;
    let filter = Filter { exclude: vec!["dangerous_tool".to_owned()], ..Filter::default() };
    let tools = client.tools(&filter);
    for tool in &tools {
        println!("{}: {}", tool.name, tool.description);
    }
    if let Some(tool) = tools.first() {
        println!("{:?}", tool.execute(json!({"query": "mcp"})).await?);
    }
    client.close().await;
    Ok(())
}
