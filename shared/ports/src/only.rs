//! The outside as one function may touch it.

use std::marker::PhantomData;

use jiff::Timestamp;
use model::{ClusterName, Function, message::Delivery};

use crate::{Clock, Fault, Mailbox, PortError};

/// A function as a type.
pub trait Caller {
    /// The function.
    const FUNCTION: Function;
    /// The calls that it makes, as port and method, such as `Ledger.commit`.
    const CALLS: &'static [&'static str];
    /// The functions that it sends messages to, or calls.
    const RECEIVERS: &'static [Function];
}

/// The ports of the account `A` and of the API server `K`, for the function `F`. A call that is not among
/// [`Caller::CALLS`] does not compile, wherever in a handler it is made: the compiler makes code for
/// whatever the handler may reach, and only for that.
#[derive(Debug)]
pub struct Only<'a, F, A, K> {
    pub(crate) account: &'a A,
    pub(crate) cluster: &'a K,
    function: PhantomData<F>,
}

impl<'a, F: Caller, A, K> Only<'a, F, A, K> {
    /// The ports of `account` and `cluster` for the function `F`.
    pub fn new(account: &'a A, cluster: &'a K) -> Self {
        Self { account, cluster, function: PhantomData }
    }
}

/// Ends the build where a function makes a call that is not among its calls.
macro_rules! check {
    ($function:ident $port:ident $call:ident) => {
        const {
            assert!(
                $crate::only::contains(
                    $function::CALLS,
                    concat!(stringify!($port), ".", stringify!($call))
                ),
                concat!(
                    "a call that is not among the calls of its function: ",
                    stringify!($port),
                    ".",
                    stringify!($call)
                )
            );
        }
    };
}

macro_rules! restrict {
    (mailbox $($port:tt)*) => {};
    (account $port:ident $($calls:tt)*) => {
        $crate::only::restrict! { [A: $port, K] account $port $($calls)* }
    };
    (cluster $port:ident $($calls:tt)*) => {
        $crate::only::restrict! { [A, K: $port] cluster $port $($calls)* }
    };
    ([$($sides:tt)*] $side:ident $port:ident $(
        async fn $call:ident(&self $(, $argument:ident: $kind:ty)*) -> $answer:ty;
    )*) => {
        impl<F: $crate::Caller, $($sides)*> $port for $crate::Only<'_, F, A, K> {
            $(async fn $call(&self $(, $argument: $kind)*) -> $answer {
                $crate::only::check!(F $port $call);
                self.$side.$call($($argument),*).await
            })*
        }
    };
}

pub(crate) use {check, restrict};

impl<F: Caller, A: Clock, K> Clock for Only<'_, F, A, K> {
    fn now(&self) -> Timestamp {
        self.account.now()
    }

    async fn wait_until(&self, time: Timestamp) {
        self.account.wait_until(time).await;
    }
}

impl<F: Caller, A: Mailbox, K> Mailbox for Only<'_, F, A, K> {
    async fn send(&self, deliveries: &[Delivery]) -> Result<(), PortError> {
        check!(F Mailbox send);
        let mut receivers = deliveries.iter().map(|delivery| delivery.message.function());
        match receivers.find(|receiver| !F::RECEIVERS.contains(receiver)) {
            None => self.account.send(deliveries).await,
            Some(receiver) => {
                let why = format!("`{}` sends no messages to `{receiver}`", F::FUNCTION);
                Err(PortError::because("send messages", Fault::Permanent, why))
            }
        }
    }

    async fn call(&self, cluster: &ClusterName, function: Function) -> Result<(), PortError> {
        check!(F Mailbox call);
        if F::RECEIVERS.contains(&function) {
            return self.account.call(cluster, function).await;
        }
        let why = format!("`{}` does not call `{function}`", F::FUNCTION);
        Err(PortError::because("call a function", Fault::Permanent, why))
    }
}

/// Whether `call` is among `calls`. For constants.
pub(crate) const fn contains(mut calls: &[&str], call: &str) -> bool {
    while let [first, rest @ ..] = calls {
        if is_same(first.as_bytes(), call.as_bytes()) {
            return true;
        }
        calls = rest;
    }
    false
}

const fn is_same(mut bytes: &[u8], mut other: &[u8]) -> bool {
    while let ([first, rest @ ..], [same, others @ ..]) = (bytes, other) {
        if *first != *same {
            return false;
        }
        (bytes, other) = (rest, others);
    }
    bytes.is_empty() && other.is_empty()
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn only_whole_names_are_contained() {
        let calls = ["Fleet.launch", "Ledger.claims_of_instances"];
        for call in calls {
            assert!(contains(&calls, call), "{call}");
        }
        for other in ["", "Fleet.", "Fleet.launches", "Ledger.clai"] {
            assert!(!contains(&calls, other), "{other}");
        }
    }
}
