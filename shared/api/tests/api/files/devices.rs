//! Devices and what claims them.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use super::*;

/// An object of `resource.k8s.io/v1` with the rest of its text.
fn object(rest: &str) -> String {
    format!("apiVersion: resource.k8s.io/v1\n{rest}\n")
}

#[test]
fn claims_that_an_api_server_refuses_are_named() {
    let claim = |request: &str| {
        object(&format!(
            "kind: ResourceClaim\nmetadata: {{name: a}}\nspec: {{devices: {{requests: [{request}]}}}}"
        ))
    };
    each(
        claim,
        &[
            "{name: r, exactly: {deviceClassName: gpu, adminAccess: true, tolerations: []}}",
            "{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 2}]}",
            "{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}",
            "{name: r}",
            "{name: r, deviceClassName: gpu}",
            "{name: r, exactly: {deviceClassName: gpu, count: 0}}",
            "{name: r, exactly: {deviceClassName: gpu, allocationMode: all}}",
            "{name: r, exactly: {deviceClassName: gpu, allocationMode: All, count: 2}}",
            "{name: r, exactly: {count: 1}}",
        ],
        &expect![[r#"
            {name: r, exactly: {deviceClassName: gpu, adminAccess: true, tolerations: []}}
                right
            {name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 2}]}
                right
            {name: r, exactly: {deviceClassName: gpu, allocationMode: All}}
                right
            {name: r}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0]: needs `exactly` or `firstAvailable`, and only one of them
            {name: r, deviceClassName: gpu}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0].deviceClassName: unknown field
            {name: r, exactly: {deviceClassName: gpu, count: 0}}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0].exactly.count: must be at least 1
            {name: r, exactly: {deviceClassName: gpu, allocationMode: all}}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0].exactly.allocationMode: must be one of `ExactCount`, `All`, not `all`
            {name: r, exactly: {deviceClassName: gpu, allocationMode: All, count: 2}}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0].exactly.count: must not be set with `allocationMode: All`
            {name: r, exactly: {count: 1}}
                x.yaml:4: ResourceClaim a: spec.devices.requests[0].exactly.deviceClassName: is required
        "#]],
    );
}

#[test]
fn names_and_lengths_of_the_lists_of_claims_are_checked() {
    let claim = |devices: &str| {
        object(&format!(
            "kind: ResourceClaim\nmetadata: {{name: a}}\nspec: {{devices: {{{devices}}}}}"
        ))
    };
    let request = |name: &str| format!("{{name: {name}, exactly: {{deviceClassName: gpu}}}}");
    let several = |number: usize| {
        let names: Vec<String> = (0..number).map(|index| request(&format!("r{index}"))).collect();
        format!("requests: [{}]", names.join(", "))
    };
    let first = "{name: r, firstAvailable: [{name: big, deviceClassName: gpu}, {name: small, deviceClassName: gpu}]}";
    assert_eq!(problems(&claim(&several(32))), "");
    let right = format!(
        "requests: [{first}], constraints: [{{matchAttribute: gpu.nvidia.com/numa, requests: [r, r/small]}}]"
    );
    assert_eq!(problems(&claim(&right)), "");
    let wrong = [
        several(33),
        format!("requests: [{}, {}]", request("r"), request("r")),
        format!("requests: [{}]", request("Gpu_1")),
        format!(
            "requests: [{first}], constraints: [{{matchAttribute: a.b/c, requests: [r/large, gpu]}}]"
        ),
        format!("requests: [{}], constraints: [{{matchAttribute: numa}}]", request("r")),
        first.replace("small", "big").replace("{name: r", "requests: [{name: r") + "]",
    ];
    let messages: Vec<String> = wrong.iter().map(|devices| problems(&claim(devices))).collect();
    expect![[r#"
        x.yaml:4: ResourceClaim a: spec.devices.requests: has 33 entries: 32 are allowed
        x.yaml:4: ResourceClaim a: spec.devices.requests[1].name: `r` is the name of an entry before it
        x.yaml:4: ResourceClaim a: spec.devices.requests[0].name: must be 1 to 63 lower-case letters, digits and hyphens, without a hyphen at either end
        x.yaml:4: ResourceClaim a: spec.devices.constraints[0].requests[0]: no request of the claim is called `r/large`
        x.yaml:4: ResourceClaim a: spec.devices.constraints[0].requests[1]: no request of the claim is called `gpu`
        x.yaml:4: ResourceClaim a: spec.devices.constraints[0].matchAttribute: `numa` names no driver; write DOMAIN/numa, such as gpu.nvidia.com/numa
        x.yaml:4: ResourceClaim a: spec.devices.requests[0].firstAvailable[1].name: `big` is the name of an entry before it"#]].assert_eq(&messages.join("\n"));
}

#[test]
fn templates_versions_and_pods_are_checked() {
    check(
        &object(
            "kind: ResourceClaimTemplate\nmetadata: {name: a}\nspec: {devices: {requests: []}}",
        ),
        &expect![[r#"
            x.yaml:4: ResourceClaimTemplate a: spec.spec: is required
            x.yaml:4: ResourceClaimTemplate a: spec.devices: unknown field"#]],
    );
    check(
        "apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n",
        &expect![
            "x.yaml:1: DeviceClass a: apiVersion: `resource.k8s.io/v1beta1` is not read, only `resource.k8s.io/v1` is; write resource.k8s.io/v1"
        ],
    );
    check(
        &object("kind: DeviceClas\nmetadata: {name: a}\nspec: {}"),
        &expect![
            "x.yaml:1: DeviceClas a: apiVersion: `resource.k8s.io/v1` has no kind `DeviceClas`, so the object is not read; did you mean `DeviceClass`?"
        ],
    );
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  resourceClaims: [{name: gpu, \
               resourceClaimName: mine}]\n  containers: [{name: m, resources: {claims: [{name: gpus}]}}]\n";
    check(
        pod,
        &expect![
            "x.yaml:5: Pod a: spec.resourceClaims: lacks `gpus`, which a container names in resources.claims; name the claim there, with `resourceClaimName` or `resourceClaimTemplateName`"
        ],
    );
    check(&pod.replace("gpus", "gpu"), &expect![[r#""#]]);
}

#[test]
fn a_stored_claim_that_cannot_be_read_keeps_its_devices() {
    let claim = |metadata: &str| {
        let text = object(&format!(
            "kind: ResourceClaim\nmetadata: {{name: a{metadata}}}\nspec: {{devices: {{requests: [{{name: r, exactly: \
             {{deviceClassName: 5}}}}]}}}}\nstatus: {{allocation: {{devices: {{results: [{{driver: d, pool: p, device: \
             x}}]}}}}}}"
        ));
        let manifest = read(&text, "x.yaml");
        assert_eq!(manifest.problems.len(), 1, "{:?}", manifest.problems);
        manifest.objects
    };
    assert_eq!(claim(""), []);
    let mut stored = claim(", uid: u");
    assert_eq!(stored.len(), 1);
    let Object::ResourceClaim(read) = stored.remove(0) else { panic!("a claim") };
    let devices = read.claim.allocation.expect("an allocation").devices;
    assert_eq!(devices[0].0.to_string(), "d/p/x");
}

#[test]
fn claims_of_pods_and_their_templates_are_known() {
    let owner = "ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}]";
    let claim = |metadata: &str| {
        let text =
            object(&format!("kind: ResourceClaim\nmetadata: {{name: a{metadata}}}\nspec: {{}}"));
        let mut manifest = read(&text, "x.yaml");
        assert_eq!(manifest.problems, []);
        let Object::ResourceClaim(read) = manifest.objects.remove(0) else { panic!("a claim") };
        (read.claim.key.to_string(), read.is_of_pod)
    };
    assert_eq!(claim(""), ("default/a".to_owned(), false));
    assert_eq!(claim(&format!(", namespace: x, {owner}")), ("x/a".to_owned(), true));

    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  selector: {matchLabels: \
                      {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      resourceClaims: [{name: \
                      own, resourceClaimTemplateName: t}, {name: shared, resourceClaimName: c}]\n      containers: \
                      [{name: m}]\n";
    let mut manifest = read(deployment, "x.yaml");
    assert_eq!(manifest.problems, []);
    let Object::Workload(read) = manifest.objects.remove(0) else { panic!("a Deployment") };
    let templates = read.new.claim_templates().iter().map(|(name, from)| format!("{name} {from}"));
    assert_eq!(templates.collect::<Vec<_>>(), ["own t"]);
}
