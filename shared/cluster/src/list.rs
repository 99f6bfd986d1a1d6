//! Lists, page by page, each of one state of the cluster.
//!
//! Pages are read as bytes by `api`, which keeps what is needed of an object: thousands of whole
//! pods would not fit into a small function.

use api::lists::{self, Page, PodReader};
use kube::{
    api::{GetParams, ListParams},
    core::Request,
};
use model::{
    Pod, api_version,
    facts::DaemonSet,
    limits::{
        NODES_PER_CLUSTER_MAX, NODES_PER_CLUSTER_NEAR, PAGES_PER_LISTING_MAX, PODS_PER_PLAN_MAX,
        TOO_MANY_NODES_CURE, requests::OBJECTS_PER_PAGE,
    },
    node::Node,
    node_class::ListedNodeClass,
    node_pool::NodePool,
    overlay::NodeOverlay,
    policies::Policies,
    storage::{VolumeAttachment, VolumeClaim, VolumeClaimKey},
    words::many,
};
use ports::{
    Cluster, Fault, FoundDevices, FoundSelectors, Listing, Malformed, PodSelection, PortError,
    Surrounded,
};

use crate::{
    KubeCluster,
    call::{CallError, Effect},
    devices, selectors, surroundings,
};

/// One kind of list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind<T> {
    /// What the caller attempts.
    pub(crate) operation: &'static str,
    /// Where the API server has it.
    pub(crate) path: &'static str,
    /// Reads a page.
    pub(crate) read: fn(&[u8]) -> Result<Page<T>, lists::Error>,
    /// How many there may be.
    pub(crate) at_most: AtMost,
}

/// What happens when there are too many.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AtMost {
    /// Half of them would lead to a wrong decision: an error.
    Fail(usize),
    /// The rest waits, and the listing says so.
    Stop(usize),
    /// Only pages are counted.
    Unlimited,
}

pub(crate) const NODES: Kind<Node> = Kind {
    operation: "list nodes",
    path: "/api/v1/nodes",
    read: lists::node_list,
    at_most: AtMost::Fail(NODES_PER_CLUSTER_MAX),
};
pub(crate) const NODE_POOLS_PATH: &str = "/apis/karpenter.sh/v1/nodepools";
const NODE_POOLS: Kind<NodePool> = Kind {
    operation: "list NodePools",
    path: NODE_POOLS_PATH,
    read: lists::node_pool_list,
    at_most: AtMost::Unlimited,
};
pub(crate) const NODE_CLASSES_PATH: &str = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses";
const NODE_CLASSES: Kind<ListedNodeClass> = Kind {
    operation: "list EC2NodeClasses",
    path: NODE_CLASSES_PATH,
    read: lists::node_class_list,
    at_most: AtMost::Unlimited,
};
const DAEMON_SETS: Kind<DaemonSet> = Kind {
    operation: "list DaemonSets",
    path: "/apis/apps/v1/daemonsets",
    read: lists::daemon_set_list,
    at_most: AtMost::Unlimited,
};
const PODS: Kind<Pod> = Kind {
    operation: "list pods",
    path: "/api/v1/pods",
    read: lists::pod_list,
    at_most: AtMost::Unlimited,
};
const VOLUME_ATTACHMENTS: Kind<VolumeAttachment> = Kind {
    operation: "list VolumeAttachments",
    path: "/apis/storage.k8s.io/v1/volumeattachments",
    read: lists::volume_attachment_list,
    at_most: AtMost::Unlimited,
};
const WAITING_PODS: Kind<Pod> = Kind { at_most: AtMost::Stop(PODS_PER_PLAN_MAX), ..PODS };

impl Cluster for KubeCluster {
    async fn nodes(&self) -> Result<Listing<Node>, PortError> {
        self.list(&NODES).await
    }

    async fn node_pools(&self) -> Result<Listing<NodePool>, PortError> {
        or_not_installed(self.list(&NODE_POOLS).await, "NodePool", api_version::KARPENTER_V1)
    }

    async fn node_classes(&self) -> Result<Listing<ListedNodeClass>, PortError> {
        let listing = self.list(&NODE_CLASSES).await;
        or_not_installed(listing, "EC2NodeClass", api_version::AWS_V1)
    }

    async fn node_overlays(&self) -> Result<Listing<NodeOverlay>, PortError> {
        surroundings::overlays(self).await
    }

    async fn daemon_sets(&self) -> Result<Listing<DaemonSet>, PortError> {
        self.list(&DAEMON_SETS).await
    }

    async fn surroundings(&self, policies: &Policies) -> Result<Surrounded, PortError> {
        surroundings::read(self, policies).await
    }

    async fn devices(&self) -> Result<FoundDevices, PortError> {
        devices::read(self).await
    }

    async fn pod_selectors(&self) -> Result<FoundSelectors, PortError> {
        selectors::read(self).await
    }

    async fn pods(&self, selection: &PodSelection) -> Result<Listing<Pod>, PortError> {
        let on_node;
        let (kind, fields) = match selection {
            PodSelection::Waiting => (&WAITING_PODS, Some("spec.nodeName=,status.phase=Pending")),
            PodSelection::OnNode(node) => {
                on_node = format!("spec.nodeName={node}");
                (&PODS, Some(on_node.as_str()))
            }
            PodSelection::All => (&PODS, None),
        };
        let selected =
            ListParams { field_selector: fields.map(str::to_owned), ..ListParams::default() };
        // What pods of different pages have in common is kept once.
        let mut reader = PodReader::default();
        let mut read = |body: &[u8]| Ok(reader.page(body)?.map(|read| read.pod));
        self.list_by(kind, &selected, &mut read).await
    }

    async fn volume_attachments(&self) -> Result<Listing<VolumeAttachment>, PortError> {
        self.list(&VOLUME_ATTACHMENTS).await
    }

    async fn volume_claim(&self, key: &VolumeClaimKey) -> Result<Option<VolumeClaim>, PortError> {
        let VolumeClaimKey { namespace, name } = key;
        let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
        let request = Request::new(path).get(name.as_str(), &GetParams::default());
        let read = match self.call(request).await {
            Ok(body) => lists::volume_claim(body.as_bytes())
                .map_err(|error| CallError::Unreadable(error.into())),
            Err(error) if error.code() == Some(404) => return Ok(None),
            Err(error) => Err(error),
        };
        let operation = "get a PersistentVolumeClaim";
        read.map(Some).map_err(|error| error.into_port_error(operation, Effect::Reads))
    }
}

/// A cluster that does not know the kind has none of it. That is no failure, but the user should
/// hear of it.
pub(crate) fn or_not_installed<T>(
    listing: Result<Listing<T>, PortError>,
    kind: &str,
    api_version: &str,
) -> Result<Listing<T>, PortError> {
    match listing {
        Err(error) if error.fault == Fault::NotFound => {
            let problem =
                format!("the cluster does not know {api_version} {kind}: install the CRDs");
            let malformed = vec![Malformed::new(kind, problem)];
            Ok(Listing { items: Vec::new(), malformed })
        }
        other => other,
    }
}

/// Reads a page, and may remember others.
type ReadPage<'a, T> = dyn FnMut(&[u8]) -> Result<Page<T>, lists::Error> + 'a;

/// Why a list was not read to its end.
enum ListError {
    /// The state that its pages are of is gone.
    Expired(PortError),
    Failed(PortError),
}

impl KubeCluster {
    /// All objects of `kind`, of one state. Pages that expire are begun again once.
    pub(crate) async fn list<T>(&self, kind: &Kind<T>) -> Result<Listing<T>, PortError> {
        self.list_by(kind, &ListParams::default(), &mut |body| (kind.read)(body)).await
    }

    /// Those that `labels` select.
    pub(crate) async fn list_labeled<T>(
        &self,
        kind: &Kind<T>,
        labels: &str,
    ) -> Result<Listing<T>, PortError> {
        let selected = ListParams::default().labels(labels);
        self.list_by(kind, &selected, &mut |body| (kind.read)(body)).await
    }

    /// The same, with `read` for each page.
    async fn list_by<T>(
        &self,
        kind: &Kind<T>,
        selected: &ListParams,
        read: &mut ReadPage<'_, T>,
    ) -> Result<Listing<T>, PortError> {
        match self.list_once(kind, selected, read).await {
            Ok(listing) => return Ok(listing),
            Err(ListError::Failed(error)) => return Err(error),
            Err(ListError::Expired(_)) => tracing::info!(kind.operation, "pages expired"),
        }
        self.list_once(kind, selected, read).await.map_err(|error| match error {
            ListError::Expired(error) | ListError::Failed(error) => error,
        })
    }

    async fn list_once<T>(
        &self,
        kind: &Kind<T>,
        selected: &ListParams,
        read: &mut ReadPage<'_, T>,
    ) -> Result<Listing<T>, ListError> {
        let mut listing = Listing::default();
        let mut state = None;
        let mut next: Option<String> = None;
        for _ in 0..PAGES_PER_LISTING_MAX {
            let page = match self.page(kind, selected, next.as_deref(), read).await {
                Ok(page) => page,
                Err(error) if next.is_some() && error.code() == Some(410) => {
                    return Err(ListError::Expired(
                        error.into_port_error(kind.operation, Effect::Reads),
                    ));
                }
                Err(error) => {
                    return Err(ListError::Failed(
                        error.into_port_error(kind.operation, Effect::Reads),
                    ));
                }
            };
            // The API server guarantees it, but decisions rely on it, so it is checked.
            let first = state.get_or_insert_with(|| page.resource_version.clone());
            if *first != page.resource_version {
                let why = "the pages of the list are of different states";
                return Err(ListError::Expired(PortError::because(
                    kind.operation,
                    Fault::Transient,
                    why,
                )));
            }
            next.clone_from(&page.continue_token);
            let is_full = add_page(kind, &mut listing, page).map_err(ListError::Failed)?;
            if next.is_none() || is_full {
                let count = listing.items.len();
                if matches!(kind.at_most, AtMost::Fail(_)) && count >= NODES_PER_CLUSTER_NEAR {
                    tracing::warn!(
                        kind.operation,
                        count,
                        "the maximum is near: {TOO_MANY_NODES_CURE}"
                    );
                }
                return Ok(listing);
            }
        }
        let why = format!("it has more than {PAGES_PER_LISTING_MAX} pages of {OBJECTS_PER_PAGE}");
        Err(ListError::Failed(PortError::because(kind.operation, Fault::Permanent, why)))
    }

    /// One page of a list, which begins where `continue_token` says.
    async fn page<T>(
        &self,
        kind: &Kind<T>,
        selected: &ListParams,
        continue_token: Option<&str>,
        read: &mut ReadPage<'_, T>,
    ) -> Result<Page<T>, CallError> {
        let mut params = selected.clone().limit(OBJECTS_PER_PAGE.into());
        params.continue_token = continue_token.map(str::to_owned);
        let body = self.call(Request::new(kind.path).list(&params)).await?;
        read(body.as_bytes()).map_err(|error| CallError::Unreadable(error.into()))
    }
}

/// An object that the reader refused, as a port hands it on.
pub(crate) fn malformed(unread: lists::MalformedObject) -> Malformed {
    let lists::MalformedObject { object, problem, provider_id } = unread;
    Malformed { object: object.to_string(), problem, provider_id }
}

/// Adds a page. Whether the list is full and the rest has to wait.
fn add_page<T>(kind: &Kind<T>, listing: &mut Listing<T>, page: Page<T>) -> Result<bool, PortError> {
    let has_more = page.continue_token.is_some();
    listing.items.extend(page.items);
    listing.malformed.extend(page.malformed.into_iter().map(malformed));
    match kind.at_most {
        AtMost::Fail(max) if listing.items.len() > max => {
            let max = many(max);
            let why = format!(
                "there are more than {max}, the most that is supported: {TOO_MANY_NODES_CURE}"
            );
            Err(PortError::because(kind.operation, Fault::Permanent, why))
        }
        AtMost::Stop(max)
            if listing.items.len() > max || listing.items.len() == max && has_more =>
        {
            listing.items.truncate(max);
            let problem = format!("there are more than {max}: the rest waits");
            listing.malformed.push(Malformed::new(kind.operation, problem));
            Ok(true)
        }
        AtMost::Fail(_) | AtMost::Stop(_) | AtMost::Unlimited => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(items: &[u32], next: Option<&str>) -> Page<u32> {
        Page {
            items: items.to_vec(),
            malformed: Vec::new(),
            continue_token: next.map(str::to_owned),
            resource_version: None,
        }
    }

    /// What three objects at most make of a page after two others.
    #[track_caller]
    fn check(items: &[u32], next: Option<&str>, expected: &[u32], is_cut: bool) {
        let read = |_: &[u8]| Ok(page(&[], None));
        let kind = Kind { operation: "list", path: "/", read, at_most: AtMost::Stop(3) };
        let mut listing = Listing { items: vec![1, 2], malformed: Vec::new() };
        assert_eq!(add_page(&kind, &mut listing, page(items, next)).unwrap(), is_cut);
        assert_eq!(listing.items, expected);
        let problems: Vec<_> = listing.malformed.iter().map(|m| m.problem.as_str()).collect();
        assert_eq!(problems, vec!["there are more than 3: the rest waits"; usize::from(is_cut)]);
    }

    #[test]
    fn what_is_too_much_waits_and_is_logged() {
        check(&[], Some("more"), &[1, 2], false);
        check(&[3], None, &[1, 2, 3], false);
        check(&[3], Some("more"), &[1, 2, 3], true);
        check(&[3, 4], None, &[1, 2, 3], true);
    }
}
