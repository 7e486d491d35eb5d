//! The servers this program becomes when it starts itself. What they answer lives below.

pub(crate) mod echo;
pub(crate) mod pages;
pub(crate) mod proxy;

use std::error::Error;
use std::io::{self, Write as _};

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use crate::Outcome;

/// Serves on a free port, which it prints, until whoever started it is gone.
async fn serve<S>(service: S) -> Outcome<()>
where
    S: HttpService<Incoming> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::ResBody: Send + 'static,
    <S::ResBody as Body>::Data: Send,
    <S::ResBody as Body>::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    // Whichever ends first ends the process, so nothing can be lost.
    tokio::select! {
        ended = accept(listener, service) => ended,
        gone = parent_gone() => gone,
    }
}

async fn accept<S>(listener: TcpListener, service: S) -> Outcome<()>
where
    S: HttpService<Incoming> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::ResBody: Send + 'static,
    <S::ResBody as Body>::Data: Send,
    <S::ResBody as Body>::Error: Into<Box<dyn Error + Send + Sync>>,
{
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection =
            http1::Builder::new().serve_connection(TokioIo::new(stream), service.clone());
        tokio::spawn(async move {
            // The load sees a broken connection too, and says which call it broke.
            drop(connection.await);
        });
    }
}

/// The other end of stdin closes when the parent dies, however it dies.
pub(crate) async fn parent_gone() -> Outcome<()> {
    let mut rest = Vec::new();
    tokio::io::stdin().read_to_end(&mut rest).await?;
    Ok(())
}
