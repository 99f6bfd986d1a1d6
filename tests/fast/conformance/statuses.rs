//! What others do to objects of the simulated cluster while a suite runs.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    ObjectName, PodKey, Requirements,
    buffer::{BufferTarget, CapacityBuffer},
    node_class::NodeClass,
    node_pool::NodePool,
    overlay::NodeOverlay,
};
use simulator::{Action, ClusterObject, ObjectRecord, Sim};
use testkit::{StatusWorld, StoredCondition, StoredObject, build};

/// Others' hands on EC2NodeClasses.
pub(crate) struct OtherClasses(pub(crate) Sim);

/// Others' hands on NodePools.
pub(crate) struct OtherPools(pub(crate) Sim);

/// Others' hands on NodeOverlays.
pub(crate) struct OtherOverlays(pub(crate) Sim);

/// Others' hands on CapacityBuffers.
pub(crate) struct OtherBuffers(pub(crate) Sim);

fn stored(record: ObjectRecord, said: Option<(&'static str, String)>) -> StoredObject {
    let conditions = record.conditions.into_iter().map(|condition| {
        let (status, since) = (condition.status, condition.since);
        let (reason, message) = (condition.reason.to_string(), condition.message);
        (condition.kind.to_string(), StoredCondition { status, reason, message, since })
    });
    StoredObject {
        revision: record.writes.to_string(),
        annotations: record.annotations,
        conditions: conditions.collect(),
        said: said.into_iter().collect::<BTreeMap<_, _>>(),
    }
}

impl StatusWorld for OtherClasses {
    async fn make(&self, name: &str) {
        self.0.add(vec![ClusterObject::NodeClass(build::node_class(name))]);
    }

    async fn change_spec(&self, name: &str) {
        let tags = [("changed".to_owned(), "yes".to_owned())].into();
        self.0.add(vec![ClusterObject::NodeClass(NodeClass { tags, ..build::node_class(name) })]);
    }

    async fn annotate(&self, name: &str, key: &str, value: &str) {
        self.0.annotate_node_class(&build::id(name), key, value);
    }

    async fn delete(&self, name: &str) {
        self.0.act(Action::DeleteNodeClass(build::id(name)));
    }

    async fn stored(&self, name: &str) -> Option<StoredObject> {
        let name = build::id(name);
        let said = self.0.class_status(&name).map(|status| {
            let ids: Vec<String> = status.subnets.iter().map(|s| s.id.to_string()).collect();
            ("subnets", ids.join(","))
        });
        Some(stored(self.0.node_class_record(&name)?, said))
    }
}

impl StatusWorld for OtherPools {
    async fn make(&self, name: &str) {
        self.0.add(vec![ClusterObject::NodePool(build::node_pool(name))]);
    }

    async fn change_spec(&self, name: &str) {
        self.0.add(vec![ClusterObject::NodePool(NodePool { weight: 7, ..build::node_pool(name) })]);
    }

    async fn annotate(&self, name: &str, key: &str, value: &str) {
        self.0.annotate_node_pool(&build::id(name), key, value);
    }

    async fn delete(&self, name: &str) {
        self.0.act(Action::DeleteNodePool(build::id(name)));
    }

    async fn stored(&self, name: &str) -> Option<StoredObject> {
        let name = build::id(name);
        let said = self.0.pool_status(&name).map(|status| ("nodes", status.nodes.to_string()));
        Some(stored(self.0.node_pool_record(&name)?, said))
    }
}

fn overlay(name: &str, weight: u32) -> ClusterObject {
    ClusterObject::NodeOverlay(NodeOverlay {
        name: build::id(name),
        weight,
        requirements: Requirements::default(),
        price: None,
        capacity: None,
        problems: Vec::new(),
    })
}

impl StatusWorld for OtherOverlays {
    async fn make(&self, name: &str) {
        self.0.add(vec![overlay(name, 1)]);
    }

    async fn change_spec(&self, name: &str) {
        self.0.add(vec![overlay(name, 7)]);
    }

    async fn annotate(&self, name: &str, key: &str, value: &str) {
        self.0.annotate_overlay(&build::id(name), key, value);
    }

    async fn delete(&self, name: &str) {
        self.0.act(Action::DeleteNodeOverlay(build::id(name)));
    }

    async fn stored(&self, name: &str) -> Option<StoredObject> {
        let name: ObjectName = build::id(name);
        Some(stored(self.0.overlay_record(&name)?, None))
    }
}

fn key(name: &str) -> PodKey {
    PodKey { namespace: build::id("default"), name: build::id(name) }
}

fn buffer(name: &str, replicas: u32) -> ClusterObject {
    let PodKey { namespace, name } = key(name);
    let target = BufferTarget::Template(Arc::new(build::spec("cpu=1")));
    let (uid, percentage, limits) = (build::id("uid"), None, BTreeMap::new());
    let replicas = Some(replicas);
    let buffer = CapacityBuffer { namespace, name, uid, replicas, percentage, limits, target };
    ClusterObject::CapacityBuffer { buffer, refers_to: None }
}

impl StatusWorld for OtherBuffers {
    async fn make(&self, name: &str) {
        self.0.add(vec![buffer(name, 1)]);
    }

    async fn change_spec(&self, name: &str) {
        self.0.add(vec![buffer(name, 7)]);
    }

    async fn annotate(&self, name: &str, label: &str, value: &str) {
        self.0.annotate_buffer(&key(name), label, value);
    }

    async fn delete(&self, name: &str) {
        self.0.act(Action::DeleteCapacityBuffer(key(name)));
    }

    async fn stored(&self, name: &str) -> Option<StoredObject> {
        let (record, status) = self.0.buffer_record(&key(name))?;
        let said = status.replicas.map(|count| ("replicas", count.to_string()));
        Some(stored(record, said))
    }
}
