//! Which pods Services and controllers select.

use api::{
    lists,
    objects::{LabelsSelected, Workload},
};
use futures_util::future::try_join4;
use model::default_spread::PodSelectors;
use ports::{FoundSelectors, PortError};

use crate::{
    KubeCluster,
    list::Kind,
    surroundings::{REPLICA_SETS, STATEFUL_SETS, kind},
};

const SERVICES: Kind<LabelsSelected> =
    kind("list Services", "/api/v1/services", lists::service_list);
const REPLICATION_CONTROLLERS: Kind<LabelsSelected> = kind(
    "list ReplicationControllers",
    "/api/v1/replicationcontrollers",
    lists::replication_controller_list,
);

/// Reads all of it, the kinds side by side.
pub(crate) async fn read(cluster: &KubeCluster) -> Result<FoundSelectors, PortError> {
    let (services, controllers, replica_sets, stateful_sets) = Box::pin(try_join4(
        cluster.list(&SERVICES),
        cluster.list(&REPLICATION_CONTROLLERS),
        cluster.list(&REPLICA_SETS),
        cluster.list(&STATEFUL_SETS),
    ))
    .await?;
    let mut malformed = Vec::new();
    let mut selectors = PodSelectors::default();
    malformed.extend(services.malformed);
    for (key, labels) in services.items {
        selectors.add_service(key.namespace, labels);
    }
    malformed.extend(controllers.malformed);
    for (key, labels) in controllers.items {
        selectors.add_replication_controller(key.namespace, key.name.as_str(), labels);
    }
    for workloads in [replica_sets, stateful_sets] {
        malformed.extend(workloads.malformed);
        for Workload { key, kind, selector, .. } in workloads.items {
            if let Some(selector) = selector {
                selectors.add_controller(key.namespace, kind.owner(&key.name), selector);
            }
        }
    }
    Ok(FoundSelectors { selectors, malformed })
}
