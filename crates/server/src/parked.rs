//! Calls that wait for what their upstream asked, between two requests of a client that cannot be
//! asked while it waits (2026-07-28).
//!
//! The state the client gets is a random name of the gateway's and nothing more: the call it stands
//! for stays here, bound to who asked and what for, counts once, and is given up after a while.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gateway::queue::Receiver;
use gateway::{CallRequest, Done, News, Question};
use model::{Caller, Code, Fault, Method};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::limits;

/// A call being made.
pub(crate) type Making = Pin<Box<dyn Future<Output = Result<Done, Fault>> + Send>>;

/// A call and how to follow it.
pub(crate) struct UnderWay {
    pub(crate) making: Making,
    pub(crate) heard: Receiver<News>,
    /// How to call it off, where it can outlive the request it came with.
    pub(crate) cancel: Option<CancellationToken>,
    /// Who asked what, in a hash.
    pub(crate) bound_to: String,
    /// How often it was put aside and its client has come back.
    pub(crate) rounds: u32,
}

impl UnderWay {
    /// Whether it goes on by itself when the request it came with is called off.
    pub(crate) fn goes_on(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| !cancel.is_cancelled())
    }
}

#[derive(Debug, Default)]
pub struct Parked {
    calls: Mutex<HashMap<String, Waiting>>,
}

struct Waiting {
    call: UnderWay,
    owner: String,
    questions: Vec<(String, Question)>,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Waiting").field("owner", &self.owner).finish_non_exhaustive()
    }
}

/// What a request says about a round before it.
pub(crate) struct Resumed {
    pub(crate) state: String,
    pub(crate) responses: Option<Value>,
}

impl Resumed {
    /// Takes a state, and what comes with it, out of a request of a client that has `rounds`. One that
    /// cannot be read stands for some call, and must not become another.
    pub(crate) fn take(request: &mut CallRequest, rounds: bool) -> Result<Option<Self>, Fault> {
        let goes_on =
            matches!(request.method, Method::CallTool | Method::ReadResource | Method::GetPrompt);
        if !rounds || !goes_on {
            return Ok(None);
        }
        match request.params.shift_remove("requestState") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(state)) => {
                let responses = request.params.shift_remove("inputResponses");
                Ok(Some(Self { state, responses }))
            }
            Some(_) => Err(Fault::new(Code::ArgsInvalid, "`requestState` must be a string")),
        }
    }
}

impl Parked {
    /// Puts a call aside until its questions are answered; what the client is told of it.
    pub(crate) fn park(
        self: &Arc<Self>,
        call: UnderWay,
        caller: &Caller,
        questions: Vec<Question>,
        state: String,
    ) -> Result<Map<String, Value>, Fault> {
        let mut requests = Map::new();
        let mut kept = Vec::new();
        for (at, question) in questions.into_iter().enumerate() {
            let key = format!("question-{}", at + 1);
            let mut params = question.params.get().clone();
            // 2026-07-28 has no use for it.
            params.shift_remove("elicitationId");
            requests.insert(key.clone(), json!({"method": question.method, "params": params}));
            kept.push((key, question));
        }
        let owner = owner(caller);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = calls.values().filter(|waiting| waiting.owner == owner).count();
        if calls.len() >= limits::PARKED_MAX || mine >= limits::PARKED_PER_PRINCIPAL_MAX {
            let message = "too many calls wait for an answer of their client";
            return Err(Fault::new(Code::RateLimited, message));
        }
        calls.insert(state.clone(), Waiting { call, owner, questions: kept });
        drop(calls);
        tokio::spawn(give_up(Arc::downgrade(self), state.clone()));
        Ok(Map::from_iter([
            ("resultType".to_owned(), "input_required".into()),
            ("inputRequests".to_owned(), requests.into()),
            ("requestState".to_owned(), state.into()),
        ]))
    }

    /// The call that waits here under this state, with its questions answered, and those that were
    /// not. The state counts once.
    pub(crate) fn resume(
        &self,
        resumed: &mut Resumed,
        caller: &Caller,
        bound_to: &str,
    ) -> Option<(UnderWay, Vec<Question>)> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = calls.get(&resumed.state).is_some_and(|waiting| {
            waiting.owner == owner(caller) && waiting.call.bound_to == bound_to
        });
        let waiting = if mine { calls.remove(&resumed.state) } else { None };
        drop(calls);
        let Waiting { mut call, questions, .. } = waiting?;
        let mut responses = match resumed.responses.take() {
            Some(Value::Object(responses)) => responses,
            _ => Map::new(),
        };
        let mut unanswered = Vec::new();
        for (key, question) in questions {
            let Some(response) = responses.shift_remove(&key) else {
                unanswered.push(question);
                continue;
            };
            if question.reply.send(Ok(response)).is_err() {
                tracing::debug!("an upstream no longer waits for its answer");
            }
        }
        call.rounds += 1;
        // What nobody waits for any more is not asked again, nor is anybody asked for ever: the upstream
        // hears then that nobody answers.
        let again = call.rounds <= limits::ROUNDS_MAX;
        unanswered.retain(|question| again && !question.reply.is_closed());
        Some((call, unanswered))
    }
}

/// A client that does not come back: the upstream hears that nobody answers, and the call ends.
async fn give_up(parked: Weak<Parked>, state: String) {
    tokio::time::sleep(limits::ROUND_TIME).await;
    let Some(parked) = parked.upgrade() else { return };
    let waiting = parked.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&state);
    if let Some(Waiting { call, questions, .. }) = waiting {
        drop(questions);
        drop(call.heard);
        if let Err(fault) = call.making.await {
            tracing::debug!(%fault, "a call nobody came back for");
        }
    }
}

fn owner(caller: &Caller) -> String {
    caller.principal.account()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gateway::queue::queue;
    use model::Principal;

    fn caller(name: &str) -> Caller {
        Caller::new(Principal::user(name))
    }

    fn call(bound_to: &str) -> UnderWay {
        let (_news, heard) = queue(1);
        UnderWay {
            making: Box::pin(std::future::pending()),
            heard,
            cancel: Some(CancellationToken::new()),
            bound_to: bound_to.to_owned(),
            rounds: 0,
        }
    }

    fn parked(kept: &Arc<Parked>) -> String {
        let state = model::SessionId::random().to_string();
        let told = kept.park(call("this"), &caller("ann"), Vec::new(), state).unwrap();
        told["requestState"].as_str().unwrap().to_owned()
    }

    fn resumed(kept: &Parked, state: &str, who: &str, what: &str) -> bool {
        let mut request = CallRequest::new(caller(who), "t", Value::Null);
        request.params.insert("requestState".to_owned(), state.into());
        let taken = Resumed::take(&mut request, true).unwrap();
        taken.is_some_and(|mut taken| kept.resume(&mut taken, &caller(who), what).is_some())
    }

    /// CO-208 (stale state): it is of one caller and one request, and counts once.
    #[tokio::test]
    async fn a_state_is_its_callers_and_its_requests_and_counts_once() {
        let kept = Arc::new(Parked::default());
        let state = parked(&kept);
        assert!(!resumed(&kept, &state, "bob", "this"), "another caller");
        assert!(!resumed(&kept, &state, "ann", "that"), "another request");
        assert!(!resumed(&kept, "toolgate-1.guess", "ann", "this"), "a guess");
        assert!(resumed(&kept, &state, "ann", "this"), "the one it is for");
        assert!(!resumed(&kept, &state, "ann", "this"), "used");
    }

    #[test]
    fn a_state_is_text_where_there_are_rounds() {
        let check = |method: Method, rounds: bool, state: Value, wanted: Result<bool, Code>| {
            let mut request = CallRequest::new(caller("ann"), "t", Value::Null);
            request.method = method;
            request.params.insert("requestState".to_owned(), state);
            let taken = Resumed::take(&mut request, rounds);
            assert_eq!(taken.map(|taken| taken.is_some()).map_err(|fault| fault.code), wanted);
        };
        let wrong = Err(Code::ArgsInvalid);
        for method in [Method::CallTool, Method::ReadResource, Method::GetPrompt] {
            check(method.clone(), true, json!("s"), Ok(true));
            check(method.clone(), true, json!({"s": 1}), wrong);
            check(method.clone(), true, Value::Null, Ok(false));
            check(method, false, json!({"s": 1}), Ok(false));
        }
        check(Method::Other("vendor/magic".to_owned()), true, json!({"s": 1}), Ok(false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_state_that_nobody_comes_back_for_expires() {
        let kept = Arc::new(Parked::default());
        let (old, young) = (parked(&kept), parked(&kept));
        tokio::task::yield_now().await;
        tokio::time::advance(limits::ROUND_TIME / 2).await;
        assert!(resumed(&kept, &young, "ann", "this"), "in time");
        tokio::time::advance(limits::ROUND_TIME).await;
        tokio::task::yield_now().await;
        assert!(!resumed(&kept, &old, "ann", "this"), "expired");
    }

    #[tokio::test]
    async fn one_caller_cannot_fill_the_place() {
        let kept = Arc::new(Parked::default());
        for _ in 0..limits::PARKED_PER_PRINCIPAL_MAX {
            parked(&kept);
        }
        let mine = kept.park(call("this"), &caller("ann"), Vec::new(), "a".to_owned());
        assert_eq!(mine.unwrap_err().code, Code::RateLimited);
        assert!(kept.park(call("this"), &caller("bob"), Vec::new(), "b".to_owned()).is_ok());
    }
}
