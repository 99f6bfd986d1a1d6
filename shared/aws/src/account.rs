//! One AWS account in one region: region, credentials and endpoints, and the adapters over them.
//!
//! All of it comes from the variables that Lambda sets for a function. Profiles, metadata services
//! and roles to assume are deliberately not looked for: a function has none, and the code that does
//! (with the whole SDK of STS) would be most of what some functions weigh. Nothing here opens a
//! connection.

use std::{collections::BTreeMap, time::Duration};

use aws_config::{
    BehaviorVersion, Region, SdkConfig,
    environment::{EnvironmentVariableCredentialsProvider, EnvironmentVariableRegionProvider},
    identity::IdentityCache,
    meta::region::ProvideRegion as _,
    retry::RetryConfig,
    timeout::TimeoutConfig,
};
use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
use aws_smithy_async::{rt::sleep::default_async_sleep, time::SharedTimeSource};

use model::ClusterName;

use crate::{
    AwsForensics, Connection, DynamoCatalogStore, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Market,
    Ec2Templates, EksClusters, IamProfiles, OtlpCollector, QueueUrls, SqsMailbox, pricing::Prices,
    ssm::Parameters, zonal_shift::ZonalShifts,
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

/// A service of AWS that an account is asked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// Zonal shifts.
    ArcZonalShift,
    /// The table.
    DynamoDb,
    /// Instances, launch templates, and what selectors name.
    Ec2,
    /// Clusters.
    Eks,
    /// Instance profiles.
    Iam,
    /// The price list.
    Pricing,
    /// Queues.
    Sqs,
    /// Parameters that hold images.
    Ssm,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ArcZonalShift,
        Self::DynamoDb,
        Self::Ec2,
        Self::Eks,
        Self::Iam,
        Self::Pricing,
        Self::Sqs,
        Self::Ssm,
    ];

    /// The variable that names an endpoint for this service alone.
    ///
    /// <https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html>
    pub const fn endpoint_variable(self) -> &'static str {
        match self {
            Self::ArcZonalShift => "AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT",
            Self::DynamoDb => "AWS_ENDPOINT_URL_DYNAMODB",
            Self::Ec2 => "AWS_ENDPOINT_URL_EC2",
            Self::Eks => "AWS_ENDPOINT_URL_EKS",
            Self::Iam => "AWS_ENDPOINT_URL_IAM",
            Self::Pricing => "AWS_ENDPOINT_URL_PRICING",
            Self::Sqs => "AWS_ENDPOINT_URL_SQS",
            Self::Ssm => "AWS_ENDPOINT_URL_SSM",
        }
    }
}

/// Where services answer instead of at AWS: emulators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// Every service that has none of its own (`AWS_ENDPOINT_URL`).
    pub every: Option<String>,
    /// Single services (`AWS_ENDPOINT_URL_EC2` and its like).
    pub own: BTreeMap<Service, String>,
}

/// One AWS account in one region.
#[derive(Clone, Debug)]
pub struct Account {
    config: SdkConfig,
    endpoints: BTreeMap<Service, String>,
    region: String,
    credentials: SharedCredentialsProvider,
}

impl Account {
    /// The account that `AWS_REGION`, `AWS_ACCESS_KEY_ID` and the other variables of Lambda
    /// describe, with its services where `endpoints` says.
    pub async fn from_environment(endpoints: &Endpoints) -> Result<Self, InvalidAccount> {
        let region = EnvironmentVariableRegionProvider::new().region().await;
        let credentials =
            SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
        let config = configured(region, credentials, RetryConfig::standard(), endpoints);
        Self::of(config, endpoints.own.clone())
    }

    /// An emulated account: every service at one `endpoint`, with credentials that mean nothing and
    /// next to no wait between the tries of a call.
    pub fn emulated(endpoint: &str, region: &str) -> Result<Self, InvalidAccount> {
        let endpoints = Endpoints { every: Some(endpoint.to_owned()), own: BTreeMap::new() };
        let credentials = Credentials::new("test", "test", None, None, "emulated");
        let credentials = SharedCredentialsProvider::new(credentials);
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let region = Some(Region::new(region.to_owned()));
        Self::of(configured(region, credentials, retries, &endpoints), endpoints.own)
    }

    /// The account that `config` reaches. Its credentials may come from anywhere: this is for a person's own
    /// programs, which look for profiles and the like.
    pub fn new(config: SdkConfig) -> Result<Self, InvalidAccount> {
        Self::of(config, BTreeMap::new())
    }

    fn of(config: SdkConfig, endpoints: BTreeMap<Service, String>) -> Result<Self, InvalidAccount> {
        let region = config.region().ok_or(InvalidAccount::NoRegion)?.to_string();
        let credentials = config.credentials_provider().ok_or(InvalidAccount::NoCredentials)?;
        Ok(Self { config, endpoints, region, credentials })
    }

    /// What clients of `service` are made of.
    fn config(&self, service: Service) -> SdkConfig {
        let Some(endpoint) = self.endpoints.get(&service) else { return self.config.clone() };
        self.config.clone().into_builder().endpoint_url(endpoint).build()
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
        let client = aws_sdk_dynamodb::Client::new(&self.config(Service::DynamoDb));
        DynamoLedger::new(client, table, &self.region)
    }

    /// What is sold, kept beside the ledger of `cluster` in the table called `table`.
    pub fn catalog_store(&self, table: &str, cluster: &ClusterName) -> DynamoCatalogStore {
        DynamoCatalogStore::new(self.ledger(table), cluster.clone())
    }

    /// What is sold in the region.
    pub fn market(&self) -> Ec2Market {
        let config = self.config(Service::Pricing);
        let prices = Prices::new(&config, &self.region, self.credentials());
        Ec2Market::new(aws_sdk_ec2::Client::new(&self.config(Service::Ec2)), prices)
    }

    /// The collector of OpenTelemetry at `endpoint`.
    pub fn collector(&self, endpoint: &str) -> OtlpCollector {
        OtlpCollector::new(&self.config, endpoint)
    }

    /// The queues at `urls`.
    pub fn mailbox(&self, urls: QueueUrls) -> SqsMailbox {
        SqsMailbox::new(aws_sdk_sqs::Client::new(&self.config(Service::Sqs)), urls)
    }

    /// Instances.
    pub fn fleet(&self) -> Ec2Fleet {
        Ec2Fleet::new(aws_sdk_ec2::Client::new(&self.config(Service::Ec2)))
    }

    /// Instances whose nodes do not join.
    pub fn forensics(&self) -> AwsForensics {
        AwsForensics::new(
            aws_sdk_ec2::Client::new(&self.config(Service::Ec2)),
            aws_sdk_iam::Client::new(&self.config(Service::Iam)),
            aws_sdk_eks::Client::new(&self.config(Service::Eks)),
        )
    }

    /// Launch templates.
    pub fn templates(&self) -> Ec2Templates {
        Ec2Templates::new(aws_sdk_ec2::Client::new(&self.config(Service::Ec2)))
    }

    /// Instance profiles.
    pub fn profiles(&self) -> IamProfiles {
        IamProfiles::new(&self.config(Service::Iam))
    }

    /// EKS clusters.
    pub fn clusters(&self, connection: Connection) -> EksClusters {
        EksClusters::new(&self.config(Service::Eks), &self.region, connection)
    }

    /// What selectors of EC2NodeClasses name; `clusters` answers for the cluster's own settings.
    pub fn discovery(&self, clusters: EksClusters) -> Ec2Discovery {
        let parameters =
            Parameters::new(&self.config(Service::Ssm), &self.region, self.credentials());
        let config = self.config(Service::ArcZonalShift);
        let shifts = ZonalShifts::new(&config, &self.region, self.credentials());
        Ec2Discovery::new(&self.config(Service::Ec2), parameters, clusters, shifts)
    }
}

/// What all clients have in common.
fn configured(
    region: Option<Region>,
    credentials: SharedCredentialsProvider,
    retries: RetryConfig,
    endpoints: &Endpoints,
) -> SdkConfig {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_timeout(OPERATION_TIMEOUT)
        .operation_attempt_timeout(ATTEMPT_TIMEOUT)
        .build();
    let mut config = SdkConfig::builder()
        // Written out, so that an update of the SDK cannot change what is retried.
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(region)
        .credentials_provider(credentials)
        .identity_cache(IdentityCache::lazy().build())
        .retry_config(retries)
        .timeout_config(timeouts)
        .time_source(SharedTimeSource::default());
    config.set_sleep_impl(default_async_sleep());
    config.set_endpoint_url(endpoints.every.clone());
    config.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        every: Option<&str>,
        entries: &[(Service, &str)],
        service: Service,
        expected: Option<&str>,
    ) {
        let endpoints = Endpoints {
            every: every.map(str::to_owned),
            own: entries.iter().map(|(service, url)| (*service, (*url).to_owned())).collect(),
        };
        let credentials = Credentials::new("test", "test", None, None, "test");
        let credentials = SharedCredentialsProvider::new(credentials);
        let region = Some(Region::new("us-west-2"));
        let config = configured(region, credentials, RetryConfig::disabled(), &endpoints);
        let account = Account::of(config, endpoints.own).unwrap();
        assert_eq!(account.config(service).endpoint_url(), expected);
    }

    #[test]
    fn an_endpoint_of_its_own_goes_before_the_one_of_every_service() {
        let entries = [(Service::Ec2, "http://door")];
        check(Some("http://all"), &entries, Service::Ec2, Some("http://door"));
        check(Some("http://all"), &entries, Service::Sqs, Some("http://all"));
        check(None, &entries, Service::Ec2, Some("http://door"));
        check(None, &entries, Service::Sqs, None);
        check(Some("http://all"), &[], Service::Ec2, Some("http://all"));
    }

    #[test]
    fn every_service_has_its_variable() {
        let names: std::collections::BTreeSet<_> =
            Service::ALL.iter().map(|service| service.endpoint_variable()).collect();
        assert_eq!(names.len(), Service::ALL.len());
    }
}
