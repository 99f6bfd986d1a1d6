//! NodeOverlays of `karpenter.sh/v1alpha1`.
//!
//! Karpenter: `pkg/apis/v1alpha1/nodeoverlay.go` and `nodeoverlay_validation.go`. What an API server
//! refuses is a complaint; what only the controller finds is among the overlay's own `problems`.

use model::{
    HourlyPrice, ObjectName, Requirement, Requirements, id,
    overlay::{NodeOverlay, PriceChange},
};

use super::{amounts, container, metadata::Metadata, requirement::values_of};
use crate::{
    document::field::{Complaints, Field},
    karpenter::{
        common::RequirementSpec,
        kind::CustomKind,
        node_overlay::NodeOverlaySpec,
        pattern::price_change,
        walk::{self, Hints},
    },
};

/// Reads a NodeOverlay; what is wrong goes to the complaints behind `object`.
pub(crate) fn read(object: &Field<'_>, complaints: &Complaints) -> Option<NodeOverlay> {
    let mut fields = object.fields()?;
    let metadata = Metadata::read(&mut fields);
    fields.ignore(&["status"]);
    let field = fields.require("spec");
    fields.done();
    let field = field?;
    let spec: NodeOverlaySpec = walk::typed(&field, NodeOverlaySpec::schema(), Hints::NONE)?;
    let items = field.at("requirements").list()?;
    let requirements = spec.requirements.iter().zip(&items);
    let requirements: Option<Requirements> =
        requirements.map(|(spec, item)| requirement(spec, item)).collect();
    let capacity =
        spec.capacity.map(|_| container::resources_of(&amounts::read(&field.at("capacity"))));
    // A price that is too large to hold was complained about.
    let price = match (spec.price, spec.price_adjustment) {
        (Some(dollars), _) => HourlyPrice::parse_dollars(&dollars).ok().map(PriceChange::Absolute),
        (None, text) => text.and_then(|text| price_change(&text)),
    };
    Some(NodeOverlay {
        name: object.name().accept(ObjectName::new(&metadata?.name))?,
        weight: spec.weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_default(),
        requirements: requirements?,
        price,
        capacity,
        problems: complaints.own_problems(),
    })
}

fn requirement(spec: &RequirementSpec, item: &Field<'_>) -> Option<Requirement> {
    let values = values_of(spec);
    if !id::is_qualified_name(&spec.key) {
        item.complain_unusable(format!("`{}` is not a label key", spec.key));
    }
    if let Some(bad) = values.iter().find(|value| !id::is_label_value(value)) {
        item.complain_unusable(format!("`{bad}` is not a label value"));
    }
    item.accept(Requirement::new(&spec.key, spec.operator.0, values))
}
