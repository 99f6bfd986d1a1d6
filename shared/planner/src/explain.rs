//! Why a class of pods finds no place, in words that a user understands.
//!
//! Only what a NodePool would launch is explained: that the nodes that are there are full is why
//! the pods were looked at in the first place.

use model::{Requirements, plan::Reason, requirements::Undefined, resources::show_amount, taint};

use crate::{
    bits::BitSet,
    demand::Class,
    offer::Offer,
    problem::Problem,
    template::{Template, soft_toleration},
};

/// Why no pool launches anything for `class`, in the order in which the pools are tried.
/// `is_soft` says that soft taints were tolerated in the end.
pub(crate) fn reasons(problem: &Problem<'_>, class: &Class<'_>, is_soft: bool) -> Vec<Reason> {
    if let Some(text) = &class.refused {
        return vec![Reason { node_pool: None, text: text.clone() }];
    }
    let about = |template: &Template<'_>| Reason {
        node_pool: Some(template.name().clone()),
        text: reason(problem, template, class, is_soft),
    };
    let mut all: Vec<Reason> = problem.templates.iter().map(about).collect();
    all.extend(
        problem
            .closed
            .iter()
            .map(|(pool, text)| Reason { node_pool: Some((*pool).clone()), text: text.clone() }),
    );
    if all.is_empty() {
        let text = "there is no NodePool, and no node has room for it".to_owned();
        all.push(Reason { node_pool: None, text });
    }
    all
}

fn reason(
    problem: &Problem<'_>,
    template: &Template<'_>,
    class: &Class<'_>,
    is_soft: bool,
) -> String {
    let mut tolerations = class.spec.tolerations.clone();
    if is_soft {
        tolerations.push(soft_toleration());
    }
    let untolerated = taint::untolerated(&template.pool.template.taints, &tolerations);
    if !untolerated.is_empty() {
        let taints: Vec<String> = untolerated.iter().map(ToString::to_string).collect();
        return format!("does not tolerate the taint {}", taints.join(", "));
    }
    let terms = 0..class.spec.required_terms.len().max(1);
    let mut texts: Vec<String> = terms
        .map(|term| of_term(problem, template, class, &class.spec.requirements(term)))
        .collect();
    texts.dedup();
    texts.join("; or: ")
}

/// Why one alternative of the required affinity fails.
fn of_term(
    problem: &Problem<'_>,
    template: &Template<'_>,
    class: &Class<'_>,
    wanted: &Requirements,
) -> String {
    let own = problem.sets.get(template.set);
    if let Err(problems) = own.compatible(wanted, Undefined::WellKnown) {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        return texts.join(", ");
    }
    let mut both = own.clone();
    both.add_all(wanted);
    let Some(offer) = problem.offers.get(template.offer) else {
        return "its EC2NodeClass offers nothing".to_owned();
    };
    let matching = BitSet::of(offer.types.len(), |index| {
        let one = offer.types.get(index);
        one.is_some_and(|one| one.requirements.intersects(&both).is_ok())
    });
    if matching.is_empty() {
        return format!("no instance type has {wanted}");
    }
    let mut allowed = matching;
    allowed.keep(&offer.sold(&both));
    if allowed.is_empty() {
        return format!("no instance type with {wanted} can be bought now");
    }
    of_types(problem, template, class, (offer, &both, allowed))
}

/// Why none of the types that the requirements allow will do.
fn of_types(
    problem: &Problem<'_>,
    template: &Template<'_>,
    class: &Class<'_>,
    (offer, set, allowed): (&Offer, &Requirements, BitSet),
) -> String {
    let need = problem.resources.amounts(&class.spec.requests);
    if let Some(text) = too_large(problem, template, (offer, &need, &allowed)) {
        return text;
    }
    let mut fitting = allowed;
    template.keep_roomy(&mut fitting, &need);
    if fitting.is_empty() {
        let requests = &class.spec.requests;
        return format!("needs {requests}, and no instance type has all of it together");
    }
    let mut within = fitting.clone();
    template.keep_within_limits(&mut within);
    if within.is_empty() {
        return over_limits(template);
    }
    if !template.reaches_minimums(set, &within) {
        return format!("too few instance types are left for minValues of {set}");
    }
    "its NodePool had room for it, and no longer has".to_owned()
}

/// The first resource of which no type has enough: `needs 10Ti memory, largest instance type
/// x2iedn.32xlarge has 3.8Ti`.
fn too_large(
    problem: &Problem<'_>,
    template: &Template<'_>,
    (offer, need, allowed): (&Offer, &[i64], &BitSet),
) -> Option<String> {
    for (place, (name, need)) in problem.resources.names().iter().zip(need).enumerate() {
        let room = |index: usize| template.room.get(index)?.get(place).copied();
        // Of equals the first name.
        let rooms =
            allowed.iter().filter_map(|index| Some((room(index)?, std::cmp::Reverse(index))));
        let (largest, std::cmp::Reverse(index)) = rooms.max()?;
        if *need <= largest {
            continue;
        }
        let overhead = template.overhead.get(index).and_then(|all| all.get(place)).copied();
        let of_daemons = overhead.filter(|overhead| *overhead > 0).map(|overhead| {
            format!(" when {} for DaemonSets is taken off", show(name.as_str(), overhead))
        });
        let kind = offer.types.get(index).map(|one| one.name.as_str()).unwrap_or_default();
        let (need, has) = (show(name.as_str(), *need), show(name.as_str(), largest));
        if largest <= 0 {
            return Some(format!("needs {need} {name}, and no instance type has any"));
        }
        return Some(format!(
            "needs {need} {name}, largest instance type {kind} has {has}{}",
            of_daemons.unwrap_or_default()
        ));
    }
    None
}

fn over_limits(template: &Template<'_>) -> String {
    let limits = template.limits.iter().map(|limit| {
        let (name, left) = (limit.name.as_str(), limit.left.max(0));
        let limit = i64::try_from(limit.most).unwrap_or(i64::MAX);
        format!("{name}: {} of {} are left", show(name, left), show(name, limit))
    });
    let limits: Vec<String> = limits.collect();
    format!("every instance type that fits exceeds the NodePool's limits ({})", limits.join(", "))
}

/// An amount as people say it: memory and disk with at most one digit after the point, rounded
/// down, everything else as Kubernetes shows it.
fn show(name: &str, amount: i64) -> String {
    let amount = u64::try_from(amount).unwrap_or_default();
    let is_bytes = matches!(name, "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
    if !is_bytes {
        return show_amount(name, amount);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_said_as_people_say_them() {
        for (name, amount, text) in [
            ("memory", 10 << 40, "10Ti"),
            ("memory", 4_178_000_000_000, "3.7Ti"),
            ("memory", 1_536 << 20, "1.5Gi"),
            ("memory", 17, "17"),
            ("cpu", 1_900, "1900m"),
            ("nvidia.com/gpu", 3, "3"),
        ] {
            assert_eq!(show(name, amount), text);
        }
    }
}
