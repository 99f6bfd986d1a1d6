//! Leases that say who provisions the cluster: Karpenter's are read, ours is held.
//!
//! <https://kubernetes.io/docs/concepts/architecture/leases/>

use api::objects::without_lease;
use jiff::{SignedDuration, Timestamp};
use kube::{
    api::{GetParams, ListParams, Patch, PostParams},
    core::Request,
};
use model::{
    LedgerId,
    lease::{
        KARPENTER_LABEL, KARPENTER_LEASE, KarpenterLease, KarpenterPod, LEDGER_LEASE,
        LEDGER_LEASE_DURATION, LedgerLease, ObservedLeases, UnreadableLease,
    },
    limits::{PAGES_PER_LISTING_MAX, requests::OBJECTS_PER_PAGE},
};
use ports::{Leases, PortError};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::{
    KubeCluster,
    call::{CallError, Effect, patch_params},
};

/// Those of all namespaces.
const LEASES_PATH: &str = "/apis/coordination.k8s.io/v1/leases";
/// Those of all namespaces.
const PODS_PATH: &str = "/api/v1/pods";
/// Where ours is.
const OUR_LEASES_PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
/// How many commits of new claims the ledger had seen when the lease was renewed.
const ARRIVALS: &str = "journeyman/arrivals";

const LIST: &str = "list leases";
const LIST_PODS: &str = "list pods of Karpenter";
const HOLD: &str = "hold the lease";

#[derive(Deserialize)]
struct Page<T> {
    metadata: ListMetadata,
    items: Vec<T>,
}

#[derive(Default, Deserialize)]
struct ListMetadata {
    #[serde(default, rename = "continue")]
    continue_token: Option<String>,
}

#[derive(Deserialize)]
struct Lease {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default)]
    resource_version: Option<String>,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    holder_identity: Option<String>,
    #[serde(default)]
    lease_duration_seconds: Option<i64>,
    #[serde(default)]
    renew_time: Option<String>,
}

impl Lease {
    /// Who holds it, since when it was renewed, and for how long; `None` while there is no holder.
    fn held(&self) -> Result<Option<(&str, Timestamp, SignedDuration)>, String> {
        let Spec { holder_identity, lease_duration_seconds, renew_time } = &self.spec;
        let Some(holder) = holder_identity.as_deref().filter(|holder| !holder.is_empty()) else {
            return Ok(None);
        };
        let renewed_at = renew_time.as_deref().and_then(|time| time.parse().ok());
        let renewed_at = renewed_at.ok_or("spec.renewTime is not a time")?;
        let seconds = lease_duration_seconds.filter(|seconds| *seconds > 0);
        let seconds = seconds.ok_or("spec.leaseDurationSeconds must be positive")?;
        Ok(Some((holder, renewed_at, SignedDuration::from_secs(seconds))))
    }

    /// As one of Karpenter's.
    fn of_karpenter(&self) -> Result<Option<KarpenterLease>, String> {
        let held = self.held()?;
        Ok(held.map(|(holder, renewed_at, duration)| KarpenterLease {
            namespace: self.metadata.namespace.clone(),
            holder: holder.to_owned(),
            renewed_at,
            duration,
        }))
    }

    /// As ours.
    fn of_ledger(&self) -> Result<Option<LedgerLease>, String> {
        let Some((holder, renewed_at, _)) = self.held()? else { return Ok(None) };
        let ledger =
            LedgerId::new(holder).map_err(|error| format!("spec.holderIdentity: {error}"))?;
        let arrivals = self.metadata.annotations.get(ARRIVALS).and_then(|text| text.parse().ok());
        let arrivals = arrivals.ok_or_else(|| format!("annotation {ARRIVALS} is not a number"))?;
        Ok(Some(LedgerLease { ledger, arrivals, renewed_at }))
    }
}

impl Leases for KubeCluster {
    async fn leases(&self) -> Result<ObservedLeases, PortError> {
        let failed = |error: CallError| error.into_port_error(LIST, Effect::Reads);
        let ours = self.our_lease().await.map_err(failed)?;
        let ledger = ours.map(|lease| lease.of_ledger()).transpose();
        // A lease that cannot be read is not absent: its holder counts.
        let unreadable = |why| {
            let why = format!("Lease kube-system/{LEDGER_LEASE}: {why}");
            failed(CallError::Unreadable(why.into()))
        };
        let ledger = ledger.map_err(unreadable)?.flatten();
        let selector = format!("metadata.name={KARPENTER_LEASE}");
        let without_lease = self.without_lease().await?;
        let mut observed = ObservedLeases { ledger, without_lease, ..ObservedLeases::default() };
        let params = ListParams::default().fields(&selector);
        for lease in self.listed::<Lease>(LEASES_PATH, params).await.map_err(failed)? {
            match lease.of_karpenter() {
                Ok(lease) => observed.karpenter.extend(lease),
                Err(why) => observed
                    .unreadable
                    .push(UnreadableLease { namespace: lease.metadata.namespace.clone(), why }),
            }
        }
        Ok(observed)
    }

    /// Under the version that was read, so that of two ledgers only one takes it.
    async fn hold(&self, lease: &LedgerLease) -> Result<(), PortError> {
        let stored =
            self.our_lease().await.map_err(|error| error.into_port_error(HOLD, Effect::Reads))?;
        let request = match &stored {
            None => {
                let body = document(lease, None).to_string().into_bytes();
                Request::new(OUR_LEASES_PATH).create(&PostParams::default(), body)
            }
            Some(stored) => {
                let patch = Patch::Merge(document(lease, Some(stored)));
                Request::new(OUR_LEASES_PATH).patch(LEDGER_LEASE, &patch_params(), &patch)
            }
        };
        let answer = self.call(request).await;
        answer.map(drop).map_err(|error| error.into_port_error(HOLD, Effect::Writes))
    }
}

impl KubeCluster {
    async fn without_lease(&self) -> Result<Vec<KarpenterPod>, PortError> {
        let (label, value) = KARPENTER_LABEL;
        let params = ListParams::default().labels(&format!("{label}={value}"));
        match self.listed::<Value>(PODS_PATH, params).await {
            Ok(pods) => Ok(pods.iter().filter_map(without_lease).collect()),
            // The rights in the cluster may be older than the stack.
            Err(error) if error.code() == Some(403) => {
                let why = error.to_string();
                tracing::warn!(why, "a Karpenter without a lease is not noticed");
                Ok(Vec::new())
            }
            Err(error) => Err(error.into_port_error(LIST_PODS, Effect::Reads)),
        }
    }

    /// All pages of a list.
    async fn listed<T: DeserializeOwned>(
        &self,
        path: &str,
        params: ListParams,
    ) -> Result<Vec<T>, CallError> {
        let mut params = params.limit(OBJECTS_PER_PAGE.into());
        let mut items = Vec::new();
        for _ in 0..PAGES_PER_LISTING_MAX {
            let body = self.call(Request::new(path).list(&params)).await?;
            let page: Page<T> = read(&body)?;
            items.extend(page.items);
            params.continue_token = page.metadata.continue_token.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(items);
            }
        }
        let why = format!("there are more than {PAGES_PER_LISTING_MAX} pages");
        Err(CallError::Unreadable(why.into()))
    }

    async fn our_lease(&self) -> Result<Option<Lease>, CallError> {
        let request = Request::new(OUR_LEASES_PATH).get(LEDGER_LEASE, &GetParams::default());
        match self.call(request).await {
            Ok(body) => read(&body).map(Some),
            Err(error) if error.code() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn read<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T, CallError> {
    serde_json::from_str(body).map_err(|error| CallError::Unreadable(error.into()))
}

/// Our lease as `lease` says it: a new one, or what is changed of `stored`.
fn document(lease: &LedgerLease, stored: Option<&Lease>) -> Value {
    // MicroTime has six digits.
    let renewed_at = format!("{:.6}", lease.renewed_at);
    let mut spec = Map::new();
    spec.insert("holderIdentity".to_owned(), lease.ledger.as_str().into());
    spec.insert("leaseDurationSeconds".to_owned(), LEDGER_LEASE_DURATION.as_secs().into());
    spec.insert("renewTime".to_owned(), renewed_at.as_str().into());
    let holder = stored.and_then(|stored| stored.spec.holder_identity.as_deref());
    if holder != Some(lease.ledger.as_str()) {
        spec.insert("acquireTime".to_owned(), renewed_at.into());
    }
    let annotations = json!({ ARRIVALS: lease.arrivals.to_string() });
    let metadata = match stored {
        None => json!({ "name": LEDGER_LEASE, "annotations": annotations }),
        Some(Lease { metadata, .. }) => json!({
            "uid": metadata.uid, "resourceVersion": metadata.resource_version,
            "annotations": annotations,
        }),
    };
    match stored {
        None => json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": metadata, "spec": spec,
        }),
        Some(_) => json!({ "metadata": metadata, "spec": spec }),
    }
}
