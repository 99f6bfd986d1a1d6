//! The facts, made ready for solving: every name that matters has a number.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClaimPhase, NodeClaim, NodePoolName, Resources, TaintEffect,
    facts::{ClassOffer, Facts},
};

use crate::{
    amounts::{Amounts, ResourceIndex},
    demand::{Demand, demand},
    offer::Offer,
    sets::Sets,
    supply::{Supply, Surroundings, supply},
    template::{Template, in_order},
    world::World,
};

/// What has to be solved.
#[derive(Debug)]
pub(crate) struct Problem<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) resources: ResourceIndex,
    pub(crate) sets: Sets,
    pub(crate) demand: Demand<'a>,
    /// By class: place of its requests in `shapes`.
    pub(crate) shape_of: Vec<usize>,
    /// Distinct requests.
    pub(crate) shapes: Vec<Amounts>,
    pub(crate) supply: Supply,
    pub(crate) offers: Vec<Offer>,
    /// In the order in which they are tried.
    pub(crate) templates: Vec<Template<'a>>,
    /// Pools that launch nothing now, and why.
    pub(crate) closed: Vec<(&'a NodePoolName, String)>,
    /// Whether a usable pool has a soft taint.
    pub(crate) has_soft_taints: bool,
}

impl<'a> Problem<'a> {
    /// The problem that `facts` pose.
    pub(crate) fn of(facts: &'a Facts) -> Self {
        let world = World::of(facts);
        let demand = demand(facts, &world.leaving());
        let daemons = facts.daemon_sets.iter().map(|daemon| &daemon.spec.requests);
        let requests = demand.classes.iter().map(|class| &class.spec.requests).chain(daemons);
        let resources = ResourceIndex::of(requests);
        let mut problem = Self {
            facts,
            sets: Sets::default(),
            shape_of: Vec::new(),
            shapes: Vec::new(),
            supply: Supply::default(),
            offers: Vec::new(),
            templates: Vec::new(),
            closed: Vec::new(),
            has_soft_taints: false,
            resources,
            demand,
        };
        problem.know_shapes();
        let offer_of = problem.open_pools();
        problem.know_supply(&world, &offer_of);
        problem.count_used(&world);
        problem
    }

    fn know_shapes(&mut self) {
        let mut numbers: BTreeMap<Amounts, usize> = BTreeMap::new();
        for class in &self.demand.classes {
            let shape = self.resources.amounts(&class.spec.requests);
            let number = *numbers.entry(shape).or_insert_with_key(|shape| {
                self.shapes.push(shape.clone());
                self.shapes.len() - 1
            });
            self.shape_of.push(number);
        }
    }

    /// Makes a template of every pool that can launch, and says of the others why they cannot.
    /// Returns the offer of each pool whose class is ready.
    fn open_pools(&mut self) -> BTreeMap<&'a str, usize> {
        let mut by_class: BTreeMap<&str, usize> = BTreeMap::new();
        let mut by_pool = BTreeMap::new();
        for pool in in_order(&self.facts.node_pools) {
            let class = &pool.template.node_class;
            let types = match self.facts.classes.get(class) {
                Some(ClassOffer::Ready(types)) => types,
                Some(ClassOffer::NotReady(reasons)) => {
                    let text = format!("EC2NodeClass {class} is not ready: {}", reasons.join("; "));
                    self.closed.push((&pool.name, text));
                    continue;
                }
                None => {
                    let text = format!("EC2NodeClass {class} does not exist");
                    self.closed.push((&pool.name, text));
                    continue;
                }
            };
            let place = *by_class.entry(class.as_str()).or_insert_with(|| {
                self.offers.push(Offer::new(types, &self.resources));
                self.offers.len() - 1
            });
            by_pool.insert(pool.name.as_str(), place);
            if let Some(reason) = unusable(pool) {
                self.closed.push((&pool.name, reason));
                continue;
            }
            let Some(offer) = self.offers.get_mut(place) else { continue };
            let daemons = &self.facts.daemon_sets;
            let template =
                Template::new(pool, (place, offer), daemons, &self.resources, &mut self.sets);
            self.has_soft_taints |=
                pool.template.taints.iter().any(|t| t.effect == TaintEffect::PreferNoSchedule);
            if template.types.is_empty() {
                let text = "its requirements leave no instance type that can be bought now";
                self.closed.push((&pool.name, text.to_owned()));
            } else {
                self.templates.push(template);
            }
        }
        by_pool
    }

    fn know_supply(&mut self, world: &World<'a>, offer_of: &BTreeMap<&'a str, usize>) {
        let specs = self.demand.classes.iter().map(|class| class.spec);
        let daemons = self.facts.daemon_sets.iter().map(|daemon| &*daemon.spec);
        let requirements = specs
            .chain(daemons)
            .flat_map(|spec| spec.node_selector.iter().chain(spec.required_terms.iter().flatten()));
        let keys: BTreeSet<&str> = requirements.map(|r| r.key().as_str()).collect();
        let offers =
            offer_of.iter().filter_map(|(pool, place)| Some((*pool, self.offers.get(*place)?)));
        self.supply = supply(&Surroundings {
            facts: self.facts,
            world,
            resources: &self.resources,
            offers: offers.collect(),
            keys: &keys,
        });
    }

    /// Counts what each pool has, and was promised, against its limits. A promise counts as the
    /// largest instance that it may become, so that a limit is never overrun.
    fn count_used(&mut self, world: &World<'a>) {
        for template in &mut self.templates {
            if template.limits.is_empty() {
                continue;
            }
            let claims = self.facts.ledger.claims.values();
            let pool = template.pool;
            let own = claims.filter(|c| c.node_pool == pool.name && !c.is_deleting());
            for claim in own {
                let used = match world.node(claim) {
                    Some(node) if node.is_registered() => claim.capacity.larger(&node.capacity),
                    _ => largest(claim, self.offers.get(template.offer)),
                };
                template.count_used(&used);
            }
        }
    }
}

fn largest(claim: &NodeClaim, offer: Option<&Offer>) -> Resources {
    if claim.phase != ClaimPhase::Promised {
        return claim.capacity.clone();
    }
    let types = offer.map(|offer| (offer, offer.named(&claim.instance_types)));
    let types = types.iter().flat_map(|(offer, all)| all.iter().map(|i| offer.types.get(*i)));
    types.flatten().fold(claim.capacity.clone(), |largest, one| largest.larger(&one.capacity))
}

fn unusable(pool: &model::node_pool::NodePool) -> Option<String> {
    if pool.is_usable() {
        None
    } else if pool.is_deleting {
        Some("the NodePool is being deleted".to_owned())
    } else if pool.replicas.is_some() {
        Some("the NodePool is static: it has replicas and takes no pending pods".to_owned())
    } else {
        Some(format!("the NodePool is not valid: {}", pool.problems.join("; ")))
    }
}
