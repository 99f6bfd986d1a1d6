//! The contract of `Nodes`: nodes that are found, patched and deleted.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    NodeName,
    labels::{self, TERMINATION_FINALIZER},
    node::{Node, NodePatch},
};
use ports::{Fault, Nodes};

use super::{
    ATTEMPTS_MAX, Case, Failure,
    cluster_world::{ClusterWorld, Deployed, pods_on},
    delete_node, ensure, eviction, same,
};
use crate::build;

struct Subject<'a, P, W> {
    port: &'a P,
    world: &'a W,
}

/// Runs every case, on nodes and workloads that are new each time.
pub async fn nodes<P: Nodes, W: ClusterWorld>(port: &P, world: &W) -> Vec<Case> {
    let subject = &Subject { port, world };
    let mut cases = vec![
        Case::of("a node is found by its name", subject.by_name().await),
        Case::of("nodes that are not initialized are listed", subject.uninitialized().await),
        Case::of("patching a node twice is patching it once", subject.patched_twice().await),
        Case::of("a taint of the same key and effect is replaced", subject.taint_replaced().await),
        Case::of("a patch that breaks a rule changes nothing", subject.broken_patch().await),
        Case::of("a node that is not there is not found", subject.missing().await),
        Case::of("a node without finalizers is gone at once", subject.deleted().await),
        Case::of("a node with a finalizer outlives its deletion", subject.held().await),
        Case::of("a node that is being deleted takes no new finalizer", subject.late_hold().await),
        Case::of("pods of a node that is gone are still listed", subject.orphans().await),
    ];
    cases.extend(eviction::evictions(port, world).await);
    cases
}

fn texts<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn hold() -> NodePatch {
    let add_finalizers = BTreeSet::from([TERMINATION_FINALIZER.to_owned()]);
    NodePatch { add_finalizers, ..NodePatch::default() }
}

fn release() -> NodePatch {
    let remove_finalizers = BTreeSet::from([TERMINATION_FINALIZER.to_owned()]);
    NodePatch { remove_finalizers, ..NodePatch::default() }
}

impl<P: Nodes, W: ClusterWorld> Subject<'_, P, W> {
    /// The node called `name`, which is there.
    async fn node(&self, name: &NodeName) -> Result<Node, Failure> {
        let node = self.port.node(name).await?;
        node.ok_or_else(|| Failure(format!("{name} is not there")))
    }

    async fn delete(&self, name: &NodeName) -> Result<(), Failure> {
        delete_node(self.port, name).await
    }

    /// Patches as a message does that comes again after a conflict: others write nodes too.
    async fn patch(&self, node: &NodeName, patch: &NodePatch) -> Result<(), Failure> {
        for _ in 0..ATTEMPTS_MAX {
            match self.port.patch(node, patch).await {
                Err(error) if error.fault == Fault::Conflict => {}
                answer => return Ok(answer?),
            }
        }
        Err(Failure(format!("{node} was never left alone")))
    }

    /// Patches, and compares the whole node with what it was: nothing else changes.
    async fn patched(&self, name: &NodeName, patch: &NodePatch) -> Result<Node, Failure> {
        self.patch(name, patch).await?;
        let node = self.node(name).await?;
        ensure(patch.is_satisfied_by(&node), || format!("{patch:?} is not satisfied: {node:?}"))?;
        Ok(node)
    }

    async fn by_name(&self) -> Result<(), Failure> {
        let (name, instance) = self.world.join("found").await;
        let unknown = build::id("unknown");
        same("a node that was not made", &self.port.node(&unknown).await?, &None)?;
        let node = self.node(&name).await?;
        same("the node", &node.name, &name)?;
        let named = node.provider_id.as_ref().and_then(model::ProviderId::instance);
        same("its instance", &named, &Some(instance))?;
        same("whether it is being deleted", &node.is_deleting, &false)?;
        same("whether it is ready", &node.is_ready, &true)?;
        self.delete(&name).await
    }

    async fn uninitialized(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("uninitialized").await;
        let label = |value: &str| NodePatch {
            labels: texts([(labels::INITIALIZED, value)]),
            ..NodePatch::default()
        };
        let unlabeled = NodePatch {
            remove_labels: BTreeSet::from([labels::INITIALIZED.to_owned()]),
            ..NodePatch::default()
        };
        let patches = [
            (unlabeled.clone(), true),
            (label("true"), false),
            (label("false"), true),
            (label("true"), false),
            (unlabeled, true),
        ];
        for (patch, wanted) in patches {
            let node = self.patched(&name, &patch).await?;
            let listed = self.port.uninitialized().await?.items;
            let listed = listed.into_iter().find(|listed| listed.name == name);
            same(&format!("what is listed after {patch:?}"), &listed, &wanted.then_some(node))?;
        }
        self.delete(&name).await?;
        let listed = self.port.uninitialized().await?.items;
        ensure(listed.iter().all(|node| node.name != name), || format!("{name} is still listed"))
    }

    async fn patched_twice(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("patched").await;
        let theirs = NodePatch {
            labels: texts([("theirs", "kept"), ("old", "1"), ("changed", "before")]),
            annotations: texts([("karpenter.sh/theirs", "kept")]),
            add_taints: vec![build::taint("theirs=a:PreferNoSchedule")],
            add_finalizers: BTreeSet::from(["example.com/theirs".to_owned()]),
            ..NodePatch::default()
        };
        let before = self.patched(&name, &theirs).await?;
        let patch = NodePatch {
            labels: texts([("new", "1"), ("changed", "after"), ("empty", "")]),
            remove_labels: BTreeSet::from(["old".to_owned(), "never".to_owned()]),
            annotations: texts([("karpenter.sh/new", "any text: 1, 2")]),
            add_taints: vec![build::taint("ours=b:PreferNoSchedule")],
            remove_taints: vec![build::taint("never:NoExecute")],
            add_finalizers: BTreeSet::from([TERMINATION_FINALIZER.to_owned()]),
            remove_finalizers: BTreeSet::from(["example.com/never".to_owned()]),
        };
        let mut wanted = before;
        wanted.labels.remove("old");
        wanted.labels.extend(patch.labels.clone());
        wanted.annotations.extend(patch.annotations.clone());
        wanted.taints.extend(patch.add_taints.clone());
        wanted.finalizers.extend(patch.add_finalizers.clone());
        for _ in 0..2 {
            same("the node", &self.patched(&name, &patch).await?, &wanted)?;
        }
        let undo = NodePatch {
            remove_taints: vec![build::taint("ours=of-any-value:PreferNoSchedule")],
            remove_finalizers: wanted.finalizers.clone(),
            ..NodePatch::default()
        };
        wanted.taints.retain(|taint| taint.key != "ours");
        wanted.finalizers.clear();
        same("the node", &self.patched(&name, &undo).await?, &wanted)?;
        self.delete(&name).await
    }

    async fn taint_replaced(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("tainted").await;
        let add = |texts: &[&str]| NodePatch {
            add_taints: texts.iter().map(|text| build::taint(text)).collect(),
            ..NodePatch::default()
        };
        let first = ["team=a:PreferNoSchedule", "team=a:NoSchedule"];
        self.patched(&name, &add(&first)).await?;
        let node = self.patched(&name, &add(&["team=b:NoSchedule"])).await?;
        let of_team = node.taints.into_iter().filter(|taint| taint.key == "team");
        let seen: BTreeSet<_> = of_team.collect();
        let wanted = ["team=a:PreferNoSchedule", "team=b:NoSchedule"];
        same("the taints", &seen, &wanted.map(build::taint).into())?;
        self.delete(&name).await
    }

    async fn broken_patch(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("broken").await;
        let before = self.node(&name).await?;
        let labels = texts([("good", "1")]);
        let patches = [
            NodePatch { labels: texts([("bad", "no label value")]), ..NodePatch::default() },
            NodePatch { labels: texts([("no label key", "1")]), ..NodePatch::default() },
            NodePatch {
                add_taints: vec![model::Taint {
                    key: "no key".to_owned(),
                    ..build::taint("a:NoSchedule")
                }],
                ..NodePatch::default()
            },
            NodePatch {
                add_finalizers: BTreeSet::from(["no finalizer".to_owned()]),
                ..NodePatch::default()
            },
        ];
        for mut patch in patches {
            patch.labels.extend(labels.clone());
            let refused = self.port.patch(&name, &patch).await.map_err(|error| error.fault);
            same(&format!("the answer to {patch:?}"), &refused, &Err(Fault::Permanent))?;
            same("the node", &self.node(&name).await?, &before)?;
        }
        self.delete(&name).await
    }

    async fn missing(&self) -> Result<(), Failure> {
        let unknown: NodeName = build::id("unknown");
        for patch in [NodePatch::default(), hold()] {
            let refused = self.port.patch(&unknown, &patch).await.map_err(|error| error.fault);
            same("the answer to a patch", &refused, &Err(Fault::NotFound))?;
        }
        let listing = self.port.pods_on(&unknown).await?;
        same("the pods", &listing.items, &Vec::new())?;
        Ok(())
    }

    async fn deleted(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("deleted").await;
        let node = self.node(&name).await?;
        let namesake = Node { provider_id: None, ..node.clone() };
        self.port.delete(&namesake).await?;
        same("its node", &self.port.node(&name).await?, &Some(node.clone()))?;
        for _ in 0..2 {
            self.port.delete(&node).await?;
            same("its node", &self.port.node(&name).await?, &None)?;
        }
        Ok(())
    }

    async fn held(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("held").await;
        self.patched(&name, &hold()).await?;
        for _ in 0..2 {
            self.delete(&name).await?;
            same("whether it is being deleted", &self.node(&name).await?.is_deleting, &true)?;
        }
        // It is a node like any other until it is released.
        let label = NodePatch { labels: texts([("late", "1")]), ..NodePatch::default() };
        self.patched(&name, &label).await?;
        self.patched(&name, &hold()).await?;
        self.patch(&name, &release()).await?;
        same("its node", &self.port.node(&name).await?, &None)?;
        let refused = self.port.patch(&name, &release()).await.map_err(|error| error.fault);
        same("the answer to a patch", &refused, &Err(Fault::NotFound))
    }

    async fn late_hold(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("late-hold").await;
        let theirs = BTreeSet::from(["example.com/theirs".to_owned()]);
        let hold_theirs = NodePatch { add_finalizers: theirs.clone(), ..NodePatch::default() };
        self.patched(&name, &hold_theirs).await?;
        self.delete(&name).await?;
        let late = NodePatch { labels: texts([("late", "1")]), ..hold() };
        let refused = self.port.patch(&name, &late).await.map_err(|error| error.fault);
        same("the answer to a new finalizer", &refused, &Err(Fault::Permanent))?;
        let node = self.node(&name).await?;
        same("its finalizers", &node.finalizers, &theirs)?;
        same("its label", &node.labels.get("late"), &None)?;
        let release_theirs = NodePatch { remove_finalizers: theirs, ..NodePatch::default() };
        self.patch(&name, &release_theirs).await?;
        same("its node", &self.port.node(&name).await?, &None)
    }

    async fn orphans(&self) -> Result<(), Failure> {
        let (name, _) = self.world.join("orphans").await;
        self.world.deploy(&Deployed::running("orphan", &name)).await;
        let before = pods_on(self.port, self.world, &name, |pods| pods.len() == 1).await?;
        self.delete(&name).await?;
        let after = pods_on(self.port, self.world, &name, |_| true).await?;
        let uids = |pods: &[model::Pod]| pods.iter().map(|pod| pod.uid.clone()).collect::<Vec<_>>();
        same("the pods", &uids(&after), &uids(&before))?;
        self.world.undeploy("orphan").await;
        Ok(())
    }
}
