//! The cluster of a kubeconfig, read through its API server. Nothing is changed.

use api::files::{self, Manifest};
use installer::live::{self, ClusterClient, LiveAnswer, ObjectFilter, ObjectKind, kinds};
use report::{error::BadInput, progress::ProgressLine};
use serde_json::{Value, json};

use crate::plan::args::PlanArgs;

/// What is read, capacity before pods: what is bound meanwhile is planned too little, never too much.
const KINDS: [ObjectKind; 13] = [
    kinds::NODE_POOLS,
    kinds::NODE_CLASSES,
    kinds::NODE_CLAIMS,
    kinds::NODE_OVERLAYS,
    kinds::BUFFERS,
    kinds::NODES,
    kinds::DAEMON_SETS,
    kinds::NAMESPACES,
    kinds::STORAGE_CLASSES,
    kinds::VOLUME_CLAIMS,
    kinds::VOLUMES,
    kinds::CSI_NODES,
    kinds::DISRUPTION_BUDGETS,
];

/// Custom kinds that a cluster has if it has anything to plan for.
const NEEDED: [ObjectKind; 2] = [kinds::NODE_POOLS, kinds::NODE_CLASSES];

/// What buffers may refer to.
const REFERABLE: [ObjectKind; 4] =
    [kinds::POD_TEMPLATES, kinds::DEPLOYMENTS, kinds::STATEFUL_SETS, kinds::REPLICA_SETS];

/// What selects pods: needed for default spread constraints.
const SELECTING: [ObjectKind; 4] =
    [kinds::SERVICES, kinds::REPLICATION_CONTROLLERS, kinds::STATEFUL_SETS, kinds::REPLICA_SETS];

/// Devices and what claims them: needed where pods with claims are placed. Claims are last: a device that was taken
/// meanwhile is not free.
const DEVICES: [ObjectKind; 3] =
    [kinds::RESOURCE_SLICES, kinds::DEVICE_CLASSES, kinds::RESOURCE_CLAIMS];

/// What was read, and of whom.
pub(super) struct Read {
    pub(super) manifests: Vec<Manifest>,
    /// The URL of the API server.
    pub(super) server: String,
}

/// Reads all of it.
pub(super) fn read(args: &PlanArgs, progress: &ProgressLine) -> Result<Read, BadInput> {
    live::needed("plan --live")?;
    let cluster = ClusterClient::open(&args.place()).map_err(BadInput::one)?;
    let settings = args.settings()?;
    let asked = Asked {
        spreads: !settings.default_spread.constraints.is_empty(),
        places_claims: settings.policies.places_claims(),
    };
    let manifests = manifests(&cluster, asked, progress).map_err(BadInput::one)?;
    Ok(Read { manifests, server: cluster.server().to_owned() })
}

/// What settings ask for beside what every plan needs.
#[derive(Clone, Copy)]
struct Asked {
    /// Pods may get default spread constraints.
    spreads: bool,
    /// Pods with ResourceClaims are placed.
    places_claims: bool,
}

fn manifests(
    cluster: &ClusterClient,
    Asked { spreads, places_claims }: Asked,
    progress: &ProgressLine,
) -> LiveAnswer<Vec<Manifest>> {
    let mut manifests = Vec::new();
    let mut has_buffers = false;
    for kind in KINDS.into_iter().chain(DEVICES.into_iter().filter(|_| places_claims)) {
        progress.says(format!("reading {kind}"));
        match cluster.selected(&kind, ObjectFilter::default())? {
            Some(objects) => {
                has_buffers |= kind == kinds::BUFFERS && !objects.is_empty();
                manifests.push(manifest(&kind, &objects));
            }
            None if NEEDED.contains(&kind) => {
                return Err(format!(
                    "list {kind}: the cluster at {} does not know this kind: `journeyman install CLUSTER` defines it, or \
                     name another cluster by --context or --kubeconfig",
                    cluster.server()
                ));
            }
            None => {}
        }
    }
    let referable = REFERABLE.iter().filter(|_| has_buffers);
    let selecting =
        SELECTING.iter().filter(|kind| spreads && !(has_buffers && REFERABLE.contains(kind)));
    for kind in referable.chain(selecting) {
        progress.says(format!("reading {kind}"));
        manifests.push(manifest(kind, &cluster.objects(kind)?));
    }
    progress.says("reading pods");
    manifests.push(Manifest::of_pods(cluster.pods()?, &kinds::PODS.to_string()));
    Ok(manifests)
}

/// Objects of a kind as a file has them, which is called as the kind.
fn manifest(kind: &ObjectKind, objects: &[Value]) -> Manifest {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    files::read(&list.to_string(), &kind.to_string())
}
