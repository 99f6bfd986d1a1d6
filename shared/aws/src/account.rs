//! One AWS account in one region: region, credentials and endpoints, and the adapters over them.
//!
//! All of it comes from the environment, as every AWS tool reads it; `AWS_ENDPOINT_URL` points it
//! at an emulator, `AWS_ENDPOINT_URL_<SERVICE>` one service of it (SSM, which is called without its
//! SDK, only knows the first). Nothing here opens a connection.

use aws_config::{BehaviorVersion, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_credential_types::provider::SharedCredentialsProvider;
use std::time::Duration;

use crate::{
    Connection, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Templates, EksClusters, IamProfiles,
    QueueUrls, SqsMailbox, ssm::Parameters,
};

/// Every function ends within a minute; a call that takes longer than this will not come back.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(25);
/// One attempt of a call.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(12);

/// Why the environment does not describe an account.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAccount {
    /// No region.
    #[error("no region: set AWS_REGION")]
    NoRegion,
    /// No source of credentials at all.
    #[error("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile")]
    NoCredentials,
}

/// One AWS account in one region.
#[derive(Clone, Debug)]
pub struct Account {
    config: SdkConfig,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl Account {
    /// The account that the environment describes.
    pub async fn from_environment() -> Result<Self, InvalidAccount> {
        // The version is written out, so that an update of the SDK cannot change what is retried.
        let timeouts = TimeoutConfig::builder()
            .operation_timeout(OPERATION_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts)
            .load()
            .await;
        Self::of(config)
    }

    /// The account that `config` describes.
    pub(crate) fn of(config: SdkConfig) -> Result<Self, InvalidAccount> {
        let region = config.region().ok_or(InvalidAccount::NoRegion)?.to_string();
        let credentials = config.credentials_provider().ok_or(InvalidAccount::NoCredentials)?;
        Ok(Self { config, region, credentials })
    }

    /// Such as `us-west-2`.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// What requests are signed with; renewed by whoever asks.
    pub fn credentials(&self) -> SharedCredentialsProvider {
        self.credentials.clone()
    }

    /// The ledger in the table called `table`.
    pub fn ledger(&self, table: &str) -> DynamoLedger {
        DynamoLedger::new(aws_sdk_dynamodb::Client::new(&self.config), table)
    }

    /// The queues at `urls`.
    pub fn mailbox(&self, urls: QueueUrls) -> SqsMailbox {
        SqsMailbox::new(aws_sdk_sqs::Client::new(&self.config), urls)
    }

    /// Instances.
    pub fn fleet(&self) -> Ec2Fleet {
        Ec2Fleet::new(aws_sdk_ec2::Client::new(&self.config))
    }

    /// Launch templates.
    pub fn templates(&self) -> Ec2Templates {
        Ec2Templates::new(aws_sdk_ec2::Client::new(&self.config))
    }

    /// Instance profiles.
    pub fn profiles(&self) -> IamProfiles {
        IamProfiles::new(aws_sdk_iam::Client::new(&self.config))
    }

    /// EKS clusters.
    pub fn clusters(&self, connection: Connection) -> EksClusters {
        EksClusters::new(aws_sdk_eks::Client::new(&self.config), &self.region, connection)
    }

    /// What selectors of EC2NodeClasses name; `clusters` answers for the cluster's own settings.
    pub fn discovery(&self, clusters: EksClusters) -> Ec2Discovery {
        let parameters = Parameters::new(&self.config, &self.region, self.credentials());
        Ec2Discovery::new(aws_sdk_ec2::Client::new(&self.config), parameters, clusters)
    }
}
