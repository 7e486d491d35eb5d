//! May this caller use the tool at all? Answered before arguments are looked at.

use manifest::Capability;
use model::call::Scopes;
use model::{Caller, Code, Fault, Grant, glob};

/// The tool that is asked for, as a refusal names it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The upstream's own name of the tool.
    pub tool: &'a str,
    /// The name it is shown by.
    pub shown: &'a str,
    /// How the upstream is spoken to.
    pub deployment: &'a str,
}

/// Every permission a capability asks for must be covered by a grant; none held is none covered.
pub fn check(
    caller: &Caller,
    capability: Option<&Capability>,
    wanted: Wanted<'_>,
) -> Result<(), Fault> {
    let permissions =
        capability.map(|capability| capability.permissions.as_slice()).unwrap_or_default();
    let missing: Vec<&str> = permissions
        .iter()
        .filter(|permission| !covers(caller, &Grant::read(permission)))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("tool '{}' requires permissions not granted", wanted.tool);
    Err(Fault::new(Code::CapabilityDenied, message)
        .at(wanted.shown)
        .with("capability", permissions.join(","))
        .with("missing", missing)
        .with("tool_id", wanted.tool)
        .with("deployment", wanted.deployment))
}

/// What a capability asks for and what of it the caller holds; nothing where it asks for nothing.
pub fn scopes(caller: &Caller, capability: Option<&Capability>) -> Option<Scopes> {
    let requested = capability.map(|capability| capability.permissions.clone())?;
    let held = |permission: &&String| covers(caller, &Grant::read(permission));
    let granted = requested.iter().filter(held).cloned().collect();
    (!requested.is_empty()).then_some(Scopes { requested, granted })
}

/// Names match exactly. An unscoped grant covers every scope of its name, unless the caller's grants
/// count only with a scope; a wish without a scope is never covered by a grant with one.
fn covers(caller: &Caller, wanted: &Grant) -> bool {
    caller.grants.iter().filter(|grant| grant.name == wanted.name).any(|grant| {
        match (&grant.scope, &wanted.scope) {
            (Some(pattern), Some(scope)) => glob::matches(pattern, scope),
            (Some(_), None) => false,
            (None, _) => !caller.scoped_only,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Principal;
    use serde_json::json;

    fn holding(held: &[&str], scoped_only: bool) -> Caller {
        let grants = held.iter().map(|text| Grant::read(text)).collect();
        Caller { grants, scoped_only, ..Caller::new(Principal::user("ann")) }
    }

    fn needing(permissions: &[&str]) -> Capability {
        serde_json::from_value(json!({
            "capability_id": "files.read_secret", "tool": "read-secret",
            "class": "observe", "approval_mode": "read_only", "permissions": permissions,
        }))
        .unwrap()
    }

    const WANTED: Wanted<'_> =
        Wanted { tool: "read-secret", shown: "files_read-secret", deployment: "mcp" };

    /// SG-30: the rules of matching, case by case.
    #[test]
    fn a_grant_covers_what_it_names() {
        let check = |held: &[&str], scoped_only: bool, wanted: &[&str], covered: bool| {
            let got = check(&holding(held, scoped_only), Some(&needing(wanted)), WANTED);
            assert_eq!(got.is_ok(), covered, "{held:?} {scoped_only} {wanted:?}");
        };
        // Nothing wanted, nothing needed.
        check(&[], false, &[], true);
        check(&[], true, &[], true);
        // Nothing held, nothing covered.
        check(&[], false, &["fs.read"], false);
        // The same name without a scope, and one for any scope of it.
        check(&["fs.read"], false, &["fs.read"], true);
        check(&["fs.read"], false, &["fs.read:/workspace/a"], true);
        // Where only scoped grants count, one without a scope covers nothing.
        check(&["fs.read"], true, &["fs.read:/workspace/a"], false);
        check(&["fs.read"], true, &["fs.read"], false);
        // A scope is a pattern.
        check(&["fs.read:/workspace/*"], false, &["fs.read:/workspace/a"], true);
        check(&["fs.read:/workspace/*"], true, &["fs.read:/workspace/a"], true);
        check(&["fs.read:/workspace/*"], false, &["fs.read:/etc/passwd"], false);
        check(&["fs.read:/w/?.txt"], false, &["fs.read:/w/a.txt"], true);
        // The first colon ends the name.
        check(
            &["net.fetch:https://a.example/*"],
            false,
            &["net.fetch:https://a.example/x/y"],
            true,
        );
        // A wish for everything is not covered by a grant for something; an empty scope is none.
        check(&["fs.read:/workspace/*"], false, &["fs.read"], false);
        check(&["fs.read:/workspace/*"], false, &["fs.read:"], false);
        // Names are no patterns, and case counts.
        check(&["fs.*"], false, &["fs.read"], false);
        check(&["FS.read"], false, &["fs.read"], false);
        // All that is wanted must be covered.
        check(&["fs.read"], false, &["fs.read", "fs.write"], false);
        check(&["fs.read", "fs.write"], false, &["fs.read", "fs.write"], true);
    }

    /// SG-31, SG-41: the refusal in the seed's words and fields.
    #[test]
    fn a_refusal_says_what_was_wanted_and_by_which_tool() {
        let capability = needing(&["fs.read", "secrets.read:/secrets/*"]);
        let fault = check(&holding(&["fs.read"], false), Some(&capability), WANTED).unwrap_err();
        let wanted = json!({
            "error": "CAPABILITY_DENIED",
            "message": "tool 'read-secret' requires permissions not granted",
            "path": "files_read-secret",
            "kind": "capability",
            "retryable": false,
            "next": "escalate",
            "details": {
                "capability": "fs.read,secrets.read:/secrets/*",
                "missing": ["secrets.read:/secrets/*"],
                "tool_id": "read-secret",
                "deployment": "mcp",
            },
        });
        assert_eq!(serde_json::Value::Object(fault.to_client_json()), wanted);
    }
}
