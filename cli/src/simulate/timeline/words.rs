//! What happened, in words.

use std::collections::BTreeMap;

use report::output::count;
use simulator::{Happening, TimelineEvent};

use super::{
    about::About,
    line::{Like, Line},
};
use crate::workloads::workload_of;

/// Finds words for what happens, and remembers what nodes and instances are.
#[derive(Default)]
pub(super) struct Words {
    /// The offering of each instance and node that was launched, by its name.
    offerings: BTreeMap<String, String>,
}

impl Words {
    /// The line about `event`; if everything is asked for, it names its pod.
    pub(super) fn line(&mut self, event: TimelineEvent, is_verbose: bool) -> Line {
        let about = About::of(&event.happening);
        Line { about, ..self.told(event, is_verbose) }
    }

    /// The line about `event` for people.
    fn told(&mut self, event: TimelineEvent, is_verbose: bool) -> Line {
        let at = event.at;
        let (kind, pod, verb, place) = match event.happening {
            Happening::PodPending { pod } => ("PodPending", pod, "created", None),
            Happening::PodUnschedulable { pod } => ("PodUnschedulable", pod, "unschedulable", None),
            Happening::PodBound { pod, node } => ("PodBound", pod, "bound", Some(("to", node))),
            Happening::PodRunning { pod, node } => {
                ("PodRunning", pod, "running", Some(("on", node)))
            }
            Happening::PodEvicted { pod, node } => {
                ("PodEvicted", pod, "evicted", Some(("from", node)))
            }
            Happening::PodLost { pod, node } => ("PodLost", pod, "lost", Some(("with", node))),
            other => {
                let (kind, text, like) = self.other(&other);
                return match like {
                    Some(like) => Line::of(at, kind, text, like),
                    None => Line::of_words(at, kind, text),
                };
            }
        };
        let mut like = Like::thing("pod", verb, workload_of(&pod));
        let mut text = verb.to_owned();
        if let Some((preposition, node)) = place {
            text = format!("{verb} {preposition} {node}");
            like = like.at(preposition, node.to_string());
        }
        if is_verbose {
            return Line::of(at, kind, format!("pod {pod} {text}"), like);
        }
        Line { is_about_pods: true, ..Line::of(at, kind, text, like) }
    }

    /// What an instance or a node is, as far as it is known.
    fn offering(&self, name: &str) -> String {
        self.offerings.get(name).cloned().unwrap_or_default()
    }

    fn node(&self, verb: &'static str, name: &str) -> Like {
        Like::thing("node", verb, self.offering(name)).called(name)
    }

    fn instance(&self, verb: &'static str, name: &str) -> Like {
        Like::thing("instance", verb, self.offering(name)).called(name)
    }

    /// Kind, text, and how it is printed together with others.
    fn other(&mut self, happening: &Happening) -> (&'static str, String, Option<Like>) {
        match happening {
            Happening::WorkloadScaled { workload, replicas } => {
                let pods = count(u64::from(*replicas), "pod");
                let like = Like::thing("workload", "scaled", format!("to {pods}"));
                let like = like.called(&workload.to_string()).apart();
                ("WorkloadScaled", format!("{workload} wants {pods}"), Some(like))
            }
            Happening::Planned { what, is_in_vain } => {
                let vain = if *is_in_vain { ": changes nothing, it is not there" } else { "" };
                ("Planned", format!("scenario: {what}{vain}"), None)
            }
            Happening::ClaimCreated { claim, node_pool } => {
                let common = format!("NodePool {node_pool}");
                let like = Like::thing("NodeClaim", "created", common).called(claim.as_str());
                let text = format!("NodeClaim {claim} created for NodePool {node_pool}");
                ("ClaimCreated", text, Some(like))
            }
            Happening::ClaimDeleted { claim, reason } => {
                let common = reason.to_string();
                let like = Like::thing("NodeClaim", "deleted", common).called(claim.as_str());
                ("ClaimDeleted", format!("NodeClaim {claim} deleted: {reason}"), Some(like))
            }
            Happening::ClaimRemoved { claim } => {
                let like = Like::thing("NodeClaim", "gone", String::new()).called(claim.as_str());
                ("ClaimRemoved", format!("NodeClaim {claim} gone"), Some(like))
            }
            Happening::InstanceLaunched { instance, offering, price } => {
                self.offerings.insert(instance.to_string(), offering.to_string());
                let common = format!("{offering}, ${price} an hour");
                let text = format!("{instance} launched: {common}");
                let like = Like::thing("instance", "launched", common).called(instance.as_str());
                ("InstanceLaunched", text, Some(like))
            }
            Happening::OfferingUnavailable { offering } => {
                let like = Like::thing("offering", "without capacity", offering.to_string());
                ("OfferingUnavailable", format!("no capacity for {offering}"), Some(like))
            }
            Happening::NodeJoined { node, instance } => {
                let offering = self.offering(instance.as_str());
                self.offerings.insert(node.to_string(), offering);
                let text = format!("node {node} joined ({instance})");
                ("NodeJoined", text, Some(self.node("joined", node.as_str())))
            }
            Happening::NodeReady { node } => {
                ("NodeReady", format!("node {node} ready"), Some(self.node("ready", node.as_str())))
            }
            Happening::NodeReboots { node } => {
                let like = self.node("reboot", node.as_str());
                ("NodeReboots", format!("node {node} reboots"), Some(like))
            }
            Happening::NodeDrained { node } => {
                let like = self.node("drained", node.as_str());
                ("NodeDrained", format!("node {node} drained"), Some(like))
            }
            Happening::NodeRemoved { node } => {
                let like = self.node("removed", node.as_str());
                ("NodeRemoved", format!("node {node} removed"), Some(like))
            }
            Happening::SpotNotice { instance, node, ends_at: _ } => {
                let named = node.as_ref().map(|node| format!(" ({node})")).unwrap_or_default();
                let text = format!("EC2 takes {instance}{named} back in two minutes");
                let like = self.instance("that EC2 takes back in two minutes", instance.as_str());
                ("SpotNotice", text, Some(like))
            }
            Happening::InstanceEnding { instance } => {
                let like = self.instance("shutting down", instance.as_str());
                ("InstanceEnding", format!("{instance} shutting down"), Some(like))
            }
            Happening::InstanceTerminated { instance, node: _ } => {
                let like = self.instance("terminated", instance.as_str());
                ("InstanceTerminated", format!("{instance} terminated"), Some(like))
            }
            Happening::CallFailed { function, error } => {
                let common = format!("{function}: {error}");
                let like = Like::thing("call", "failed", common).apart();
                ("CallFailed", format!("a call of {function} failed: {error}"), Some(like))
            }
            pod => ("Other", format!("{pod:?}"), None),
        }
    }
}
