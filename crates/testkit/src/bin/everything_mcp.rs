//! Serves `everything` until its input ends or it is told to stop.
//!
//!     everything_mcp [--stdio] [--page-size N]
//!
//! Without `--stdio` it listens on a free port of this machine and prints its URL as the one line
//! on standard output.

use std::io::Write as _;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::net::TcpListener;
use toolgate_testkit::Everything;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (mut stdio, mut page_size) = (false, usize::MAX);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--stdio" => stdio = true,
            "--page-size" => {
                page_size = args.next().ok_or("--page-size needs a number")?.parse()?;
            }
            other => return Err(format!("unknown flag `{other}`").into()),
        }
    }
    let everything = Everything::new(page_size);
    if stdio { Box::pin(serve_pipe(everything)).await } else { serve_http(everything).await }
}

async fn serve_pipe(everything: Everything) -> Result<(), Failure> {
    let running = Box::pin(everything.serve(rmcp::transport::stdio())).await?;
    running.waiting().await?;
    Ok(())
}

async fn serve_http(everything: Everything) -> Result<(), Failure> {
    let service = StreamableHttpService::new(
        move || Ok(everything.for_another_client()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default()
            .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"]),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut out = std::io::stdout();
    writeln!(out, "http://{}/mcp", listener.local_addr()?)?;
    out.flush()?;
    axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
