//! Selector terms of EC2NodeClasses: subnets, security groups, images, capacity reservations, and
//! the placement group. A term that is complained about and selects nothing, such as an id that EC2 does not
//! have, is left out.

use model::node_class::{
    ImageFamily, ImageTerm, PlacementGroupTerm, ReservationTerm, SecurityGroupTerm, SubnetTerm,
};

use crate::{
    document::field::Field,
    karpenter::node_class_parts::{
        AmiSelectorTerm, CapacityReservationSelectorTerm, PlacementGroupSelector,
        SecurityGroupSelectorTerm, SubnetSelectorTerm,
    },
};

/// `subnetSelectorTerms`.
pub(crate) fn subnets(terms: Vec<SubnetSelectorTerm>) -> Vec<SubnetTerm> {
    let term = |SubnetSelectorTerm { tags, id }| match id {
        Some(id) => Some(SubnetTerm::Id(id.parse().ok()?)),
        None => Some(SubnetTerm::Tags(tags?)),
    };
    terms.into_iter().filter_map(term).collect()
}

/// `securityGroupSelectorTerms`, which stand at `field`.
pub(crate) fn security_groups(
    terms: Vec<SecurityGroupSelectorTerm>,
    field: &Field<'_>,
) -> Vec<SecurityGroupTerm> {
    let term = |(term, item): (SecurityGroupSelectorTerm, Field<'_>)| match term {
        SecurityGroupSelectorTerm { id: Some(id), .. } => {
            Some(SecurityGroupTerm::Id(id.parse().ok()?))
        }
        SecurityGroupSelectorTerm { name: Some(name), .. } => {
            not_empty(&item, "name")?;
            Some(SecurityGroupTerm::Name(name))
        }
        SecurityGroupSelectorTerm { tags, .. } => Some(SecurityGroupTerm::Tags(tags?)),
    };
    terms.into_iter().zip(field.list().unwrap_or_default()).filter_map(term).collect()
}

/// `capacityReservationSelectorTerms`.
pub(crate) fn reservations(terms: Vec<CapacityReservationSelectorTerm>) -> Vec<ReservationTerm> {
    let term = |term: CapacityReservationSelectorTerm| match term.id {
        Some(id) => Some(ReservationTerm::Id(id.parse().ok()?)),
        None => Some(ReservationTerm::Search {
            tags: term.tags.unwrap_or_default(),
            owner: term.owner_id,
            match_criteria: term.instance_match_criteria.map(|criteria| criteria.0),
        }),
    };
    terms.into_iter().filter_map(term).collect()
}

/// `placementGroupSelector`.
pub(crate) fn placement_group(selector: PlacementGroupSelector) -> Option<PlacementGroupTerm> {
    let PlacementGroupSelector { name, id } = selector;
    match name {
        Some(name) => Some(PlacementGroupTerm::Name(name)),
        None => Some(PlacementGroupTerm::Id(id?.parse().ok()?)),
    }
}

/// `amiSelectorTerms`, which stand at `field`.
pub(crate) fn images(terms: Vec<AmiSelectorTerm>, field: &Field<'_>) -> Vec<ImageTerm> {
    let items = field.list().unwrap_or_default();
    terms.into_iter().zip(&items).filter_map(|(term, item)| image(term, item)).collect()
}

/// The family of an alias.
pub(crate) const fn family_of(term: &ImageTerm) -> Option<ImageFamily> {
    match term {
        ImageTerm::Alias { family, .. } => Some(*family),
        ImageTerm::Id(_) | ImageTerm::SsmParameter(_) | ImageTerm::Search { .. } => None,
    }
}

fn image(term: AmiSelectorTerm, item: &Field<'_>) -> Option<ImageTerm> {
    let AmiSelectorTerm { alias, tags, id, name, owner, ssm_parameter } = term;
    if let Some(alias) = alias {
        let (family, version) = alias.split_once('@')?;
        if !is_version(version) {
            item.at("alias").complain_unusable(format!(
                "`{version}` is not a version: it must be `latest` or a build such as \
                 `v20240625` or `v1.10.0`"
            ));
        }
        let family = ImageFamily::parse_alias(family)?;
        return Some(ImageTerm::Alias { family, version: version.to_owned() });
    }
    if let Some(id) = id {
        return Some(ImageTerm::Id(id.parse().ok()?));
    }
    for key in ["ssmParameter", "name", "owner"] {
        not_empty(item, key)?;
    }
    if let Some(parameter) = ssm_parameter {
        if tags.is_some() || name.is_some() || owner.is_some() {
            let what = "together with `tags`, `name` or `owner`";
            item.at("ssmParameter").complain_unsupported(what);
        }
        return Some(ImageTerm::SsmParameter(parameter));
    }
    Some(ImageTerm::Search { name, owner, tags: tags.unwrap_or_default() })
}

/// That the text at `key`, if there is one, is not empty: nothing has such a name.
fn not_empty(item: &Field<'_>, key: &str) -> Option<()> {
    let item = item.beyond_definition();
    if item.has(key) { item.at(key).text_not_empty().map(|_| ()) } else { Some(()) }
}

fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    text == "latest"
        || number.split('.').all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_digit()))
}
