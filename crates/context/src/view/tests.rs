//! What each selector shows, and each way it can be refused.

use super::*;
use model::limits::VIEW_CHARS_MAX;
use proptest::prelude::*;
use serde_json::Value;

fn select(text: &str, selector: &Value) -> Result<(String, String), Fault> {
    let answer =
        view(text.as_bytes(), "text/plain", &parse_selector(selector)?, &Redactor::default())?
            .into_inner();
    let text = |index: usize| {
        answer
            .content
            .get(index)
            .map_or(String::new(), |block| block["text"].as_str().unwrap().to_owned())
    };
    Ok((text(0), text(1)))
}

fn lines(start: usize, end: usize) -> Value {
    json!({"type": "lines", "start": start, "end": end})
}

fn pointer(pointer: &str) -> Value {
    json!({"type": "json_pointer", "pointer": pointer})
}

#[test]
fn a_selector_shows_its_part_and_says_what_comes_next() {
    let check = |text: &str, selector: Value, shown: &str, note: &str| {
        let (got, got_note) = select(text, &selector).unwrap();
        assert_eq!((got.as_str(), got_note.as_str()), (shown, note), "{selector}");
    };
    let abc = "one\ntwo\r\nthree";
    check(abc, Value::Null, abc, "");
    check(abc, json!({"type": "head", "chars": 99}), abc, "");
    check(
        abc,
        json!({"type": "head", "chars": 5}),
        "one\nt",
        r#"[characters 1 to 5 of 14, 3 lines in all; to go on: {"type":"lines","start":2,"end":3}]"#,
    );
    check(
        abc,
        json!({"type": "head", "chars": 2}),
        "on",
        r#"[characters 1 to 2 of 14, 3 lines in all; the first line is longer than that; to go on: {"type":"chars","offset":2,"chars":8000}]"#,
    );
    check(
        abc,
        lines(1, 2),
        "one\ntwo\r\n",
        r#"[lines 1 to 2 of 3; to go on: {"type":"lines","start":3,"end":3}]"#,
    );
    check(abc, lines(3, 99), "three", "[lines 3 to 3 of 3; that is the end]");
    let json = r#"{"items":[{"name":"x"}],"a/b":{"~":1}}"#;
    check(json, pointer("/items/0/name"), "x", "");
    check(json, pointer("/a~1b/~0"), "1", "");
    check(json, pointer("/items/0"), "{\n  \"name\": \"x\"\n}", "");
    check("[1]", pointer(""), "[\n  1\n]", "");
}

#[test]
fn a_page_is_bounded_and_leads_on() {
    let long = format!("{}\n", "y".repeat(99)).repeat(200);
    let (shown, note) = select(&long, &lines(11, 200)).unwrap();
    assert_eq!(shown.chars().count(), VIEW_CHARS_MAX);
    assert_eq!(
        note,
        r#"[lines 11 to 90 of 200; the page is full; to go on: {"type":"lines","start":91,"end":200}]"#
    );
    let (shown, note) = select(&long, &json!({"type": "head", "chars": 999_999})).unwrap();
    assert_eq!(shown.chars().count(), VIEW_CHARS_MAX);
    assert!(note.ends_with(r#"to go on: {"type":"lines","start":81,"end":180}]"#), "{note}");

    let wide = format!("a\n{}\nb", "é".repeat(9_000));
    let (shown, note) = select(&wide, &lines(2, 2)).unwrap();
    assert_eq!(shown, "é".repeat(VIEW_CHARS_MAX));
    insta::assert_snapshot!(note, @r#"[line 2 of 3, its first 8000 of 9001 characters; the rest of it: {"type":"chars","offset":8002,"chars":8000}; to go on: {"type":"lines","start":3,"end":3}]"#);

    let deep = json!({"a": vec!["z".repeat(80); 200], "b": 1}).to_string();
    let (shown, note) = select(&deep, &pointer("")).unwrap();
    assert_eq!(shown.chars().count(), VIEW_CHARS_MAX);
    insta::assert_snapshot!(note, @"[the first 8000 of 17625 characters; the value is an object of 2 with a, b; go deeper with a pointer such as /a, /b]");
    let (_, note) = select(&deep, &pointer("/a")).unwrap();
    assert!(note.ends_with("the value is an array of 200, counted from 0; go deeper with a pointer such as /a/0, /a/199]"), "{note}");
}

#[test]
fn a_view_that_fails_says_what_would_work() {
    let check = |text: &str, selector: Value, message: &str| {
        let fault = select(text, &selector).unwrap_err();
        assert_eq!(fault.code, Code::ViewFailed);
        assert_eq!(fault.message, message, "{selector}");
    };
    let head = r#"`head` takes a whole number: {"type":"head","chars":500}"#;
    check("x", json!({"type": "head", "chars": "x"}), head);
    check("x", json!({"type": "head", "chars": -1}), head);
    check("x", json!({"type": "head", "size": 1}), head);
    check("x", json!({"type": "head", "chars": 0}), "`chars` must be at least 1");
    check(
        "x",
        json!({"type": "lines", "start": 1}),
        r#"`lines` takes two whole numbers: {"type":"lines","start":1,"end":40}"#,
    );
    check(
        "x",
        json!({"type": "json_pointer"}),
        r#"`json_pointer` takes a text: {"type":"json_pointer","pointer":"/items/0"}"#,
    );
    check(
        "x",
        json!({"type": "sed", "for": "x"}),
        "no selector type `sed`; use one of `head`, `tail`, `lines`, `chars`, `bytes`, `json_pointer`, `json_keys`, `rows`, `grep`",
    );
    let object = r#"a selector is an object such as {"type":"lines","start":1,"end":40}"#;
    check("x", json!("head"), object);
    check("x", json!({}), object);
    let order = "lines count from 1, and `end` is the last line shown, not below `start`";
    check("x", lines(0, 1), order);
    check("x\ny", lines(2, 1), order);
    check("x\ny", lines(3, 4), "line 3 is beyond the end; there are 2 lines");
    check("", lines(1, 1), "line 1 is beyond the end; there are 0 lines");
    check("x: 1", pointer("/x"), "this artifact is not JSON; use `head` or `lines` instead");
    let json = r#"{"items":[{"id":1,"name":"x"}],"n":1}"#;
    check(
        json,
        pointer("n"),
        "a JSON pointer is empty or starts with `/`, such as `/items/0/name`",
    );
    check(
        json,
        pointer("/items/0/nam"),
        "nothing at `/items/0/nam`; `/items/0` is an object of 2 with id, name",
    );
    for index in ["1", "-1", "+0", "00", "x", ""] {
        let wrong = format!("/items/{index}");
        let message = format!("nothing at `{wrong}`; `/items` is an array of 1, counted from 0");
        check(json, pointer(&wrong), &message);
    }
    check(json, pointer("/n/x"), "nothing at `/n/x`; `/n` is a single value");
}

/// CW-20, CW-21: not as broken text.
#[test]
fn pictures_and_sounds_come_back_as_what_they_are() {
    let check = |media_type: &str, selector: Selector, expected: Result<Value, &str>| {
        let got = view(b"\x89PN", media_type, &selector, &Redactor::default());
        let got = got.map(|cleared| cleared.into_inner().content.remove(0));
        assert_eq!(
            got.as_ref().map_err(|fault| fault.message.as_str()),
            expected.as_ref().map_err(|m| *m)
        );
    };
    let head = || Selector::Head { chars: 1 };
    let block = |kind: &str, media: &str| json!({"type": kind, "data": "iVBO", "mimeType": media});
    check("image/png", head(), Ok(block("image", "image/png")));
    check("Audio/wav; rate=8", head(), Ok(block("audio", "Audio/wav; rate=8")));
    check(
        "image/png",
        Selector::Lines { start: 1, end: 2 },
        Err(
            r#"`image/png` is no text and has no lines and no JSON; use {"type":"head"} to get it whole or {"type":"bytes","start":0,"end":1024} for a part"#,
        ),
    );
    let uri = format!("artifact:sha256:{}", model::canonical::hash_bytes(b"\x89PN"));
    let resource = |blob: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": "application/pdf", "blob": blob}});
    check("application/pdf", head(), Ok(resource("iVBO")));
    check("application/pdf", Selector::Bytes { start: 1, end: 9 }, Ok(resource("UE4=")));
    check(
        "application/pdf",
        Selector::Bytes { start: 3, end: 9 },
        Err("bytes count from 0 and `end` is above `start`; there are 3"),
    );
    let svg = view(b"<svg/>", "image/svg+xml", &head(), &Redactor::default()).unwrap();
    assert_eq!(
        svg.get().full_text(),
        "<\n[characters 1 to 1 of 6, 1 lines in all; the first line is longer than that; to go on: {\"type\":\"chars\",\"offset\":1,\"chars\":8000}]"
    );
}

/// CW-73, CW-90: each with the way to the next page.
#[test]
fn each_selector_leads_on() {
    let check = |text: &str, selector: Value, shown: &str, note: &str| {
        let (got, got_note) = select(text, &selector).unwrap();
        assert_eq!((got.as_str(), got_note.as_str()), (shown, note), "{selector}");
    };
    let abc = "one\ntwo\nthree\nfour\n";
    check(
        abc,
        json!({"type": "tail", "lines": 2}),
        "three\nfour\n",
        r#"[lines 3 to 4 of 4; to go back: {"type":"lines","start":1,"end":2}]"#,
    );
    check(abc, json!({"type": "tail"}), abc, "[lines 1 to 4 of 4; that is all]");
    check(
        "äbcd",
        json!({"type": "chars", "offset": 1, "chars": 2}),
        "bc",
        r#"[characters 1 to 3 of 4; to go on: {"type":"chars","offset":3,"chars":2}]"#,
    );
    check(
        "äbcd",
        json!({"type": "bytes", "start": 0, "end": 1}),
        "ä",
        r#"[bytes 0 to 2 of 5; to go on: {"type":"bytes","start":2,"end":4}]"#,
    );
    let csv = "id,n\n1,a\n2,b\n3,c\n";
    check(
        csv,
        json!({"type": "rows", "start": 2, "end": 2}),
        "id,n\n2,b\n",
        r#"[rows 2 to 2 of 3; to go on: {"type":"rows","start":3,"end":3}]"#,
    );
    let data = r#"{"total":3,"items":[{"id":1},{"id":2},{"id":3}]}"#;
    check(
        data,
        json!({"type": "rows", "start": 1, "end": 2, "pointer": "/items"}),
        "{\"id\":1}\n{\"id\":2}\n",
        r#"[rows 1 to 2 of 3; to go on: {"type":"rows","start":3,"end":4,"pointer":"/items"}]"#,
    );
    check(
        data,
        json!({"type": "json_keys"}),
        "total: number, 1 characters\nitems: array of 3, 28 characters\n",
        "[keys 0 to 2 of 2; that is the end]",
    );
    check(
        data,
        json!({"type": "json_keys", "keys": ["total", "nope"]}),
        "{\n  \"total\": 3\n}",
        "[not there: nope]",
    );
    check(
        abc,
        json!({"type": "grep", "pattern": "^T", "ignore_case": true, "context": 1}),
        "1- one\n2: two\n3: three\n4- four\n",
        "[matches 1 to 2 of 2; that is the end]",
    );
    check(abc, json!({"type": "grep", "pattern": "zzz"}), "", "[no match; 0 matches in all]");
    check(
        abc,
        json!({"type": "grep", "pattern": "o", "start": 3}),
        "4: four\n",
        "[matches 3 to 3 of 3; that is the end]",
    );
}

/// CW-90
#[test]
fn each_selector_says_what_is_wrong_with_it() {
    let check = |text: &str, selector: Value, message: &str| {
        let fault = select(text, &selector).unwrap_err();
        assert!(fault.message.contains(message), "{selector}: {}", fault.message);
    };
    check("x", json!({"type": "tail", "lines": 0}), "at least 1");
    check("x", json!({"type": "chars", "offset": 1}), "there are 1 characters");
    check("x", json!({"type": "bytes", "start": 2, "end": 1}), "there are 1");
    check("a\nb", json!({"type": "rows", "start": 9, "end": 9}), "there are 1 rows");
    check("{}", json!({"type": "rows", "start": 1, "end": 9}), "not an array");
    check("[]", json!({"type": "json_keys"}), "not an object");
    check("{\"a\":1}", json!({"type": "json_keys", "keys": ["b"]}), "there are a");
    check("x", json!({"type": "grep", "pattern": "("}), "`(` is no pattern");
    check("x", json!({"type": "grep", "pattern": "a{1000}{1000}{1000}"}), "is no pattern");
    check("x", json!({"type": "grep"}), "`grep` takes a pattern");
}

/// E7, C42: no cut of a page shows what the whole would not.
#[test]
fn paging_does_not_cut_a_secret_free() {
    let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    for selector in [
        json!({"type": "chars", "offset": 4, "chars": 99}),
        json!({"type": "bytes", "start": 4, "end": 99}),
        json!({"type": "grep", "pattern": "a1B2"}),
    ] {
        let shown = select(token, &selector).map(|(shown, _)| shown).unwrap_or_default();
        assert!(!shown.contains("a1B2"), "{selector}: {shown}");
    }
    let (shown, _) = select(r#"{"password":"hunter22"}"#, &pointer("/password")).unwrap();
    assert_eq!(shown, "[redacted]");
}

/// C42
#[test]
fn what_a_view_shows_is_cleaned() {
    let (shown, _) = select("\u{1b}[31mred\u{7}", &Value::Null).unwrap();
    assert_eq!(shown, "red");
    let (shown, _) = select(r#"{"a":"\u001b[31mred"}"#, &pointer("/a")).unwrap();
    assert_eq!(shown, "red");
}

proptest! {
    #[test]
    fn following_the_notes_shows_every_line_once(count in 1_usize..400, width in 0_usize..200, step in 0_usize..500) {
        let line = format!("{}\n", "x".repeat(width));
        let text = line.repeat(count);
        let (mut start, mut seen) = (1, String::new());
        while start <= count {
            let (shown, note) = select(&text, &lines(start, start + step)).unwrap();
            prop_assert!(shown.chars().count() <= VIEW_CHARS_MAX && !shown.is_empty());
            start += shown.matches('\n').count();
            let leads_on = note.contains(&format!("\"start\":{start}"));
            prop_assert!(leads_on || start > count, "{}", note);
            seen.push_str(&shown);
        }
        prop_assert_eq!(seen, text);
    }

    #[test]
    fn no_selector_makes_a_view_panic(text in "[\\[{\"a:1}\\], \n]{0,40}", start in any::<usize>(), end in any::<usize>(), path in "[/~01a]{0,8}") {
        let selectors = [Selector::Head { chars: start }, Selector::Lines { start, end }, Selector::JsonPointer { pointer: path.clone() },
            Selector::Tail { lines: start }, Selector::Chars { offset: start, chars: end }, Selector::Bytes { start, end },
            Selector::JsonKeys { pointer: path.clone(), keys: Vec::new(), offset: start }, Selector::Rows { start, end, pointer: String::new() },
            Selector::Grep { pattern: path, ignore_case: false, context: end, start }];
        for selector in &selectors {
            if let Err(fault) = view(text.as_bytes(), "text/plain", selector, &Redactor::default()) {
                prop_assert_eq!(fault.code, Code::ViewFailed);
            }
        }
    }
}
