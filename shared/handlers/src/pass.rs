//! What a pass does with each of its claims: side by side, each with its own error, until the time is up.

use futures_util::{StreamExt as _, stream};
use jiff::{SignedDuration, Timestamp};
use model::{ClaimPhase, NodeClaim, claim::Retry, ledger::WriteOutcome};
use ports::{Adapters, Clock, Invocation, Ledger as _};

use crate::error::story;

/// What is left of a call's time when nothing more is begun: enough for what is under way, and to arm.
const LEFT_FOR_THE_REST: SignedDuration = SignedDuration::from_secs(8);
/// A pass whose time was up before it began anything is made again after so long: the next one may be as
/// slow, and must not follow at once.
const NOTHING_BEGUN: SignedDuration = SignedDuration::from_secs(5);

/// Whether nothing more is to be begun in this call.
pub(crate) fn is_time_up(clock: &impl Clock, at: &Invocation) -> bool {
    at.deadline.duration_since(clock.now()) < LEFT_FOR_THE_REST
}

/// Does `act` with each of `items`, `at_once` at a time. Brings the answers in the order in which they
/// came, and when those are due that were not begun because the time was up.
pub(crate) async fn each<I, T>(
    items: Vec<I>,
    at_once: usize,
    clock: &impl Clock,
    at: &Invocation,
    act: impl AsyncFn(I) -> T,
) -> (Vec<T>, Option<Timestamp>) {
    let act = &act;
    let mut is_cut = false;
    let begun = stream::iter(items).map(|item| async move {
        if is_time_up(clock, at) { None } else { Some(act(item).await) }
    });
    let mut answers = begun.buffer_unordered(at_once);
    let mut done = Vec::new();
    while let Some(answer) = answers.next().await {
        match answer {
            Some(answer) => done.push(answer),
            None => is_cut = true,
        }
    }
    let rest_at = if done.is_empty() { at.after(NOTHING_BEGUN) } else { at.now };
    (done, is_cut.then_some(rest_at))
}

/// The earlier of two times; `None` is never.
pub(crate) fn sooner(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}

/// A claim in service, of which only its tags are left, is visited again after this at most; others as [`Retry`] says.
const IN_SERVICE_AGAIN: SignedDuration = SignedDuration::from_mins(15);

/// Keeps on `claim` that its visit failed with `error`, and says when the next one is due. Where that
/// cannot be written, the pass comes again all the same. It counts from when the visit failed: a slow pass is not
/// followed by the next at once.
pub(crate) async fn postpone<A: Adapters>(
    ledger: &A::Ledger,
    clock: &A::Clock,
    claim: &NodeClaim,
    error: &(dyn std::error::Error + 'static),
    at: &Invocation,
) -> Timestamp {
    let is_in_service = claim.phase == ClaimPhase::Initialized;
    let most = if is_in_service { IN_SERVICE_AGAIN } else { Retry::AGAIN_MAX };
    let mut retry = Retry::after(claim.retry, clock.now(), most);
    // What ends at a deadline is looked at then.
    let deadline = claim.deletion.as_ref().and_then(|deletion| deletion.deadline);
    if let Some(deadline) = deadline.filter(|deadline| at.now < *deadline) {
        retry.not_before = retry.not_before.min(deadline);
    }
    let text = story(error);
    tracing::warn!(claim = %claim.name, failures = retry.failures, story = text, "visit failed");
    let postponed = NodeClaim {
        retry: Some(retry),
        message: Some(text.as_str().into()),
        version: claim.version + 1,
        ..claim.clone()
    };
    match ledger.write_claim(&at.cluster, &postponed).await {
        Ok(WriteOutcome::Written | WriteOutcome::Conflict) => {}
        Err(error) => {
            tracing::warn!(claim = %claim.name, story = story(&error), "failure not kept");
        }
    }
    retry.not_before
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::testing::Stopped;

    fn begun_until(deadline: &str) -> (Vec<u32>, Option<Timestamp>) {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let at = Invocation {
            id: "call".to_owned(),
            cluster: model::ClusterName::new("demo").unwrap(),
            now,
            deadline: deadline.parse().unwrap(),
        };
        each(vec![1, 2, 3], 2, &Stopped(now), &at, async |item| item).now_or_never().unwrap()
    }

    #[test]
    fn a_pass_that_began_nothing_does_not_follow_at_once() {
        assert_eq!(begun_until("2026-11-21T12:00:30Z"), (vec![1, 2, 3], None));
        let later = "2026-11-21T12:00:05Z".parse().unwrap();
        assert_eq!(begun_until("2026-11-21T12:00:07Z"), (vec![], Some(later)));
    }
}
