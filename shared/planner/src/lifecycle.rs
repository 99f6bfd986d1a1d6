//! The life of one claim after it was created: the next step of each visit, and what ends it.

pub mod adopt;
pub mod drain;
pub mod drift;
pub mod ended;
pub mod forced;
pub mod guard;
pub mod interrupt;
pub mod join;
pub mod launch;
pub mod overdue;
pub mod renewal;
pub mod reservation;
pub mod settle;
pub mod standalone;
pub mod status;
