//! One AWS account in one region: region, credentials and endpoints, and the adapters over them.
//!
//! All of it comes from the variables that Lambda sets for a function. Profiles, metadata services
//! and roles to assume are deliberately not looked for: a function has none, and the code that does
//! (with the whole SDK of STS) would be most of what some functions weigh. Nothing here opens a
//! connection.

use std::time::Duration;

use aws_config::{
    BehaviorVersion, SdkConfig,
    environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider},
    identity::IdentityCache,
    meta::region::ProvideRegion as _,
    retry::RetryConfig,
    timeout::TimeoutConfig,
};
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_async::{rt::sleep::default_async_sleep, time::SharedTimeSource};

use crate::{
    Connection, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Templates, EksClusters, IamProfiles,
    QueueUrls, SqsMailbox, ssm::Parameters,
};

/// What the SDKs allow a connection by themselves.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3_100);
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
    #[error("no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")]
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
    /// The account that `AWS_REGION`, `AWS_ACCESS_KEY_ID` and the other variables of Lambda
    /// describe. With `endpoint_url` every service of it is there and not at AWS: an emulator.
    pub async fn from_environment(endpoint_url: Option<&str>) -> Result<Self, InvalidAccount> {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .operation_timeout(OPERATION_TIMEOUT)
            .operation_attempt_timeout(ATTEMPT_TIMEOUT)
            .build();
        let credentials = EnvironmentVariableCredentialsProvider::new();
        let mut config = SdkConfig::builder()
            // Written out, so that an update of the SDK cannot change what is retried.
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(EnvironmentVariableRegionProvider::new().region().await)
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .identity_cache(IdentityCache::lazy().build())
            .retry_config(RetryConfig::standard())
            .timeout_config(timeouts)
            .time_source(SharedTimeSource::default());
        config.set_sleep_impl(default_async_sleep());
        config.set_endpoint_url(endpoint_url.map(str::to_owned));
        Self::of(config.build())
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
        EksClusters::new(&self.config, &self.region, connection)
    }

    /// What selectors of EC2NodeClasses name; `clusters` answers for the cluster's own settings.
    pub fn discovery(&self, clusters: EksClusters) -> Ec2Discovery {
        let parameters = Parameters::new(&self.config, &self.region, self.credentials());
        Ec2Discovery::new(aws_sdk_ec2::Client::new(&self.config), parameters, clusters)
    }
}
