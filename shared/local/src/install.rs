//! What an installation puts into a cluster, and whether the cluster is one to play in.

use std::{collections::BTreeSet, path::Path, time::Duration};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::Node};
use kube::{
    Api, Client, Config,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{GroupVersionKind, discovery::v2::APIGroupDiscovery},
};
use model::{labels, lease};
use serde_json::{Value, json};

use crate::LocalError;

/// Who owns the fields that are applied here.
const MANAGER: &str = "journeyman";
/// The code of the API server for what is not there.
const NOT_FOUND: u16 = 404;
const LOOKS: u32 = 150;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// A cluster that a kubeconfig names.
pub(crate) struct NamedCluster {
    pub(crate) client: Client,
    /// The URL of its API server.
    pub(crate) url: String,
    /// Its certificate authority in base64, if the kubeconfig has it in itself.
    pub(crate) ca_bundle: Option<String>,
}

/// The cluster of the current context of `kubeconfig`.
pub(crate) async fn connect(kubeconfig: &Path) -> Result<NamedCluster, LocalError> {
    let refused = |source: Box<dyn std::error::Error + Send + Sync>| LocalError::Connection {
        kubeconfig: kubeconfig.to_owned(),
        source,
    };
    let read = Kubeconfig::read_from(kubeconfig).map_err(|error| refused(error.into()))?;
    let ca_bundle = ca_bundle(&read);
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(read, &options)
        .await
        .map_err(|error| refused(error.into()))?;
    let url = config.cluster_url.to_string();
    let client = Client::try_from(config).map_err(|error| refused(error.into()))?;
    Ok(NamedCluster { client, url, ca_bundle })
}

fn ca_bundle(kubeconfig: &Kubeconfig) -> Option<String> {
    let current = kubeconfig.current_context.as_ref()?;
    let context = kubeconfig.contexts.iter().find(|context| context.name == *current)?;
    let wanted = &context.context.as_ref()?.cluster;
    let cluster = kubeconfig.clusters.iter().find(|cluster| cluster.name == *wanted)?;
    cluster.cluster.as_ref()?.certificate_authority_data.clone()
}

/// Refuses clusters with real nodes: the nodes here are deleted at the end.
pub(crate) async fn refuse_real(
    kubeconfig: &Path,
    client: &Client,
    url: &str,
) -> Result<(), LocalError> {
    let unfit = |why| Err(LocalError::Unfit { kubeconfig: kubeconfig.to_owned(), why });
    if url.contains(".eks.amazonaws.com") {
        return unfit(format!(
            "{url} is an EKS cluster: only clusters without an account are played in"
        ));
    }
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await.map_err(install("nodes"))?;
    for node in nodes {
        let provider_id = node.spec.and_then(|spec| spec.provider_id).unwrap_or_default();
        if provider_id.starts_with("aws:") {
            let name = node.metadata.name.unwrap_or_default();
            return unfit(format!(
                "node {name} is an EC2 instance, {provider_id}: only clusters without any are played in"
            ));
        }
    }
    Ok(())
}

/// Applies `objects`, definitions first, and waits until the API server lists what they define.
pub(crate) async fn apply(client: &Client, objects: &[Value]) -> Result<(), LocalError> {
    let mut definitions = Vec::new();
    for object in objects {
        let (kind, name, api) = place(client, object);
        let what = format!("{kind} {name}");
        let params = PatchParams::apply(MANAGER).force();
        api.patch(name, &params, &Patch::Apply(object)).await.map_err(install(&what))?;
        if kind == "CustomResourceDefinition" {
            definitions.push(name.to_owned());
        }
    }
    until_listed(client, &definitions).await
}

/// The kind and the name of `object`, and where objects of its kind are.
fn place<'a>(client: &Client, object: &'a Value) -> (&'a str, &'a str, Api<DynamicObject>) {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/kind");
    let (group, version) = text("/apiVersion").split_once('/').unwrap_or_default();
    // No kind that is installed has another plural.
    let plural = match kind.to_lowercase() {
        kind if kind.ends_with('y') => format!("{}ies", kind.trim_end_matches('y')),
        kind => format!("{kind}s"),
    };
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &plural);
    let api = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    (kind, text("/metadata/name"), api)
}

/// Removes what no function removes any more: NodeClaims, whose instances are no more, and the lease of the ledger that
/// had them, for which the next ledger of the cluster would wait.
pub(crate) async fn withdraw(client: &Client) {
    let kind = GroupVersionKind::gvk("karpenter.sh", "v1", "NodeClaim");
    let claims: Api<DynamicObject> =
        Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "nodeclaims"));
    let ours = ListParams::default().labels(&format!("{}={MANAGER}", labels::MANAGED_BY));
    let listed = claims.list(&ours).await.map(|list| list.items).unwrap_or_default();
    for claim in listed {
        let name = claim.metadata.name.unwrap_or_default();
        let free = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
        // One that is being deleted is gone with its finalizers.
        drop(claims.patch(&name, &PatchParams::default(), &free).await);
        match claims.delete(&name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == NOT_FOUND => {}
            Err(error) => tracing::warn!("NodeClaim {name} stays, delete it: {error}"),
        }
    }
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    drop(leases.delete(lease::LEDGER_LEASE, &DeleteParams::default()).await);
}

/// Removes `objects`, the last one first.
pub(crate) async fn remove(client: &Client, objects: &[Value]) {
    for object in objects.iter().rev() {
        let (kind, name, api) = place(client, object);
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == NOT_FOUND => {}
            Err(error) => tracing::warn!("{kind} {name} stays, delete it: {error}"),
        }
    }
}

/// Waits until `kubectl` finds the kinds of the CustomResourceDefinitions `names`. The API server lists them a moment
/// after it has established them.
async fn until_listed(client: &Client, names: &[String]) -> Result<(), LocalError> {
    for _ in 0..LOOKS {
        let listed = client.list_api_groups_aggregated().await.map_err(install("API groups"))?;
        let listed: BTreeSet<String> = listed.items.iter().flat_map(defined_names).collect();
        if names.iter().all(|name| listed.contains(name)) {
            return Ok(());
        }
        pause(BETWEEN_LOOKS).await;
    }
    Err(LocalError::Late("the kinds of the CustomResourceDefinitions are listed"))
}

/// The names of the CustomResourceDefinitions that could define the resources of `group`.
fn defined_names(group: &APIGroupDiscovery) -> Vec<String> {
    let name = group.metadata.as_ref().and_then(|metadata| metadata.name.as_deref());
    let resources = group.versions.iter().flat_map(|version| &version.resources);
    let plurals = resources.filter_map(|resource| resource.resource.as_deref());
    let name = name.unwrap_or_default();
    plurals.map(|plural| format!("{plural}.{name}")).collect()
}

fn install(what: &str) -> impl FnOnce(kube::Error) -> LocalError + use<> {
    let what = what.to_owned();
    move |error| LocalError::Install { what, source: Box::new(error) }
}

#[expect(clippy::disallowed_methods, reason = "a real control plane takes real time")]
pub(crate) async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
