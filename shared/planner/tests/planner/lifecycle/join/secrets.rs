//! Secrets are cut out of what a console says, before anything else is done with it: what a line is may be lost,

use planner::lifecycle::join::secrets::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(cut(text), expected, "{text}");
}

#[test]
fn secrets_are_cut_out_by_their_names() {
    check("export DB_PASSWORD=hunter2 next", "export DB_PASSWORD=***");
    check(r#"{"token": "abc"}"#, r#"{"token":***"#);
    check("AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=***");
    check("join --token abc --node x", "join --token ***");
    check("Authorization: Bearer abc", "Authorization:***");
    check("with Bearer abc", "with Bearer ***");
    check("client_secret: abc", "client_secret:***");
    check("certificateAuthority: LS0tLS1CRUdJTg==", "certificateAuthority:***");
}

#[test]
fn secrets_are_cut_out_by_their_looks() {
    check("id AKIAABCDEFGHIJKLMNOP, x", "id ***, x");
    check("got eyJhbGciOiJSUzI1NiJ9.e30.abc", "got ***");
    check("k8s-aws-v1.aHR0cHM6Ly9zdHM", "***");
    check("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1234", "***");
    check("https://me:pw@example.com/x", "https://***@example.com/x");
    check("use abcde1.0123456789abcdef now", "use *** now");
    check("a\n-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\nb", "a\n***\nb");
    check("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIC", "a\n***");
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "[   12.1] cloud-init[1203]: Failed to run module scripts-user",
        "kubelet[2101]: E1124 Unable to register node with API server: Unauthorized",
        "dial tcp 10.0.0.1:443: i/o timeout",
        "ip-10-0-12-34.us-west-2.compute.internal is up",
        "role arn:aws:iam::123456789012:role/KarpenterNodeRole-demo",
        "https://0123456789ABCDEF0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com/api/v1/nodes",
    ] {
        check(text, text);
    }
}
