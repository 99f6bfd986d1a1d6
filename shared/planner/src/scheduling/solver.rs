//! First fit, decreasing: each pod goes onto what is there, onto a claim of this plan, or opens one.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `Solve` and `add`. See the
//! crate's documentation for what makes it fast and why that changes no answer.

mod devices;
mod existing;
mod fresh;
pub(crate) mod guided;
mod in_flight;
mod narrow;
pub mod order;
mod record;
mod ties;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
};

use ::devices::Allocation;
use guided::Guide;
use jiff::Timestamp;
use model::{Requirements, storage::VolumeClaimKey};
use order::Order;
pub(crate) use ties::Ties;

use crate::{
    index::{
        bits::BitSet,
        id::{
            ClassId, ConstraintsId, PlaceId, PodId, PreferencesId, ProfileId, RequestsId, SetId,
            TemplateId, kind,
        },
        table::Table,
    },
    scheduling::{
        demand::constraints::{self, NewNodeConstraints},
        launchable::offer::Types,
        numbers::amounts::Amounts,
        problem::Problem,
        state::State,
        topology::rules::{self, Allowed, Choice},
    },
};

/// Some of the claims of this plan.
type Claims = BitSet<kind::Claim>;

/// How to solve.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether a pod waits for reserved capacity that others hold for now.
    pub(crate) waits_for_reserved: bool,
    /// Pods that run are not moved onto nodes that settle until after this.
    pub(crate) settles_at: Option<Timestamp>,
    /// How often a pod may be tried.
    pub(crate) tries_max: usize,
    /// Which of equally good domains is taken.
    pub(crate) ties: Ties,
    /// Whether a pod goes onto the existing capacity that has most room for it, as kube-scheduler prefers, and not
    /// onto the first.
    pub(crate) is_scattered: bool,
}

/// A claim of this plan.
#[derive(Clone, Debug)]
pub struct InFlightClaim {
    /// What it is made from.
    pub(crate) template: TemplateId,
    /// Its requirements, those of its pods among them.
    pub(crate) set: SetId,
    /// The types that it may become.
    pub(crate) types: Types,
    /// What its pods request, without daemons.
    pub(crate) requests: Amounts,
    /// Its pods, in the order in which they were placed.
    pub(crate) pods: Vec<PodId>,
    /// Whether a `minValues` of it wants less than the pool says.
    pub(crate) is_relaxed: bool,
    /// Reservations that it holds.
    pub(crate) held: BitSet<kind::Reservation>,
    /// Drivers whose devices its pods claim.
    pub(crate) device_drivers: BTreeSet<String>,
}

/// Why a pod finds no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// Nothing takes it.
    NoPlace,
    /// Reserved capacity would take it, and others hold that for now.
    PutOff,
    /// This pod of the plan uses a claim that it needs, and that is for one pod.
    InUse(PodId),
    /// It was not tried.
    LeftOut,
}

/// Where everything goes.
#[derive(Debug, Default)]
pub struct Solution {
    /// Claims to create.
    pub(crate) in_flight: Table<kind::Claim, InFlightClaim>,
    /// Pods that go onto existing capacity.
    pub(crate) placed: BTreeMap<PlaceId, Vec<PodId>>,
    /// Pods without a place.
    pub(crate) failed: Vec<(PodId, Failure)>,
    /// What is left of everything.
    pub(crate) state: State,
    /// How often a pod was tried.
    pub(crate) tries: usize,
    /// How often there were equally good domains.
    pub(crate) ties: u64,
}

/// What became of a try.
enum Try {
    Placed,
    Failed,
    PutOff,
}

/// What is known about a class so far.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// The first preferences that may still come true.
    from: PreferencesId,
    /// The number of placed pods at which no pod of it found a place.
    failed_at: Option<usize>,
}

/// What is remembered about one pod while it is tried.
struct Pod {
    number: PodId,
    class: ClassId,
    profile: ProfileId,
    requests_id: RequestsId,
    /// The preferences that are tried.
    preference: PreferencesId,
    /// What that asks of a node alone.
    constraints: ConstraintsId,
    /// What its rules allow of the domains of other labels than the hostname.
    allowed: Vec<Allowed>,
}

struct Run<'p, 'a> {
    problem: &'p mut Problem<'a>,
    state: State,
    options: Options,
    /// The nodes that are advised.
    guide: Option<Guide>,
    progress: Table<kind::Class, Progress>,
    placed: BTreeMap<PlaceId, Vec<PodId>>,
    /// How many pods have a place.
    placed_count: usize,
    /// The claims for one pod that pods of the plan use.
    in_use: BTreeMap<VolumeClaimKey, PodId>,
    in_flight: Table<kind::Claim, InFlightClaim>,
    order: Order,
    /// What was left of reservations before anything was placed.
    unreserved: Table<kind::Reservation, u32>,
    /// How often there were equally good domains so far.
    ties: u64,
    by_template: Table<kind::Template, Claims>,
    by_set: BTreeMap<SetId, Claims>,
    /// Claims that can only be in a domain.
    by_domain: Table<kind::Key, Table<kind::Domain, Claims>>,
    /// Claims that have no room for such requests.
    full: Table<kind::Requests, Claims>,
    /// Claims that do not take pods of these constraints and requests, wherever they are.
    refused: BTreeMap<(ConstraintsId, RequestsId), Claims>,
    /// Claims where something is in the way of a port.
    ports: Table<kind::Port, Claims>,
    /// What the volumes of a class ask of new nodes.
    alternatives: BTreeMap<ClassId, Rc<[NewNodeConstraints]>>,
    /// The same for classes without volumes.
    no_volumes: Rc<[NewNodeConstraints]>,
    /// For the pod that is placed.
    found: Table<kind::Devices, Rc<Allocation>>,
    // Kept, so that nothing is allocated for each pod.
    places: BitSet<kind::Place>,
    allowed_places: BitSet<kind::Place>,
    claims: Claims,
    roomy: Types,
    narrowed: Types,
    need: Vec<i64>,
}

/// Places `pods` of the problem, which are in their order, starting from `state`.
pub(crate) fn solve(
    problem: &mut Problem<'_>,
    state: State,
    pods: &[PodId],
    options: Options,
) -> Solution {
    guided(problem, state, pods, options, None)
}

/// The same, where nodes are advised.
pub(crate) fn guided(
    problem: &mut Problem<'_>,
    state: State,
    pods: &[PodId],
    options: Options,
    guide: Option<Guide>,
) -> Solution {
    let mut run = Run::new(problem, state, options);
    run.guide = guide;
    let (failed, tries) = run.solve(pods);
    run.name_drivers();
    let Run { in_flight, placed, state, ties, .. } = run;
    Solution { in_flight, placed, failed, state, tries, ties }
}

impl<'p, 'a> Run<'p, 'a> {
    fn new(problem: &'p mut Problem<'a>, state: State, options: Options) -> Self {
        let no_volumes =
            Rc::new([constraints::of_new(&Requirements::default(), &mut problem.sets)]);
        Self {
            progress: problem.classes.map(|_| Progress::default()),
            by_template: problem.templates.map(|_| Claims::default()),
            by_domain: problem.keys.all.map(|_| Table::default()),
            full: problem.requests.map(|_| Claims::default()),
            ports: problem.ports.map(|_| Claims::default()),
            problem,
            unreserved: state.reserved.clone(),
            state,
            options,
            guide: None,
            ties: 0,
            placed: BTreeMap::new(),
            placed_count: 0,
            in_use: BTreeMap::new(),
            in_flight: Table::default(),
            order: Order::default(),
            by_set: BTreeMap::new(),
            refused: BTreeMap::new(),
            alternatives: BTreeMap::new(),
            no_volumes,
            found: Table::default(),
            places: BitSet::default(),
            allowed_places: BitSet::default(),
            claims: Claims::default(),
            roomy: Types::default(),
            narrowed: Types::default(),
            need: Vec::new(),
        }
    }

    /// Tries every pod until a whole round brings nothing: the pods that are left, and how often one was
    /// tried.
    ///
    /// Karpenter: `scheduling/queue.go`.
    fn solve(&mut self, pods: &[PodId]) -> (Vec<(PodId, Failure)>, usize) {
        let mut queue: VecDeque<PodId> = pods.iter().copied().collect();
        let mut failed: BTreeMap<PodId, (usize, Failure)> = BTreeMap::new();
        let mut tries = 0;
        while let Some(pod) = queue.front().copied() {
            if failed.get(&pod).is_some_and(|(len, _)| *len == queue.len()) {
                break;
            }
            if tries == self.options.tries_max {
                break;
            }
            tries += 1;
            queue.pop_front();
            match self.place(pod) {
                Ok(()) => {
                    self.placed_count += 1;
                    let exclusive = self.problem.demand.pods[pod].exclusive.iter();
                    self.in_use.extend(exclusive.map(|claim| (claim.clone(), pod)));
                    failed.remove(&pod);
                }
                Err(failure) => {
                    queue.push_back(pod);
                    failed.insert(pod, (queue.len(), failure));
                }
            }
        }
        let failure = |pod: PodId| failed.get(&pod).map_or(Failure::LeftOut, |(_, why)| *why);
        let mut left: Vec<PodId> = queue.into();
        left.sort_unstable();
        (left.into_iter().map(|pod| (pod, failure(pod))).collect(), tries)
    }

    /// Finds a place for one pod, relaxing its preferences until there is one.
    fn place(&mut self, number: PodId) -> Result<(), Failure> {
        let wanted = &self.problem.demand.pods[number];
        let class = wanted.class;
        let has_own = wanted
            .attachments
            .as_ref()
            .is_none_or(|volume_claim_keys| !volume_claim_keys.is_empty());
        if self.problem.classes[class].refused.is_some() {
            return Err(Failure::NoPlace);
        }
        if let Some(user) = wanted.exclusive.iter().find_map(|claim| self.in_use.get(claim)) {
            return Err(Failure::InUse(*user));
        }
        if let Some(place) = self.problem.demand.pods[number].own_claim
            && self.onto_own_claim(number, place)
        {
            return Ok(());
        }
        // Pods of a class that attach volumes of their own, or of which only some may be moved onto
        // nodes that settle, are not alike.
        let is_alike = !has_own && self.options.settles_at.is_none();
        if is_alike && self.progress[class].failed_at == Some(self.placed_count) {
            return Err(Failure::NoPlace);
        }
        let mut pod = self.pod(number);
        if !self.found.is_empty() {
            self.found = Table::default();
        }
        loop {
            if self.problem.profiles[pod.profile].preferences.next_id() == pod.preference
                && !self.relax(pod.profile)
            {
                if is_alike {
                    self.progress[class].failed_at = Some(self.placed_count);
                }
                return Err(Failure::NoPlace);
            }
            match self.attempt(&mut pod) {
                Try::Placed => return Ok(()),
                Try::PutOff => return Err(Failure::PutOff),
                Try::Failed => {
                    if is_alike && self.is_final(&pod) {
                        self.progress[class].from = pod.preference.next();
                    }
                    pod.preference = pod.preference.next();
                }
            }
        }
    }

    /// The pod with this number, before anything is tried for it.
    fn pod(&self, number: PodId) -> Pod {
        let class = self.problem.demand.pods[number].class;
        Pod {
            number,
            class,
            profile: self.problem.classes[class].profile,
            requests_id: self.problem.classes[class].requests,
            preference: self.progress[class].from,
            constraints: ConstraintsId::default(),
            allowed: Vec::new(),
        }
    }

    fn relax(&mut self, profile: ProfileId) -> bool {
        let (profiles, mut around, constraints) = self.problem.split();
        profiles[profile].relax(&mut around, constraints)
    }

    /// Whether a preference that failed fails for good: capacity only fills up, claims only narrow, limits
    /// only shrink. Only where other pods are may get better, who holds reserved capacity, and who has devices.
    fn is_final(&self, pod: &Pod) -> bool {
        let profile = &self.problem.profiles[pod.profile];
        let preference = profile.preferences.known(pod.preference);
        let is_social =
            preference.is_none_or(|w| !w.on_hosts.is_empty() || !w.on_domains.is_empty());
        self.progress[pod.class].from == pod.preference
            && !is_social
            && !self.has_claims(pod)
            && self.problem.reservations.left.is_empty()
    }

    /// Puts the pod onto the claim that was created for it, with whichever preference that goes.
    ///
    /// Karpenter plans anew where pods go for which it launched something, and may launch more.
    fn onto_own_claim(&mut self, number: PodId, place: PlaceId) -> bool {
        let mut pod = self.pod(number);
        while pod.preference < self.problem.profiles[pod.profile].preferences.next_id()
            || self.relax(pod.profile)
        {
            if self.know_preferences(&mut pod, false) && self.onto(&pod, place) {
                return true;
            }
            pod.preference = pod.preference.next();
        }
        false
    }

    /// Tries one preference everywhere: where others can follow, and if that fails, wherever it can be.
    fn attempt(&mut self, pod: &mut Pod) -> Try {
        if !self.know_preferences(pod, true) {
            return Try::Failed;
        }
        let groups = &self.problem.groups.all;
        let is_led = pod
            .allowed
            .iter()
            .any(|allowed| allowed.choice == Choice::Any && groups[allowed.group].first.is_some());
        match self.attempt_allowed(pod) {
            Try::Failed if is_led && self.know_preferences(pod, false) => self.attempt_allowed(pod),
            answer => answer,
        }
    }

    fn attempt_allowed(&mut self, pod: &Pod) -> Try {
        if self.onto_existing(pod) {
            return Try::Placed;
        }
        if let Some(answer) = self.guided(pod) {
            return answer;
        }
        if self.onto_in_flight(pod) {
            return Try::Placed;
        }
        self.onto_new(pod)
    }

    /// Finds out what the rules of the pod's preference allow now.
    fn know_preferences(&mut self, pod: &mut Pod, heeds_others: bool) -> bool {
        pod.allowed.clear();
        let problem = &mut *self.problem;
        let profile = &problem.profiles[pod.profile];
        let Some(preference) = profile.preferences.known(pod.preference) else { return false };
        pod.constraints = preference.constraints;
        pod.allowed.reserve(preference.on_domains.len());
        for (key, rule) in &preference.on_domains {
            let asked =
                rule.asked.map(|id| problem.keys.all[*key].mask(id, problem.sets.requirement(id)));
            let tally = &self.state.tallies[rule.group];
            let asked = asked.as_deref();
            let allowed = rules::allowed(rule, *key, &problem.groups, tally, asked, heeds_others);
            pod.allowed.push(allowed);
        }
        true
    }

    /// What the volumes of the pod's class ask of a new node.
    fn alternatives(&mut self, class: ClassId) -> Rc<[NewNodeConstraints]> {
        let problem = &mut *self.problem;
        let requirements = &problem.classes[class].alternatives;
        if matches!(&**requirements, [asked] if asked.is_empty()) {
            return Rc::clone(&self.no_volumes);
        }
        if let Some(known) = self.alternatives.get(&class) {
            return Rc::clone(known);
        }
        let requirements = requirements.iter();
        let new_node_constraints: Rc<[NewNodeConstraints]> =
            requirements.map(|asked| constraints::of_new(asked, &mut problem.sets)).collect();
        self.alternatives.insert(class, Rc::clone(&new_node_constraints));
        new_node_constraints
    }
}
