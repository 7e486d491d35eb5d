//! Refunds: only settled money, never more than is left of it, and one refund for one key.

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Paise, Transaction, evidence, find, is_settled};
use crate::demo::dice;
use crate::demo::refusal::{Outcome, Refusal, done};
use crate::demo::state::State;

/// Refunds above this wait for the nightly run of the bank.
const AT_ONCE_MAX: Paise = Paise(10_000 * 100);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::demo) enum Reason {
    Duplicate,
    CustomerRequest,
    ServiceFailure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Currency {
    #[serde(rename = "INR")]
    Inr,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::demo) struct Refund {
    #[serde(rename = "refund_id")]
    pub(in crate::demo) id: String,
    pub(in crate::demo) transaction_id: String,
    pub(in crate::demo) customer: String,
    pub(in crate::demo) amount: Paise,
    pub(in crate::demo) at: Timestamp,
    reason_code: Reason,
    idempotency_key: String,
    reversal_token: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::demo) struct IssueRefund {
    transaction_id: String,
    amount_inr: f64,
    #[expect(dead_code, reason = "there is one currency; reading it refuses any other")]
    currency: Currency,
    reason_code: Reason,
    idempotency_key: String,
}

pub(in crate::demo) fn issue_refund(
    state: &mut State,
    args: &IssueRefund,
    now: Timestamp,
) -> Outcome {
    let amount = amount_of(args)?;
    let former = state.refunds.iter().find(|refund| refund.idempotency_key == args.idempotency_key);
    if let Some(former) = former {
        return repeated(former, args, amount);
    }
    let transaction = find(state, &args.transaction_id)?;
    check_refundable(state, transaction, amount)?;
    let refund = Refund {
        id: format!("rf_{}", 1_001 + state.refunds.len()),
        transaction_id: transaction.id.clone(),
        customer: transaction.customer.clone(),
        amount,
        at: now,
        reason_code: args.reason_code,
        idempotency_key: args.idempotency_key.clone(),
        reversal_token: format!("rev_{}", dice::token(&args.idempotency_key, 12)),
    };
    let receipt = receipt(&refund);
    state.refunds.push(refund);
    done(receipt)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::demo) struct SelectRefunds {
    transaction_id: Option<String>,
    limit: Option<usize>,
}

pub(in crate::demo) fn list_refunds(state: &State, args: &SelectRefunds, _: Timestamp) -> Outcome {
    let wanted = state.refunds.iter().filter(|refund| {
        args.transaction_id.as_ref().is_none_or(|transaction| *transaction == refund.transaction_id)
    });
    let refunds: Vec<Value> = wanted.map(told).collect();
    let total = refunds.len();
    let shown: Vec<Value> = refunds.into_iter().rev().take(args.limit.unwrap_or(20)).collect();
    done(json!({"refunds": shown, "total": total}))
}

pub(super) fn refunded(state: &State, transaction: &Transaction) -> Paise {
    let of_it = state.refunds.iter().filter(|refund| refund.transaction_id == transaction.id);
    of_it.map(|refund| refund.amount).sum()
}

/// What is left of a settled transaction.
pub(super) fn refundable(state: &State, transaction: &Transaction) -> Paise {
    let settled = if is_settled(transaction) { transaction.amount } else { Paise::default() };
    settled.minus(refunded(state, transaction))
}

fn amount_of(args: &IssueRefund) -> Result<Paise, Refusal> {
    Paise::from_inr(args.amount_inr).filter(|amount| *amount > Paise::default()).ok_or_else(|| {
        let text = format!(
            "`{}` is no amount in rupees; give a positive one with at most two decimals",
            args.amount_inr
        );
        Refusal::new("AMOUNT_INVALID", text)
    })
}

fn check_refundable(
    state: &State,
    transaction: &Transaction,
    amount: Paise,
) -> Result<(), Refusal> {
    let id = &transaction.id;
    if !is_settled(transaction) {
        let text = format!(
            "transaction `{id}` is not settled, so there is nothing to refund; \
             see its status with `payments_lookup_transaction`"
        );
        return Err(Refusal::new("NOT_SETTLED", text));
    }
    let left = refundable(state, transaction);
    if left == Paise::default() {
        let text = format!(
            "transaction `{id}` is refunded in full already; \
             `payments_list_refunds` shows the refund, do not issue another"
        );
        return Err(Refusal::new("ALREADY_REFUNDED", text));
    }
    if amount > left {
        let text = format!(
            "`{}` is more than the {} INR left of transaction `{id}`; refund at most that",
            amount.inr(),
            left.inr()
        );
        return Err(Refusal::new("AMOUNT_TOO_HIGH", text));
    }
    Ok(())
}

fn repeated(former: &Refund, args: &IssueRefund, amount: Paise) -> Outcome {
    let same = former.transaction_id == args.transaction_id
        && former.amount == amount
        && former.reason_code == args.reason_code;
    if same {
        return done(receipt(former));
    }
    let text = format!(
        "key `{}` was used for refund `{}` with other arguments; choose a new key for a new refund",
        args.idempotency_key, former.id
    );
    Err(Refusal::new("IDEMPOTENCY_CONFLICT", text))
}

fn receipt(refund: &Refund) -> Value {
    let own = format!("evidence://payments/refunds/{}", refund.id);
    json!({
        "refund_id": refund.id,
        "status": status(refund),
        "transaction_id": refund.transaction_id,
        "reversal_token": refund.reversal_token,
        "evidence_refs": [evidence(&refund.transaction_id), own],
    })
}

fn told(refund: &Refund) -> Value {
    json!({
        "refund_id": refund.id,
        "status": status(refund),
        "transaction_id": refund.transaction_id,
        "amount_inr": refund.amount.inr(),
        "reason_code": refund.reason_code,
        "at": refund.at,
    })
}

fn status(refund: &Refund) -> &'static str {
    if refund.amount > AT_ONCE_MAX { "queued" } else { "accepted" }
}
