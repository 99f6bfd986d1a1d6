//! Nodes, pools, classes, and facts that hold them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{
    ClaimPhase, InstanceType, NodeClaim, NodePoolName, ResourceName, Resources,
    claim::LaunchedInstance,
    facts::{ClassOffer, Facts},
    labels,
    ledger::{Counters, Head, Snapshot},
    node::Node,
    node_class::{
        ImageFamily, ImageTerm, Kubelet, MetadataOptions, NodeClass, NodeIdentity, TemplateSource,
    },
    node_pool::{Disruption, Limits, NodeClaimTemplate, NodePool},
    static_hash::NodeClassHash,
};

use super::{
    launch::launched_instance,
    text::{at, id, now, read_requirements, read_taint, requirements, resources, valid},
    words::{Plain, Read, each_word, first, long, owned_pair, pair, parsed, plain, set_amount},
};

/// A NodePool such as `general weight:10`, of EC2NodeClass `default`, with nothing but its defaults
/// where no word says otherwise.
///
/// # Panics
///
/// When a word is wrong.
#[track_caller]
pub fn node_pool(words: &str) -> NodePool {
    valid(read_pool(words))
}

pub(crate) fn read_pool(words: &str) -> Read<NodePool> {
    let (name, rest) = first(words);
    let mut pool = plain_pool(parsed(name)?);
    each_word(rest, |word| {
        let template = &mut pool.template;
        match word.split_once(':') {
            Some(("weight", number)) => pool.weight = parsed(number)?,
            Some(("replicas", number)) => pool.replicas = Some(parsed(number)?),
            Some(("limit", amount)) => pool.limits.0.extend([limit(amount)?]),
            Some(("require", words)) => template.requirements.add_all(&read_requirements(words)?),
            Some(("label", label)) => template.labels.extend([owned_pair(label)?]),
            Some(("annotation", annotation)) => {
                pool.annotations.extend([owned_pair(annotation)?]);
            }
            Some(("taint", text)) => template.taints.push(read_taint(text)?),
            Some(("startup-taint", text)) => template.startup_taints.push(read_taint(text)?),
            Some(_) => return Err("a pool has no such word".to_owned()),
            None => template.labels.extend([owned_pair(word)?]),
        }
        Ok(())
    })?;
    Ok(pool)
}

/// An amount by its name; zeros count.
fn limit(word: &str) -> Read<(ResourceName, u64)> {
    let mut amounts = Resources::default();
    set_amount(&mut amounts, word)?;
    let name: ResourceName = parsed(pair(word)?.0)?;
    let amount = amounts.get(name.as_str());
    Ok((name, amount))
}

/// Limits of a pool such as `cpu=4 nodes=2`.
///
/// # Panics
///
/// When a word is wrong.
#[track_caller]
pub fn limits(text: &str) -> Limits {
    Limits(valid(text.split_whitespace().map(limit).collect::<Read<_>>()))
}

fn plain_pool(name: NodePoolName) -> NodePool {
    NodePool {
        name,
        annotations: BTreeMap::new(),
        weight: 0,
        replicas: None,
        limits: Limits::default(),
        template: NodeClaimTemplate {
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            node_class: id("default"),
            requirements: requirements(""),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            expire_after: Some(jiff::SignedDuration::from_hours(720)),
            termination_grace_period: None,
        },
        disruption: Disruption::default(),
        is_deleting: false,
        problems: Vec::new(),
    }
}

/// An EC2NodeClass of AL2023 with a role, that selects subnets and security groups by the tag
/// `karpenter.sh/discovery`.
///
/// # Panics
///
/// When `name` is no name.
#[track_caller]
pub fn node_class(name: &str) -> NodeClass {
    let discovery = || BTreeMap::from([("karpenter.sh/discovery".to_owned(), "test".to_owned())]);
    NodeClass {
        name: id(name),
        subnet_terms: vec![model::node_class::SubnetTerm::Tags(discovery())],
        security_group_terms: vec![model::node_class::SecurityGroupTerm::Tags(discovery())],
        image_terms: vec![ImageTerm::Alias {
            family: ImageFamily::Al2023,
            version: "latest".to_owned(),
        }],
        reservation_terms: Vec::new(),
        placement_group: None,
        image_family: ImageFamily::Al2023,
        user_data: None,
        identity: NodeIdentity::Role("KarpenterNodeRole".to_owned()),
        tags: BTreeMap::new(),
        block_devices: Vec::new(),
        is_raid0: false,
        metadata_options: MetadataOptions::default(),
        detailed_monitoring: None,
        associate_public_ip_address: None,
        ip_prefix_count: None,
        network_interfaces: Vec::new(),
        connection_tracking: None,
        nested_virtualization: None,
        enclaves: None,
        context: None,
        kubelet: Kubelet::default(),
        gpu_sharing: None,
        rollout: None,
        hash: Some(NodeClassHash(1)),
        launch_template: TemplateSource::Made,
        is_deleting: false,
        problems: Vec::new(),
    }
}

/// A node such as `own cpu=4 memory=8Gi pods=10 zone=us-west-2a`: ready, unmanaged, with two
/// CPUs where no word says otherwise.
///
/// # Panics
///
/// When a word is wrong.
#[track_caller]
pub fn node(words: &str) -> Node {
    valid(read_node(words))
}

pub(crate) fn read_node(words: &str) -> Read<Node> {
    let (name, rest) = first(words);
    let mut node = plain_node(name)?;
    let mut amounts = None;
    each_word(rest, |word| {
        match word.split_once(':') {
            Some(("label", label)) => node.labels.extend([owned_pair(label)?]),
            Some(("taint", text)) => node.taints.push(read_taint(text)?),
            Some(_) => return Err("a node has no such word".to_owned()),
            None => match plain(word)? {
                Plain::Amount(amount) => set_amount(amounts.get_or_insert_default(), amount)?,
                Plain::Label(key, value) => {
                    node.labels.insert(long(key).to_owned(), value.to_owned());
                }
            },
        }
        Ok(())
    })?;
    if let Some(amounts) = amounts {
        node.capacity = Resources::clone(&amounts);
        node.allocatable = amounts;
    }
    Ok(node)
}

fn plain_node(name: &str) -> Read<Node> {
    Ok(Node {
        name: parsed(name)?,
        provider_id: None,
        created_at: at("2026-08-01T11:00:00Z"),
        is_deleting: false,
        labels: BTreeMap::from([(labels::HOSTNAME.to_owned(), name.to_owned())]),
        annotations: BTreeMap::new(),
        finalizers: BTreeSet::new(),
        taints: Vec::new(),
        capacity: resources("cpu=2 memory=8Gi pods=29"),
        allocatable: resources("cpu=1930m memory=7Gi pods=29"),
        is_ready: true,
        boot_id: String::new(),
        ill_conditions: Vec::new(),
    })
}

/// `claim` launched an hour before noon as the on-demand instance `instance`, joined by an
/// initialized node of the claim's own name.
///
/// # Panics
///
/// When `instance` is no instance id.
#[track_caller]
pub fn node_of(claim: &NodeClaim, instance: &str) -> (NodeClaim, Node) {
    let launched = LaunchedInstance { image: None, ..launched_instance(instance) };
    let launched_at = launched.launched_at;
    let mut joined = node(claim.name.as_str());
    joined.provider_id = Some(launched.provider_id());
    let values = [
        (labels::NODE_POOL, claim.node_pool.as_str()),
        (labels::REGISTERED, "true"),
        (labels::INITIALIZED, "true"),
        (labels::INSTANCE_TYPE, "m7g.large"),
        (labels::ZONE, "us-west-2a"),
        (labels::CAPACITY_TYPE, "on-demand"),
        (labels::ARCH, "arm64"),
        (labels::OS, "linux"),
    ];
    let map = claim.labels.iter().map(|(key, value)| (key.clone(), value.clone()));
    let values = values.map(|(key, value)| (key.to_owned(), value.to_owned()));
    joined.labels.extend(map.chain(values));
    joined.taints.clone_from(&claim.taints);
    let claim = NodeClaim {
        version: 4,
        created_at: launched_at,
        phase: ClaimPhase::Initialized,
        phase_since: launched_at,
        node: Some(joined.name.clone()),
        instance: Some(launched),
        ..claim.clone()
    };
    (claim, joined)
}

/// Facts at noon of the first of August 2026, of the cluster `test` after 7 commits of new claims: the pool
/// `general`, whose EC2NodeClass `default` offers `instance_types`, and nothing else.
///
/// # Panics
///
/// Never with the names that are written here.
#[must_use]
pub fn facts(mut instance_types: Vec<Arc<InstanceType>>) -> Facts {
    instance_types.sort_by(|a, b| a.name.cmp(&b.name));
    let head = Head { counters: Counters { arrivals: 7, departures: 0 }, ..Head::default() };
    let ledger = Snapshot { head, ..Snapshot::default() };
    Facts {
        node_pools: vec![node_pool("general")],
        classes: Some(BTreeMap::from([(id("default"), ClassOffer::Ready(instance_types))])),
        ..Facts::of(id("test"), now(), ledger)
    }
}
