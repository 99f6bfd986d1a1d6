//! The life of one claim after it was promised: the next step of each visit, and what ends it.

pub(crate) mod adopt;
pub(crate) mod drain;
pub(crate) mod drift;
pub(crate) mod forced;
pub(crate) mod guard;
pub(crate) mod interrupt;
pub(crate) mod join;
pub(crate) mod launch;
pub(crate) mod overdue;
pub(crate) mod renewal;
pub(crate) mod reservation;
pub(crate) mod settle;
pub(crate) mod standalone;
pub(crate) mod status;
