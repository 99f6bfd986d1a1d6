//! Devices and what claims them, as objects say; and the ResourceClaims that a cluster would make for pods.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use api::objects::ClaimTemplate;
use model::{
    InstanceType, ObjectName, Pod,
    dynamic_resources::{DeviceClass, DeviceFacts, ResourceClaim, ResourceClaimKey, ResourceSlice},
    facts::{ClassOffer, Facts},
    node_class::NodeClass,
};

/// Objects of `resource.k8s.io`.
#[derive(Debug, Default)]
pub(super) struct DeviceObjects {
    pub(super) slices: Vec<ResourceSlice>,
    pub(super) classes: Vec<DeviceClass>,
    pub(super) claims: Vec<ResourceClaim>,
    pub(super) templates: BTreeMap<ResourceClaimKey, ClaimTemplate>,
    /// ResourceClaimTemplates that pods name and that are not among the objects.
    missing: BTreeSet<ResourceClaimKey>,
}

impl DeviceObjects {
    /// Makes the claims that `pod` gets from `templates`, by what its spec calls them, unless it has them. Without its
    /// template a claim is never made, and the pod waits for it.
    pub(super) fn make_claims(&mut self, pod: &mut Pod, templates: &BTreeMap<String, ObjectName>) {
        for (reference, template) in templates {
            let name = ObjectName::new(&format!("{}-{reference}", pod.key.name));
            let Ok(name) = name else { continue };
            if pod.made_claims.contains_key(reference) {
                continue;
            }
            let key = |name: &ObjectName| ResourceClaimKey {
                namespace: pod.key.namespace.clone(),
                name: name.clone(),
            };
            match self.templates.get(&key(template)) {
                Some(template) => self.claims.push(template.claim(key(&name))),
                None => {
                    self.missing.insert(key(template));
                }
            }
            pod.made_claims.insert(reference.clone(), Some(name));
        }
    }

    /// Has `facts` know devices, if their policies place pods with claims; of `classes` those that new nodes would have.
    /// Returns what keeps pods waiting.
    pub(super) fn add_to<'c>(
        self,
        facts: &mut Facts,
        classes: impl Iterator<Item = &'c NodeClass>,
    ) -> Vec<String> {
        if !facts.policies.places_claims() {
            return Vec::new();
        }
        let offered = |class: &NodeClass| -> &[Arc<InstanceType>] {
            match facts.classes.as_ref().and_then(|classes| classes.get(&class.name)) {
                Some(ClassOffer::Ready(types)) => types,
                _ => &[],
            }
        };
        let types = classes.map(|class| {
            let claims = facts.ledger.claims.values();
            let launched = claims.filter(|claim| claim.node_class == class.name);
            let launched = launched.filter_map(|claim| claim.instance.as_ref());
            let launched = launched.map(|instance| &instance.instance_type);
            (class, launched.chain(offered(class).iter().map(|sold| &sold.name)))
        });
        let templates = devices::templates_of_pools(&facts.policies, types, &facts.node_pools);
        let initialized = devices::initialized(facts.nodes.values());
        let Self { slices, classes, claims, missing, .. } = self;
        facts.devices =
            Some(Arc::new(DeviceFacts { slices, classes, claims, initialized, templates }));
        missing.iter().map(no_template).collect()
    }
}

/// That no claim is made of a ResourceClaimTemplate.
fn no_template(key: &ResourceClaimKey) -> String {
    format!(
        "ResourceClaimTemplate {key} is not among the objects: pods wait for the ResourceClaims that are made from it"
    )
}
