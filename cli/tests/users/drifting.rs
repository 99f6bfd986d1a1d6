//! Whether nodes have drifted from an EC2NodeClass: `hash` and `plan --disruption` answer by the same rule.

use crate::{
    Answer, CLASS, POOL, answer, command, deployment, folder, planning::NODE, run, run_with,
};

/// The annotations that store a hash, as YAML.
fn stamp(hash: &str) -> String {
    format!(
        "annotations: {{karpenter.k8s.aws/ec2nodeclass-hash: '{hash}', \
         karpenter.k8s.aws/ec2nodeclass-hash-version: v6}}"
    )
}

/// A kubeconfig whose current context `mine` has the certificate authority `bundle`.
fn kubeconfig(bundle: &str) -> String {
    format!(
        "current-context: mine\ncontexts:\n- {{name: mine, context: {{cluster: one, user: me}}}}\n\
         clusters:\n- {{name: one, cluster: {{server: 'https://1', certificate-authority-data: {bundle}}}}}\n"
    )
}

/// [`CLASS`] as a cluster has it that stored the hash `hash` for its spec and has seen the generation `seen` of 2.
fn stored(hash: &str, seen: u32) -> String {
    let stamp = stamp(hash);
    let class =
        CLASS.replacen("{name: default}", &format!("{{name: default, generation: 2, {stamp}}}"), 1);
    format!(
        "{class}status:\n  conditions:\n  - {{type: Ready, status: \"True\", reason: Ready, message: '', \
         observedGeneration: {seen}, lastTransitionTime: 2026-08-01T08:00:00Z}}\n"
    )
}

/// What `hash --against` and `plan --disruption` say of a node of `class` with the hash `of_node`.
fn answers(class: &str, of_node: &str, kubeconfig: &str) -> [Answer; 2] {
    let node = NODE.replacen(
        "metadata: {name: general-1,",
        &format!("metadata: {{name: general-1, {},", stamp(of_node)),
        1,
    );
    let files = [
        ("in/class.yaml", class),
        ("in/pool.yaml", POOL),
        ("node/node.yaml", &node),
        ("config", kubeconfig),
    ];
    let folder = folder("drifting", &files);
    ["hash in --against node --strict", "plan in node --disruption --now 2026-08-01T12:00:00Z"].map(
        |words| {
            let mut command = command(&folder, words);
            command.env("KUBECONFIG", "config");
            answer(command)
        },
    )
}

#[test]
fn a_stored_hash_says_nothing_of_an_edited_spec_nor_a_kubeconfig_of_another_cluster() {
    // As an API server returns it.
    let returned = format!(
        "{CLASS}  metadataOptions: {{httpEndpoint: enabled, httpProtocolIPv6: disabled, \
         httpPutResponseHopLimit: 1, httpTokens: required}}\n"
    );
    let hash_of = |class: &str, output: &str| {
        let files = [("class.yaml", class), ("pool.yaml", POOL)];
        run(&folder("drifting-hash", &files), &format!("hash . --ca-bundle Z29sZGVu{output}"))
    };
    let hashes = hash_of(&returned, " -o json").json();
    let hash = hashes["EC2NodeClass/default"].as_str().expect("a hash");
    hash_of(CLASS, "").says(&[&format!("In a cluster EC2NodeClass/default has the hash {hash}: ")]);
    let stored =
        CLASS.replacen("{name: default}", &format!("{{name: default, {}}}", stamp(hash)), 1);
    let edited = stored.replacen("spec:\n", "spec:\n  tags: {team: blue}\n", 1);
    let (mine, other) = (kubeconfig("Z29sZGVu"), kubeconfig("b3RoZXI="));
    let other_class = stored.replacen("name: default", "name: other", 1);
    let edited_beside_other = format!("{edited}---\n{other_class}");
    let (unknown, foreign) = (
        "have drifted from the spec of EC2NodeClass default",
        "context mine can be another cluster",
    );
    let of_context = "are those of the cluster of the kubeconfig's context mine";
    let rows = [
        (&*edited, hash, "", "ip-1 may drift", [unknown, "--ca-bundle"]),
        (&*stored, hash, "", "ip-1 may drift", [unknown, "--ca-bundle"]),
        (&*stored, "1", "", "ip-1 drifts", ["NodeClassDrift: ip-1", "1 node has drifted"]),
        (&*stored, hash, &*mine, "ip-1 stays", [of_context, of_context]),
        (&*stored, hash, &*other, "ip-1 may drift", [unknown, foreign]),
        // The node's hash is of the context's cluster.
        (CLASS, hash, &*mine, "ip-1 stays", [of_context, of_context]),
        (CLASS, hash, &*other, "ip-1 may drift", [unknown, foreign]),
        // So is that of the other class.
        (&*edited_beside_other, hash, &*mine, "ip-1 drifts", ["NodeClassDrift: ip-1", of_context]),
        (&*edited, hash, &*mine, "ip-1 may drift", [unknown, foreign]),
    ];
    for (class, of_node, kubeconfig, verdict, said) in rows {
        let [hashed, planned] = answers(class, of_node, kubeconfig);
        let is_doubtful = verdict == "ip-1 may drift";
        let sum =
            if is_doubtful { "0 of 1 node would drift, 1 may drift\n" } else { "would drift\n" };
        hashed.says(&[verdict, sum]);
        assert_eq!(hashed.code, Some(i32::from(verdict != "ip-1 stays")), "{}", hashed.out);
        planned.says(&said);
        let drifts = planned.out.contains("NodeClassDrift");
        assert_eq!(drifts, verdict == "ip-1 drifts", "{}", planned.out);
        if said.contains(&foreign) || said.contains(&of_context) {
            hashed.says(&said[1..]);
        }
    }
}

#[test]
fn the_hash_that_a_cluster_stored_for_this_generation_is_that_of_the_spec() {
    let of_store =
        "EC2NodeClass default is the one that the cluster stored for this generation of its spec";
    let unknown = "have drifted from the spec of EC2NodeClass default";
    for (seen, of_node, verdict) in [
        (2, "77", "ip-1 stays"),
        (2, "78", "ip-1 drifts"),
        (1, "77", "ip-1 may drift"),
        (1, "78", "ip-1 drifts"),
    ] {
        let [hashed, planned] = answers(&stored("77", seen), of_node, "");
        hashed.says(&[verdict]);
        let drifts = planned.out.contains("NodeClassDrift");
        assert_eq!(drifts, verdict == "ip-1 drifts", "{seen} {of_node}: {}", planned.out);
        assert_eq!(planned.out.contains(unknown), verdict == "ip-1 may drift", "{}", planned.out);
        if seen == 2 {
            hashed.says(&[of_store, "77"]);
            planned.says(&[of_store]);
        }
    }
}

/// A simulated cluster has another certificate authority than the cluster whose objects it plays.
#[test]
fn nodes_of_a_saved_cluster_drift_in_a_simulated_one_as_they_do_in_theirs() {
    let unknown = "whether nodes have drifted from the spec of EC2NodeClass default is unknown";
    for (seen, of_node, drifts) in
        [(2, "77", false), (2, "78", true), (1, "77", false), (1, "78", true)]
    {
        let stamped = format!("metadata: {{name: general-1, {},", stamp(of_node));
        let node = NODE.replacen("metadata: {name: general-1,", &stamped, 1);
        let web = deployment("web", 1);
        let class = stored("77", seen);
        let files = [
            ("in/class.yaml", &*class),
            ("in/pool.yaml", POOL),
            ("in/node.yaml", &*node),
            ("in/web.yaml", &*web),
        ];
        let folder = folder(&format!("drifting-played-{seen}-{of_node}"), &files);
        let played = run(&folder, "simulate in --duration 10m");
        let has_drifted = played.out.contains("deleted: Drifted");
        assert_eq!(has_drifted, drifts, "{seen} {of_node}: {}{}", played.out, played.complaints);
        assert_eq!(played.out.contains(unknown), seen == 1 && !drifts, "{}", played.out);
    }
}

#[test]
fn a_hash_of_standard_input_is_that_of_a_file() {
    let text = format!("{CLASS}---\n{POOL}");
    let folder = folder("drifting-stdin", &[("in.yaml", &text)]);
    let (file, piped) = ("hash in.yaml --ca-bundle Z29sZGVu", "hash - --ca-bundle Z29sZGVu");
    let (file, piped) = (run(&folder, file), run_with(&folder, piped, &text));
    file.says(&["In a cluster EC2NodeClass/default has the hash"]);
    assert_eq!((&piped.out, piped.code), (&file.out, Some(0)), "{}", piped.complaints);
}
