//! A server of 2025-11-25 may refuse a call until its user has been to an address (error -32042). A
//! client of 2026-07-28 knows no such error: it is asked to go there, and comes back with the call.

use model::{Code, Fault};
use protocol::jsonrpc;
use serde_json::{Map, Value, json};

use super::wire::{Asking, Reply};
use crate::errand::Errand;

/// Questions of ours begin like this; no server's own do.
const PREFIX: &str = "toolgate-visit-";

/// What a client that takes part in rounds is asked in place of the refusal.
pub(super) fn wanted(refusal: Fault, errand: &Errand) -> Result<Reply, Fault> {
    let Some(requests) = requests(&refusal, errand).filter(|_| errand.client.rounds) else {
        return Err(refusal);
    };
    let value = json!({"resultType": "input_required", "inputRequests": requests});
    Ok(Reply { value, written: None })
}

/// Takes the answers to our own questions out of a request: the server knows nothing of them. Who did
/// not go there is not asked again.
pub(super) fn returned(asking: &mut Asking<'_>) -> Result<(), Fault> {
    if !asking.params.contains_key("inputResponses") {
        return Ok(());
    }
    let params = asking.params.to_mut();
    let Some(Value::Object(responses)) = params.get_mut("inputResponses") else { return Ok(()) };
    let mut ours = Vec::new();
    responses.retain(|key, response| {
        let own = key.starts_with(PREFIX);
        if own {
            ours.push(response.take());
        }
        !own
    });
    if ours.iter().any(|response| response.get("action").is_none_or(|action| action != "accept")) {
        let message = "the upstream wants its user to visit an address first, which was declined";
        return Err(Fault::new(Code::UpstreamError, message));
    }
    if !ours.is_empty() && responses.is_empty() {
        params.shift_remove("inputResponses");
    }
    Ok(())
}

fn requests(refusal: &Fault, errand: &Errand) -> Option<Map<String, Value>> {
    let said = refusal.upstream.as_ref().filter(|e| e.code == jsonrpc::URL_ELICITATION_REQUIRED)?;
    let visits = said.data.as_ref()?.get("elicitations")?.as_array()?;
    let mut requests = Map::new();
    for (at, visit) in visits.iter().enumerate() {
        let mut params = visit.as_object()?.clone();
        params.insert("mode".to_owned(), "url".into());
        params.shift_remove("elicitationId");
        if !errand.client.can_answer("elicitation/create", &params) {
            return None;
        }
        let question = json!({"method": "elicitation/create", "params": params});
        requests.insert(format!("{PREFIX}{}", at + 1), question);
    }
    (!requests.is_empty()).then_some(requests)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::Client;

    use super::*;

    fn errand(rounds: bool, capabilities: &Value) -> Errand {
        let capabilities = capabilities.as_object().cloned().unwrap();
        let client = Arc::new(Client { rounds, capabilities, ..Client::default() });
        Errand { client, ..Errand::quiet() }
    }

    fn refusal() -> Fault {
        let visit = json!({"mode": "url", "elicitationId": "e1", "url": "https://a.example/", "message": "Sign in"});
        let data = Some(json!({"elicitations": [visit]}));
        Fault::new(Code::UpstreamError, "refused").said_by_upstream(
            -32042,
            "go there".to_owned(),
            data,
        )
    }

    #[test]
    fn who_can_be_sent_to_an_address_is_asked_to_go_there() {
        let check = |rounds: bool, capabilities: Value, asked: bool| {
            let got = wanted(refusal(), &errand(rounds, &capabilities));
            assert_eq!(got.is_ok(), asked, "{rounds} {capabilities}");
        };
        check(true, json!({"elicitation": {"url": {}}}), true);
        check(true, json!({"elicitation": {}}), false);
        check(true, json!({}), false);
        check(false, json!({"elicitation": {"url": {}}}), false);
        let other = Fault::new(Code::UpstreamError, "no");
        assert!(wanted(other, &errand(true, &json!({"elicitation": {"url": {}}}))).is_err());
        let asked = wanted(refusal(), &errand(true, &json!({"elicitation": {"url": {}}}))).unwrap();
        let wanted = json!({"resultType": "input_required", "inputRequests": {"toolgate-visit-1": {
            "method": "elicitation/create",
            "params": {"mode": "url", "url": "https://a.example/", "message": "Sign in"}}}});
        assert_eq!(asked.value, wanted);
    }

    #[test]
    fn what_comes_back_is_not_for_the_server() {
        let check = |responses: Value, wanted: Option<Value>| {
            let params = json!({"name": "t", "inputResponses": responses});
            let mut asking = Asking::own("tools/call", params.as_object().cloned().unwrap());
            let left =
                returned(&mut asking).ok().map(|()| Value::Object(asking.params.into_owned()));
            assert_eq!(left, wanted);
        };
        let accepted = json!({"action": "accept"});
        check(json!({"toolgate-visit-1": accepted}), Some(json!({"name": "t"})));
        check(
            json!({"toolgate-visit-1": accepted, "own": 1}),
            Some(json!({"name": "t", "inputResponses": {"own": 1}})),
        );
        check(json!({"toolgate-visit-1": {"action": "decline"}}), None);
        check(json!({}), Some(json!({"name": "t", "inputResponses": {}})));
    }
}
