//! Tests below `lifecycle`.

mod adopt;
mod drain;
mod drift;
mod ended;
mod forced;
mod guard;
mod interrupt;
mod join;
mod overdue;
mod renewal;
mod reservation;
mod settle;
mod standalone;
mod status;
