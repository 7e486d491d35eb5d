//! The page of one question. It keeps nothing in the browser: the token is typed for every answer,
//! so no other page can answer in the reader's name.

use axum_core::extract::Request;
use axum_core::response::{IntoResponse, Response};
use http::StatusCode;
use model::{Approval, ApprovalState, Fault};

use super::status;
use crate::mcp::{Mcp, body};

/// The page before anybody has said who they are: it tells nothing.
pub(super) fn blank(id: &str) -> Response {
    let form = form(id, "<p>Show your token to see the question.</p>", &["show"]);
    html(StatusCode::OK, &form)
}

/// What the form sent: a token, what to do, and why.
pub(super) async fn take(mcp: &Mcp, id: &str, request: Request) -> Response {
    let bytes = match body::read(request.into_body()).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal,
    };
    let fields = String::from_utf8_lossy(&bytes).into_owned();
    match decide(mcp, id, &fields).await {
        Ok(approval) if approval.state == ApprovalState::Pending => {
            html(StatusCode::OK, &form(id, &shown(&approval), &["approve", "reject"]))
        }
        Ok(approval) => html(StatusCode::OK, &shown(&approval)),
        Err(fault) => {
            let why = format!("<p>{}</p>", escape(&fault.message));
            html(status(&fault), &form(id, &why, &["show"]))
        }
    }
}

async fn decide(mcp: &Mcp, id: &str, fields: &str) -> Result<Approval, Fault> {
    let field = |name: &str| field(fields, name).unwrap_or_default();
    let approver = mcp.doorkeeper.approver(&field("token"))?;
    let reason = Some(field("reason")).filter(|reason| !reason.is_empty());
    match field("decision").as_str() {
        "approve" => mcp.gateway.answer_as(&approver, id, true, reason).await,
        "reject" => mcp.gateway.answer_as(&approver, id, false, reason).await,
        _ => mcp.gateway.question_for(&approver, id).await,
    }
}

/// Everything that will be sent, nothing left out.
fn shown(approval: &Approval) -> String {
    let args = serde_json::to_string_pretty(&approval.args).unwrap_or_default();
    let rows = [
        ("tool", approval.tool.as_str()),
        ("gate", &approval.gate),
        ("asked by", &approval.requested_by),
        ("state", approval.state.as_str()),
        ("expires", &approval.expires_at.to_string()),
        ("frozen hash", &approval.frozen_hash),
        ("answered by", approval.approver.as_deref().unwrap_or("nobody yet")),
    ]
    .map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value)));
    format!(
        "<dl>{}</dl><p>With these arguments, once:</p><pre>{}</pre>",
        rows.concat(),
        escape(&args)
    )
}

fn form(id: &str, above: &str, decisions: &[&str]) -> String {
    let id = escape(id);
    let button =
        |word: &&str| format!("<button name=\"decision\" value=\"{word}\">{word}</button>");
    let buttons = decisions.iter().map(button).collect::<Vec<_>>().join(" ");
    format!(
        "{above}<form method=\"post\" action=\"/approvals/{id}\">\
         <p><label>Token <input type=\"password\" name=\"token\" autocomplete=\"off\" required>\
         </label></p><p><label>Reason <input name=\"reason\"></label></p><p>{buttons}</p></form>"
    )
}

fn html(status: StatusCode, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>Toolgate: approval</title></head><body><h1>May this call be made?</h1>{body}\
         </body></html>\n"
    );
    let headers = [
        ("content-type", "text/html; charset=utf-8"),
        (
            "content-security-policy",
            "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
    ];
    (status, headers, page).into_response()
}

/// Text that means itself in HTML, with nothing invisible in it.
fn escape(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '&' => "&amp;".to_owned(),
            '<' => "&lt;".to_owned(),
            '>' => "&gt;".to_owned(),
            '"' => "&quot;".to_owned(),
            '\'' => "&#39;".to_owned(),
            '\n' => "\n".to_owned(),
            c if is_plain(c) => c.to_string(),
            c => format!("\\u{{{:x}}}", u32::from(c)),
        })
        .collect()
}

/// Neither a control nor one of those that only change how others look.
fn is_plain(c: char) -> bool {
    let hidden = matches!(u32::from(c),
        0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f
        | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0xe0000..=0xe0fff);
    !c.is_control() && !hidden
}

/// One field of a form as browsers send it.
fn field(form: &str, name: &str) -> Option<String> {
    let mut pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| decoded(value))
}

fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = std::str::from_utf8(&digits).ok();
                bytes.extend(hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_a_form_is_read_as_browsers_write_it() {
        let form = "token=a%2Bb%20c&decision=approve&reason=not+now%21&bad=%zz%4";
        assert_eq!(field(form, "token").as_deref(), Some("a+b c"));
        assert_eq!(field(form, "reason").as_deref(), Some("not now!"));
        assert_eq!(field(form, "bad").as_deref(), Some("\u{4}"));
        assert_eq!(field(form, "absent"), None);
    }

    #[test]
    fn nothing_of_a_question_is_markup_or_invisible() {
        let hostile = "<script>\"&'\u{1b}[31m\u{202e}\u{e0041}\u{200b}ok\n";
        let shown = escape(hostile);
        assert!(!shown.contains(['<', '>', '"', '\u{1b}', '\u{202e}', '\u{e0041}', '\u{200b}']));
        assert!(shown.contains("&lt;script&gt;") && shown.ends_with("ok\n"), "{shown}");
    }
}
