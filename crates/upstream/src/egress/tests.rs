//! The ways to write an address that must not be reached, and what becomes of each.

use std::net::ToSocketAddrs as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use model::Code;

use super::*;
use crate::http_client;

/// One address of every network that is not public.
const PRIVATE: [&str; 15] = [
    "0.0.0.1",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.254",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "255.255.255.255",
];

/// The same address in the spellings that parsers and resolvers understand.
fn spellings(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let whole = address.to_bits();
    let (tail, low) = (whole & 0x00ff_ffff, whole & 0xffff);
    let (high, last) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    vec![
        format!("{a}.{b}.{c}.{d}"),
        format!("{whole}"),
        format!("{whole:#x}"),
        format!("{whole:#X}"),
        format!("0{whole:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0000{a:o}.{b}.{c}.{d}"),
        format!("{a}.{tail}"),
        format!("{a}.{b}.{low}"),
        format!("{a:#x}.{tail:#x}"),
        format!("[::ffff:{a}.{b}.{c}.{d}]"),
        format!("[::ffff:{high:x}:{last:x}]"),
        format!("[0:0:0:0:0:ffff:{high:04x}:{last:04x}]"),
        format!("[::{a}.{b}.{c}.{d}]"),
        format!("[2002:{high:x}:{last:x}::1]"),
        format!("[64:ff9b::{high:x}:{last:x}]"),
        format!("[64:ff9b:1::{high:x}:{last:x}]"),
        format!("[2001:0:{high:x}:{last:x}::1]"),
        format!("[fe80::5efe:{high:x}:{last:x}]"),
    ]
}

/// What is not the spelling of an `IPv4` address.
const OTHERS: [&str; 12] = [
    "[::]",
    "[::1]",
    "[fc00::1]",
    "[fd12:3456::1]",
    "[fe80::1]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[100::1]",
    "[3fff::1]",
    "[2001:10::1]",
    "[5f00::1]",
];

/// What the system makes of a host; digits are read without asking anybody.
fn found(host: &str) -> Vec<SocketAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    (bare, 80).to_socket_addrs().map(Iterator::collect).unwrap_or_default()
}

/// C1: no spelling of a private address passes, as a literal or as a name.
#[test]
fn no_spelling_of_a_private_address_is_reached() {
    let egress = Egress::public(Vec::new());
    let spelled = PRIVATE.iter().flat_map(|text| spellings(text.parse().unwrap()));
    let hosts: Vec<String> = spelled.chain(OTHERS.map(str::to_owned)).collect();
    assert!(hosts.len() >= 200, "{}", hosts.len());
    let mut understood = 0;
    for host in &hosts {
        let literal = egress.check_literal(host).is_err();
        let addresses = found(host);
        let resolved = egress.pick(host, addresses.iter().copied());
        assert!(literal || addresses.is_empty() || resolved.is_err(), "{host}: {addresses:?}");
        understood += usize::from(literal || !addresses.is_empty());
    }
    assert!(understood >= 200, "the system understands only {understood} of {}", hosts.len());
}

#[test]
fn public_addresses_are_reached() {
    let egress = Egress::public(Vec::new());
    for host in ["8.8.8.8", "1.1.1.1", "[2606:4700::1111]", "[::ffff:8.8.8.8]", "100.128.0.1"] {
        assert_eq!(egress.check_literal(host), Ok(()), "{host}");
    }
}

/// A name whose answer changes between two looks: each is judged, and what is private is left out.
#[test]
fn what_a_name_resolves_to_is_judged_every_time() {
    let egress = Egress::public(Vec::new());
    let at = |text: &str| SocketAddr::new(text.parse().unwrap(), 443);
    let pick = |found: &[SocketAddr]| egress.pick("rebind.example", found.iter().copied());
    assert_eq!(pick(&[at("8.8.8.8")]), Ok(vec![at("8.8.8.8")]));
    assert_eq!(pick(&[at("127.0.0.1")]), Err(Refused { host: "rebind.example".to_owned() }));
    assert_eq!(pick(&[at("10.0.0.1"), at("8.8.8.8")]), Ok(vec![at("8.8.8.8")]));
    assert_eq!(pick(&[]), Ok(Vec::new()));
}

#[test]
fn an_exception_names_a_host_an_address_or_a_network() {
    let check = |but: &str, host: &str, address: &str, lets: bool| {
        let egress = Egress::public(vec![but.to_owned()]);
        assert_eq!(egress.lets(host, address.parse().unwrap()), lets, "{but} {host} {address}");
    };
    check("tools.internal", "Tools.internal", "10.0.0.7", true);
    check("tools.internal", "other.internal", "10.0.0.7", false);
    check("10.0.0.7", "other.internal", "10.0.0.7", true);
    check("10.0.0.0/8", "x", "10.9.9.9", true);
    check("10.0.0.0/8", "x", "11.0.0.1", true);
    check("10.0.0.0/8", "x", "192.168.0.1", false);
    check("0.0.0.0/0", "x", "192.168.0.1", true);
    check("fd00::/8", "x", "fd12::1", true);
    check("fd00::/8", "x", "fe80::1", false);
    check("10.0.0.0/99", "x", "10.0.0.1", false);
    check("10.0.0.0/8", "x", "fd12::1", false);
}

/// The whole client: a listener on this machine hears nothing, whatever the address is called.
#[tokio::test]
async fn a_guarded_client_does_not_even_connect() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&heard);
    let listening = tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            counting.fetch_add(1, Ordering::SeqCst);
        }
    });
    let ask = async |egress: Egress, host: &str| {
        let client = http_client::client_through(&egress).unwrap();
        let uri = format!("http://{host}:{port}/");
        let Ok(uri) = uri.parse::<http::Uri>() else { return Code::EgressDenied };
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = uri;
        http_client::send(&client, request).await.unwrap_err().code
    };
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:7f00:1]"]
    {
        let refused = ask(Egress::public(Vec::new()), host).await;
        assert_eq!(refused, Code::EgressDenied, "{host}");
    }
    assert_eq!(heard.load(Ordering::SeqCst), 0);
    listening.abort();
    let gone = ask(Egress::public(vec!["127.0.0.0/8".to_owned()]), "127.0.0.1").await;
    assert_eq!(gone, Code::UpstreamUnavailable, "it was allowed, and nobody listens");
}
