//! The `payments` namespace: settled transactions, what was refunded of them, and the ledger of
//! both. Amounts are kept in paise and told in rupees.

mod contract;
mod refund;

use model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::refusal::{Outcome, Refusal, done};
use super::state::State;

pub(super) use contract::definitions;
pub(super) use refund::{Refund, issue_refund, list_refunds};

const LIST: &str = "payments_list_transactions";

/// Hundredths of a rupee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Paise(pub(super) u32);

impl Paise {
    /// Nothing if the amount is negative, too large, or finer than one paisa.
    pub(super) fn from_inr(amount: f64) -> Option<Self> {
        let text = format!("{amount:.2}");
        let rounded: f64 = text.parse().ok()?;
        let exact = (rounded - amount).abs() < 1e-9;
        exact.then(|| text.replace('.', "").parse().ok().map(Self)).flatten()
    }

    pub(super) fn inr(self) -> f64 {
        f64::from(self.0) / 100.0
    }

    pub(super) const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for Paise {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self(amounts.fold(0, |sum: u32, amount| sum.saturating_add(amount.0)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TransactionStatus {
    Settled,
    Pending,
    Failed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Transaction {
    #[serde(rename = "transaction_id")]
    pub(super) id: String,
    pub(super) status: TransactionStatus,
    pub(super) amount: Paise,
    pub(super) customer: String,
    pub(super) order_id: String,
    /// Only settled money has one.
    pub(super) settlement_ref: Option<String>,
    pub(super) at: Timestamp,
}

/// One line of the books: money in, or money back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Entry {
    #[serde(rename = "entry_id")]
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) kind: &'static str,
    pub(super) transaction_id: String,
    pub(super) customer: String,
    pub(super) amount_inr: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    settled: Paise,
    refunded: Paise,
}

impl Totals {
    pub(super) fn settled_inr(self) -> f64 {
        self.settled.inr()
    }

    pub(super) fn refunded_inr(self) -> f64 {
        self.refunded.inr()
    }

    /// Below zero when more went back than came in at that time.
    pub(super) fn net_inr(self) -> f64 {
        (f64::from(self.settled.0) - f64::from(self.refunded.0)) / 100.0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    transaction_id: String,
}

pub(super) fn lookup(state: &State, args: &Which, _: Timestamp) -> Outcome {
    find(state, &args.transaction_id).and_then(|transaction| done(told(state, transaction)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Select {
    status: Option<TransactionStatus>,
    customer: Option<String>,
    limit: Option<usize>,
}

pub(super) fn list(state: &State, args: &Select, _: Timestamp) -> Outcome {
    let wanted = state.transactions.values().filter(|transaction| {
        args.status.is_none_or(|status| status == transaction.status)
            && args.customer.as_ref().is_none_or(|customer| *customer == transaction.customer)
    });
    let transactions: Vec<Value> = wanted.map(|transaction| told(state, transaction)).collect();
    let total = transactions.len();
    let shown: Vec<Value> = transactions.into_iter().take(args.limit.unwrap_or(20)).collect();
    done(json!({"transactions": shown, "total": total}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LedgerPage {
    limit: Option<usize>,
}

pub(super) fn list_ledger(state: &State, args: &LedgerPage, _: Timestamp) -> Outcome {
    let entries = ledger(state);
    let total = entries.len();
    let shown: Vec<Entry> = entries.into_iter().rev().take(args.limit.unwrap_or(50)).collect();
    done(json!({"entries": shown, "total": total, "net_inr": totals(state, |_| true).net_inr()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) fn check_balance(state: &State, _: &Nothing, now: Timestamp) -> Outcome {
    let totals = totals(state, |_| true);
    done(json!({
        "settled_inr": totals.settled_inr(),
        "refunded_inr": totals.refunded_inr(),
        "net_inr": totals.net_inr(),
        "as_of": now,
    }))
}

/// All entries, oldest first.
pub(super) fn ledger(state: &State) -> Vec<Entry> {
    let settled = state.transactions.values().filter(|transaction| is_settled(transaction));
    let money_in = settled.map(|transaction| Entry {
        id: format!("led_{}", transaction.id.trim_start_matches("txn_")),
        at: transaction.at,
        kind: "settlement",
        transaction_id: transaction.id.clone(),
        customer: transaction.customer.clone(),
        amount_inr: transaction.amount.inr(),
    });
    let money_back = state.refunds.iter().map(|refund| Entry {
        id: format!("led_{}", refund.id),
        at: refund.at,
        kind: "refund",
        transaction_id: refund.transaction_id.clone(),
        customer: refund.customer.clone(),
        amount_inr: -refund.amount.inr(),
    });
    let mut entries: Vec<Entry> = money_in.chain(money_back).collect();
    entries.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    entries
}

/// What came in at a wanted time, and what went back at one.
pub(super) fn totals(state: &State, wanted: impl Fn(Timestamp) -> bool) -> Totals {
    let settled = state.transactions.values().filter(|transaction| is_settled(transaction));
    let settled = settled.filter(|transaction| wanted(transaction.at));
    let refunds = state.refunds.iter().filter(|refund| wanted(refund.at));
    Totals {
        settled: settled.map(|transaction| transaction.amount).sum(),
        refunded: refunds.map(|refund| refund.amount).sum(),
    }
}

fn told(state: &State, transaction: &Transaction) -> Value {
    let mut told = json!({
        "transaction_id": transaction.id,
        "status": transaction.status,
        "amount_inr": transaction.amount.inr(),
        "refunded_inr": refund::refunded(state, transaction).inr(),
        "refundable_inr": refund::refundable(state, transaction).inr(),
        "currency": "INR",
        "customer": transaction.customer,
        "order_id": transaction.order_id,
        "at": transaction.at,
        "evidence_refs": [evidence(&transaction.id)],
    });
    if let (Some(object), Some(settlement)) = (told.as_object_mut(), &transaction.settlement_ref) {
        object.insert("settlement_ref".to_owned(), json!(settlement));
    }
    told
}

fn find<'a>(state: &'a State, id: &str) -> Result<&'a Transaction, Refusal> {
    state.transactions.get(id).ok_or_else(|| Refusal::unknown("transaction", id, LIST))
}

fn is_settled(transaction: &Transaction) -> bool {
    transaction.status == TransactionStatus::Settled
}

fn evidence(transaction_id: &str) -> String {
    format!("evidence://payments/transactions/{transaction_id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_amount_is_whole_paise_or_nothing() {
        let check = |amount: f64, expected: Option<u32>| {
            assert_eq!(Paise::from_inr(amount), expected.map(Paise), "{amount}");
        };
        check(1.0, Some(100));
        check(1499.99, Some(149_999));
        check(0.005, None);
        check(12.345, None);
        check(-1.0, None);
        check(f64::NAN, None);
        check(f64::INFINITY, None);
        check(1e18, None);
    }

    proptest! {
        #[test]
        fn rupees_read_back_as_the_same_paise(paise in any::<u32>()) {
            prop_assert_eq!(Paise::from_inr(Paise(paise).inr()), Some(Paise(paise)));
        }
    }
}
