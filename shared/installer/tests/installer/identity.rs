//! A command acts on the cluster that it was given the name of, or on none.

use installer::doctor::{identity::Identity, steps::StepFinding};

const HERE: &str = "https://AAAA.gr7.us-west-2.eks.amazonaws.com";
const OTHER: &str = "https://BBBB.gr7.us-west-2.eks.amazonaws.com";
const ABROAD: &str = "https://CCCC.gr7.eu-west-1.eks.amazonaws.com";

fn arn(region: &str, account: &str, cluster: &str) -> String {
    format!("arn:aws:eks:{region}:{account}:cluster/{cluster}")
}

/// `demo` in its account and region, and a kubeconfig of it.
fn right() -> Identity {
    Identity {
        cluster: "demo".to_owned(),
        context: Some("work".to_owned()),
        server: HERE.to_owned(),
        expected: None,
        account: Some("111111111111".to_owned()),
        region: "us-west-2".to_owned(),
        endpoint: Some(HERE.to_owned()),
        deployed: [].into(),
    }
}

/// It is refused: what was found and the cure say all of `texts`.
#[track_caller]
fn refused(identity: &Identity, texts: &[&str]) {
    let StepFinding { found, cure } = identity.verified().unwrap_err();
    let words = format!("{}\n{cure}", found.join(" "));
    for text in texts {
        assert!(words.contains(text), "no `{text}` in\n{words}");
    }
}

#[test]
fn one_cluster_is_accepted_however_its_url_is_written() {
    assert_eq!(right().verified(), Ok(()));
    for server in [format!("{HERE}/"), format!("{HERE}:443"), HERE.to_lowercase()] {
        assert_eq!(Identity { server, ..right() }.verified(), Ok(()));
    }
    let deployed = [format!("{HERE}/")].into();
    assert_eq!(Identity { deployed, ..right() }.verified(), Ok(()));
    expect_test::expect![[r"
        Cluster demo (account 111111111111, region us-west-2), reached by context work, server https://AAAA.gr7.us-west-2.eks.amazonaws.com."]]
    .assert_eq(&right().to_string());
}

/// What wrong kubeconfig, account and region make of [`right`]. Elsewhere EKS has another `demo`, or none.
fn mistaken([kubeconfig, account, region, is_there]: [bool; 4]) -> Identity {
    let right = right();
    let (server, context) =
        if kubeconfig { (OTHER, Some("elsewhere".to_owned())) } else { (HERE, right.context) };
    let number = if account { "222222222222" } else { "111111111111" };
    let endpoint = if account || region { is_there.then_some(ABROAD) } else { Some(HERE) };
    Identity {
        context,
        server: server.to_owned(),
        account: Some(number.to_owned()),
        region: if region { "eu-west-1" } else { "us-west-2" }.to_owned(),
        endpoint: endpoint.map(ToOwned::to_owned),
        ..right
    }
}

#[test]
fn every_combination_of_wrong_kubeconfig_account_and_region_is_refused() {
    for case in 1..16_u8 {
        let mistakes = [1, 2, 4, 8].map(|bit| case & bit != 0);
        let [kubeconfig, account, region, _] = mistakes;
        let wrong = mistaken(mistakes);
        if !(kubeconfig || account || region) {
            assert_eq!(wrong.verified(), Ok(()));
            continue;
        }
        let number = if account { "account 222222222222" } else { "account 111111111111" };
        let place = if region { "region eu-west-1" } else { "region us-west-2" };
        refused(&wrong, &[number, place]);
        if wrong.endpoint.is_some() {
            refused(&wrong, &["The kubeconfig is of another cluster than demo", &wrong.server]);
            let update = format!("update-kubeconfig --name demo --region {}", wrong.region);
            refused(&wrong, &[&update, "--context", &format!("--expect-server {}", wrong.server)]);
        } else {
            refused(&wrong, &["EKS has no cluster demo"]);
        }
        if region {
            refused(&wrong, &["--region us-west-2 asks EKS there"]);
        }
    }
}

#[test]
fn a_cluster_that_eks_does_not_have_is_refused() {
    let nowhere = Identity { cluster: "other".to_owned(), endpoint: None, ..right() };
    let cures = ["Name the cluster as EKS does", "--region", "AWS_PROFILE"];
    refused(&nowhere, &["EKS has no cluster other in account 111111111111, region us-west-2."]);
    refused(&nowhere, &cures);
    let unknown = Identity { account: None, ..nowhere };
    refused(&unknown, &["account of unknown number"]);
}

#[test]
fn what_a_context_says_of_its_cluster_is_in_the_cure() {
    let context = Some(arn("eu-west-1", "222222222222", "prod"));
    let wrong = Identity { context, server: ABROAD.to_owned(), ..right() };
    refused(&wrong, &["is in eu-west-1", "is in account 222222222222", "is called prod"]);
    let context = Some(arn("us-west-2", "111111111111", "demo"));
    let moved = Identity { context, endpoint: Some(OTHER.to_owned()), ..right() };
    let cure = moved.verified().unwrap_err().cure;
    assert!(cure.starts_with("aws eks update-kubeconfig --name demo"), "{cure}");
}

#[test]
fn a_tunnel_is_taken_where_it_is_named() {
    let tunnel = "https://127.0.0.1:8443";
    let through = Identity { server: tunnel.to_owned(), ..right() };
    refused(&through, &["--expect-server https://127.0.0.1:8443"]);
    let named = Identity { expected: Some(tunnel.to_owned()), ..through };
    assert_eq!(named.verified(), Ok(()));
    let other = Identity { server: OTHER.to_owned(), ..named.clone() };
    refused(&other, &["--expect-server names https://127.0.0.1:8443", OTHER]);
    let nowhere = Identity { endpoint: None, ..named.clone() };
    refused(&nowhere, &["EKS has no cluster demo"]);
    let pod = Identity { context: None, server: "https://10.100.0.1".to_owned(), ..right() };
    refused(&pod, &["a pod's service account, server https://10.100.0.1"]);
}

#[test]
fn a_stack_that_was_deployed_for_another_cluster_is_refused() {
    let deployed = [HERE.to_owned(), OTHER.to_owned()].into();
    let wrong = Identity { deployed, ..right() };
    refused(
        &wrong,
        &[&format!("The stack was deployed for {OTHER}"), "ClusterEndpoint=", "sam delete"],
    );
}
