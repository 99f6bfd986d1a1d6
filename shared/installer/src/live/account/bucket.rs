//! The S3 bucket that a stack is deployed from.

use ports::PortError;

use super::AccountClient;
use crate::live::{BucketPlace, LiveAnswer, failure::of_port};

impl AccountClient {
    fn bucket(&self, place: &BucketPlace) -> LiveAnswer<aws::S3Bucket> {
        Ok(self.adapters()?.bucket(&place.name, &place.owner))
    }

    /// Whether the bucket is there.
    pub(crate) fn has_bucket(&self, place: &BucketPlace) -> LiveAnswer<bool> {
        let bucket = self.bucket(place)?;
        self.runtime.block_on(bucket.exists()).map_err(|error| failed(place, "", &error))
    }

    /// Creates the bucket.
    pub(crate) fn create_bucket(&self, place: &BucketPlace) -> LiveAnswer<()> {
        let bucket = self.bucket(place)?;
        self.runtime.block_on(bucket.create()).map_err(|error| failed(place, "", &error))
    }

    /// Whether the bucket has the object `key`.
    pub(crate) fn has_object(&self, place: &BucketPlace, key: &str) -> LiveAnswer<bool> {
        let bucket = self.bucket(place)?;
        self.runtime.block_on(bucket.has(key)).map_err(|error| failed(place, key, &error))
    }

    /// Writes the object `key`.
    pub(crate) fn put_object(
        &self,
        place: &BucketPlace,
        key: &str,
        content: Vec<u8>,
    ) -> LiveAnswer<()> {
        let bucket = self.bucket(place)?;
        self.runtime.block_on(bucket.put(key, content)).map_err(|error| failed(place, key, &error))
    }

    /// The URL of the object `key`, as CloudFormation takes it.
    pub(crate) fn object_url(&self, place: &BucketPlace, key: &str) -> LiveAnswer<String> {
        Ok(self.bucket(place)?.url(key))
    }
}

fn failed(place: &BucketPlace, key: &str, error: &PortError) -> String {
    format!("s3://{}/{key}: {}", place.name, of_port("s3", error))
}
