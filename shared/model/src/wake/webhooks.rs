//! The webhooks of `wake` as a cluster has them.

use super::key::PATH_DIGITS;

/// The URLs that an API server calls, and the version that they were read at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WakeWebhooks {
    /// `metadata.uid` of the configuration.
    pub uid: String,
    /// `metadata.resourceVersion` of the configuration.
    pub version: String,
    /// Name and URL of each webhook that has a URL.
    pub urls: Vec<(String, String)>,
}

impl WakeWebhooks {
    /// These with the path `path` in each URL, only those that change. `None`: each has it.
    pub fn with_path(&self, path: &str) -> Option<Self> {
        let renewed = |(name, url): &(String, String)| {
            let renewed = with_path(url, path);
            (renewed != *url).then(|| (name.clone(), renewed))
        };
        let urls: Vec<_> = self.urls.iter().filter_map(renewed).collect();
        (!urls.is_empty()).then(|| Self { urls, ..self.clone() })
    }
}

/// The `url` with the secret path `path` at its end, in the place of the one that it has.
pub fn with_path(url: &str, path: &str) -> String {
    let is_secret = |segment: &str| {
        segment.len() == PATH_DIGITS && segment.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let place = match url.rsplit_once('/') {
        Some((place, segment)) if is_secret(segment) => place,
        _ => url,
    };
    format!("{}/{path}", place.trim_end_matches('/'))
}
