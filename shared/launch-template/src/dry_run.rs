//! What is asked of EC2 to find out whether nodes of a class can be launched, without launching any:
//! one launch template, unless the class names one, one fleet request, one instance in each subnet.
//!
//! Karpenter: `pkg/controllers/nodeclass/validation.go` of the AWS provider.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc};

use model::{
    BatchId, CapacityType, HourlyPrice, InstanceType, NodeClaim, NodeClaimName, NodePoolName,
    Requirement, Requirements, labels,
    launch::{FleetRequest, LaunchTemplate, RunRequest},
    node_class::{
        ClusterSettings, Image, NodeClass, Obstacle, ResolvedNodeClass, SecurityGroup, Subnet,
    },
    node_pool::NodePool,
    policies::MinValuesPolicy,
    static_hash::NODE_CLASS,
    validation::{DryRunAnswer, FailedCheck, Validation},
};

use jiff::Timestamp;

mod class_fields;

use crate::{
    digest::Digest,
    image::image_for,
    request::{BatchRefusal, Launch, PricedTypes, requests_with},
};

/// Labels of what only some images start on.
const DEVICES: [&str; 2] = [labels::INSTANCE_GPU_COUNT, labels::INSTANCE_ACCELERATOR_COUNT];
/// Tried where no pool says what it wants: an ordinary type of each architecture.
const ORDINARY: [&str; 2] = ["m5.large", "m6g.large"];

/// Annotations of a class that are written after the first look.
const OURS: [&str; 5] = [
    NODE_CLASS.key,
    NODE_CLASS.version_key,
    labels::SELECTED_PLACEMENT_GROUP,
    labels::LAUNCH_TEMPLATE_VERSION,
    labels::CANDIDATE_IMAGES,
];

/// What stands for the pool where no pool names the class, and for the claim.
const NO_POOL: &str = "validation";

/// What to try, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DryRunRequests {
    /// What every instance would come from, unless that is the user's own. It is made for good: the
    /// rest needs it.
    pub template: Option<LaunchTemplate>,
    /// One instance on demand.
    pub fleet: FleetRequest,
    /// One for each subnet that the type is sold in, those with most free addresses first. One that
    /// works is enough.
    pub instances: Vec<RunRequest>,
}

/// A digest of everything that the answers depend on: another class, or other things selected, are
/// checked by a new dry run. How many addresses are free makes no difference, and neither do the annotations
/// of ours, such as the class's hash, which are written after the first look. `launched_with` is the instance
/// profile, or the launch template of the user's own and its version.
///
/// It stands in the ledger and in the tokens of dry runs. Fields are digested one by one, so that it is
/// the same in every build; another release whose key says more asks once more.
pub fn key(
    class: &NodeClass,
    annotations: &BTreeMap<String, String>,
    subnets: &[Subnet],
    security_groups: &[SecurityGroup],
    images: &[Image],
    launched_with: &str,
) -> String {
    let mut digest = Digest::default();
    class_fields::add(&mut digest, class);
    let annotations = annotations
        .iter()
        .filter(|(key, _)| !OURS.contains(&key.as_str()))
        .map(|(key, value)| format!("{key}={value}"));
    digest.list("annotation", annotations.collect::<Vec<_>>().iter());
    digest.list("subnet", subnets.iter().map(|subnet| format!("{} {}", subnet.id, subnet.zone)));
    digest.list("security group", security_groups.iter().map(|group| &group.id));
    for image in images {
        digest.field("image", &image.id);
        digest.field("requirements", image.requirements.iter().count());
        for requirement in image.requirements.iter() {
            digest.field("key", requirement.key());
            digest.field("complement", requirement.is_complement());
            digest.list("value", requirement.values().iter());
            digest.optional("at least", requirement.at_least());
            digest.optional("at most", requirement.at_most());
        }
    }
    digest.field("profile", launched_with);
    format!("{:016x}", digest.finish())
}

/// What to try for `class`: `sold` is what can be launched of it whether or not it is unavailable,
/// and `pools` are all of the cluster's. `key` makes the token.
pub fn dry_run_requests(
    class: &ResolvedNodeClass,
    sold: PricedTypes<'_>,
    pools: &[NodePool],
    settings: &ClusterSettings,
    profile: &str,
    key: &str,
) -> Result<DryRunRequests, BatchRefusal> {
    let linked: Vec<&NodePool> =
        pools.iter().filter(|pool| pool.template.node_class == class.class.name).collect();
    let Some(chosen) = instance_type(class, sold.listed, &linked) else {
        let obstacles = vec![Obstacle::NoInstanceType];
        return Err(BatchRefusal::NotReady { class: class.class.name.clone(), obstacles });
    };
    let claim = claim(class, &linked, chosen, key)?;
    let chosen_only = std::slice::from_ref(chosen);
    let sold = PricedTypes { types: chosen_only, listed: chosen_only, ..sold };
    let strict = MinValuesPolicy::Strict;
    let Launch { templates, request } =
        requests_with(&[claim], class, sold, settings, profile, strict)?;
    let Some(from) = request.templates.first() else {
        return Err(BatchRefusal::NoClaims);
    };
    let mut subnets: Vec<&Subnet> = class.subnets.iter().collect();
    subnets.retain(|subnet| on_demand(chosen).any(|offering| offering.zone == subnet.zone));
    subnets.sort_by_key(|subnet| (Reverse(subnet.available_ip_address_count), &subnet.id));
    let instance = |subnet: &Subnet| RunRequest {
        template: from.template.clone(),
        version: from.version,
        instance_type: chosen.name.clone(),
        subnet: subnet.id.clone(),
        security_groups: class.security_groups.clone(),
        tags: request.tags.clone(),
    };
    let instances = subnets.into_iter().map(instance).collect();
    Ok(DryRunRequests { template: templates.into_iter().next(), fleet: request, instances })
}

fn on_demand(instance_type: &InstanceType) -> impl Iterator<Item = &model::Offering> {
    let offerings = instance_type.offerings.iter();
    offerings.filter(|o| o.is_available && o.capacity_type == CapacityType::OnDemand)
}

/// The type to try: one that a pool of the class may launch, with an image that needs no device if
/// there is one; else an ordinary one; else any. Windows always gets an ordinary one if it can: not
/// every type that looks right starts it.
fn instance_type<'a>(
    class: &ResolvedNodeClass,
    types: &'a [Arc<InstanceType>],
    linked: &[&NodePool],
) -> Option<&'a Arc<InstanceType>> {
    let price = |known: &InstanceType| on_demand(known).map(|offering| offering.price).min();
    let mut sold: Vec<(HourlyPrice, &Arc<InstanceType>)> =
        types.iter().filter_map(|known| Some((price(known)?, known))).collect();
    sold.sort_by(|(price, a), (other, b)| price.cmp(other).then_with(|| a.name.cmp(&b.name)));
    // The cheapest whose image needs no device; where there is none, the cheapest that has an image. There
    // are hundreds of types, and one of the first will do: images are looked for one by one.
    let first = |is_meant: &dyn Fn(&InstanceType) -> bool| {
        let mut with_device = None;
        for (_, known) in sold.iter().filter(|(_, known)| is_meant(known)) {
            match image_for(known, &class.images) {
                Some(image) if needs_device(image) => with_device = with_device.or(Some(*known)),
                Some(_) => return Some(*known),
                None => {}
            }
        }
        with_device
    };
    let wanted: Vec<Requirements> = linked.iter().map(|pool| wanted(pool)).collect();
    let of_pools = || {
        first(&|known| wanted.iter().any(|wanted| known.requirements.intersects(wanted).is_ok()))
    };
    let ordinary = || ORDINARY.iter().find_map(|name| first(&|known| known.name.as_str() == *name));
    let chosen = if class.class.image_family.is_windows() { None } else { of_pools() };
    chosen.or_else(ordinary).or_else(|| first(&|_| true))
}

fn needs_device(image: &Image) -> bool {
    let mut requirements = DEVICES.iter().filter_map(|key| image.requirements.get(key));
    requirements.any(|requirement| !requirement.allows_absence())
}

/// What instance types must be like to be launched for `pool`.
fn wanted(pool: &NodePool) -> Requirements {
    let mut wanted = pool.template.requirements.clone();
    let labels = pool.template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    wanted.add_all(&Requirements::of_labels(labels));
    wanted
}

/// A claim on one instance of that type, on demand: dedicated as soon as a pool says that it may be.
fn claim(
    class: &ResolvedNodeClass,
    linked: &[&NodePool],
    chosen: &InstanceType,
    key: &str,
) -> Result<NodeClaim, BatchRefusal> {
    let wrong = |error: &dyn std::fmt::Display| BatchRefusal::InvalidName(error.to_string());
    let is_dedicated = linked.iter().any(|pool| {
        let tenancy = pool.template.requirements.get(labels::INSTANCE_TENANCY);
        tenancy.is_some_and(|tenancy| tenancy.has("dedicated"))
    });
    let mut wanted = vec![(labels::CAPACITY_TYPE, CapacityType::OnDemand.as_str())];
    if is_dedicated {
        wanted.push((labels::INSTANCE_TENANCY, "dedicated"));
    }
    let requirements: Result<Requirements, _> =
        wanted.into_iter().map(|(key, value)| Requirement::of_label(key, value)).collect();
    let node_pool = match linked.first() {
        Some(pool) => pool.name.clone(),
        None => NodePoolName::new(NO_POOL).map_err(|error| wrong(&error))?,
    };
    let name = NodeClaimName::new(NO_POOL).map_err(|error| wrong(&error))?;
    let batch = BatchId::new(&format!("try-out-{key}")).map_err(|error| wrong(&error))?;
    let node_class = class.class.name.clone();
    Ok(NodeClaim {
        requirements: requirements.map_err(|error| wrong(&error))?,
        instance_types: [chosen.name.clone()].into(),
        ..NodeClaim::created(name, node_pool, node_class, batch, Timestamp::UNIX_EPOCH)
    })
}

/// What EC2's answer to `check` means for `class`: the validation, if it is one; `None` asks again.
///
/// A profile that was just made for a role is seen later; one that the class names is the user's to
/// make, so it is reported, and the next look checks it again.
pub fn judged(
    check: FailedCheck,
    tried: &DryRunAnswer,
    class: &NodeClass,
    key: &str,
    now: Timestamp,
) -> Option<Validation> {
    use model::node_class::{NodeIdentity, TemplateSource};
    match (tried, &class.identity) {
        (DryRunAnswer::Works, _) => Some(Validation::found(key, None, now)),
        (DryRunAnswer::Forbidden(words), _) => {
            let text = format!("{}: {}", forbidden(check), reason(words));
            Some(Validation::found(key, Some((check, text)), now))
        }
        (DryRunAnswer::NoProfile(words), _) if class.launch_template != TemplateSource::Made => {
            Some(Validation::passing(key, (check, words.clone()), now))
        }
        (DryRunAnswer::NoProfile(_), NodeIdentity::Role(_)) => None,
        (DryRunAnswer::NoProfile(_), NodeIdentity::InstanceProfile(name)) => {
            let text = format!("EC2 knows no instance profile `{name}`");
            Some(Validation::passing(key, (FailedCheck::InstanceProfile, text), now))
        }
    }
}

fn forbidden(check: FailedCheck) -> &'static str {
    match check {
        FailedCheck::CreateLaunchTemplate => {
            "the function launch may not call ec2:CreateLaunchTemplate for this EC2NodeClass"
        }
        FailedCheck::CreateFleet => {
            "the function launch may not call ec2:CreateFleet for this EC2NodeClass"
        }
        FailedCheck::RunInstances => {
            "the function launch may not call ec2:RunInstances for this EC2NodeClass"
        }
        FailedCheck::UserDataSize => "the user data is too long",
        FailedCheck::InstanceProfile => "the instance profile does not exist",
    }
}

/// Which kind of policy stands in the way, by what EC2 says of it.
///
/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot_access-denied.html>
fn reason(words: &str) -> &'static str {
    let known = [
        ("permissions boundary", "a permissions boundary does not allow it"),
        ("service control policy", "a service control policy does not allow it"),
        ("resource control policy", "a resource control policy does not allow it"),
        ("identity-based policy", "no identity-based policy allows it"),
    ];
    let entry = known.into_iter().find(|(text, _)| words.contains(text));
    entry.map_or("EC2 does not say which policy is missing", |(_, reason)| reason)
}

#[cfg(test)]
mod tests;
