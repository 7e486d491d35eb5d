//! The request that arguments become, and the arguments that become none.

use model::Code;
use proptest::prelude::*;
use serde_json::{Value, json};
use toolgate_openapi::{Operation, RequestPlan};
use url::Url;

use crate::{BASE, one, shop};

fn plan(name: &str, args: Value) -> RequestPlan {
    shop().operation(name).unwrap().plan(BASE, &args).unwrap()
}

/// The planned address behind the base.
fn url(name: &str, args: Value) -> String {
    plan(name, args).url.strip_prefix(BASE).unwrap().to_owned()
}

#[test]
fn arguments_go_to_their_places() {
    let args = json!({"order_id": "o 1", "fields": ["id", "a&b"], "expand": ["x", "y,z"],
        "X-Request-Id": "r-1"});
    let plan = plan("orders_get", args);
    assert_eq!(plan.method, "GET");
    assert_eq!(plan.url, format!("{BASE}/orders/o%201?fields=id&fields=a%26b&expand=x,y%2Cz"));
    assert_eq!(plan.headers.last().unwrap(), &("x-request-id".to_owned(), "r-1".to_owned()));
    assert_eq!(plan.body, None);
}

#[test]
fn a_body_is_sent_as_json() {
    let plan = plan("orders_get_2", json!({"body": {"sku": "s1"}}));
    assert_eq!((plan.method.as_str(), plan.body), ("POST", Some(br#"{"sku":"s1"}"#.to_vec())));
    let content_type = ("content-type".to_owned(), "application/json".to_owned());
    assert!(plan.headers.contains(&content_type));
}

#[test]
fn a_query_is_written_in_its_style() {
    let check = |args: Value, expected: &str| assert_eq!(url("search", args), expected);
    check(json!({"q": "a b"}), "/search?q=a%20b");
    check(json!({"q": "", "filter": {"k": 1}}), "/search?q=&filter%5Bk%5D=1");
    check(json!({"q": 1, "page": {"size": 5}}), "/search?q=1&size=5");
    check(json!({"q": true, "where": {"a": [1]}}), "/search?q=true&where=%7B%22a%22%3A%5B1%5D%7D");
    check(json!({"q": "x", "filter": null}), "/search?q=x");
}

#[test]
fn a_closing_slash_of_the_base_is_not_doubled() {
    let shop = shop();
    let search = shop.operation("search").unwrap();
    let plan = search.plan("https://shop.example/v2/", &json!({"q": "x"})).unwrap();
    assert_eq!(plan.url, format!("{BASE}/search?q=x"));
}

#[test]
fn arguments_that_cannot_be_sent_are_refused() {
    let check = |name: &str, args: Value, path: &str| {
        let fault = shop().operation(name).unwrap().plan(BASE, &args).unwrap_err();
        assert_eq!(fault.code, Code::ArgsInvalid);
        assert_eq!(fault.path, name);
        assert_eq!(fault.violations.first().unwrap().instance_path, path, "{args}");
    };
    check("orders_get", json!({}), "/order_id");
    check("orders_get", json!(null), "/order_id");
    check("orders_get", json!({"order_id": null}), "/order_id");
    check("orders_get", json!({"order_id": {"a": 1}}), "/order_id");
    check("orders_get", json!({"order_id": ""}), "/order_id");
    check("orders_get", json!({"order_id": ".."}), "/order_id");
    check("orders_get", json!({"order_id": "../../admin"}), "/order_id");
    check("orders_get", json!({"order_id": "%2e%2e%2fadmin"}), "/order_id");
    check("orders_get", json!({"order_id": "1\r\nX: y"}), "/order_id");
    check("orders_get", json!({"order_id": "1", "sid": "cookie"}), "/sid");
    check("orders_get", json!({"order_id": "1", "Host": "evil.test"}), "/Host");
    check("orders_get", json!({"order_id": "1", "fields": [["x"]]}), "/fields");
    check("orders_get", json!({"order_id": "1", "X-Request-Id": "a\r\nAdmin: 1"}), "/X-Request-Id");
    check("orders_get", json!({"order_id": "1", "X-Request-Id": "a\nb"}), "/X-Request-Id");
    check("orders_get", json!([1]), "");
    check("orders_get", json!({"order_id": "x".repeat(9_000)}), "");
    check("orders_get_2", json!({}), "/body");
    check("search", json!({"q": "x", "page": {"q": "y"}}), "/page");
}

#[test]
fn a_bad_base_is_our_fault_and_not_the_callers() {
    let shop = shop();
    let search = shop.operation("search").unwrap();
    for base in ["", "file:///etc", "https://user@evil.test", "https://a.test/?x="] {
        let fault = search.plan(base, &json!({"q": "x"})).unwrap_err();
        assert_eq!(fault.code, Code::Internal, "{base}");
    }
}

#[test]
fn headers_that_change_the_request_are_nobodys_argument() {
    let names = [
        "Host",
        "Cookie",
        "authorization",
        "Transfer-Encoding",
        "X-HTTP-Method-Override",
        "X-Forwarded-For",
        "Proxy-Authorization",
        "bad name",
        "",
    ];
    for name in names {
        let operation = one("/a", json!([{"name": name, "in": "header", "schema": {}}]));
        assert_eq!(operation.definition()["inputSchema"]["properties"], json!({}), "{name}");
        assert_eq!(operation.findings().len(), 1);
    }
}

fn every_place() -> Operation {
    one(
        "/a/{x}/b-{y}{z}.json/{x}",
        json!([
            {"name": "x", "in": "path", "schema": {}},
            {"name": "y", "in": "path", "schema": {}},
            {"name": "q", "in": "query", "schema": {}},
            {"name": "o", "in": "query", "style": "deepObject", "schema": {}},
            {"name": "X-H", "in": "header", "schema": {}},
        ]),
    )
}

/// Text that likes to break out, mixed with any text.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(vec![
            "/",
            "\\",
            "..",
            ".",
            "?",
            "#",
            "%",
            "%2f",
            "%2e",
            "%252e",
            "@",
            ":",
            "//",
            "\r\n",
            "\0",
            ";",
            "&",
            "=",
            "{x}",
            "https://evil.test",
            " ",
            "",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Judged by a WHATWG parser, which folds dots and backslashes as browsers and proxies do.
    #[test]
    fn no_argument_moves_the_request(x in hostile(), y in hostile(), z in hostile(), q in hostile(), h in hostile()) {
        let args = json!({"x": x, "y": y, "z": z, "q": q, "o": {&q: h}});
        let Ok(plan) = every_place().plan(BASE, &args) else { return Ok(()) };
        let url = Url::parse(&plan.url).unwrap();
        prop_assert_eq!(url.origin(), Url::parse(BASE).unwrap().origin());
        prop_assert!(url.username().is_empty() && url.fragment().is_none());
        let segments: Vec<&str> = url.path_segments().unwrap().collect();
        prop_assert_eq!(segments.len(), 5, "{}", url);
        prop_assert!(segments.iter().all(|segment| !segment.is_empty()));
        prop_assert_eq!((segments.first(), segments.get(1)), (Some(&"v2"), Some(&"a")));
        let unescaped = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
        prop_assert_eq!(segments.get(2).map(|s| unescaped(s)), Some(x));
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        prop_assert_eq!(pairs, vec![("q".to_owned(), q.clone()), (format!("o[{q}]"), h)]);
    }

    #[test]
    fn no_argument_adds_a_header(h in hostile()) {
        let args = json!({"x": "1", "y": "2", "z": "3", "X-H": h});
        match every_place().plan(BASE, &args) {
            Ok(plan) => {
                prop_assert!(!h.contains(char::is_control));
                prop_assert_eq!(plan.headers.len(), 2);
            }
            Err(_) => prop_assert!(!h.chars().all(|c| c == ' ' || c.is_ascii_graphic())),
        }
    }

    /// Plain identifiers always pass: the guard costs nobody a legal call.
    #[test]
    fn plain_text_is_never_refused(x in "[A-Za-z0-9_~-][A-Za-z0-9_.~ +:-]{0,20}") {
        let args = json!({"x": x, "y": x, "z": x});
        prop_assert!(every_place().plan(BASE, &args).is_ok());
    }
}
