//! Asking the client in the middle of a request, in either way the protocol has had: a session is
//! asked and waited for, a request since 2026-07-28 is answered with the question and sent again.

#![expect(deprecated, reason = "older clients still sample and have roots")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;
use uuid::Uuid;

use super::{Everything, is_modern};

/// Questions, round after round, and what is said once all are answered.
pub(super) struct Script {
    pub(super) rounds: Vec<InputRequests>,
    /// Whether the client carries a state from round to round.
    pub(super) keeps_state: bool,
    pub(super) conclude: fn(&InputResponses) -> String,
}

/// What the client sent along.
pub(super) struct Given {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

pub(super) enum Played {
    Answered(InputResponses),
    Asking(InputRequiredResult),
}

/// How far a script has come. The client holds only a key, so it can alter nothing.
#[derive(Clone, Default)]
struct Progress {
    round: usize,
    answers: InputResponses,
}

#[derive(Default)]
pub(super) struct Kept(Mutex<BTreeMap<String, Progress>>);

impl Kept {
    fn keep(&self, progress: Progress) -> String {
        let key = Uuid::new_v4().to_string();
        self.0.lock().expect("no panic while keeping").insert(key.clone(), progress);
        key
    }

    fn find(&self, key: &str) -> Result<Progress, ErrorData> {
        let kept = self.0.lock().expect("no panic while keeping");
        kept.get(key).cloned().ok_or_else(|| {
            ErrorData::invalid_params("the `requestState` is not one that was given out", None)
        })
    }
}

impl Everything {
    pub(super) async fn play(
        &self,
        script: &Script,
        given: Given,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Played, ErrorData> {
        if is_modern(cx) {
            self.next_round(script, given, cx)
        } else {
            ask_now(script, cx).await.map(Played::Answered)
        }
    }

    fn next_round(
        &self,
        script: &Script,
        given: Given,
        cx: &RequestContext<RoleServer>,
    ) -> Result<Played, ErrorData> {
        let mut progress = match given.state {
            Some(key) => self.shared.kept.find(&key)?,
            None => Progress::default(),
        };
        let Some(questions) = script.rounds.get(progress.round) else {
            return Ok(Played::Answered(progress.answers));
        };
        let responses = given.responses.unwrap_or_default();
        let good = |key: &String| responses.get(key).filter(|response| response.is_object());
        if questions.keys().all(|key| good(key).is_some()) {
            let answered = responses.into_iter().filter(|(key, _)| questions.contains_key(key));
            progress.answers.extend(answered);
            progress.round += 1;
        }
        let Some(questions) = script.rounds.get(progress.round) else {
            return Ok(Played::Answered(progress.answers));
        };
        can_answer(questions, cx)?;
        let state = script.keeps_state.then(|| self.shared.kept.keep(progress));
        Ok(Played::Asking(InputRequiredResult::new(Some(questions.clone()), state)))
    }
}

/// Asks all of it at once, as a session allows.
async fn ask_now(
    script: &Script,
    cx: &RequestContext<RoleServer>,
) -> Result<InputResponses, ErrorData> {
    let mut answers = InputResponses::new();
    for (key, question) in script.rounds.iter().flatten() {
        let answer = cx.peer.send_request(as_request(question)?).await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let answer = serde_json::to_value(answer).unwrap_or(Value::Null);
        answers.insert(key.clone(), answer);
    }
    Ok(answers)
}

fn as_request(question: &InputRequest) -> Result<ServerRequest, ErrorData> {
    match question.clone() {
        InputRequest::CreateMessage(request) => Ok(ServerRequest::CreateMessageRequest(request)),
        InputRequest::Elicitation(request) => Ok(ServerRequest::ElicitRequest(request)),
        InputRequest::ListRoots(request) => Ok(ServerRequest::ListRootsRequest(request)),
        _ => Err(ErrorData::internal_error("a question of a new kind", None)),
    }
}

/// Refuses to ask a client what it did not say it can answer.
fn can_answer(questions: &InputRequests, cx: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    let able = cx.client_capabilities().unwrap_or_default();
    for question in questions.values() {
        let needed = needs(question);
        if !covers(&able, &needed) {
            return Err(ErrorData::missing_required_client_capability(needed));
        }
    }
    Ok(())
}

/// The capability that a client must declare to be asked this.
pub(super) fn needs(question: &InputRequest) -> ClientCapabilities {
    let able = ClientCapabilities::builder();
    match question {
        InputRequest::CreateMessage(_) => able.enable_sampling().build(),
        InputRequest::ListRoots(_) => able.enable_roots().build(),
        _ => able.enable_elicitation().build(),
    }
}

pub(super) fn covers(able: &ClientCapabilities, needed: &ClientCapabilities) -> bool {
    (able.sampling.is_some() || needed.sampling.is_none())
        && (able.roots.is_some() || needed.roots.is_none())
        && (able.elicitation.is_some() || needed.elicitation.is_none())
}
