//! Keeps web pages and misdirected requests away from a local port.
//!
//! A browser lets any page send requests to 127.0.0.1; what it cannot do is lie about `Host` and
//! `Origin`. Both are checked on every route, `Host` first.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use model::Origin;

/// The port that goes without saying.
const HTTP_PORT: u16 = 80;

/// The names this gate answers to.
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: BTreeSet<String>,
    origins: BTreeSet<Origin>,
    /// Those whose pages may read what they are answered.
    readers: BTreeSet<Origin>,
}

impl Guard {
    /// Answers to the bound address, to the names of this machine if it is a loopback address, and
    /// to what the operator adds.
    pub fn new(bound: SocketAddr, allow_hosts: &[String], allow_origins: &[String]) -> Self {
        let mut names = vec![bound.ip().to_string()];
        if bound.ip().is_loopback() || bound.ip().is_unspecified() {
            names.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "[::1]".to_owned()]);
        }
        if bound.is_ipv6() {
            names.push(format!("[{}]", bound.ip()));
        }
        let port = bound.port();
        let mut hosts: BTreeSet<String> =
            names.iter().map(|name| format!("{name}:{port}")).collect();
        if port == HTTP_PORT {
            hosts.extend(names.iter().cloned());
        }
        let mut origins: BTreeSet<Origin> =
            names.iter().map(|name| Origin::read(&format!("http://{name}:{port}"))).collect();
        hosts.extend(allow_hosts.iter().map(|host| host.to_ascii_lowercase()));
        origins.extend(allow_origins.iter().map(|origin| Origin::read(origin)));
        Self { hosts, origins, readers: BTreeSet::new() }
    }

    /// Lets pages of these origins in, and lets their browser show them what they are answered.
    #[must_use]
    pub fn readable_by(mut self, origins: &[String]) -> Self {
        self.readers = origins.iter().map(|origin| Origin::read(origin)).collect();
        self.origins.extend(self.readers.iter().cloned());
        self
    }

    /// The `Origin` of a page that may read its answers, as it was sent.
    pub(crate) fn reader(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if self.readers.is_empty() {
            return None;
        }
        origin(headers).filter(|origin| self.readers.contains(origin))?;
        headers.get(ORIGIN).cloned()
    }

    /// The status and words of a refusal, if there is reason for one.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
        let host = only(headers, &HOST).unwrap_or_default();
        if !self.hosts.contains(&host.to_ascii_lowercase()) {
            return Err((
                StatusCode::MISDIRECTED_REQUEST,
                "this gate does not answer to that host name",
            ));
        }
        match origin(headers) {
            Some(origin) if !self.origins.contains(&origin) => {
                Err((StatusCode::FORBIDDEN, "requests from that origin are not taken"))
            }
            _ => Ok(()),
        }
    }
}

/// The page a request comes from; nothing where no browser sent it.
pub(crate) fn origin(headers: &HeaderMap) -> Option<Origin> {
    let said = || Origin::read(only(headers, &ORIGIN).unwrap_or_default());
    headers.contains_key(ORIGIN).then(said)
}

/// What a header says. One that comes twice says nothing: others may go by the other one.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() { None } else { value.to_str().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_comes_first_then_origin() {
        let allowed = ["gate.example".to_owned()];
        let guard = Guard::new(
            ([127, 0, 0, 1], 8642).into(),
            &allowed,
            &["https://app.example".to_owned()],
        );
        let check = |host: Option<&str>, origin: Option<&str>, wanted: u16| {
            let mut headers = HeaderMap::new();
            host.map(|host| headers.insert(HOST, host.parse().unwrap()));
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            let status = guard.check(&headers).map_or_else(|(status, _)| status.as_u16(), |()| 200);
            assert_eq!(status, wanted, "{host:?} {origin:?}");
        };
        check(Some("127.0.0.1:8642"), None, 200);
        check(Some("LOCALHOST:8642"), None, 200);
        check(Some("[::1]:8642"), None, 200);
        check(Some("gate.example"), None, 200);
        check(Some("evil.example"), None, 421);
        check(Some("127.0.0.1:1"), None, 421);
        check(Some("127.0.0.1"), None, 421);
        check(Some("localhost"), None, 421);
        check(None, None, 421);
        check(Some("127.0.0.1:8642"), Some("http://127.0.0.1:8642"), 200);
        check(Some("127.0.0.1:8642"), Some("https://app.example"), 200);
        check(Some("127.0.0.1:8642"), Some("http://evil.example"), 403);
        check(Some("127.0.0.1:8642"), Some("null"), 403);
        check(Some("evil.example"), Some("http://evil.example"), 421);
    }

    /// CW-117: clients leave the port out where it is that of HTTP.
    #[test]
    fn a_host_has_its_port_unless_that_goes_without_saying() {
        let check = |port: u16, host: &str, taken: bool| {
            let guard = Guard::new(([127, 0, 0, 1], port).into(), &[], &[]);
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            assert_eq!(guard.check(&headers).is_ok(), taken, "{host} on {port}");
        };
        check(80, "localhost", true);
        check(80, "127.0.0.1:80", true);
        check(8080, "localhost", false);
        check(8080, "[::1]:8080", true);
        check(8080, "localhost:80", false);
    }

    #[test]
    fn only_pages_named_for_it_may_read() {
        let bound = ([127, 0, 0, 1], 8642).into();
        let (sends, reads) = ("https://sends.example", "https://reads.example");
        let guard = Guard::new(bound, &[], &[sends.to_owned()]).readable_by(&[reads.to_owned()]);
        let check = |origin: &str, taken: bool, may_read: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "127.0.0.1:8642".parse().unwrap());
            headers.insert(ORIGIN, origin.parse().unwrap());
            assert_eq!(guard.check(&headers).is_ok(), taken, "{origin}");
            let reader = guard.reader(&headers);
            let reader = reader.as_ref().map(|origin| origin.to_str().unwrap());
            assert_eq!(reader, may_read.then_some(origin));
            headers.append(ORIGIN, origin.parse().unwrap());
            assert!(guard.check(&headers).is_err() && guard.reader(&headers).is_none(), "twice");
        };
        check(reads, true, true);
        check("HTTPS://Reads.Example", true, true);
        check(sends, true, false);
        check("http://127.0.0.1:8642", true, false);
        check("https://evil.example", false, false);
        check("null", false, false);
    }
}
