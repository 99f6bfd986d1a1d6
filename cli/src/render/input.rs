//! What a launch is worked out from: files, as objects and facts.

use std::path::{Path, PathBuf};

use api::{
    document::Diagnostic,
    objects::{NodeClassManifest, Object},
};
use dispatch::Settings;
use jiff::Timestamp;
use model::{
    BatchId, NodeClaim, NodeClaimName, Problem, RegionCatalog, Requirement,
    condition::NotReady,
    labels,
    launch::TemplateVersion,
    node_class::{
        ClassStatus, ClusterSettings, NodeClass, PlacementGroup, PlacementGroupTerm,
        ResolvedNodeClass, ResolvedTemplate, TemplateSource,
    },
    node_pool::NodePool,
    overlay::NodeOverlay,
    static_hash::NODE_POOL,
};
use report::error::BadInput;

use super::{CommandError, unreadable};
use crate::{
    assumed,
    catalog::source,
    cluster_facts::{self, ClusterFacts},
    manifests::{self, Depth, Read},
};

/// Everything.
pub(super) struct Input {
    pub(super) catalog: RegionCatalog,
    pub(super) class: ResolvedNodeClass,
    pub(super) claim: Box<NodeClaim>,
    pub(super) cluster: ClusterSettings,
    pub(super) profile: String,
    /// The NodePools that may launch from the class, with the one that is launched from, if it is there.
    pub(super) pools: Vec<NodePool>,
    pub(super) overlays: Vec<NodeOverlay>,
    /// What was taken for granted, because no object says it.
    pub(super) assumptions: Vec<String>,
    /// The drift hash of the NodePool; `None` without one.
    pub(super) pool_hash: Option<String>,
}

/// What is read.
pub(super) struct Asked<'a> {
    pub(super) files: (&'a [PathBuf], Depth),
    pub(super) facts: &'a Path,
    pub(super) from: Option<&'a Path>,
    /// Of several NodePools, the one that is meant.
    pub(super) node_pool: Option<&'a str>,
}

/// Reads the objects in `files`, the facts, and what EC2 says.
pub(super) fn load(asked: &Asked<'_>, settings: &Settings) -> Result<Input, CommandError> {
    let objects = Objects::read(asked.files, asked.node_pool)?;
    let Objects { mut class, mut status, not_ready, pool, claim, pools, overlays } = objects;
    settings.open_gates([&mut class]);
    let settings = &settings.nodes;
    let facts_of = cluster_facts::cluster_facts(&manifests::text(asked.facts)?);
    let facts = facts_of.map_err(|error| unreadable(asked.facts, &error))?;
    let name = class.name.to_string();
    if let Some(why) = not_ready {
        return Err(CommandError::Refused(format!("EC2NodeClass `{name}` is not ready: {why}")));
    }
    let source = source::load(asked.from)?;
    let mut assumptions = Vec::new();
    if status == ClassStatus::default() {
        let catalog = source.clone().catalog(&[], settings);
        (status, assumptions) = assumed::status(&class, &catalog, &facts.settings)?;
    }
    let is_made = class.launch_template == TemplateSource::Made;
    let profile = status.instance_profile.clone().or_else(|| (!is_made).then(String::new));
    let Some(profile) = profile else {
        let why = "status.instanceProfile is not there";
        return Err(CommandError::Refused(format!("EC2NodeClass `{name}` is not ready: {why}")));
    };
    let catalog = source.catalog(&status.subnets, settings);
    let class = resolved(class, status, &facts);
    let pool_hash = pool.as_ref().and_then(|pool| {
        let stored = NODE_POOL.of(&pool.annotations)?;
        Some(stored.hash.to_owned())
    });
    let claim = match (claim, pool) {
        (Some(claim), _) => claim,
        (None, Some(pool)) => Box::new(claim_of(&pool)?),
        (None, None) => {
            return Err(BadInput::one("there is no NodePool or NodeClaim").into());
        }
    };
    let cluster = facts.settings;
    Ok(Input { catalog, class, claim, cluster, profile, pools, overlays, assumptions, pool_hash })
}

/// The objects of a launch.
struct Objects {
    class: NodeClass,
    status: ClassStatus,
    not_ready: Option<NotReady>,
    pool: Option<NodePool>,
    claim: Option<Box<NodeClaim>>,
    pools: Vec<NodePool>,
    overlays: Vec<NodeOverlay>,
}

impl Objects {
    fn read(
        (files, depth): (&[PathBuf], Depth),
        node_pool: Option<&str>,
    ) -> Result<Self, BadInput> {
        let read = Read::of(&manifests::files(files, depth)?);
        let manifests = || read.manifests.iter().flat_map(|manifest| &manifest.problems);
        let problems: Vec<String> = manifests().map(ToString::to_string).collect();
        if !problems.is_empty() {
            return Err(BadInput(problems));
        }
        let foreign: Vec<Diagnostic> = read.foreign().cloned().collect();
        let is_foreign = |pool: &NodePool| {
            let mut objects = foreign.iter().filter_map(|left| left.object.as_ref());
            objects.any(|object| object.name == pool.name.as_str())
        };
        let (mut classes, mut pools, mut claims) = (Vec::new(), Vec::new(), Vec::new());
        let mut overlays = Vec::new();
        let flat_map =
            read.manifests.into_iter().flat_map(|read| read.objects.into_iter().zip(read.places));
        for (object, place) in flat_map {
            match object {
                Object::NodeClass(read) => classes.push((*read, place)),
                Object::NodePool(pool) if is_foreign(&pool) => {}
                Object::NodePool(pool) => pools.push(pool),
                Object::NodeClaim(claim) => claims.push(claim),
                Object::NodeOverlay(overlay) => overlays.push(overlay),
                _ => {}
            }
        }
        if pools.is_empty() && claims.is_empty() && !foreign.is_empty() {
            return Err(BadInput(foreign.iter().map(ToString::to_string).collect()));
        }
        let mut of_class = pools.clone();
        if let Some(name) = node_pool {
            let known: Vec<String> = pools.iter().map(|pool| pool.name.to_string()).collect();
            pools.retain(|pool| pool.name.as_str() == name);
            if pools.is_empty() {
                return Err(no_such_pool(name, &known));
            }
            // A claim is another's, or says the same.
            claims.retain(|claim| claim.node_pool.as_str() == name);
        }
        let (pool, claim) = (at_most_one("NodePool", pools)?, at_most_one("NodeClaim", claims)?);
        let wanted = claim
            .as_ref()
            .map(|claim| &claim.node_class)
            .or_else(|| pool.as_ref().map(|pool| &pool.template.node_class));
        if let Some(wanted) = wanted {
            classes.retain(|(read, _)| read.class.name == *wanted);
        }
        let (read, place) = at_most_one("EC2NodeClass", classes)?.ok_or_else(|| {
            let name = wanted.map(|name| format!(" `{name}`")).unwrap_or_default();
            BadInput::one(format!("there is no EC2NodeClass{name}"))
        })?;
        let NodeClassManifest { class, status, .. } = read;
        of_class.retain(|pool| pool.template.node_class == class.name);
        let wrong = |problem: Problem| {
            BadInput::one(format!("{}: EC2NodeClass {}: {problem}", place.file, class.name))
        };
        let status = status.map_err(|problem| wrong(*problem))?;
        Ok(Self {
            class,
            status,
            not_ready: place.not_ready,
            pool,
            claim,
            pools: of_class,
            overlays,
        })
    }
}

fn no_such_pool(name: &str, known: &[String]) -> BadInput {
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    BadInput::one(format!("--nodepool: there is no NodePool `{name}`; there is {known}"))
}

fn at_most_one<T>(kind: &str, mut objects: Vec<T>) -> Result<Option<T>, BadInput> {
    let last = objects.pop();
    if objects.is_empty() {
        return Ok(last);
    }
    let cure = if kind == "NodePool" { "say which with --nodepool" } else { "give one at a time" };
    Err(BadInput::one(format!("there is more than one {kind}: {cure}")))
}

/// The class with what its status names and what the facts say about that.
fn resolved(class: NodeClass, status: ClassStatus, facts: &ClusterFacts) -> ResolvedNodeClass {
    let ClassStatus { mut subnets, security_groups, images, mut reservations, .. } = status;
    for subnet in &mut subnets {
        // What is assumed has as many as anybody needs.
        let free = facts.free_addresses.get(&subnet.id).copied();
        let assumed = subnet.available_ip_address_count;
        subnet.available_ip_address_count = free.unwrap_or(assumed);
    }
    for reservation in &mut reservations {
        let left = facts.reservations_left.get(reservation.id.as_str()).copied();
        reservation.available_count = left.unwrap_or_default();
    }
    let is_selected = |group: &&PlacementGroup| match &class.placement_group {
        Some(PlacementGroupTerm::Id(id)) => group.id == *id,
        Some(PlacementGroupTerm::Name(name)) => group.name == *name,
        None => false,
    };
    let placement_group = facts.placement_groups.iter().find(is_selected).cloned();
    let launch_template = match &class.launch_template {
        TemplateSource::Made => ResolvedTemplate::Made,
        TemplateSource::Named(name) => {
            ResolvedTemplate::Named { name: name.clone(), version: TemplateVersion::Latest }
        }
    };
    ResolvedNodeClass {
        class,
        subnets,
        security_groups,
        images,
        reservations,
        placement_group,
        launch_template,
    }
}

/// The claim that `pool` gives without any pod, as a static pool makes it.
///
/// Karpenter: `pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go`.
fn claim_of(pool: &NodePool) -> Result<NodeClaim, BadInput> {
    let template = &pool.template;
    let bad =
        |error: &dyn std::fmt::Display| BadInput::one(format!("NodePool {}: {error}", pool.name));
    let name = format!("{}-rendered", pool.name);
    let mut requirements = template.requirements.clone();
    let entries = [
        (labels::NODE_POOL, pool.name.as_str()),
        (labels::NODE_CLASS, template.node_class.as_str()),
    ];
    let given = template.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    for (key, value) in given.chain(entries) {
        requirements.add(Requirement::of_label(key, value).map_err(|error| bad(&error))?);
    }
    let batch = BatchId::new(&name).map_err(|error| bad(&error))?;
    let name = NodeClaimName::new(&name).map_err(|error| bad(&error))?;
    let (node_pool, node_class) = (pool.name.clone(), template.node_class.clone());
    Ok(NodeClaim {
        labels: template.labels.clone(),
        annotations: template.annotations.clone(),
        requirements,
        taints: template.taints.clone(),
        startup_taints: template.startup_taints.clone(),
        expire_after: template.expire_after,
        termination_grace_period: template.termination_grace_period,
        ..NodeClaim::created(name, node_pool, node_class, batch, Timestamp::UNIX_EPOCH)
    })
}
