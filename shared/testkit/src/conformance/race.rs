//! Futures that run at the same time on one thread.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Runs all of `futures` interleaved; their answers in the order in which they were given.
pub(super) async fn race<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + '_>>>) -> Vec<T> {
    let mut waiting: Vec<_> = futures.into_iter().map(|future| (future, None)).collect();
    poll_fn(move |context| {
        for (future, answer) in &mut waiting {
            if answer.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *answer = Some(ready);
            }
        }
        if waiting.iter().any(|(_, answer)| answer.is_none()) {
            return Poll::Pending;
        }
        Poll::Ready(waiting.iter_mut().filter_map(|(_, answer)| answer.take()).collect())
    })
    .await
}
