//! Pods: only what decisions read.

use model::{Bytes, Millicores, Resources, pod::*};

fn container(cpu: u64, is_sidecar: bool) -> ContainerRequests {
    let requests = Resources { cpu: Millicores(cpu), ..Resources::default() };
    ContainerRequests { requests, is_sidecar }
}

#[track_caller]
fn check(init: &[(u64, bool)], containers: &[u64], cpu: u64) {
    let init: Vec<_> = init.iter().map(|(cpu, sidecar)| container(*cpu, *sidecar)).collect();
    let containers: Vec<_> = containers.iter().map(|cpu| container(*cpu, false)).collect();
    let resources = effective_requests(&init, &containers, None, &Resources::default());
    assert_eq!((resources.cpu.0, resources.pods), (cpu, 1));
}

#[test]
fn containers_run_together_and_init_containers_one_by_one() {
    check(&[], &[100, 200], 300);
    check(&[(500, false), (400, false)], &[100], 500);
    check(&[(50, false)], &[100], 100);
}

#[test]
fn a_sidecar_runs_beside_what_starts_after_it() {
    // Sidecar first: it is there when the init container runs.
    check(&[(100, true), (500, false)], &[200], 600);
    // Sidecar last: the init container ran alone.
    check(&[(500, false), (100, true)], &[200], 500);
    check(&[(100, true), (300, false), (50, true)], &[400], 550);
}

#[test]
fn pod_level_requests_stand_in_place_of_the_sum() {
    let pod_level = Resources { cpu: Millicores(1_000), ..Resources::default() };
    let mut container_requests = container(100, false);
    container_requests.requests.memory = Bytes(7);
    let overhead = Resources { cpu: Millicores(250), ..Resources::default() };
    let resources = effective_requests(&[], &[container_requests], Some(&pod_level), &overhead);
    assert_eq!((resources.cpu.0, resources.memory.0), (1_250, 7));
}
