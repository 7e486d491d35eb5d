//! Host x Origin x route: under which names and for whose pages the gate answers, on every route
//! of every transport and on routes that do not exist.

use http::Method;

use crate::gate::Home;
use crate::web;

const MISDIRECTED: u16 = 421;
const FORBIDDEN: u16 = 403;

/// The routes of both transports, what else a browser may ask for, and what is not there.
const ROUTES: &[(&str, &str)] = &[
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("DELETE", "/mcp"),
    ("OPTIONS", "/mcp"),
    ("HEAD", "/mcp"),
    ("GET", "/mcp/"),
    ("POST", "/messages/?session_id=x"),
    ("OPTIONS", "/messages/"),
    ("GET", "/sse"),
    ("POST", "/sse"),
    ("GET", "/admin/approvals"),
    ("GET", "/admin/approvals/apr_x"),
    ("POST", "/admin/approvals/apr_x/approve"),
    ("GET", "/approvals/apr_x"),
    ("POST", "/approvals/apr_x"),
    ("GET", "/healthz"),
    ("GET", "/"),
    ("GET", "/favicon.ico"),
    ("POST", "/nothing/here"),
    ("GET", "/..%2fmcp"),
];

/// A `Host`, and whether it is one of the gate's without configuration. What stands for `PORT` is
/// the port of the gate.
const HOSTS: &[(&str, bool)] = &[
    ("127.0.0.1:PORT", true),
    ("localhost:PORT", true),
    ("LocalHost:PORT", true),
    ("[::1]:PORT", true),
    ("evil.example", false),
    ("evil.example:PORT", false),
    ("127.0.0.1:1", false),
    ("127.0.0.2:PORT", false),
    ("127.0.0.1.evil.example:PORT", false),
    ("localhost.evil.example:PORT", false),
    ("evil.example@127.0.0.1:PORT", false),
    ("127.0.0.1:PORT.evil.example", false),
    ("0.0.0.0:PORT", false),
    ("", false),
];

/// The same for `Origin`.
const ORIGINS: &[(Option<&str>, bool)] = &[
    (None, true),
    (Some("http://127.0.0.1:PORT"), true),
    (Some("http://localhost:PORT"), true),
    (Some("http://[::1]:PORT"), true),
    (Some("http://127.0.0.1"), false),
    (Some("http://127.0.0.1:1"), false),
    (Some("https://127.0.0.1:PORT"), false),
    (Some("http://127.0.0.1:PORT.evil.example"), false),
    (Some("http://localhost.evil.example:PORT"), false),
    (Some("https://evil.example"), false),
    (Some("http://evil.example:PORT"), false),
    (Some("chrome-extension://aaaabbbbccccdddd"), false),
    (Some("file://"), false),
    (Some("null"), false),
    (Some(""), false),
];

/// CW-116, CW-117, CW-118, CO-190.
#[tokio::test]
async fn only_its_own_names_and_pages_reach_a_local_gate() {
    check(&[], HOSTS, ORIGINS).await;
}

/// CW-116, CW-117, CW-118, CO-190.
#[tokio::test]
async fn only_its_own_names_and_pages_reach_a_local_gate_over_sse() {
    check(&["--transport", "sse"], HOSTS, ORIGINS).await;
}

/// CW-117, CW-119: what the operator adds is added, and nothing else is.
#[tokio::test]
async fn the_operator_can_add_names_and_pages() {
    let flags = ["--config", "gate.yaml"];
    let hosts = [
        ("127.0.0.1:PORT", true),
        ("gate.example", true),
        ("GATE.example", true),
        ("gate.example:PORT", false),
        ("other.example", false),
    ];
    let origins = [
        (None, true),
        (Some("https://app.example"), true),
        (Some("http://app.example"), false),
        (Some("https://app.example:444"), false),
        (Some("https://gate.example"), false),
    ];
    check(&flags, &hosts, &origins).await;
}

/// C14: pages of the origins named for it may ask whether they may send, send JSON, and read what they
/// are answered; on the routes of MCP, and no other pages.
#[tokio::test]
async fn the_operator_can_let_pages_read() {
    let home = Home::new();
    let yaml = "upstreams: {demo: {type: demo}}\n\
                http: {allow_origins: ['https://sends.example'], \
                cors: {allow_origins: ['https://reads.example']}}\n";
    home.write("gate.yaml", yaml);
    for (transport, mcp) in [("http", &["/mcp"][..]), ("sse", &["/sse", "/messages/"])] {
        let flags = ["up", "--port", "0", "--transport", transport, "--config", "gate.yaml"];
        let (_gate, said) = home.listen(&flags).await;
        let (base, _) = said["url"].as_str().unwrap().rsplit_once('/').unwrap();
        let check = async |method: Method, route: &str, origin: &str, status: u16, reads: bool| {
            let asks = ("access-control-request-method", "POST");
            let headers = [("origin", origin), ("content-type", "application/json"), asks];
            let url = format!("{base}{route}");
            let answer = web::send(method.clone(), &url, &headers, "{}".to_owned()).await;
            let said = |name: &str| {
                answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
            };
            let cell = format!("{method} {route} for {origin}");
            assert_eq!(answer.status().as_u16(), status, "{cell}");
            let origin = reads.then(|| origin.to_owned());
            assert_eq!(said("access-control-allow-origin"), origin, "{cell}");
            assert_eq!(said("vary").is_some(), reads, "{cell}");
            let asked = reads && method == Method::OPTIONS;
            assert_eq!(said("access-control-allow-headers").is_some(), asked, "{cell}");
            assert_eq!(said("access-control-allow-credentials"), None, "{cell}");
        };
        for route in mcp {
            check(Method::OPTIONS, route, "https://reads.example", 204, true).await;
            check(Method::OPTIONS, route, "https://sends.example", 405, false).await;
            check(Method::OPTIONS, route, "https://evil.example", 403, false).await;
            check(Method::PUT, route, "https://reads.example", 405, true).await;
            check(Method::PUT, route, "https://sends.example", 405, false).await;
        }
        check(Method::OPTIONS, "/healthz", "https://reads.example", 405, false).await;
        check(Method::GET, "/healthz", "https://reads.example", 200, false).await;
        check(Method::OPTIONS, "/admin/approvals", "https://reads.example", 401, false).await;
    }
}

/// Every cell of the table: the host is judged first, then the origin, then the request.
async fn check(flags: &[&str], hosts: &[(&str, bool)], origins: &[(Option<&str>, bool)]) {
    let home = Home::new();
    let yaml = "upstreams: {demo: {type: demo}}\n\
                http: {allow_hosts: [gate.example], allow_origins: ['https://app.example']}\n";
    home.write("gate.yaml", yaml);
    let (_gate, said) = home.listen(&[&["up", "--port", "0"], flags].concat()).await;
    let url = said["url"].as_str().unwrap();
    let (base, _) = url.rsplit_once('/').unwrap();
    let (_, port) = base.rsplit_once(':').unwrap();
    let connections = web::connections();
    for (host, host_is_ours) in hosts {
        for (origin, origin_is_ours) in origins {
            let host = host.replace("PORT", port);
            let origin = origin.map(|origin| origin.replace("PORT", port));
            let wanted = match (host_is_ours, origin_is_ours) {
                (false, _) => Some(MISDIRECTED),
                (true, false) => Some(FORBIDDEN),
                (true, true) => None,
            };
            let name = Name { host: &host, origin: origin.as_deref() };
            cell(&connections, base, &name, wanted).await;
        }
    }
}

/// Whom a request is for, and whose page sends it.
#[derive(Debug)]
struct Name<'a> {
    host: &'a str,
    origin: Option<&'a str>,
}

/// One name on every route; `None` means whatever the route says, but neither refusal.
async fn cell(connections: &web::Connections, base: &str, name: &Name<'_>, wanted: Option<u16>) {
    for (method, route) in ROUTES {
        let mut headers = vec![("host", name.host), ("content-type", "application/json")];
        headers.extend(name.origin.map(|origin| ("origin", origin)));
        let url = format!("{base}{route}");
        let verb = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = web::send_over(connections, verb, &url, &headers, "{}".to_owned()).await;
        // The head says all there is to say; a stream has no end to wait for.
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        if headers.get("content-type").is_none_or(|kind| kind != "text/event-stream") {
            web::read(answer).await;
        }
        let fine = match wanted {
            Some(wanted) => status == wanted,
            None => ![MISDIRECTED, FORBIDDEN].contains(&status),
        };
        assert!(fine, "{method} {route} as {name:?}: {status}, not {wanted:?}");
        let opened = |name: &&http::HeaderName| name.as_str().starts_with("access-control-");
        assert_eq!(headers.keys().find(opened), None, "{method} {route}: pages may read");
    }
}
