//! What the ResourceClaims ask for that the simulated cluster makes for pods.

use std::collections::{BTreeMap, BTreeSet};

use api::{
    files::Manifest,
    objects::{NewPod, Object, PodManifest},
};
use model::{
    Namespace, ObjectName,
    dynamic_resources::{
        ClaimConsumer, DeviceConstraint, DeviceRequest, ResourceClaim, ResourceClaimKey,
    },
};
use simulator::StoryClaimTemplate;

/// What claims are made from.
#[derive(Debug, Default)]
pub(super) struct ClaimTemplates {
    templates: BTreeMap<ResourceClaimKey, StoryClaimTemplate>,
    /// Claims that were made for pods.
    made: BTreeMap<ResourceClaimKey, StoryClaimTemplate>,
    /// ResourceClaimTemplates that are not among the objects.
    missing: BTreeSet<ResourceClaimKey>,
}

impl ClaimTemplates {
    pub(super) fn of(manifests: &[Manifest]) -> Self {
        let template = |requests: &[DeviceRequest], constraints: &[DeviceConstraint]| {
            let (requests, constraints) = (requests.to_vec(), constraints.to_vec());
            StoryClaimTemplate { requests, constraints }
        };
        let mut templates = Self::default();
        for object in manifests.iter().flat_map(|manifest| &manifest.objects) {
            match object {
                Object::ClaimTemplate(read) => {
                    let template = template(&read.requests, &read.constraints);
                    templates.templates.insert(read.key.clone(), template);
                }
                Object::ResourceClaim(read) if read.is_of_pod => {
                    let claim = &read.claim;
                    let template = template(&claim.requests, &claim.constraints);
                    templates.made.insert(claim.key.clone(), template);
                }
                _ => {}
            }
        }
        templates
    }

    /// By what `spec.resourceClaims` of new pods calls them.
    pub(super) fn of_new(
        &mut self,
        namespace: &Namespace,
        new: &NewPod,
    ) -> BTreeMap<String, StoryClaimTemplate> {
        let mut templates = BTreeMap::new();
        for (reference, name) in new.claim_templates() {
            let key = key(namespace, name);
            match self.templates.get(&key) {
                Some(template) => {
                    templates.insert(reference.clone(), template.clone());
                }
                None => {
                    self.missing.insert(key);
                }
            }
        }
        templates
    }

    /// The same of a pod: one that a cluster has stored names the claims that were made for it.
    pub(super) fn of_pod(&mut self, read: &PodManifest) -> BTreeMap<String, StoryClaimTemplate> {
        let namespace = &read.pod.key.namespace;
        let mut templates = match &read.new {
            Some(new) => self.of_new(namespace, new),
            None => BTreeMap::new(),
        };
        for (reference, name) in &read.pod.made_claims {
            let key = name.as_ref().map(|name| key(namespace, name));
            let made = key.and_then(|key| self.made.get(&key));
            templates.extend(made.map(|made| (reference.clone(), made.clone())));
        }
        templates
    }

    /// A line for each ResourceClaimTemplate that is missing.
    pub(super) fn missing(&self) -> impl Iterator<Item = String> {
        self.missing.iter().map(|key| {
            format!(
                "ResourceClaimTemplate {key} is not among these files: no ResourceClaim is made from it, and its pods wait"
            )
        })
    }
}

/// `claim` without the pods that reserve it: the simulated cluster makes them anew, and they reserve it again.
pub(super) fn unreserved(mut claim: ResourceClaim) -> ResourceClaim {
    claim.reserved_for.retain(|consumer| !matches!(consumer, ClaimConsumer::Pod(_)));
    claim
}

fn key(namespace: &Namespace, name: &ObjectName) -> ResourceClaimKey {
    ResourceClaimKey { namespace: namespace.clone(), name: name.clone() }
}
