//! Which devices a pod lacks on new nodes of a NodePool.

use devices::{DevicePlace, DevicePlaceKey, DeviceRefusal};
use model::{PodKey, Requirements, policies::Policies};

use crate::{
    index::id::TemplateId,
    scheduling::{demand::class::Class, facts::device, problem::Problem, state::State},
};

/// Why a pod of `class` gets no devices on a new node with `set`, whatever type of those that have room for it the node
/// becomes; `None` if it does, or claims none.
pub(super) fn reason(
    problem: &Problem<'_>,
    (number, state): (TemplateId, &State),
    (key, class): (&PodKey, &Class),
    set: &Requirements,
) -> Option<String> {
    if class.claims.is_empty() {
        return None;
    }
    let template = &problem.templates[number];
    let offer = &problem.offers[template.offer];
    let mut types = offer.matching(set);
    types.keep(&offer.sold(set));
    template.keep_roomy(&mut types, &problem.requests[class.requests]);
    template.keep_ports(&mut types, &class.spec.host_ports);
    template.keep_within_limits(&mut types, &state.limits[number]);
    let place = DevicePlace {
        // No claim of the plan has so large a number.
        key: DevicePlaceKey::New(usize::MAX),
        node: None,
        node_pool: template.name(),
        requirements: set,
        types: &offer.names(&types),
        has_templates: true,
    };
    let (known, taken) = problem.devices.as_ref().zip(state.devices.as_ref())?;
    let refusal = known.devices.allocate(&taken.allocations, &place, &class.claims).err()?;
    let pod = problem.facts.pods.iter().find(|pod| pod.key == *key);
    let text = pod.map_or_else(|| refusal.to_string(), |pod| device::in_words(&refusal, pod));
    Some(text + &unknown(&refusal, &problem.facts.policies).unwrap_or_default())
}

/// What would let devices of new nodes be known, if none is.
fn unknown(refusal: &DeviceRefusal, policies: &Policies) -> Option<String> {
    let DeviceRefusal::Shortage(shortage) = refusal else { return None };
    let gates = [
        ("DRANVIDIAGPU", "NVIDIA GPUs", policies.dra_nvidia_gpu),
        ("DRAEFA", "EFA interfaces", policies.dra_efa),
    ];
    let closed = gates.iter().filter(|(_, _, is_open)| !is_open);
    let closed: Vec<String> =
        closed.map(|(gate, devices, _)| format!("{gate} ({devices})")).collect();
    (shortage.is_unknown() && !closed.is_empty()).then(|| {
        let gates = if closed.len() == 1 { "feature gate" } else { "feature gates" };
        format!(
            "; devices of nodes that do not exist yet are known only with the {gates} {}",
            closed.join(" and ")
        )
    })
}
