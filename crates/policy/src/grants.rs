//! May this caller use the tool at all? Answered before arguments are looked at.

use manifest::Capability;
use model::{Caller, Code, Fault, Grant, glob};

/// Every permission a capability asks for must be covered by a grant; none held is none covered.
pub fn check(caller: &Caller, capability: Option<&Capability>, tool: &str) -> Result<(), Fault> {
    let wanted = capability.map(|capability| capability.permissions.as_slice()).unwrap_or_default();
    match wanted.iter().find(|permission| !covered(&caller.grants, &Grant::read(permission))) {
        None => Ok(()),
        Some(permission) => Err(Fault::new(
            Code::CapabilityDenied,
            format!("this needs the grant `{permission}`, which the caller does not hold"),
        )
        .at(tool)
        .with("capability", permission.as_str())),
    }
}

fn covered(held: &[Grant], wanted: &Grant) -> bool {
    held.iter().filter(|grant| grant.name == wanted.name).any(|grant| {
        match (&grant.scope, &wanted.scope) {
            (Some(pattern), Some(scope)) => glob::matches(pattern, scope),
            // Grants here deny by default: an unscoped grant covers an unscoped wish only.
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_covers_what_it_names() {
        let check = |held: &[&str], wanted: &str, covers: bool| {
            let held: Vec<Grant> = held.iter().map(|text| Grant::read(text)).collect();
            assert_eq!(covered(&held, &Grant::read(wanted)), covers, "{held:?} {wanted}");
        };
        check(&[], "fs.read", false);
        check(&["fs.read"], "fs.read", true);
        check(&["fs.write"], "fs.read", false);
        check(&["fs.*"], "fs.read", false);
        check(&["fs.read"], "fs.read:/workspace/a", false);
        check(&["fs.read:/workspace/*"], "fs.read:/workspace/a", true);
        check(&["fs.read:/workspace/*"], "fs.read:/etc/passwd", false);
        check(&["fs.read:/workspace/*"], "fs.read", false);
        check(&["net.fetch:https://a.example/*"], "net.fetch:https://a.example/x/y", true);
        check(&["fs.read:/w/?.txt"], "fs.read:/w/a.txt", true);
    }
}
