//! `adopt` and `release`: shown, asked for, done and waited for.

use jiff::{SignedDuration, Timestamp};
use model::duration::later;
use serde_json::{Value, json};

use crate::{
    ApiServer, Aws, Place,
    api_server::{CLAIMS, DEPLOYMENTS, LEASES, NODES},
};

#[expect(
    clippy::disallowed_methods,
    reason = "the command compares it with the time of this machine"
)]
fn lease() -> Value {
    // Of a holder whose clock is ahead: it holds for as long as the test takes.
    let renewed_at = later(Timestamp::now(), SignedDuration::from_mins(4));
    json!({
        "metadata": {"name": "karpenter-leader-election", "namespace": "karpenter"},
        "spec": {"holderIdentity": "karpenter-1", "leaseDurationSeconds": 15,
            "renewTime": renewed_at.to_string()},
    })
}

/// A cluster with a node of ours, and a Karpenter without replicas, which takes its lease once it has some.
fn cluster() -> ApiServer {
    let server = ApiServer::start();
    let id = "aws:///us-west-2a/i-a";
    server
        .with(CLAIMS, [json!({"metadata": {"name": "a"}, "status": {"providerID": id}})])
        .with(
            NODES,
            [json!({"metadata": {"name": "a", "labels": {"karpenter.sh/nodepool": "p"}},
                "spec": {"providerID": id}})],
        )
        .with(
            DEPLOYMENTS,
            [
                json!({"metadata": {"name": "karpenter", "namespace": "k",
                    "labels": {"app.kubernetes.io/name": "karpenter"}}, "spec": {"replicas": 0}}),
                json!({"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 0}}),
            ],
        );
    server.changing(|objects, _| {
        let is_scaled = objects[DEPLOYMENTS].1[0]["spec"]["replicas"] == 2;
        let (_, leases) = objects.get_mut(LEASES).expect("leases");
        if is_scaled && leases.is_empty() {
            leases.push(lease());
        }
    });
    server
}

#[test]
fn a_cluster_is_given_back_to_karpenter() {
    let server = cluster();
    let aws = Aws::of_cluster(&server.url);
    let place = Place::new("release", &[]).of(&server).of_account(&aws);
    let scale = "kubectl scale deployment karpenter --namespace=k --replicas=2";
    place.run("release demo").is(2, &[scale, "add --yes"]);
    let way = format!("reached by context here, server {}", server.url);
    place.run_answering("release demo", "n").is(1, &[&way, scale, "Nothing was done."]);
    assert_eq!(server.writes(), Vec::<String>::new());
    let released = place.run_answering("release demo", "y");
    released.is(0, &["Karpenter in the namespace karpenter manages 1 NodeClaim."]);
    assert_eq!(
        server.writes(),
        ["PATCH /apis/apps/v1/namespaces/k/deployments/karpenter/scale".to_owned()]
    );
    // It has the cluster: nothing is to be scaled, and no question is asked.
    place.run("release demo").is(0, &["manages 1 NodeClaim."]);
    assert_eq!(server.writes(), Vec::<String>::new());
}

#[test]
fn what_does_not_come_is_waited_for_and_what_may_not_be_done_is_said() {
    let server = cluster();
    let aws = Aws::of_cluster(&server.url);
    server.changing(|_, _| {});
    let place = Place::new("release-refused", &[]).of(&server).of_account(&aws);
    let waited = place.run("release demo --yes --wait 0");
    waited.is(1, &["Waiting until Karpenter takes its lease.", "Not finished in time."]);
    let denied = (403, "Forbidden", "no scaling");
    let server = cluster();
    let aws = Aws::of_cluster(&server.url);
    server.refusing(("PATCH", "/apis/apps/v1/namespaces/k/deployments"), 1, denied);
    let place = Place::new("release-denied", &[]).of(&server).of_account(&aws);
    let needed = "(needed: the right to patch deployments.apps/scale)";
    place.run("release demo --yes").is(2, &["patch deployments.apps/scale karpenter", needed]);
    let unnamed = place.run("release demo --yes --karpenter k/other");
    unnamed.is(2, &["There is no Deployment k/other."]);
    place.run("release demo --yes --karpenter other").is(2, &["it is NAMESPACE/NAME"]);
}

#[test]
fn karpenter_is_left_as_it_is_where_the_functions_cannot_take_over() {
    let server = cluster();
    let aws = Aws::of_cluster(&server.url);
    let place = Place::new("adopt", &[]).of(&server).of_account(&aws);
    let refused = place.run("adopt demo --yes");
    refused.is(1, &["The functions cannot take over yet", "The function launch is not deployed"]);
    assert_eq!(server.writes(), Vec::<String>::new());
}
