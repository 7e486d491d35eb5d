//! Tells from a request's credentials who is calling.

use model::{Caller, Code, Fault, Grant, Principal, Secret};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// One bearer token and whom it stands for.
#[derive(Clone, Debug)]
pub struct Key {
    pub token: Secret,
    /// Whether its bearer may answer for others' calls.
    pub approver: bool,
    pub caller: Caller,
}

/// Knows the callers. Keeps hashes of tokens, not tokens.
#[derive(Clone, Debug)]
pub struct Doorkeeper {
    keys: Vec<HashedKey>,
    local: Caller,
}

#[derive(Clone)]
struct HashedKey {
    hash: [u8; 32],
    approver: bool,
    caller: Caller,
}

impl std::fmt::Debug for HashedKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:***", self.caller.principal.id)
    }
}

impl Doorkeeper {
    /// With no keys, everyone who can reach the gate is the local user.
    pub fn new(keys: Vec<Key>, local_grants: Vec<Grant>) -> Self {
        let local = Caller { grants: local_grants, ..Caller::new(Principal::user("local")) };
        let keys = keys.into_iter().map(|key| HashedKey {
            hash: Sha256::digest(key.token.reveal()).into(),
            approver: key.approver,
            caller: key.caller,
        });
        Self { keys: keys.collect(), local }
    }

    /// The same, with more to say about the local user.
    #[must_use]
    pub fn with_local(self, local: Caller) -> Self {
        Self { local, ..self }
    }

    /// Whether a caller must show a token.
    pub fn asks(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The person at this machine, who started the gate and needs no token.
    pub fn local(&self) -> Caller {
        self.local.clone()
    }

    /// Who sent a request with this `Authorization` header.
    pub fn admit(&self, authorization: Option<&str>) -> Result<Caller, Fault> {
        if !self.asks() {
            return Ok(self.local());
        }
        let refuse = |code, message: &str| Err(Fault::new(code, message));
        let Some(header) = authorization else {
            return refuse(Code::AuthRequired, "send `Authorization: Bearer <token>`");
        };
        let Some((scheme, token)) = header.split_once(' ') else {
            return refuse(Code::AuthFailed, "the `Authorization` header is not `Bearer <token>`");
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return refuse(Code::AuthFailed, "only `Bearer` tokens are taken");
        }
        match self.find(token.trim()) {
            Some(key) => Ok(key.caller.clone()),
            None => refuse(Code::AuthFailed, "the token is not known here"),
        }
    }

    /// Whether anybody may answer for others' calls here.
    pub fn knows_approvers(&self) -> bool {
        self.keys.iter().any(|key| key.approver)
    }

    /// The person this token stands for, if it may answer for others' calls. Being at this machine
    /// is not enough: so is the agent.
    pub fn approver(&self, token: &str) -> Result<Caller, Fault> {
        match self.find(token.trim()) {
            Some(key) if key.approver => Ok(key.caller.clone()),
            Some(_) => {
                let message = "this token is not one that may answer for others' calls";
                Err(Fault::new(Code::PermissionDenied, message))
            }
            None => Err(Fault::new(Code::AuthFailed, "the token is not known here")),
        }
    }

    /// Compares with every key in constant time, so that timing tells nothing about any of them.
    fn find(&self, token: &str) -> Option<&HashedKey> {
        let hash: [u8; 32] = Sha256::digest(token).into();
        let matching = |key: &&HashedKey| bool::from(key.hash.ct_eq(&hash));
        self.keys.iter().filter(matching).fold(None, |found, key| found.or(Some(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doorkeeper() -> Doorkeeper {
        let key = |name: &str, token: &str, approver: bool| Key {
            token: Secret::new(token),
            approver,
            caller: Caller::new(Principal::user(name)),
        };
        let keys = vec![key("ann", "s3cret", false), key("bob", "0ther", true)];
        Doorkeeper::new(keys, Vec::new())
    }

    #[test]
    fn a_token_tells_who_calls() {
        let check = |header: Option<&str>, wanted: Result<&str, Code>| {
            let got = doorkeeper().admit(header);
            assert_eq!(
                got.map(|caller| caller.principal.id).map_err(|fault| fault.code),
                wanted.map(str::to_owned),
                "{header:?}"
            );
        };
        check(Some("Bearer s3cret"), Ok("ann"));
        check(Some("bearer 0ther"), Ok("bob"));
        check(None, Err(Code::AuthRequired));
        check(Some(""), Err(Code::AuthFailed));
        check(Some("Bearer"), Err(Code::AuthFailed));
        check(Some("Bearer "), Err(Code::AuthFailed));
        check(Some("Basic s3cret"), Err(Code::AuthFailed));
        check(Some("Bearer s3cret2"), Err(Code::AuthFailed));
    }

    #[test]
    fn without_keys_everybody_is_the_local_user() {
        let open = Doorkeeper::new(Vec::new(), vec![Grant::read("x")]);
        let caller = open.admit(None).unwrap();
        assert_eq!(caller.principal.to_string(), "user:local");
        assert_eq!(caller.grants, [Grant::read("x")]);
    }

    #[test]
    fn only_a_token_made_for_it_answers_for_others() {
        let check = |token: &str, wanted: Result<&str, Code>| {
            let got = doorkeeper().approver(token);
            let got = got.map(|caller| caller.principal.id).map_err(|fault| fault.code);
            assert_eq!(got, wanted.map(str::to_owned), "{token}");
        };
        check("0ther", Ok("bob"));
        check("s3cret", Err(Code::PermissionDenied));
        check("", Err(Code::AuthFailed));
        let open = Doorkeeper::new(Vec::new(), Vec::new());
        assert!(open.approver("").is_err() && !open.knows_approvers());
    }

    #[test]
    fn tokens_do_not_print() {
        assert!(!format!("{:?}", doorkeeper()).contains("s3cret"));
    }
}
