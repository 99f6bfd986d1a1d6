//! Devices that drivers publish, and what claims them.

use api::lists;
use futures_util::future::try_join;
use model::dynamic_resources::{DeviceClass, ResourceClaim, ResourceSlice};
use ports::{Fault, FoundDevices, Listing, PortError};

use crate::{KubeCluster, list::Kind, surroundings::kind};

const SLICES: Kind<ResourceSlice> = kind(
    "list ResourceSlices",
    "/apis/resource.k8s.io/v1/resourceslices",
    lists::resource_slice_list,
);
const CLASSES: Kind<DeviceClass> =
    kind("list DeviceClasses", "/apis/resource.k8s.io/v1/deviceclasses", lists::device_class_list);
const CLAIMS: Kind<ResourceClaim> = kind(
    "list ResourceClaims",
    "/apis/resource.k8s.io/v1/resourceclaims",
    lists::resource_claim_list,
);

/// ResourceSlices alone.
pub(crate) async fn slices(cluster: &KubeCluster) -> Result<Listing<ResourceSlice>, PortError> {
    all(cluster, &SLICES).await
}

/// Reads all of it.
pub(crate) async fn read(cluster: &KubeCluster) -> Result<FoundDevices, PortError> {
    let allocated = async {
        let slices = all(cluster, &SLICES).await?;
        // After the slices: a device that was taken meanwhile is not free.
        Ok((slices, all(cluster, &CLAIMS).await?))
    };
    let (classes, (slices, claims)) = Box::pin(try_join(all(cluster, &CLASSES), allocated)).await?;
    let malformed = [slices.malformed, classes.malformed, claims.malformed].concat();
    Ok(FoundDevices {
        slices: slices.items,
        classes: classes.items,
        claims: claims.items,
        malformed,
    })
}

/// A cluster before Kubernetes 1.34 has no device.
async fn all<T>(cluster: &KubeCluster, kind: &Kind<T>) -> Result<Listing<T>, PortError> {
    match cluster.list(kind).await {
        Err(error) if error.fault == Fault::NotFound => Ok(Listing::default()),
        listing => listing,
    }
}
