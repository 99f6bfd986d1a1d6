//! The contract of `Events`: the same is published once in its time, and nothing about what is not there.

use jiff::Timestamp;
use model::{
    PodKey,
    event::{EventObject, EventReason, ObjectEvent},
};
use ports::{Events, Fault, Nodes};

use super::{Case, Failure, cluster_world::ClusterWorld, delete_node, same};
use crate::build;

/// Who reads what was published.
pub trait EventWorld: ClusterWorld {
    /// The events about `object` that are there, as reason and message, sorted.
    async fn events_of(&self, object: &EventObject) -> Vec<(String, String)>;
}

/// Runs every case, on a node of its own.
pub async fn events<P: Events + Nodes, W: EventWorld>(port: &P, world: &W) -> Vec<Case> {
    vec![
        Case::of("the same is published once in its time", once(port, world).await),
        Case::of("nothing is published about what is not there", absent(port, world).await),
    ]
}

fn event(about: &EventObject, reason: EventReason, message: &str) -> ObjectEvent {
    ObjectEvent::new(about.clone(), reason, message)
}

async fn once<P: Events + Nodes, W: EventWorld>(port: &P, world: &W) -> Result<(), Failure> {
    let (name, _) = world.join("told").await;
    let about = EventObject::Node(name.clone());
    let failed = event(&about, EventReason::FailedDraining, "2 pods left");
    // The beginning of two minutes, so that they do not end in between.
    let now = build::at("2026-11-21T12:00:00Z");
    let later: Timestamp = build::at("2026-11-21T12:01:59Z");
    let next: Timestamp = build::at("2026-11-21T12:02:00Z");
    same("before", &world.events_of(&about).await, &Vec::new())?;
    port.publish(&failed, now).await?;
    port.publish(&failed, now).await?;
    port.publish(&event(&about, EventReason::FailedDraining, "1 pod left"), later).await?;
    let told = |texts: &[(&str, &str)]| -> Vec<(String, String)> {
        texts.iter().map(|(reason, text)| ((*reason).to_owned(), (*text).to_owned())).collect()
    };
    let first = told(&[("FailedDraining", "2 pods left")]);
    same("what is there", &world.events_of(&about).await, &first)?;
    port.publish(&event(&about, EventReason::FailedDraining, "3 pods left"), next).await?;
    port.publish(&event(&about, EventReason::SpotInterrupted, "taken"), now).await?;
    let three = told(&[
        ("FailedDraining", "2 pods left"),
        ("FailedDraining", "3 pods left"),
        ("SpotInterrupted", "taken"),
    ]);
    same("what is there then", &world.events_of(&about).await, &three)?;
    delete_node(port, &name).await
}

async fn absent<P: Events, W: EventWorld>(port: &P, world: &W) -> Result<(), Failure> {
    let now = build::at("2026-11-21T12:00:00Z");
    let pod = PodKey { namespace: world.namespace(), name: build::id("unknown") };
    for about in [
        EventObject::Node(build::id("unknown")),
        EventObject::NodeClaim(build::id("unknown")),
        EventObject::NodePool(build::id("unknown")),
        EventObject::Pod(pod, None),
    ] {
        let event = event(&about, EventReason::FailedDraining, "2 pods left");
        let answer = port.publish(&event, now).await;
        same("the answer", &answer.map_err(|error| error.fault), &Err(Fault::NotFound))?;
        same("what is there", &world.events_of(&about).await, &Vec::new())?;
    }
    Ok(())
}
