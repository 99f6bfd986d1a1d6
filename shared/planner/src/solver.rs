//! First fit, decreasing: each pod goes onto what is there, onto a claim of this plan, or opens one.
//!
//! Karpenter: `pkg/controllers/provisioning/scheduling/scheduler.go`, `Solve` and `add`. See the
//! crate's documentation for what makes it fast and why that changes no answer.

use std::rc::Rc;

use model::{Toleration, taint};

use crate::{
    amounts::{self, Amounts},
    bits::BitSet,
    explain,
    order::{Order, Place},
    problem::Problem,
    sets::SetId,
    template,
};

/// A claim of this plan.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Place of its template.
    pub(crate) template: usize,
    /// Its requirements, those of its pods among them.
    pub(crate) set: SetId,
    /// The types that it may become.
    pub(crate) types: BitSet,
    /// What its pods request, without daemons.
    pub(crate) requests: Amounts,
    /// Its pods, by their place in the demand.
    pub(crate) pods: Vec<usize>,
}

/// What a class asks for at one stage of its relaxation.
#[derive(Debug)]
struct Wish {
    set: SetId,
    tolerations: Vec<Toleration>,
    /// By template: whether its taints are tolerated.
    tolerates: Vec<bool>,
    /// By kind of existing capacity: whether it would take the class, once somebody asked.
    kinds: Vec<Option<bool>>,
}

/// What is known about a class so far. All of it holds for the rest of the plan: capacity only
/// fills up, claims only narrow, limits only shrink.
#[derive(Debug, Default)]
struct Progress {
    /// How far its wishes are relaxed.
    stage: usize,
    wish: Option<Wish>,
    /// The first existing capacity that may still take it.
    existing: usize,
    /// Claims that do not take it.
    refused: BitSet,
    /// Why it finds no place.
    reasons: Option<Rc<[model::plan::Reason]>>,
}

/// Where everything goes.
#[derive(Debug, Default)]
pub(crate) struct Solution {
    /// Claims to promise.
    pub(crate) opened: Vec<Opened>,
    /// Pods without a place, by their place in the demand, and why.
    pub(crate) unplaced: Vec<(usize, Rc<[model::plan::Reason]>)>,
}

struct Solver<'p, 'a> {
    problem: &'p mut Problem<'a>,
    classes: Vec<Progress>,
    /// By shape: claims that have no room for it.
    full: Vec<BitSet>,
    opened: Vec<Opened>,
    order: Order,
    scratch: BitSet,
    need: Vec<i64>,
}

/// Places every pod of the problem.
pub(crate) fn solve(problem: &mut Problem<'_>) -> Solution {
    let pods: Vec<usize> = problem.demand.pods.iter().map(|(_, class)| *class).collect();
    let mut classes: Vec<Progress> = Vec::new();
    classes.resize_with(problem.demand.classes.len(), Progress::default);
    let full = vec![BitSet::default(); problem.shapes.len()];
    let mut solver = Solver {
        problem,
        classes,
        full,
        opened: Vec::new(),
        order: Order::default(),
        scratch: BitSet::default(),
        need: Vec::new(),
    };
    let mut unplaced = Vec::new();
    for (pod, class) in pods.into_iter().enumerate() {
        if let Err(reasons) = solver.place(pod, class) {
            unplaced.push((pod, reasons));
        }
    }
    Solution { opened: solver.opened, unplaced }
}

impl Solver<'_, '_> {
    /// Finds a place for one pod, relaxing its class until there is one.
    fn place(&mut self, pod: usize, class: usize) -> Result<(), Rc<[model::plan::Reason]>> {
        let Some(mut progress) = self.classes.get_mut(class).map(std::mem::take) else {
            return Ok(());
        };
        let result = self.place_with(pod, class, &mut progress);
        if let Some(slot) = self.classes.get_mut(class) {
            *slot = progress;
        }
        result
    }

    fn place_with(
        &mut self,
        pod: usize,
        class: usize,
        progress: &mut Progress,
    ) -> Result<(), Rc<[model::plan::Reason]>> {
        loop {
            if let Some(reasons) = &progress.reasons {
                return Err(Rc::clone(reasons));
            }
            if progress.wish.is_none() {
                progress.wish = self.wish(class, progress.stage);
                progress.existing = 0;
                progress.refused.clear();
            }
            let Some(wish) = &mut progress.wish else {
                progress.reasons = Some(self.reasons(class, progress.stage));
                continue;
            };
            let shape = self.problem.shape_of.get(class).copied().unwrap_or_default();
            if self.onto_existing(pod, shape, wish, &mut progress.existing)
                || self.onto_opened(pod, shape, wish, &mut progress.refused)
                || self.onto_new(pod, shape, wish)
            {
                return Ok(());
            }
            progress.stage += 1;
            progress.wish = None;
        }
    }

    /// What `class` asks for after `stage` relaxations: the required terms one after the other,
    /// then, if a pool has soft taints, tolerating those as well.
    ///
    /// Karpenter: `scheduling/preferences.go`, `Relax`.
    fn wish(&mut self, class: usize, stage: usize) -> Option<Wish> {
        let class = self.problem.demand.classes.get(class)?;
        if class.refused.is_some() {
            return None;
        }
        let last_term = class.spec.required_terms.len().max(1) - 1;
        let mut tolerations = class.spec.tolerations.clone();
        if last_term < stage {
            let soft = template::soft_toleration();
            if stage > last_term + 1 || !self.problem.has_soft_taints || tolerations.contains(&soft)
            {
                return None;
            }
            tolerations.push(soft);
        }
        let set = self.problem.sets.id(&class.spec.requirements(stage.min(last_term)));
        let tolerates = |t: &template::Template<'_>| {
            taint::untolerated(&t.pool.template.taints, &tolerations).is_empty()
        };
        Some(Wish {
            set,
            tolerates: self.problem.templates.iter().map(tolerates).collect(),
            kinds: vec![None; self.problem.supply.kinds.len()],
            tolerations,
        })
    }

    fn reasons(&self, class: usize, stage: usize) -> Rc<[model::plan::Reason]> {
        let Some(spec) = self.problem.demand.classes.get(class) else { return Rc::new([]) };
        let is_soft = self.problem.has_soft_taints && stage > 0;
        explain::reasons(self.problem, spec, is_soft).into()
    }

    fn onto_existing(
        &mut self,
        pod: usize,
        shape: usize,
        wish: &mut Wish,
        from: &mut usize,
    ) -> bool {
        let Some(need) = self.problem.shapes.get(shape) else { return false };
        let supply = &mut self.problem.supply;
        while let Some(existing) = supply.existing.get_mut(*from) {
            if amounts::fits(need, &existing.room) {
                let known = wish.kinds.get(existing.kind).copied().flatten();
                let accepts = known.unwrap_or_else(|| {
                    let wanted = self.problem.sets.get(wish.set);
                    supply.kinds.get(existing.kind).is_some_and(|kind| {
                        taint::untolerated(kind.taints(), &wish.tolerations).is_empty()
                            && kind.accepts(&wanted)
                    })
                });
                if let Some(slot) = wish.kinds.get_mut(existing.kind) {
                    *slot = Some(accepts);
                }
                if accepts {
                    amounts::subtract(&mut existing.room, need);
                    existing.pods.push(pod);
                    return true;
                }
            }
            *from += 1;
        }
        false
    }

    fn onto_opened(&mut self, pod: usize, shape: usize, wish: &Wish, refused: &mut BitSet) -> bool {
        let mut place = Order::first();
        while let Some((claim, at, after)) = self.order.next(place) {
            let is_full = self.full.get(shape).is_some_and(|full| full.contains(claim));
            if !is_full && !refused.contains(claim) {
                if self.joins(pod, shape, wish, (claim, at)) {
                    return true;
                }
                refused.insert(claim);
            }
            place = after;
        }
        false
    }

    /// Adds the pod to a claim of this plan if some instance type still takes all of them.
    fn joins(
        &mut self,
        pod: usize,
        shape: usize,
        wish: &Wish,
        (number, place): (usize, Place),
    ) -> bool {
        let problem = &mut *self.problem;
        let (Some(claim), Some(requests)) =
            (self.opened.get_mut(number), problem.shapes.get(shape))
        else {
            return false;
        };
        let Some(template) = problem.templates.get(claim.template) else { return false };
        if !wish.tolerates.get(claim.template).is_some_and(|tolerates| *tolerates) {
            return false;
        }
        self.need.clear();
        self.need.extend_from_slice(&claim.requests);
        amounts::add(&mut self.need, requests);
        self.scratch.copy_from(&claim.types);
        template.keep_roomy(&mut self.scratch, &self.need);
        if self.scratch.is_empty() {
            if let Some(full) = self.full.get_mut(shape) {
                full.insert(number);
            }
            return false;
        }
        let Some(set) = problem.sets.join(claim.set, wish.set) else { return false };
        if set != claim.set {
            let Some(offer) = problem.offers.get_mut(template.offer) else { return false };
            self.scratch.keep(&offer.allowed(&problem.sets, set));
        }
        let enough = !self.scratch.is_empty()
            && (!template.has_minimums()
                || template.reaches_minimums(&problem.sets.get(set), &self.scratch));
        if enough {
            claim.set = set;
            claim.requests.copy_from_slice(&self.need);
            claim.types.copy_from(&self.scratch);
            claim.pods.push(pod);
            self.order.grow(place);
        }
        enough
    }

    /// Opens a claim of the first pool that would launch something for the pod alone.
    fn onto_new(&mut self, pod: usize, shape: usize, wish: &Wish) -> bool {
        (0..self.problem.templates.len()).any(|number| {
            let tolerates = wish.tolerates.get(number).is_some_and(|tolerates| *tolerates);
            tolerates && self.opens(pod, shape, wish, number)
        })
    }

    fn opens(&mut self, pod: usize, shape: usize, wish: &Wish, number: usize) -> bool {
        let problem = &mut *self.problem;
        let (Some(template), Some(requests)) =
            (problem.templates.get_mut(number), problem.shapes.get(shape))
        else {
            return false;
        };
        let Some(set) = problem.sets.join(template.set, wish.set) else { return false };
        let Some(offer) = problem.offers.get_mut(template.offer) else { return false };
        let mut types = template.types.clone();
        types.keep(&offer.allowed(&problem.sets, set));
        template.keep_roomy(&mut types, requests);
        template.keep_within_limits(&mut types);
        let enough = !types.is_empty()
            && (!template.has_minimums()
                || template.reaches_minimums(&problem.sets.get(set), &types));
        if !enough {
            return false;
        }
        template.count(&types);
        self.order.open(self.opened.len());
        let (requests, pods) = (requests.clone(), vec![pod]);
        self.opened.push(Opened { template: number, set, types, requests, pods });
        true
    }
}
