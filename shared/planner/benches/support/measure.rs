//! How long a plan takes, and how much memory beside its input.
//!
//! Memory is what the allocator hands out, counted by `peak_alloc`: resident memory would show what
//! earlier runs freed and the allocator kept.

use std::time::{Duration, Instant};

use model::{Plan, facts::Facts};
use peak_alloc::PeakAlloc;
use planner::PreparedFacts;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// What a plan costs.
pub(crate) struct Cost {
    /// How long it takes to get facts ready,
    pub(crate) preparing: Duration,
    /// to find a place for every pod,
    pub(crate) solving: Duration,
    /// and to write the plan.
    pub(crate) writing: Duration,
    /// The most that was allocated at once, beside what was there before. Of the first run.
    pub(crate) memory_bytes: usize,
    /// Of the first run.
    pub(crate) plan: Plan,
}

impl Cost {
    /// How long all of it takes.
    pub(crate) fn whole(&self) -> Duration {
        self.preparing + self.solving + self.writing
    }
}

/// Runs for at least so long altogether, so that one disturbance does not count …
const TIME_MIN: Duration = Duration::from_secs(1);
/// … but no more often than this.
const RUNS_MAX: usize = 2_000;

/// Plans again and again, each time from the facts. Giving back what a run made is not measured.
pub(crate) fn measure(facts: &Facts, runs_min: usize) -> Cost {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let plan = planner::provision(facts);
    let memory_bytes = ALLOCATED.peak_usage().saturating_sub(before);
    let [mut preparing, mut solving, mut writing] = [(); 3].map(|()| Times::default());
    let (mut whole, mut runs) = (Duration::ZERO, 0);
    while runs < runs_min || (whole < TIME_MIN && runs < RUNS_MAX) {
        let mut prepared = preparing.measure(|| PreparedFacts::of(facts));
        let solved = solving.measure(|| prepared.solve());
        let again = writing.measure(|| prepared.plan_of(&solved));
        runs += 1;
        whole += preparing.last() + solving.last() + writing.last();
        assert_eq!(again.new_claims.len(), plan.new_claims.len(), "the same facts, the same plan");
    }
    let [preparing, solving, writing] = [preparing, solving, writing].map(|times| times.usual());
    Cost { preparing, solving, writing, memory_bytes, plan }
}

/// How long the runs took.
#[derive(Default)]
struct Times {
    /// On the clock.
    all: Vec<Duration>,
    on_processor: Duration,
}

/// What is shorter is rarely interrupted.
const SHORT: Duration = Duration::from_millis(2);

impl Times {
    #[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
    fn measure<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let before = on_processor();
        let started = Instant::now();
        let result = run();
        self.all.push(started.elapsed());
        self.on_processor += on_processor().saturating_sub(before);
        result
    }

    fn last(&self) -> Duration {
        self.all.last().copied().unwrap_or_default()
    }

    /// So that what else the machine does is not measured: of short runs the median on the clock,
    /// of long ones the mean on the processor. (The system counts that by the millisecond.)
    fn usual(&self) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        let median = sorted[sorted.len() / 2];
        let mean = self.on_processor / u32::try_from(sorted.len()).unwrap_or(u32::MAX);
        if median < SHORT || mean.is_zero() { median } else { mean }
    }
}

/// How long this thread ran on a processor; zero where the system does not tell.
pub(crate) fn on_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// The price of everything that a plan creates, for one hour.
pub(crate) fn price(plan: &Plan) -> model::HourlyPrice {
    let prices = plan.new_claims.iter().map(|new| new.price);
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
    pub(crate) fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
