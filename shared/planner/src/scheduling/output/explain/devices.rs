//! Which devices a pod lacks on new nodes of a NodePool.

use devices::{DevicePlace, DevicePlaceKey};
use model::Requirements;

use crate::{
    index::id::TemplateId,
    scheduling::{demand::class::Class, problem::Problem, state::State},
};

/// Why a pod of `class` gets no devices on a new node with `set`, whatever type of those that have room for it the node
/// becomes; `None` if it does, or claims none.
pub(super) fn reason(
    problem: &Problem<'_>,
    (number, state): (TemplateId, &State),
    class: &Class,
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
    let (devices, state) = problem.devices.as_ref().zip(state.devices.as_ref())?;
    devices.devices.allocate(state, &place, &class.claims).err().map(|refusal| refusal.to_string())
}
