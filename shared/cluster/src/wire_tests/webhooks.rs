//! Webhooks over the wire.

use model::wake::WakeWebhooks;
use ports::{Fault, Webhooks as _};
use serde_json::json;

use super::{Server, refused};

const OURS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/journeyman";

fn webhooks(urls: &[(&str, &str)]) -> WakeWebhooks {
    let urls = urls.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned()));
    WakeWebhooks { uid: "u1".to_owned(), version: "7".to_owned(), urls: urls.collect() }
}

#[tokio::test]
async fn urls_are_read_and_a_webhook_of_a_service_has_none() {
    let webhooks_seen = json!([
        { "name": "one", "clientConfig": { "url": "https://host/a" }, "rules": [] },
        { "name": "two", "clientConfig": { "service": { "name": "x", "namespace": "y" } } },
    ]);
    let metadata = json!({ "name": "journeyman", "uid": "u1", "resourceVersion": "7" });
    let seen = json!({ "metadata": metadata, "webhooks": webhooks_seen });
    let server = Server::new([(200, seen)]);
    let expected = webhooks(&[("one", "https://host/a")]);
    assert_eq!(server.cluster().of_wake().await.unwrap(), Some(expected));
    server.check_sent(&[&format!("GET {OURS}")]);

    let bare = json!({ "metadata": { "uid": "u1", "resourceVersion": "7" } });
    let server = Server::new([(200, bare)]);
    assert_eq!(server.cluster().of_wake().await.unwrap(), Some(webhooks(&[])));
    let server = Server::new([refused(404, "NotFound", "not found")]);
    assert_eq!(server.cluster().of_wake().await.unwrap(), None);
}

#[tokio::test]
async fn urls_are_set_by_name_under_the_version_that_was_read() {
    let server = Server::new([(200, json!({}))]);
    server.cluster().set_urls(&webhooks(&[("one", "https://host/b")])).await.unwrap();
    server.check_sent(&[&format!("PATCH {OURS}")]);
    let sent = &server.sent()[0];
    assert_eq!(sent.content_type.as_deref(), Some("application/strategic-merge-patch+json"));
    let expected = json!({
        "metadata": { "uid": "u1", "resourceVersion": "7" },
        "webhooks": [{ "name": "one", "clientConfig": { "url": "https://host/b" } }],
    });
    assert_eq!(sent.body, expected);
}

#[tokio::test]
async fn refusals_say_what_they_mean() {
    for (answer, fault) in [
        (refused(403, "Forbidden", "no"), Fault::Permanent),
        (refused(404, "NotFound", "gone"), Fault::NotFound),
        (refused(409, "Conflict", "modified"), Fault::Conflict),
    ] {
        let server = Server::new([answer]);
        let error = server.cluster().set_urls(&webhooks(&[])).await.unwrap_err();
        assert_eq!((error.operation, error.fault), ("set the URLs of wake", fault));
    }
    for (answer, fault) in [
        (refused(403, "Forbidden", "no"), Fault::Permanent),
        ((200, json!({ "metadata": {} })), Fault::Permanent),
    ] {
        let error = Server::new([answer]).cluster().of_wake().await.unwrap_err();
        assert_eq!((error.operation, error.fault), ("read the webhooks of wake", fault));
    }
}
