//! Ports of the node: no pod takes one that another has (specification §7.2).

use model::{Plan, Pod, pod::HostPort};

use crate::{
    Violation,
    crowd::{Crowd, Member},
    daemons,
    world::World,
};

pub(crate) fn check(
    world: &World<'_>,
    crowd: &Crowd<'_>,
    plan: &Plan,
    violations: &mut Vec<Violation>,
) {
    let mut by_spot: Vec<Vec<&Member<'_>>> = vec![Vec::new(); crowd.spots.len()];
    for member in crowd.members().filter(|member| !member.pod.spec.host_ports.is_empty()) {
        if let Some(there) = by_spot.get_mut(member.spot) {
            there.push(member);
        }
    }
    for (spot, members) in crowd.spots.iter().zip(&by_spot) {
        for (index, member) in members.iter().enumerate() {
            let others = members.iter().skip(index + 1);
            let clash = others
                .filter(|other| other.is_new || member.is_new)
                .find_map(|other| Some((other, clash(member.pod, &other.pod.spec.host_ports)?)));
            if let Some((other, port)) = clash {
                let (pod, place) = (member.pod.key.clone(), spot.shown.clone());
                let other = format!("pod {}", other.pod.key);
                violations.push(Violation::HostPort { pod, place, other, port: port.port });
            }
        }
    }
    check_daemons(world, plan, violations);
}

/// What both take.
fn clash<'a>(pod: &'a Pod, other: &[HostPort]) -> Option<&'a HostPort> {
    let host_ports = pod.spec.host_ports.iter();
    let mut shared =
        host_ports.filter(|host_port| other.iter().any(|other| conflict(host_port, other)));
    shared.next()
}

fn conflict(host_port: &HostPort, other: &HostPort) -> bool {
    let is_any = host_port.ip.is_unspecified() || other.ip.is_unspecified();
    host_port.port == other.port
        && host_port.protocol == other.protocol
        && (host_port.ip == other.ip || is_any)
}

/// A new node may become no type on which a daemon takes what its pods take.
fn check_daemons(world: &World<'_>, plan: &Plan, violations: &mut Vec<Violation>) {
    if world.daemons.iter().all(|daemon| daemon.spec.host_ports.is_empty()) {
        return;
    }
    for new in &plan.new_claims {
        let Some(pool) = world.pools.get(&new.claim.node_pool) else { continue };
        let pods = new.claim.pods.iter().filter_map(|key| world.pods.get(key));
        for pod in pods.filter(|pod| !pod.spec.host_ports.is_empty()) {
            let types = world.types_of(&new.claim).into_iter();
            let clash = types
                .flat_map(|instance_type| {
                    daemons::landing(world, pool, instance_type)
                        .map(move |spec| (instance_type, spec))
                })
                .find_map(|(one, spec)| Some((one, clash(pod, &spec.host_ports)?)));
            if let Some((instance_type, port)) = clash {
                let place = format!("claim {} as {}", new.claim.name, instance_type.name);
                let (pod, other) = (pod.key.clone(), "a daemon".to_owned());
                violations.push(Violation::HostPort { pod, place, other, port: port.port });
            }
        }
    }
}
