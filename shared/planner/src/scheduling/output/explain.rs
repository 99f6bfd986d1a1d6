//! Why a class of pods finds no place, in words that a user understands.
//!
//! Only what a NodePool would launch is explained: that the nodes that are there are full is why
//! the pods were looked at in the first place.

mod devices;
mod topology;
mod volumes;

use model::{
    PodKey, PodSpec, Requirements, ResourceName, ledger::RejectionReason, plan::Reason,
    policies::MinValuesPolicy, requirements::Undefined, resources::format_amount, taint,
};

use crate::{
    index::id::{PodId, TemplateId, TypeId},
    scheduling::{
        demand::{Wanted, class::Class, profile::Preferences},
        dollars::Cap,
        facts::volume,
        launchable::{
            cause::{cause, conflict, elsewhere},
            offer::{Offer, Types},
            template::{self, Template},
        },
        problem::Problem,
        solver::Failure,
        state::State,
    },
};

/// Why nothing takes the pod called `pod_id`, or those that are alike, and no pool launches anything for them, in the order in which
/// the pools are tried; `state` is what is left of everything.
pub(crate) fn reasons(
    problem: &Problem<'_>,
    state: &State,
    pod_id: PodId,
    failure: Failure,
) -> Vec<Reason> {
    let Wanted { key, class, .. } = &problem.demand.pods[pod_id];
    let (pod, class) = (key.as_ref(), *class);
    let preference = problem.profile(class).preferences.iter().last();
    let class = &problem.classes[class];
    let about_pod = |reason: RejectionReason, text: &str| {
        vec![Reason { node_pool: None, reason, text: text.to_owned() }]
    };
    if let Some(text) = &class.refused {
        return about_pod(RejectionReason::PodRefused, text);
    }
    match failure {
        Failure::LeftOut => {
            let text = "left for the next plan: this one was long enough";
            return about_pod(RejectionReason::LeftForNextPlan, text);
        }
        Failure::PutOff => {
            return about_pod(
                RejectionReason::LeftForNextPlan,
                "waits for the next plan: reserved capacity would take it, which other pods of \
                 this plan may need",
            );
        }
        Failure::InUse(user) => {
            let (wanted, used) = (&problem.demand.pods[pod_id], &problem.demand.pods[user]);
            let claim = wanted.exclusive.iter().find(|claim| used.exclusive.contains(claim));
            let by = format!("pod {}, which this plan schedules first, needs it", used.key);
            let text = claim.map(|claim| volume::in_use(&claim.name, &by)).unwrap_or_default();
            return about_pod(RejectionReason::PodRefused, &text);
        }
        Failure::NoPlace => {}
    }
    let view = View { problem, state, pod, class, preference };
    let mut reasons: Vec<Reason> = problem
        .templates
        .ids()
        .map(|number| {
            let (reason, text) = view.reason(number);
            Reason { node_pool: Some(problem.templates[number].name().clone()), reason, text }
        })
        .collect();
    reasons.extend(problem.closed.iter().map(|(pool, text)| {
        let reason = if problem.has_unresolved_class(pool) {
            RejectionReason::ClassUnresolved
        } else {
            RejectionReason::NodePoolClosed
        };
        Reason { node_pool: Some((*pool).clone()), reason, text: text.clone() }
    }));
    if reasons.is_empty() {
        let text = "there is no NodePool".to_owned();
        reasons.push(Reason { node_pool: None, reason: RejectionReason::NoNodePool, text });
    }
    reasons
}

/// A class that finds no place.
struct View<'p, 'a> {
    problem: &'p Problem<'a>,
    state: &'p State,
    pod: &'p PodKey,
    class: &'p Class,
    /// The last that it asked for.
    preference: Option<&'p Preferences>,
}

impl View<'_, '_> {
    fn reason(&self, number: TemplateId) -> (RejectionReason, String) {
        let template = &self.problem.templates[number];
        let tolerations = match self.preference {
            Some(preference) => &self.problem.constraints.all[preference.constraints].tolerations,
            None => &self.class.spec.tolerations,
        };
        let untolerated = taint::untolerated(&template.pool.template.taints, tolerations);
        if !untolerated.is_empty() {
            let taints: Vec<String> = untolerated.iter().map(ToString::to_string).collect();
            let text = format!("does not tolerate the taint {}", taints.join(", "));
            return (RejectionReason::TaintNotTolerated, text);
        }
        let terms = 0..self.class.spec.required_terms.len().max(1);
        let spec = &self.class.spec;
        let of_term = |term| match contradiction(spec, term) {
            Some(text) => (RejectionReason::IncompatibleRequirements, text),
            None => self.of_term(number, &spec.requirements(term)),
        };
        let mut reasons: Vec<(RejectionReason, String)> = terms.map(of_term).collect();
        reasons.dedup();
        let reason = reasons.first().map(|(reason, _)| *reason).unwrap_or_default();
        let texts: Vec<String> = reasons.into_iter().map(|(_, text)| text).collect();
        (reason, texts.join("; or: "))
    }

    /// Why one alternative of the required affinity fails.
    fn of_term(&self, number: TemplateId, wanted: &Requirements) -> (RejectionReason, String) {
        use RejectionReason as Why;
        let (problem, template) = (self.problem, &self.problem.templates[number]);
        let requirements = problem.sets.get(template.set);
        if let Err(problems) = requirements.compatible(wanted, Undefined::WellKnown) {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return (Why::IncompatibleRequirements, texts.join(", "));
        }
        let mut both = requirements.clone();
        both.add_all(wanted);
        let volumes = self.class.alternatives.iter();
        let fitting: Vec<&Requirements> = volumes
            .filter(|requirements| both.compatible(requirements, Undefined::WellKnown).is_ok())
            .collect();
        // Volumes in several zones ask for no zone at all, which a NodePool without zones does not exclude.
        let is_apart = |needs: &Requirements| {
            needs.iter().any(|needs| !needs.is_complement() && needs.values().is_empty())
        };
        let Some(volumes) = fitting.first().filter(|needs| !is_apart(needs)) else {
            return (Why::VolumesElsewhere, self.of_volumes(template, wanted));
        };
        if fitting.len() == 1 {
            both.add_all(volumes);
        }
        let offer = &problem.offers[template.offer];
        let matching = offer.matching(&both);
        let mut asked = wanted.clone();
        asked.add_all(volumes);
        if matching.is_empty() {
            let cause = cause(&offer.index, &asked, &template.pool.template.node_class);
            let cause = cause.or_else(|| conflict(&offer.index, &both));
            let text = cause.unwrap_or_else(|| format!("no instance type has {asked}"));
            return (Why::NoInstanceType, text);
        }
        let mut allowed = matching;
        allowed.keep(&offer.sold(&both));
        if allowed.is_empty() {
            let class = &template.pool.template.node_class;
            let text = elsewhere(&offer.index, &both, class)
                .unwrap_or_else(|| format!("no instance type with {asked} can be bought now"));
            return (Why::NotSold, text);
        }
        if !offer.is_launchable(&both, &allowed) {
            let text = "every capacity reservation that it could use is full";
            return (Why::ReservationsFull, text.to_owned());
        }
        let is_strict = problem.facts.policies.min_values == MinValuesPolicy::Strict;
        let of_types =
            of_types(problem, (number, self.state), self.class, (offer, &both, allowed), is_strict);
        let of_devices =
            || devices::reason(problem, (number, self.state), (self.pod, self.class), &both);
        let of_devices = || of_devices().map(|text| (Why::NoDevices, text));
        let reason = of_types.or_else(of_devices);
        reason.unwrap_or_else(|| self.of_rules(template, (&both, wanted, volumes)))
    }

    fn of_volumes(&self, template: &Template<'_>, wanted: &Requirements) -> String {
        let facts = self.problem.facts;
        let required = self.problem.sets.get(template.set);
        let Some(pod) = facts.pods.iter().find(|pod| pod.key == *self.pod) else {
            return "its volumes are elsewhere".to_owned();
        };
        let storage = &facts.surroundings.storage;
        volumes::reason((pod, storage), (template.name(), &required), wanted)
    }
}

/// That the node selector of a pod excludes what its required affinity asks for in its alternative `term`.
fn contradiction(spec: &PodSpec, term: usize) -> Option<String> {
    let affinity = spec.required_terms.get(term)?;
    let mut pairs = spec.node_selector.iter().filter_map(|selected| {
        Some((selected, affinity.iter().find(|required| required.key() == selected.key())?))
    });
    let (selected, required) =
        pairs.find(|(selected, required)| !selected.has_intersection(required))?;
    Some(format!(
        "its node selector {selected} and its node affinity {required} exclude each other"
    ))
}

/// Why none of the types that the requirements allow will do, if so.
fn of_types(
    problem: &Problem<'_>,
    (number, state): (TemplateId, &State),
    class: &Class,
    (offer, set, allowed): (&Offer, &Requirements, Types),
    is_strict: bool,
) -> Option<(RejectionReason, String)> {
    use RejectionReason as Why;
    let (template, limits) = (&problem.templates[number], state.limits[number].as_slice());
    let dollars = &state.dollars;
    let need = problem.resources.amounts(&class.spec.requests);
    if let Some(text) = too_large(problem, template, (offer, &need, &allowed)) {
        return Some((Why::TooLarge, text));
    }
    let mut fitting = allowed;
    template.keep_roomy(&mut fitting, &need);
    if fitting.is_empty() {
        let requests = &class.spec.requests;
        let text = format!("needs {requests}, and no instance type has all of it together");
        return Some((Why::TooLarge, text));
    }
    template.keep_ports(&mut fitting, &class.spec.host_ports);
    if fitting.is_empty() {
        let text = "a DaemonSet takes a host port that it needs, wherever it fits";
        return Some((Why::HostPortTaken, text.to_owned()));
    }
    template.keep_within_limits(&mut fitting, limits);
    if fitting.is_empty() {
        return Some((Why::LimitsExceeded, over_limits(template, limits)));
    }
    problem.keep_affordable(dollars, number, &mut fitting);
    if fitting.is_empty() {
        return Some((Why::DollarCapReached, over_caps(&problem.caps(dollars, number))));
    }
    let unmet = template.unmet_in(&fitting, set);
    (is_strict && !unmet.is_empty()).then(|| (Why::MinValues, template::too_few(&unmet)))
}

/// The first resource of which no type has enough: `needs 10Ti memory, largest instance type
/// x2iedn.32xlarge has 3.8Ti`.
fn too_large(
    problem: &Problem<'_>,
    template: &Template<'_>,
    (offer, need, allowed): (&Offer, &[i64], &Types),
) -> Option<String> {
    for (place, (name, need)) in problem.resources.names().iter().zip(need).enumerate() {
        let room = |id: TypeId| template.rooms.left(id, place);
        // Of equals the first name.
        let rooms = allowed.iter().filter_map(|id| Some((room(id)?, std::cmp::Reverse(id))));
        let (largest, std::cmp::Reverse(id)) = rooms.max()?;
        if *need <= largest {
            continue;
        }
        if largest <= 0 {
            return Some(nothing_left(template, (place, name, *need), (offer, allowed)));
        }
        let overhead = template.rooms.overhead(id, place);
        let of_daemons = overhead.filter(|overhead| *overhead > 0).map(|overhead| {
            format!(" when {} for DaemonSets is taken off", show(name.as_str(), overhead))
        });
        let kind = &offer.index.types[id].name;
        let (need, has) = (show(name.as_str(), *need), show(name.as_str(), largest));
        // Types have as much as the volumes that their nodes get.
        let class = &template.pool.template.node_class;
        let volumes = (name.as_str() == "ephemeral-storage").then(|| {
            format!(
                ": that is the size of the volume in spec.blockDeviceMappings of EC2NodeClass {class} with \
                 `rootVolume: true`, else of /dev/xvda (Bottlerocket: /dev/xvdb, Windows: /dev/sda1)"
            )
        });
        return Some(format!(
            "needs {need} {name}, largest instance type {kind} has {has}{}{}",
            of_daemons.unwrap_or_default(),
            volumes.unwrap_or_default()
        ));
    }
    None
}

/// That no type has anything of the resource called `name`, or that DaemonSets take all of it: `needs 1 pod, and
/// DaemonSets leave none: they need 8 pods, and the largest instance type m5.large has 8`.
fn nothing_left(
    template: &Template<'_>,
    (place, name, need): (usize, &ResourceName, i64),
    (offer, allowed): (&Offer, &Types),
) -> String {
    let name = name.as_str();
    let counted = |amount: i64| match (name, amount) {
        ("pods", 1) => "1 pod".to_owned(),
        _ => format!("{} {name}", show(name, amount)),
    };
    let taken = allowed.iter().filter_map(|id| {
        let taken = template.rooms.overhead(id, place)?;
        let whole = template.rooms.left(id, place)?.saturating_add(taken);
        (taken > 0 && whole > 0).then_some((whole, std::cmp::Reverse(id), taken))
    });
    let need = counted(need);
    match taken.max() {
        Some((whole, std::cmp::Reverse(id), taken)) => {
            let (kind, taken) = (&offer.index.types[id].name, counted(taken));
            let whole = show(name, whole);
            format!(
                "needs {need}, and DaemonSets leave none: they need {taken}, and the largest instance type {kind} has \
                 {whole}"
            )
        }
        None => format!("needs {need}, and no instance type has any"),
    }
}

/// That caps leave too little.
pub(crate) fn over_caps(caps: &[Cap]) -> String {
    let caps: Vec<String> =
        caps.iter().map(|cap| format!("{}: {} are left", cap.name(), cap.in_words())).collect();
    format!("every instance type that fits costs more than may be spent ({})", caps.join(", "))
}

fn over_limits(template: &Template<'_>, left: &[i64]) -> String {
    let limits: Vec<String> = template
        .limits
        .iter()
        .zip(left)
        .map(|(limit, left)| {
            let (name, left) = (limit.name.as_str(), (*left).max(0));
            let limit = i64::try_from(limit.most).unwrap_or(i64::MAX);
            let left = show(name, left);
            let are = if left == "1" { "is" } else { "are" };
            format!("{name}: {left} of {} {are} left", show(name, limit))
        })
        .collect();
    format!("every instance type that fits exceeds the NodePool's limits ({})", limits.join(", "))
}

/// An amount as people say it: memory and disk with at most one digit after the point, rounded
/// down, CPUs with all that there are, everything else as Kubernetes shows it.
pub fn show(name: &str, amount: i64) -> String {
    let amount = u64::try_from(amount).unwrap_or_default();
    if name == "cpu" {
        let text = format!("{}.{:03}", amount / 1_000, amount % 1_000);
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let is_bytes = matches!(name, "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !is_bytes {
        return format_amount(name, amount);
    }
    let units = [("Ti", 1_u64 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];
    let Some((unit, size)) = units.into_iter().find(|(_, size)| size <= &amount) else {
        return amount.to_string();
    };
    let tenths = u128::from(amount) * 10 / u128::from(size);
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}{unit}"),
        (whole, tenth) => format!("{whole}.{tenth}{unit}"),
    }
}
