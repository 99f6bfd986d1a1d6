//! The S3 bucket that a stack is deployed from.

use aws::S3Bucket;
use ports::PortError;

use super::AccountClient;
use crate::live::{BucketPlace, LiveAnswer, failure::of_port};

/// A bucket, with the way to it.
#[derive(Debug)]
pub struct BucketClient {
    place: BucketPlace,
    bucket: S3Bucket,
}

impl BucketClient {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.place.name
    }

    /// The URL of the object `key`, as CloudFormation takes it.
    pub(crate) fn url(&self, key: &str) -> String {
        self.bucket.url(key)
    }

    fn failed(&self, key: &str, error: &PortError) -> String {
        format!("s3://{}/{key}: {}", self.place.name, of_port("s3", error))
    }
}

impl AccountClient {
    /// The bucket at `place`, which need not be there.
    pub(crate) fn bucket(&self, place: BucketPlace) -> LiveAnswer<BucketClient> {
        let bucket = self.adapters()?.bucket(&place.name, &place.owner);
        Ok(BucketClient { place, bucket })
    }

    fn asked<T>(
        &self,
        bucket: &BucketClient,
        key: &str,
        answer: impl Future<Output = Result<T, PortError>>,
    ) -> LiveAnswer<T> {
        self.runtime.block_on(answer).map_err(|error| bucket.failed(key, &error))
    }

    /// Whether the bucket is there.
    pub(crate) fn has_bucket(&self, client: &BucketClient) -> LiveAnswer<bool> {
        self.asked(client, "", client.bucket.exists())
    }

    /// Creates the bucket.
    pub(crate) fn create_bucket(&self, client: &BucketClient) -> LiveAnswer<()> {
        self.asked(client, "", client.bucket.create())
    }

    /// Whether the bucket has the object `key`.
    pub(crate) fn has_object(&self, client: &BucketClient, key: &str) -> LiveAnswer<bool> {
        self.asked(client, key, client.bucket.has(key))
    }

    /// The text of the object `key`; `None`: there is no such object.
    pub(crate) fn object_text(
        &self,
        client: &BucketClient,
        key: &str,
    ) -> LiveAnswer<Option<String>> {
        let content = self.asked(client, key, client.bucket.get(key))?;
        let text = content.map(String::from_utf8).transpose();
        text.map_err(|error| format!("s3://{}/{key}: {error}", client.name()))
    }

    /// Writes the object `key`.
    pub(crate) fn put_object(
        &self,
        client: &BucketClient,
        key: &str,
        content: Vec<u8>,
    ) -> LiveAnswer<()> {
        self.asked(client, key, client.bucket.put(key, content))
    }
}
