//! Pods without spread constraints, where the scheduler has some for them.

use std::collections::BTreeSet;

use crate::{CLASS, POOL, deployment, folder, run};

#[test]
fn pods_without_constraints_are_spread_as_the_scheduler_is_configured() {
    const SPREAD: &str = r#"{"podTopologySpread":{"defaultConstraints":[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule"}]}}"#;
    let web = deployment("web", 6);
    let bare = "apiVersion: v1\nkind: Pod\nmetadata: {name: bare, labels: {app: bare}}\nspec: \
                {containers: [{name: m, resources: {requests: {cpu: 800m}}}]}\n";
    let service = |app: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {app}}}\nspec: {{selector: {{app: \
             {app}}}, ports: [{{port: 80}}]}}\n"
        )
    };
    let other = service("other");
    let files = [
        ("class.yaml", CLASS),
        ("pool.yaml", POOL),
        ("web.yaml", &*web),
        ("bare.yaml", bare),
        ("service.yaml", &*other),
    ];
    let folder = folder("default-spread", &files);
    let zones = |words: &str| {
        let json = run(&folder, words).json();
        let claims = json["newNodeClaims"].as_array().expect("claims").clone();
        let zone = |claim: &serde_json::Value| claim["cheapest"]["zone"].to_string();
        claims.iter().map(zone).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(zones("plan . -o json"), 1);
    let spread = zones(&format!("plan . --set SchedulerConfig={SPREAD} -o json"));
    assert!(3 <= spread, "{spread} zones");
    let refused = run(&folder, "plan . --set SchedulerConfig={\"profiles\":[]}");
    refused.complains(&["SchedulerConfig", "profiles: unknown field"]);
    assert_eq!(refused.code, Some(2));
}
