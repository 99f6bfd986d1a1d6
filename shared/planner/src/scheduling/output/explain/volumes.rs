//! Which volume of a pod keeps it from the nodes of a NodePool.

use model::{
    NodePoolName, Pod, Requirements, requirements::Incompatible, requirements::Undefined,
    storage::Storage,
};

use crate::scheduling::facts::volume;

/// Why no node of `pool`, which requires `required`, suits the volumes of `pod`, which itself asks for `wanted`.
pub(super) fn reason(
    (pod, storage): (&Pod, &Storage),
    (pool, required): (&NodePoolName, &Requirements),
    wanted: &Requirements,
) -> String {
    let volumes = volume::of_each(pod, storage);
    let mut both = required.clone();
    both.add_all(wanted);
    let fits = |limits: &Requirements, needs: &[Requirements]| {
        needs.iter().any(|needs| limits.compatible(needs, Undefined::WellKnown).is_ok())
    };
    let Some((name, needs)) = volumes.iter().find(|(_, needs)| !fits(&both, needs)) else {
        let texts: Vec<String> = volumes
            .iter()
            .map(|(name, needs)| format!("{name} needs {}", in_words(needs)))
            .collect();
        return format!("no node suits all of its volumes: {}", texts.join(", "));
    };
    let needed = format!("its volume {name} needs a node with {}", in_words(needs));
    let (by, limits) = if fits(required, needs) {
        ("its node selector or affinity asks for".to_owned(), wanted)
    } else {
        (format!("NodePool {pool} requires"), required)
    };
    match needs.iter().find_map(|needs| disjoint(limits, needs)) {
        Some(against) => format!("{needed}, and {by} {against}"),
        None => needed,
    }
}

/// `topology.kubernetes.io/zone In [us-west-2a] or …`
fn in_words(needs: &[Requirements]) -> String {
    let texts: Vec<String> = needs.iter().map(ToString::to_string).collect();
    texts.join(" or ")
}

/// What in `limits` excludes `needs`.
fn disjoint(limits: &Requirements, needs: &Requirements) -> Option<String> {
    let problems = limits.compatible(needs, Undefined::WellKnown).err()?;
    problems.into_iter().find_map(|problem| match problem {
        Incompatible::Disjoint { offered, .. } => Some(offered.to_string()),
        Incompatible::Undefined { .. } | Incompatible::NoLabel(_) => None,
    })
}
