//! A stand-in for Karpenter, for `journeyman release` and `journeyman adopt`. While Karpenter's Deployment has replicas,
//! it holds the lease as Karpenter's leader does. It decides nothing.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::{apps::v1::Deployment, coordination::v1::Lease};
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams},
};
use model::lease::{KARPENTER_LABEL, KARPENTER_LEASE};
use serde_json::{Value, json};

/// Between two renewals, and how long each holds: those of Karpenter.
const RENEWS: Duration = Duration::from_secs(2);
const HOLDS_SECONDS: u32 = 15;
/// Who owns the fields that are applied here, and who holds the lease.
const HOLDER: &str = "karpenter-stand-in";

/// Holds the lease of each Karpenter in the cluster of `client`, for ever.
pub(crate) async fn play(client: &Client) {
    let deployments: Api<Deployment> = Api::all(client.clone());
    let (label, value) = KARPENTER_LABEL;
    let of_karpenter = ListParams::default().labels(&format!("{label}={value}"));
    let mut ticks = tokio::time::interval(RENEWS);
    loop {
        ticks.tick().await;
        // What fails now is tried again before the lease ends.
        let Ok(listed) = deployments.list(&of_karpenter).await else { continue };
        for namespace in listed.items.iter().filter_map(runs_in) {
            let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
            let patch = Patch::Apply(lease(crate::lines::present()));
            let params = PatchParams::apply(HOLDER).force();
            if let Err(error) = leases.patch(KARPENTER_LEASE, &params, &patch).await {
                tracing::warn!("the lease of Karpenter in {namespace} cannot be renewed: {error}");
            }
        }
    }
}

/// The namespace of a Deployment with replicas; none: it is scaled to zero.
fn runs_in(deployment: &Deployment) -> Option<&str> {
    let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    deployment.metadata.namespace.as_deref().filter(|_| replicas > 0)
}

fn lease(now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": KARPENTER_LEASE},
        "spec": {
            "holderIdentity": HOLDER,
            "leaseDurationSeconds": HOLDS_SECONDS,
            "renewTime": format!("{now:.6}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, coordination::v1::Lease};
    use serde_json::json;

    use super::{lease, runs_in};

    #[test]
    fn a_karpenter_runs_where_its_deployment_has_replicas() {
        let deployment = |spec| -> Deployment {
            serde_json::from_value(json!({"metadata": {"namespace": "karpenter"}, "spec": spec}))
                .expect("a Deployment")
        };
        let rest = json!({"selector": {}, "template": {}});
        let with = |replicas: u32| {
            let mut spec = rest.clone();
            spec["replicas"] = json!(replicas);
            deployment(spec)
        };
        assert_eq!(runs_in(&with(2)), Some("karpenter"));
        assert_eq!(runs_in(&with(0)), None);
        assert_eq!(runs_in(&deployment(rest.clone())), Some("karpenter"));
    }

    #[test]
    fn its_lease_is_one_that_the_api_server_reads() {
        let now = "2026-08-01T12:00:00.5Z".parse().expect("a time");
        let read: Lease = serde_json::from_value(lease(now)).expect("a Lease");
        let spec = read.spec.expect("a spec");
        assert_eq!(spec.renew_time.expect("a time").0, now);
        assert_eq!(spec.lease_duration_seconds, Some(15));
    }
}
