//! Resources as evidence: what was read, from where, how fresh, how sensitive; and what is odd
//! about the way it is offered.
//!
//! Text of a resource is data. It is cited, never obeyed; cleaning it for a model is `clear`'s work.

use model::evidence::{
    Evidence, EvidenceKind, Freshness, FreshnessKind, InstructionTreatment, evidence_ref,
};
use model::{Finding, Severity, canonical};
use serde_json::Value;

use crate::blob::decode_base64;
use crate::evidence::Witness;

/// What was read of one resource, and what is odd about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceRead {
    pub evidence: Evidence,
    /// As declared, or as the bytes look where nothing is.
    pub media_type: String,
    pub size_bytes: u64,
    pub findings: Vec<Finding>,
}

/// One entry of `contents` in the answer to `resources/read`; `None` if it has neither text nor
/// blob.
///
/// `bytes_max` is what the manifest allows for it. More is a finding; refusing is policy's work.
pub fn resource(
    content: &Value,
    witness: &Witness<'_>,
    bytes_max: Option<u64>,
) -> Option<ResourceRead> {
    let field = |name: &str| content.get(name).and_then(Value::as_str);
    let uri = field("uri").unwrap_or_default();
    let mut findings = lint(uri);
    let bytes = match (field("blob"), field("text")) {
        (Some(blob), _) => decode_base64(blob).unwrap_or_else(|| {
            findings.push(warning("bad_base64", "the blob is not base64; it is taken as it is"));
            blob.as_bytes().to_vec()
        }),
        (None, text) => text?.as_bytes().to_vec(),
    };
    let media_type = field("mimeType").map_or_else(
        || {
            let sniffed = sniff(&bytes);
            let message = format!("no media type is declared; it looks like `{sniffed}`");
            findings.push(warning("resource_media_type_missing", &message));
            sniffed.to_owned()
        },
        str::to_owned,
    );
    let size_bytes = bytes.len() as u64;
    if let Some(max) = bytes_max.filter(|max| size_bytes > *max) {
        let message = format!("{size_bytes} bytes are more than the {max} its manifest allows");
        findings.push(warning("resource_too_large", &message));
    }
    let evidence = cite(content, uri, &bytes, witness);
    Some(ResourceRead { evidence, media_type, size_bytes, findings })
}

fn cite(content: &Value, uri: &str, bytes: &[u8], witness: &Witness<'_>) -> Evidence {
    let payload_hash = canonical::hash_bytes(bytes);
    let shown = witness.redactor.redact(uri).into_owned();
    let mut source = witness.source.clone();
    source.uri = Some(shown.clone());
    Evidence {
        evidence_ref: evidence_ref(&source, "", &payload_hash),
        kind: EvidenceKind::Resource,
        source,
        key: shown,
        value: None,
        json_pointer: None,
        payload_hash,
        freshness: freshness(content).or_else(|| witness.freshness.clone()),
        class: witness.class,
        integrity: witness.integrity,
        instruction_treatment: InstructionTreatment::DataOnly,
    }
}

/// What the server says about it, the most exact first; else when it was read.
fn freshness(content: &Value) -> Option<Freshness> {
    const FIELDS: [(&str, FreshnessKind); 5] = [
        ("etag", FreshnessKind::Etag),
        ("commit", FreshnessKind::Commit),
        ("version", FreshnessKind::Version),
        ("snapshot", FreshnessKind::Snapshot),
        ("lastModified", FreshnessKind::Timestamp),
    ];
    let places = [content.get("_meta"), content.get("annotations")];
    let said = |name: &str| {
        let text = places.iter().flatten().find_map(|place| place.get(name)?.as_str())?;
        Some(model::fault::one_line(text, 200))
    };
    FIELDS.iter().find_map(|(name, kind)| Some(Freshness { kind: *kind, value: said(name)? }))
}

/// An address names a thing; it opens nothing and tells nothing about a machine.
fn lint(uri: &str) -> Vec<Finding> {
    let rest = uri.split_once("://").map(|(_, rest)| rest);
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let query =
        uri.split_once('?').map(|(_, query)| query).unwrap_or_default().to_ascii_lowercase();
    let secret = ["token=", "key=", "secret=", "password=", "signature=", "sig="];
    let home = ["home", "root", "Users", "C:/Users"].map(|folder| format!("file:///{folder}/"));
    let rules = [
        (uri.is_empty(), "resource_uri_missing", "the resource has no address"),
        (authority.contains('@'), "resource_uri_userinfo", "the address holds a user or password"),
        (
            secret.iter().any(|word| query.contains(word)),
            "resource_uri_secret",
            "the address holds what looks like a token",
        ),
        (
            home.iter().any(|start| uri.starts_with(start.as_str())),
            "resource_uri_local_path",
            "the address is a path in somebody's home",
        ),
    ];
    let odd = rules.into_iter().filter(|(holds, _, _)| *holds);
    odd.map(|(_, rule, message)| warning(rule, message)).collect()
}

fn sniff(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'%', b'P', b'D', b'F', ..] => "application/pdf",
        _ => match str::from_utf8(bytes) {
            Ok(text) if crate::json::parse_container(text).is_some() => "application/json",
            Ok(_) => "text/plain",
            Err(_) => "application/octet-stream",
        },
    }
}

fn warning(rule: &str, message: &str) -> Finding {
    Finding::new(Severity::Warning, rule, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::Redactor;
    use model::evidence::{EvidenceSource, Integrity};
    use model::{CallId, Class, UpstreamName};
    use serde_json::json;

    fn read(content: &Value, bytes_max: Option<u64>) -> ResourceRead {
        let source = EvidenceSource {
            upstream: UpstreamName::from_string("docs"),
            uri: None,
            capability_id: None,
            call_id: CallId::from_string("call_1"),
        };
        let at = Freshness { kind: FreshnessKind::Timestamp, value: "now".to_owned() };
        let (freshness, class, integrity) = (Some(at), Class::Restricted, Integrity::Unverified);
        let redactor = Redactor::default();
        let witness = Witness { source, freshness, class, integrity, redactor: &redactor };
        resource(content, &witness, bytes_max).unwrap()
    }

    /// CO-25, CO-93, CO-137, CO-141, CO-142, CO-222: source, type, size, class, freshness, identity.
    #[test]
    fn a_resource_read_becomes_evidence() {
        let content = json!({"uri": "docs://policy/7", "mimeType": "text/markdown", "text": "# Policy", "_meta": {"etag": "v9"}});
        let got = read(&content, Some(8));
        assert_eq!((got.media_type.as_str(), got.size_bytes), ("text/markdown", 8));
        assert_eq!(got.findings, []);
        let fact = got.evidence;
        assert_eq!((fact.kind, fact.class), (EvidenceKind::Resource, Class::Restricted));
        assert_eq!(fact.source.uri.as_deref(), Some("docs://policy/7"));
        assert_eq!(fact.payload_hash, canonical::hash_bytes(b"# Policy"));
        let etag = Freshness { kind: FreshnessKind::Etag, value: "v9".to_owned() };
        assert_eq!(fact.freshness, Some(etag));
        assert_eq!(fact.instruction_treatment, InstructionTreatment::DataOnly);
        let blob =
            json!({"uri": "docs://policy/7", "mimeType": "text/markdown", "blob": "IyBQb2xpY3k="});
        assert_eq!(read(&blob, None).evidence.evidence_ref, fact.evidence_ref);
    }

    /// CO-138, CO-139, CO-140
    #[test]
    fn what_is_odd_about_a_resource_is_found() {
        let check = |content: Value, rules: &[&str]| {
            let got = read(&content, Some(4));
            let found: Vec<_> = got.findings.iter().map(|finding| finding.rule.as_str()).collect();
            assert_eq!(found, rules, "{content}");
            assert_eq!(got.evidence.freshness.unwrap().value, "now");
        };
        let text = |uri: &str| json!({"uri": uri, "mimeType": "text/plain", "text": "x"});
        check(text("docs://a"), &[]);
        check(text("https://bob:pw@example.com/a"), &["resource_uri_userinfo"]);
        check(text("https://example.com/a?sig=abc"), &["resource_uri_secret"]);
        check(text("file:///home/ann/a"), &["resource_uri_local_path"]);
        check(text(""), &["resource_uri_missing"]);
        check(json!({"uri": "a:b", "text": "{}"}), &["resource_media_type_missing"]);
        check(
            json!({"uri": "a:b", "mimeType": "text/plain", "text": "12345"}),
            &["resource_too_large"],
        );
        check(json!({"uri": "a:b", "mimeType": "image/png", "blob": "?"}), &["bad_base64"]);
    }
}
