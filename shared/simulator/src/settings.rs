//! What can be set about a simulated world, with defaults that look like a day in an account.

use devices::DeviceDrivers;
use jiff::{SignedDuration, Timestamp};
use model::{ClusterName, default_spread::DefaultSpread};

use crate::{account::JoinFailure, chance::Span, limits::AccountLimits, made_up};

/// What becomes of the lines about calls and happenings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// They are kept.
    #[default]
    Kept,
    /// They are not even written: long runs of large clusters stay small.
    Dropped,
}

/// Which of the nodes that a pod fits onto the kube-scheduler stand-in takes. Ties are seeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoringStrategy {
    /// The least used one: kube-scheduler's default.
    #[default]
    LeastAllocated,
    /// The most used one: `MostAllocated` of `NodeResourcesFit`.
    MostAllocated,
}

/// How unruly queues are, in parts per thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disorder {
    /// Of the messages, how many are delivered twice.
    pub duplicated_per_mille: u32,
    /// Of the messages, how many are held back by up to `held_back_max`, so that they overtake
    /// each other.
    pub held_back_per_mille: u32,
    /// The longest that a message is held back.
    pub held_back_max: SignedDuration,
}

/// How wrong the calls of the function `wake` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeFaults {
    /// Of the calls, how many do not arrive, in parts per thousand.
    pub lost_per_mille: u32,
    /// Of the calls, how many arrive twice, in parts per thousand.
    pub doubled_per_mille: u32,
    /// Of the calls, how many arrive late, in parts per thousand.
    pub late_per_mille: u32,
    /// The longest that a call is late.
    pub late_max: SignedDuration,
    /// The mean time between two calls of a stranger who knows the secret path: under any rule.
    pub forged_each: Option<SignedDuration>,
    /// From then on no call arrives, and no probe.
    pub dead_from: Option<Timestamp>,
    /// From then on the API server calls a path that is not the secret one.
    pub wrong_secret_from: Option<Timestamp>,
    /// From then on the API server calls for no pod.
    pub no_pods_from: Option<Timestamp>,
}

impl WakeFaults {
    /// Every call arrives once, in time, and nothing else does.
    pub const NONE: Self = Self {
        lost_per_mille: 0,
        doubled_per_mille: 0,
        late_per_mille: 0,
        late_max: SignedDuration::ZERO,
        forged_each: None,
        dead_from: None,
        wrong_secret_from: None,
        no_pods_from: None,
    };
}

/// Guarantees of the outside and mechanisms of the functions that are broken on purpose, to show that tests
/// notice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is broken by itself")]
pub struct Sabotage {
    /// Commits succeed on any parent.
    pub ignore_compare_and_set: bool,
    /// A repeated fleet request launches once more.
    pub ignore_client_token: bool,
    /// `provision` is not told of claims whose node did not join yet, and plans for their pods
    /// again.
    pub forget_unlaunched_claims: bool,
    /// Every beat counts as the newest one, and every write of a pulse is allowed.
    pub ignore_pulse_sequence: bool,
    /// A message is deleted when it is taken, before the pulse is armed.
    pub delete_before_arming: bool,
    /// Every commit depends on both counters of the ledger, as if there were one.
    pub one_counter: bool,
    /// EC2 is asked under tokens that do not say of which ledger they are.
    pub forget_ledger_in_token: bool,
    /// Functions are not told that their visits of a claim failed.
    pub forget_retries: bool,
    /// What cannot be read is left out of every list, as if it were not there.
    pub hide_unreadable: bool,
    /// Where one NodeClaim refuses to be adopted, `sweep` neither adopts others nor opens the guard.
    pub adopt_all_or_none: bool,
    /// Karpenter's lease counts in every namespace, however long it says that it lasts.
    pub count_every_lease: bool,
    /// A call of `sweep` ends with the first request that is refused for good.
    pub end_sweep_at_refusal: bool,
    /// A budget that cannot be read makes its NodePool unusable.
    pub close_pool_for_budget: bool,
    /// Functions read the claims of every cluster in the table as those of their own.
    pub mix_clusters: bool,
    /// What launches from one class or into one group are short of is short for all launches.
    pub share_shortages: bool,
    /// The ledger hides from functions that launches for a NodePool were refused, or that its instances ended early.
    pub forget_refusals: bool,
}

/// A simulated world before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is set by itself")]
pub struct WorldSettings {
    /// What chance draws from. The same seed and the same calls give the same trace.
    pub seed: u64,
    /// The name of the cluster. Default: `simulated`.
    pub cluster: ClusterName,
    /// When virtual time starts. Default: 2026-01-05T08:00:00Z, a Monday.
    pub start: Timestamp,
    /// What the cluster runs. Default: 1.34.
    pub kubernetes_version: String,
    /// The certificate authority by which nodes trust its API server, in base64. Default: one that is made up.
    pub ca_bundle: String,
    /// From a launch to its node joining. Default: 30 to 60 s.
    pub node_joins_after: Span,
    /// Of the memory that the catalog says, how much nodes report. Default: all of it.
    pub node_memory_per_mille: u64,
    /// From joining to ready. Default: 5 to 15 s.
    pub node_ready_after: Span,
    /// Of the instances, how many never join. Default: 0.
    pub never_joins_per_mille: u32,
    /// What keeps these from joining. Default: unknown.
    pub join_failure: JoinFailure,
    /// Which drivers publish the devices of nodes. Default: none.
    pub device_drivers: DeviceDrivers,
    /// From joining to devices being published. Default: 20 to 40 s.
    pub devices_published_after: Span,
    /// From ready to startup taints being taken away by their owner. Default: 2 to 5 s.
    pub startup_taints_gone_after: Span,
    /// From binding to running. Default: 1 to 5 s.
    pub pod_starts_after: Span,
    /// From being deleted to gone, at most the pod's grace period. Default: 1 to 3 s.
    pub pod_ends_after: Span,
    /// From the end of a pod to its volumes being detached. Default: 3 to 10 s.
    pub volume_detaches_after: Span,
    /// From launch to the state `running`. Default: 5 to 15 s.
    pub instance_runs_after: Span,
    /// From `shutting-down` to `terminated`. Default: 10 to 40 s.
    pub instance_ends_after: Span,
    /// How far EC2's listings and the ledger's index lag behind writes. Default: 1 s.
    pub listing_lag: SignedDuration,
    /// From making an instance profile to EC2 taking it. Default: at once.
    pub profile_visible_after: SignedDuration,
    /// How long EC2 still describes a terminated instance. Default: 1 hour.
    pub terminated_listed_for: SignedDuration,
    /// Virtual time between two steps of one delivery, beside what `limits` say of its requests.
    /// Default: 0 to 6 ms.
    pub call_latency: Span,
    /// What the account and the API server allow. Default: what AWS publishes.
    pub limits: AccountLimits,
    /// Polls within a day of virtual time, after which a run counts as caught in a loop. Default: 5,000,000.
    pub polls_max: u64,
    /// Deliveries of one message before it goes to the dead letters. Default: 5.
    pub receives_max: u32,
    /// Whether EC2NodeClasses that are there from the start were checked by a dry run before, so that
    /// they can be launched from as soon as their status says what they select. Default: yes.
    pub classes_are_known: bool,
    /// Whether the ledger was opened before the start, and nothing else provisions the cluster. Default:
    /// yes.
    pub ledger_is_open: bool,
    /// Whether the cluster knows Karpenter's kinds: their CustomResourceDefinitions are installed.
    /// Default: yes.
    pub has_definitions: bool,
    /// Whether the one-minute schedules run. Default: yes.
    pub has_schedules: bool,
    /// How unruly queues are. Default: not at all.
    pub disorder: Disorder,
    /// Whether a line is kept for each call and each happening.
    pub trace: Trace,
    /// What kube-scheduler prefers.
    pub scoring: ScoringStrategy,
    /// What kube-scheduler gives pods without spread constraints. Default: nothing.
    pub default_spread: DefaultSpread,
    /// Whether the API server calls `wake` for a probe, and gets an answer. Default: no.
    pub wake_answers: bool,
    /// Whether the API server calls the function `wake`, and how wrong that is. Default: it does not.
    pub wake: Option<WakeFaults>,
    /// Whether times in conditions are whole seconds, as Kubernetes writes them. Default: no.
    pub has_whole_seconds: bool,
    /// What is broken on purpose. Default: nothing.
    pub sabotage: Sabotage,
}

impl Default for WorldSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            cluster: made_up(ClusterName::new("simulated")),
            start: Timestamp::constant(1_767_600_000, 0),
            kubernetes_version: "1.34".to_owned(),
            ca_bundle: "c2ltdWxhdGVk".to_owned(),
            node_joins_after: Span::from_secs(30, 60),
            node_memory_per_mille: 1_000,
            node_ready_after: Span::from_secs(5, 15),
            never_joins_per_mille: 0,
            join_failure: JoinFailure::default(),
            device_drivers: DeviceDrivers::default(),
            devices_published_after: Span::from_secs(20, 40),
            startup_taints_gone_after: Span::from_secs(2, 5),
            pod_starts_after: Span::from_secs(1, 5),
            pod_ends_after: Span::from_secs(1, 3),
            volume_detaches_after: Span::from_secs(3, 10),
            instance_runs_after: Span::from_secs(5, 15),
            instance_ends_after: Span::from_secs(10, 40),
            listing_lag: SignedDuration::from_secs(1),
            profile_visible_after: SignedDuration::ZERO,
            terminated_listed_for: SignedDuration::from_hours(1),
            call_latency: Span::from_millis(0, 6),
            limits: AccountLimits::default(),
            polls_max: 5_000_000,
            receives_max: 5,
            classes_are_known: true,
            ledger_is_open: true,
            has_definitions: true,
            has_schedules: true,
            disorder: Disorder::default(),
            trace: Trace::default(),
            scoring: ScoringStrategy::default(),
            default_spread: DefaultSpread::default(),
            wake_answers: false,
            wake: None,
            has_whole_seconds: false,
            sabotage: Sabotage::default(),
        }
    }
}

impl WorldSettings {
    /// The same in an account without limits: see [`AccountLimits::unlimited`].
    #[must_use]
    pub fn without_limits(self) -> Self {
        Self { limits: AccountLimits::unlimited(), ..self }
    }

    /// The defaults with another seed.
    #[must_use]
    pub fn with_seed(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }
}
