//! The declaration of ports: what all of them have in common is made of it.

/// A port as data.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// The name of its trait.
    pub name: &'static str,
    /// What answers its calls.
    pub side: Side,
    /// Its calls as port and method, such as `Ledger.commit`, in the order of the trait.
    pub calls: &'static [&'static str],
}

/// What answers the calls of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// AWS.
    Account,
    /// The API server of the Kubernetes cluster.
    Cluster,
}

/// Declares ports, each `in` the `account` or the `cluster`. Of each are made
///
/// * its trait,
/// * its implementation for [`Only`](crate::Only), which makes the calls of one function only; in the `mailbox` this
///   is written by hand, since it depends on the message,
/// * with `layered by`, a trait for what stands in front of another implementation of the port,
/// * its entry in the constant `PORTS` of the module.
macro_rules! ports {
    ($(
        $(#[$about:meta])*
        pub trait $port:ident in $side:ident $(layered by $layer:ident)? { $(
            $(#[$sense:meta])*
            async fn $call:ident(&self $(, $argument:ident: $kind:ty)* $(,)?) -> $answer:ty;
        )* }
    )*) => {
        $(
            $(#[$about])*
            pub trait $port {
                $($(#[$sense])* async fn $call(&self $(, $argument: $kind)*) -> $answer;)*
            }

            $crate::only::restrict! {
                $side $port $(async fn $call(&self $(, $argument: $kind)*) -> $answer;)*
            }
            $crate::port::layer! {
                [$($layer)?] $port $(async fn $call(&self $(, $argument: $kind)*) -> $answer;)*
            }
        )*

        pub(crate) const PORTS: &[crate::Port] = &[$(crate::Port {
            name: stringify!($port),
            side: $crate::port::side!($side),
            calls: &[$(concat!(stringify!($port), ".", stringify!($call))),*],
        }),*];
    };
}

macro_rules! layer {
    ([] $($port:tt)*) => {};
    ([$layer:ident] $port:ident $(
        async fn $call:ident(&self $(, $argument:ident: $kind:ty)*) -> $answer:ty;
    )*) => {
        #[doc = concat!("A [`", stringify!($port), "`] in front of another one, which answers the calls that")]
        #[doc = "are not written out."]
        pub trait $layer {
            /// What is behind it.
            fn inner(&self) -> &impl $port;
            $(
                #[doc = concat!("See [`", stringify!($port), "::", stringify!($call), "`].")]
                async fn $call(&self $(, $argument: $kind)*) -> $answer {
                    self.inner().$call($($argument),*).await
                }
            )*
        }

        impl<L: $layer> $port for L {
            $(async fn $call(&self $(, $argument: $kind)*) -> $answer {
                $layer::$call(self $(, $argument)*).await
            })*
        }
    };
}

macro_rules! side {
    (cluster) => {
        crate::Side::Cluster
    };
    ($account:ident) => {
        crate::Side::Account
    };
}

pub(crate) use {layer, ports, side};
