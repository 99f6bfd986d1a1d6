//! How long a decision takes, and how much memory beside its input.
//!
//! Memory is what the allocator hands out, counted by `peak_alloc`: resident memory would show what
//! earlier runs freed and the allocator kept.

use std::time::{Duration, Instant};

use model::{Plan, facts::Facts};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What a decision costs.
pub(crate) struct Cost {
    /// The mean of all runs.
    pub(crate) time: Duration,
    /// The most that was allocated at once, beside what was there before. Of the first run.
    pub(crate) memory_bytes: usize,
    /// Of the first run.
    pub(crate) plan: Plan,
}

/// Runs for at least so long, and at least three times, so that one disturbance does not count.
const TIME_MIN: Duration = Duration::from_secs(1);

/// Decides again and again. `prepare` is not measured, nor is giving back what it
/// made; `decide` is.
pub(crate) fn measure<'a, P>(
    facts: &'a Facts,
    prepare: impl Fn(&'a Facts) -> P,
    decide: impl Fn(&mut P) -> Plan,
    runs_min: u32,
) -> Cost {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let plan = decide(&mut prepare(facts));
    let memory_bytes = ALLOCATED.peak_usage().saturating_sub(before);
    let mut all = Duration::ZERO;
    let mut runs = 0;
    while runs < runs_min || all < TIME_MIN {
        let mut prepared = prepare(facts);
        let started = now();
        let again = decide(&mut prepared);
        all += now().saturating_sub(started);
        runs += 1;
        assert_eq!(again.promises.len(), plan.promises.len(), "the same facts, the same plan");
    }
    Cost { time: all / runs, memory_bytes, plan }
}

/// Time on the processor, so that what else the machine does is not measured; where the system does
/// not tell, time on the clock.
#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
fn now() -> Duration {
    static STARTED: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_processor = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    on_processor.map_or_else(|| STARTED.elapsed(), Duration::from_nanos)
}

/// The price of everything that a plan promises, for one hour.
pub(crate) fn price(plan: &Plan) -> model::HourlyPrice {
    let prices = plan.promises.iter().map(|promise| promise.price);
    prices.fold(model::HourlyPrice::default(), model::HourlyPrice::saturating_add)
}

/// Numbers that look random and are the same every time (`splitmix64`).
///
/// <https://prng.di.unimi.it/splitmix64.c>
pub(crate) struct Dice(u64);

impl Dice {
    /// Starts at `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `sides`.
    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let number = usize::try_from((z ^ (z >> 31)) >> 33).unwrap_or_default();
        number % sides
    }

    /// One of `all`.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
