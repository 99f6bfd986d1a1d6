//! Selector terms of EC2NodeClasses: subnets, security groups, images, capacity reservations, and
//! the placement group.

use std::collections::BTreeMap;

use model::{
    ImageId, PlacementGroupId, ReservationId, SecurityGroupId, SubnetId,
    node_class::{
        ImageFamily, ImageTerm, MatchCriteria, PlacementGroupTerm, ReservationTerm,
        SecurityGroupTerm, SubnetTerm,
    },
};

use crate::document::field::{Field, Fields};

const TERMS_MAX: usize = 30;
const TAGS_MAX: usize = 20;

/// The terms of `amiSelectorTerms`, and the family of the alias if there is one.
pub(crate) struct Images {
    pub(crate) terms: Vec<ImageTerm>,
    pub(crate) alias_family: Option<ImageFamily>,
}

/// Reads `subnetSelectorTerms`.
pub(crate) fn subnets(field: &Field<'_>) -> Option<Vec<SubnetTerm>> {
    terms(field)?.iter().map(subnet).collect()
}

fn subnet(item: &Field<'_>) -> Option<SubnetTerm> {
    let mut fields = item.fields()?;
    let (tags, id) = (fields.get("tags"), fields.get("id"));
    fields.done();
    match (tags, id) {
        (Some(tags), None) => Some(SubnetTerm::Tags(tags_of(&tags)?)),
        (None, Some(id)) => Some(SubnetTerm::Id(id.parsed(SubnetId::new)?)),
        _ => {
            item.complain("must have exactly one of `tags` and `id`");
            None
        }
    }
}

/// Reads `securityGroupSelectorTerms`.
pub(crate) fn security_groups(field: &Field<'_>) -> Option<Vec<SecurityGroupTerm>> {
    terms(field)?.iter().map(security_group).collect()
}

fn security_group(item: &Field<'_>) -> Option<SecurityGroupTerm> {
    let mut fields = item.fields()?;
    let (tags, id, name) = (fields.get("tags"), fields.get("id"), fields.get("name"));
    fields.done();
    match (tags, id, name) {
        (Some(tags), None, None) => Some(SecurityGroupTerm::Tags(tags_of(&tags)?)),
        (None, Some(id), None) => Some(SecurityGroupTerm::Id(id.parsed(SecurityGroupId::new)?)),
        (None, None, Some(name)) => {
            Some(SecurityGroupTerm::Name(name.text_not_empty()?.to_owned()))
        }
        _ => {
            item.complain("must have exactly one of `tags`, `id` and `name`");
            None
        }
    }
}

/// Reads `capacityReservationSelectorTerms`.
pub(crate) fn reservations(field: &Field<'_>) -> Option<Vec<ReservationTerm>> {
    let items = field.list_up_to(TERMS_MAX)?;
    if items.is_empty() {
        field.complain("must have at least one entry, or be left out");
        return None;
    }
    items.iter().map(reservation).collect()
}

fn reservation(item: &Field<'_>) -> Option<ReservationTerm> {
    let mut fields = item.fields()?;
    let (tags, id) = (fields.get("tags"), fields.get("id"));
    let (owner, criteria) = (fields.get("ownerID"), fields.get("instanceMatchCriteria"));
    fields.done();
    if let Some(id) = id {
        if tags.is_some() || owner.is_some() || criteria.is_some() {
            item.complain("`id` excludes every other member of its term");
            return None;
        }
        return Some(ReservationTerm::Id(ReservationId::new(&anchored_id(&id, "cr-")?).ok()?));
    }
    if tags.is_none() && criteria.is_none() {
        let but = if owner.is_some() { "; `ownerID` alone is not enough" } else { "" };
        item.complain(format!(
            "must have at least one of `tags`, `id` and `instanceMatchCriteria`{but}"
        ));
        return None;
    }
    let owner = match owner {
        Some(owner) => Some(account_id(&owner)?),
        None => None,
    };
    let choices = &[("open", MatchCriteria::Open), ("targeted", MatchCriteria::Targeted)];
    let match_criteria = match criteria {
        Some(criteria) => Some(criteria.choice(choices)?),
        None => None,
    };
    let tags = match tags {
        Some(tags) => tags_of(&tags)?,
        None => BTreeMap::new(),
    };
    Some(ReservationTerm::Search { tags, owner, match_criteria })
}

/// Reads `placementGroupSelector`.
pub(crate) fn placement_group(field: &Field<'_>) -> Option<PlacementGroupTerm> {
    let mut fields = field.fields()?;
    let (name, id) = (fields.get("name"), fields.get("id"));
    fields.done();
    match (name, id) {
        (Some(name), None) => Some(PlacementGroupTerm::Name(name.text_not_empty()?.to_owned())),
        (None, Some(id)) => {
            Some(PlacementGroupTerm::Id(PlacementGroupId::new(&anchored_id(&id, "pg-")?).ok()?))
        }
        _ => {
            field.complain("must have exactly one of `name` and `id`");
            None
        }
    }
}

/// `prefix` and then lower-case letters and digits, nothing else.
fn anchored_id(field: &Field<'_>, prefix: &str) -> Option<String> {
    let text = field.text()?;
    let is_id = |rest: &str| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if !text.strip_prefix(prefix).is_some_and(is_id) {
        field.complain(format!(
            "`{text}` must be `{prefix}` followed by lower-case letters and digits"
        ));
        return None;
    }
    Some(text.to_owned())
}

fn account_id(field: &Field<'_>) -> Option<String> {
    let text = field.text()?;
    if text.len() != 12 || !text.chars().all(|c| c.is_ascii_digit()) {
        field.complain(format!("`{text}` is not an account: it must have twelve digits"));
        return None;
    }
    Some(text.to_owned())
}

/// Reads `amiSelectorTerms`.
pub(crate) fn images(field: &Field<'_>) -> Option<Images> {
    let items = terms(field)?;
    let mut alias_family = None;
    let mut image_terms = Vec::new();
    for item in &items {
        let mut fields = item.fields()?;
        let Some(alias) = fields.get("alias") else {
            image_terms.push(image(item, fields)?);
            continue;
        };
        if ["tags", "id", "name", "owner", "ssmParameter"].iter().any(|key| fields.has(key)) {
            item.complain("`alias` excludes every other member of its term");
            return None;
        }
        fields.done();
        if items.len() > 1 {
            item.complain("a term with `alias` must be the only one");
            return None;
        }
        let (family, version) = read_alias(&alias)?;
        alias_family = Some(family);
        image_terms.push(ImageTerm::Alias { family, version });
    }
    Some(Images { terms: image_terms, alias_family })
}

fn image(item: &Field<'_>, mut fields: Fields<'_>) -> Option<ImageTerm> {
    let (tags, id, name) = (fields.get("tags"), fields.get("id"), fields.get("name"));
    let (owner, parameter) = (fields.get("owner"), fields.get("ssmParameter"));
    fields.done();
    if let Some(id) = id {
        if tags.is_some() || name.is_some() || owner.is_some() || parameter.is_some() {
            item.complain("`id` excludes every other member of its term");
            return None;
        }
        return Some(ImageTerm::Id(id.parsed(ImageId::new)?));
    }
    if let Some(parameter) = parameter {
        if tags.is_some() || name.is_some() || owner.is_some() {
            parameter.complain_unsupported("together with `tags`, `name` or `owner`");
        }
        return Some(ImageTerm::SsmParameter(parameter.text_not_empty()?.to_owned()));
    }
    if tags.is_none() && name.is_none() {
        let but = if owner.is_some() { "; `owner` alone is not enough" } else { "" };
        item.complain(format!(
            "must have at least one of `alias`, `id`, `name`, `tags` and `ssmParameter`{but}"
        ));
        return None;
    }
    let text = |field: Option<Field<'_>>| match field {
        Some(field) => field.text_not_empty().map(|text| Some(text.to_owned())),
        None => Some(None),
    };
    let tags = match tags {
        Some(tags) => tags_of(&tags)?,
        None => BTreeMap::new(),
    };
    Some(ImageTerm::Search { name: text(name)?, owner: text(owner)?, tags })
}

/// `family@version`: the family in lower case, the version `latest` or a pinned build.
fn read_alias(field: &Field<'_>) -> Option<(ImageFamily, String)> {
    let text = field.text()?;
    let Some((family, version)) = text.split_once('@').filter(|(_, version)| !version.is_empty())
    else {
        field.complain(format!("`{text}` must be a family and a version such as `al2023@latest`"));
        return None;
    };
    if text.len() > 30 {
        field.complain("must have at most 30 characters");
        return None;
    }
    let Some(parsed) = ImageFamily::parse_alias(family) else {
        let lower = family.to_ascii_lowercase();
        if ImageFamily::parse_alias(&lower).is_some() {
            field.complain_with(
                format!("`{text}`: the family must be in lower case"),
                format!("write `{lower}@{version}`"),
            );
        } else {
            field.complain(format!(
                "`{family}` is not one of `al2`, `al2023`, `bottlerocket`, `windows2019`, \
                 `windows2022`, `windows2025`"
            ));
        }
        return None;
    };
    let is_windows = family.starts_with("windows");
    if is_windows && version != "latest" {
        field.complain(format!("`{family}` has only the version `latest`"));
        return None;
    }
    if !is_version(version) {
        field.complain_unusable(format!(
            "`{version}` is not a version: it must be `latest` or a build such as `v20240625` or \
             `v1.10.0`"
        ));
    }
    Some((parsed, version.to_owned()))
}

fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    text == "latest"
        || number.split('.').all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_digit()))
}

fn terms<'a>(field: &Field<'a>) -> Option<Vec<Field<'a>>> {
    let items = field.list_up_to(TERMS_MAX)?;
    if items.is_empty() {
        field.complain("must have at least one entry");
        return None;
    }
    Some(items)
}

/// Tags that a resource must have; the value `*` is any.
fn tags_of(field: &Field<'_>) -> Option<BTreeMap<String, String>> {
    let mut tags = BTreeMap::new();
    let entries = field.entries()?;
    if entries.len() > TAGS_MAX {
        field.complain(format!("must have at most {TAGS_MAX} entries, not {}", entries.len()));
        return None;
    }
    if entries.is_empty() {
        field.complain("must not be empty");
        return None;
    }
    for (key, value) in entries {
        if key.is_empty() {
            field.complain("must not have an empty key");
            return None;
        }
        let text = value.text()?;
        if text.is_empty() {
            value.complain_with("must not be empty", "write \"*\" for any value");
            return None;
        }
        tags.insert(key.to_owned(), text.to_owned());
    }
    Some(tags)
}
