//! What a pass of `drain` sees of instances, nodes and pods, once for all claims.
//!
//! For few claims their nodes and the pods on them are asked for one by one; for many of a cluster, one
//! list of each is cheaper.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    DeletionReason, InstanceId, NodeClaim, NodeName, Pod, ProviderId,
    claim::Deletion,
    launch::{Instance, InstanceState},
    node::Node,
    protection,
};
use planner::InstanceView;
use ports::{
    Adapters, Cluster as _, Fault, Fleet as _, Invocation, Listing, Malformed, Nodes, PodSelection,
    PortError,
};

use super::DrainPorts;
use crate::{pass::each, settle::LISTING_LAG_MAX};

/// With more claims than this, passes are further apart …
const FEW: usize = 50;
/// … and everything is listed if they are one in this number of the cluster. A page of 500 pods takes as long
/// as asking for ten nodes and their pods: of 5,000 nodes all pods are listed in 20 s.
const LISTED_FROM_ONE_IN: usize = 10;
/// EC2 is asked about an instance that nothing is known to have happened to once its drain takes longer than this.
const ASKED_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// Nodes that are asked for at the same time.
const AT_ONCE: usize = 16;

pub(super) struct Observed {
    /// Instances that EC2 was asked about.
    asked: BTreeSet<InstanceId>,
    /// What EC2 says of them, and why.
    states: BTreeMap<InstanceId, (InstanceState, Option<String>)>,
    /// By the instance that they report.
    nodes: BTreeMap<InstanceId, Node>,
    /// Names of nodes that are there and cannot be read, each with the reason.
    unreadable: BTreeMap<NodeName, String>,
    /// By node, where all were listed.
    pods: Option<BTreeMap<NodeName, Vec<Pod>>>,
    pub(super) malformed: Vec<Malformed>,
    /// Whether their number lets the next pass wait.
    pub(super) are_many: bool,
    /// Whether everything is listed.
    lists_all: bool,
    /// Instances in zones that traffic is shifted away from.
    shifted: BTreeSet<InstanceId>,
    /// Whether annotations of Cluster Autoscaler protect pods.
    honors_autoscaler: bool,
}

/// Whether the instance of `claim` may have ended: EC2 was told to terminate it, or said so itself, or its drain
/// takes long.
fn may_have_ended(claim: &NodeClaim, at: &Invocation) -> bool {
    let is_said = |deletion: &Deletion| {
        deletion.reason == DeletionReason::InstanceEnded
            || ASKED_AFTER <= at.now.duration_since(deletion.at)
    };
    claim.is_instance_terminating() || claim.deletion.as_ref().is_none_or(is_said)
}

impl Observed {
    /// Looks at everything about `claims`; `of_cluster` is the number of all claims.
    pub(super) async fn look<A: Adapters>(
        ports: &DrainPorts<'_, A>,
        claims: &[&NodeClaim],
        of_cluster: usize,
        at: &Invocation,
    ) -> Result<Self, PortError> {
        let are_many = claims.len() > FEW;
        let mut observed = Self {
            asked: BTreeSet::new(),
            states: BTreeMap::new(),
            nodes: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            pods: None,
            malformed: Vec::new(),
            are_many,
            lists_all: are_many && of_cluster < claims.len() * LISTED_FROM_ONE_IN,
            shifted: BTreeSet::new(),
            honors_autoscaler: ports.settings.honors_autoscaler,
        };
        if claims.iter().all(|claim| claim.instance.is_none()) {
            return Ok(observed);
        }
        observed.describe(ports, claims, at).await?;
        observed.look_at_nodes(ports, claims, at).await?;
        if observed.lists_all {
            observed.list_pods(ports.cluster.pods(&PodSelection::All).await?);
        }
        Ok(observed)
    }

    /// Asks EC2 about instances that may have ended.
    async fn describe<A: Adapters>(
        &mut self,
        ports: &DrainPorts<'_, A>,
        claims: &[&NodeClaim],
        at: &Invocation,
    ) -> Result<(), PortError> {
        self.asked = claims
            .iter()
            .filter(|claim| may_have_ended(claim, at))
            .filter_map(|claim| Some(claim.instance.as_ref()?.id.clone()))
            .collect();
        if self.asked.is_empty() {
            return Ok(());
        }
        let ids: Vec<InstanceId> = self.asked.iter().cloned().collect();
        let described = ports.fleet.describe(&ids).await?;
        let described = described.into_iter();
        let state = |Instance { id, state, state_reason, .. }| (id, (state, state_reason));
        self.states = described.map(state).collect();
        Ok(())
    }

    async fn look_at_nodes<A: Adapters>(
        &mut self,
        ports: &DrainPorts<'_, A>,
        claims: &[&NodeClaim],
        at: &Invocation,
    ) -> Result<(), PortError> {
        if self.lists_all {
            self.keep(ports.cluster.nodes().await?);
            return Ok(());
        }
        let names: Vec<&NodeName> = claims.iter().filter_map(|claim| claim.node.as_ref()).collect();
        let is_any_unnamed = names.len() < claims.len();
        // One that there is no time for is not absent.
        let late = names.iter().map(|name| ((*name).clone(), "there was no time".to_owned()));
        self.unreadable.extend(late);
        let (answers, _) = each(names, AT_ONCE, ports.clock, at, async |name| {
            (name, ports.nodes.node(name).await)
        })
        .await;
        for (name, answer) in answers {
            match answer {
                Ok(node) => {
                    self.unreadable.remove(name);
                    self.add(node);
                }
                // Its claim waits, and no other.
                Err(error) => {
                    self.unreadable.insert(name.clone(), crate::error::story(&error));
                }
            }
        }
        if is_any_unnamed {
            self.keep(ports.nodes.uninitialized().await?);
        }
        Ok(())
    }

    fn keep(&mut self, listing: Listing<Node>) {
        for malformed in &listing.malformed {
            let name = malformed.object.strip_prefix("Node ").and_then(|name| name.parse().ok());
            self.unreadable.extend(name.map(|name| (name, malformed.problem.clone())));
        }
        self.malformed.extend(listing.malformed);
        self.add(listing.items);
    }

    fn add(&mut self, nodes: impl IntoIterator<Item = Node>) {
        for node in nodes {
            let instance = node.provider_id.as_ref().and_then(ProviderId::instance);
            self.nodes.extend(instance.map(|instance| (instance, node)));
        }
    }

    /// Where a pod cannot be read, each node is asked for its own: that says on which it is.
    fn list_pods(&mut self, mut listing: Listing<Pod>) {
        if self.honors_autoscaler {
            protection::honor_on_pods(&mut listing.items);
        }
        if !listing.malformed.is_empty() {
            self.malformed.extend(listing.malformed);
            return;
        }
        let mut pods: BTreeMap<NodeName, Vec<Pod>> = BTreeMap::new();
        for pod in listing.items {
            if let Some(node) = pod.node.clone() {
                pods.entry(node).or_default().push(pod);
            }
        }
        self.pods = Some(pods);
    }

    /// The pods on `node`; an error where one of them cannot be read.
    pub(super) async fn pods_on(
        &self,
        nodes: &impl Nodes,
        node: &NodeName,
    ) -> Result<Vec<Pod>, PortError> {
        if let Some(pods) = &self.pods {
            return Ok(pods.get(node).cloned().unwrap_or_default());
        }
        let mut listing = nodes.pods_on(node).await?;
        if self.honors_autoscaler {
            protection::honor_on_pods(&mut listing.items);
        }
        match listing.malformed.first() {
            None => Ok(listing.items),
            Some(Malformed { object, problem, .. }) => {
                let why = format!("{object} on node {node} cannot be read: {problem}");
                Err(PortError::because("list pods", Fault::Permanent, why))
            }
        }
    }

    /// The node of `claim`, if it is there; an error where it is and cannot be read.
    pub(super) fn node_of(&self, claim: &NodeClaim) -> Result<Option<&Node>, PortError> {
        let unreadable = claim.node.as_ref().and_then(|name| self.unreadable.get_key_value(name));
        if let Some((name, problem)) = unreadable {
            let why = format!("node {name} cannot be read: {problem}");
            return Err(PortError::because("read a node", Fault::Permanent, why));
        }
        let node = claim.instance.as_ref().and_then(|instance| self.nodes.get(&instance.id));
        let instance = claim.instance.as_ref().filter(|_| node.is_none() && claim.node.is_none());
        let mut malformed = self.malformed.iter();
        match instance.and_then(|instance| malformed.find(|m| m.may_be_node_of(&instance.id))) {
            Some(Malformed { object, problem, .. }) => {
                let why = format!("{object} may be its own, and cannot be read: {problem}");
                Err(PortError::because("read a node", Fault::Permanent, why))
            }
            None => Ok(node),
        }
    }

    /// Notes whose instances are in zones that traffic is shifted away from.
    pub(super) fn note_shifted<'c>(&mut self, claims: impl Iterator<Item = &'c &'c NodeClaim>) {
        let instances = claims.filter_map(|claim| claim.instance.as_ref());
        self.shifted = instances.map(|instance| instance.id.clone()).collect();
    }

    /// Whether an instance is left alone because traffic is shifted away from its zone.
    pub(super) fn is_shifted(&self, instance: &InstanceId) -> bool {
        self.shifted.contains(instance)
    }

    /// Whether EC2 does not list the instance at all, where that says something.
    pub(super) fn is_absent(&self, instance: &InstanceId) -> bool {
        !self.is_shifted(instance)
            && self.asked.contains(instance)
            && !self.states.contains_key(instance)
    }

    /// Why the instance of `claim` ended, in EC2's words.
    pub(super) fn end_reason(&self, claim: &NodeClaim) -> String {
        let state = claim.instance.as_ref().and_then(|instance| self.states.get(&instance.id));
        let reason = state.and_then(|(_, reason)| reason.clone());
        reason.unwrap_or_else(|| "EC2 does not say why".to_owned())
    }

    /// What EC2 says about the instance of `claim`. Right after the launch, absence says nothing, and neither
    /// does it while the node is ready, unless EC2 was told to terminate the instance: it is emptied first.
    ///
    /// Karpenter: `pkg/controllers/node/termination/controller.go`.
    pub(super) fn view(&self, claim: &NodeClaim, at: &Invocation) -> InstanceView {
        let Some(instance) = &claim.instance else { return InstanceView::Gone };
        let age = at.now.duration_since(instance.launched_at);
        let is_ready = self.nodes.get(&instance.id).is_some_and(|node| node.is_ready);
        let lives = is_ready && !claim.is_instance_terminating();
        match self.states.get(&instance.id).map(|(state, _)| *state) {
            Some(InstanceState::Pending | InstanceState::Running | InstanceState::Stopped) => {
                InstanceView::Present
            }
            Some(InstanceState::ShuttingDown) => InstanceView::Ending,
            Some(InstanceState::Terminated) => InstanceView::Gone,
            None if self.is_absent(&instance.id) && age >= LISTING_LAG_MAX && !lives => {
                InstanceView::Gone
            }
            None => InstanceView::Unknown,
        }
    }
}
