//! What a pod says of ResourceClaims.
//!
//! Kubernetes: `PodResourceClaim` and `PodResourceClaimStatus` of `core/v1`.

use std::collections::BTreeMap;

use model::ObjectName;

use super::container::Container;
use crate::document::field::Field;

/// `spec.resourceClaims`: names, and the claims that are not made from templates.
pub(crate) fn references(field: Option<&Field<'_>>) -> Vec<(String, Option<ObjectName>)> {
    let items = field.and_then(Field::list).unwrap_or_default();
    items.iter().filter_map(reference).collect()
}

fn reference(item: &Field<'_>) -> Option<(String, Option<ObjectName>)> {
    let mut fields = item.fields()?;
    let name = fields.require("name").and_then(|field| field.text_not_empty());
    let claim = fields.get("resourceClaimName");
    let template = fields.get("resourceClaimTemplateName");
    fields.done();
    if claim.is_some() == template.is_some() {
        item.complain_if_written(
            "needs `resourceClaimName` or `resourceClaimTemplateName`, and only one of them",
        );
    }
    let claim = claim.map_or(Some(None), |field| field.parsed(ObjectName::new).map(Some));
    Some((name?.to_owned(), claim?))
}

/// Of `spec.resourceClaims` the names whose claims are made from templates, each with its ResourceClaimTemplate.
pub(crate) fn templates(field: Option<&Field<'_>>) -> BTreeMap<String, ObjectName> {
    let items = field.and_then(Field::list_if_any).unwrap_or_default();
    let template = |item: &Field<'_>| {
        let template = ObjectName::new(item.text_at("resourceClaimTemplateName")?).ok()?;
        Some((item.text_at("name")?.to_owned(), template))
    };
    items.iter().filter_map(template).collect()
}

/// Complains of claims that containers of the pod with `spec` name and the pod does not.
///
/// Kubernetes: `ValidateContainerResourceRequirements` in `pkg/apis/core/validation/validation.go`.
pub(crate) fn check_names(
    spec: &Field<'_>,
    containers: &[Container],
    references: &[(String, Option<ObjectName>)],
) {
    let of_pod = |name: &String| references.iter().any(|(known, _)| known == name);
    let unknown = containers.iter().flat_map(|container| &container.claims);
    for name in unknown.filter(|name| !of_pod(name)) {
        spec.at("resourceClaims").complain_if_written_with(
            format!("lacks `{name}`, which a container names in resources.claims"),
            "name the claim there, with `resourceClaimName` or `resourceClaimTemplateName`",
        );
    }
}

/// `status.resourceClaimStatuses`: by name, the claim that was made; `None` if none is needed.
pub(crate) fn made(field: Option<&Field<'_>>) -> BTreeMap<String, Option<ObjectName>> {
    let items = field.and_then(Field::list).unwrap_or_default();
    items.iter().filter_map(made_one).collect()
}

fn made_one(item: &Field<'_>) -> Option<(String, Option<ObjectName>)> {
    let mut fields = item.fields()?;
    let name = fields.require("name").and_then(|field| field.text());
    let claim = fields.get("resourceClaimName");
    let claim = claim.map_or(Some(None), |field| field.parsed(ObjectName::new).map(Some));
    Some((name?.to_owned(), claim?))
}
