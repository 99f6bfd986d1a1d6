//! Every function as a type.

use model::Function;
use ports::Caller;

use crate::{calls, receivers};

macro_rules! callers {
    ($($name:ident)*) => { $(
        #[doc = concat!("The function `", stringify!($name), "`.")]
        #[derive(Debug)]
        pub enum $name {}

        impl Caller for $name {
            const FUNCTION: Function = Function::$name;
            const CALLS: &'static [&'static str] = calls(Function::$name);
            const RECEIVERS: &'static [Function] = receivers(Function::$name);
        }
    )* };
}

callers!(Provision Interrupt Disrupt Launch Settle Drain Resolve Sweep Catalog Wake);
