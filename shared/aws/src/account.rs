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

use model::{
    ClusterName, Function,
    limits::requests::{TABLE_ATTEMPTS_MAX, TABLE_BACKOFF, Timeouts},
};

use crate::{
    AwsForensics, Connection, DynamoCatalogStore, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Market,
    Ec2Templates, EksClusters, FunctionNames, IamProfiles, OtlpCollector, QueueUrls, S3Bucket,
    SqsMailbox, lambda::LambdaFunctions, pricing::Prices, ssm::Parameters,
    zonal_shift::ZonalShifts,
};

/// What the SDKs allow a connection by themselves.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(3_100);

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
    /// Functions that are called.
    Lambda,
    /// The price list.
    Pricing,
    /// Queues.
    Sqs,
    /// Parameters that hold images.
    Ssm,
}

impl Service {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::ArcZonalShift,
        Self::DynamoDb,
        Self::Ec2,
        Self::Eks,
        Self::Iam,
        Self::Lambda,
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
            Self::Lambda => "AWS_ENDPOINT_URL_LAMBDA",
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
    /// `None` leaves those of `config`.
    timeouts: Option<Timeouts>,
}

impl Account {
    /// The account that `AWS_REGION`, `AWS_ACCESS_KEY_ID` and the other variables of Lambda
    /// describe, with its services where `endpoints` says, for calls of `function`.
    pub async fn from_environment(
        function: Function,
        endpoints: &Endpoints,
    ) -> Result<Self, InvalidAccount> {
        let region = EnvironmentVariableRegionProvider::new().region().await;
        let credentials =
            SharedCredentialsProvider::new(EnvironmentVariableCredentialsProvider::new());
        let config = configured(region, credentials, RetryConfig::standard(), endpoints);
        Ok(Self::of(config, endpoints.own.clone())?.within(Timeouts::of(function)))
    }

    /// An emulated account: every service at one `endpoint`, with credentials that mean nothing and
    /// next to no wait between the tries of a call.
    pub fn emulated(endpoint: &str, region: &str) -> Result<Self, InvalidAccount> {
        let endpoints = Endpoints { every: Some(endpoint.to_owned()), own: BTreeMap::new() };
        let credentials = Credentials::new("test", "test", None, None, "emulated");
        let credentials = SharedCredentialsProvider::new(credentials);
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let region = Some(Region::new(region.to_owned()));
        let config = configured(region, credentials, retries, &endpoints);
        Ok(Self::of(config, endpoints.own)?.within(Timeouts::of(Function::Launch)))
    }

    /// The account that `config` reaches. Its credentials may come from anywhere: this is for a person's own
    /// programs, which look for profiles and the like.
    pub fn new(config: SdkConfig) -> Result<Self, InvalidAccount> {
        Self::of(config, BTreeMap::new())
    }

    fn of(config: SdkConfig, endpoints: BTreeMap<Service, String>) -> Result<Self, InvalidAccount> {
        let region = config.region().ok_or(InvalidAccount::NoRegion)?.to_string();
        let credentials = config.credentials_provider().ok_or(InvalidAccount::NoCredentials)?;
        Ok(Self { config, endpoints, region, credentials, timeouts: None })
    }

    fn within(self, timeouts: Timeouts) -> Self {
        Self { timeouts: Some(timeouts), ..self }
    }

    /// What clients of `service` are made of.
    fn config(&self, service: Service) -> SdkConfig {
        let mut config = self.config.clone().into_builder();
        if let Some(endpoint) = self.endpoints.get(&service) {
            config.set_endpoint_url(Some(endpoint.clone()));
        }
        if let Some(timeouts) = self.timeouts {
            let is_table = service == Service::DynamoDb;
            let timeouts = if is_table { timeouts.of_table() } else { timeouts };
            config.set_timeout_config(Some(to_config(timeouts)));
            if let Some(retries) = self.config.retry_config().filter(|_| is_table) {
                let pause = retries.initial_backoff().min(TABLE_BACKOFF);
                let retries = retries.clone().with_max_attempts(TABLE_ATTEMPTS_MAX);
                config.set_retry_config(Some(retries.with_initial_backoff(pause)));
            }
        }
        config.build()
    }

    /// Such as `us-west-2`.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// What requests are signed with; the caller that needs them renews them.
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

    /// The queues at `urls`, and the functions called `names`.
    pub fn mailbox(&self, urls: QueueUrls, names: FunctionNames) -> SqsMailbox {
        let config = self.config(Service::Lambda);
        let functions = LambdaFunctions::new(&config, &self.region, self.credentials(), names);
        SqsMailbox::new(aws_sdk_sqs::Client::new(&self.config(Service::Sqs)), urls, functions)
    }

    /// The bucket called `name`, which the account with the number `owner` must own.
    pub fn bucket(&self, name: &str, owner: &str) -> S3Bucket {
        S3Bucket::new(&self.config, &self.region, self.credentials(), (name, owner))
    }

    /// Instances.
    pub fn fleet(&self) -> Ec2Fleet {
        Ec2Fleet::new(aws_sdk_ec2::Client::new(&self.config(Service::Ec2)))
    }

    /// Instances whose nodes do not join.
    pub fn forensics(&self) -> AwsForensics {
        let account = self.clone().within(Timeouts::OF_LOOKS);
        AwsForensics::new(
            &account.config(Service::Ec2),
            &account.config(Service::Iam),
            &account.config(Service::Eks),
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

fn to_config(timeouts: Timeouts) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .operation_timeout(timeouts.operation)
        .operation_attempt_timeout(timeouts.attempt)
        .build()
}

/// What all clients have in common.
fn configured(
    region: Option<Region>,
    credentials: SharedCredentialsProvider,
    retries: RetryConfig,
    endpoints: &Endpoints,
) -> SdkConfig {
    let mut config = SdkConfig::builder()
        // Written out, so that an update of the SDK cannot change what is retried.
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(region)
        .credentials_provider(credentials)
        .identity_cache(IdentityCache::lazy().build())
        .retry_config(retries)
        .time_source(SharedTimeSource::default());
    config.set_sleep_impl(default_async_sleep());
    config.set_endpoint_url(endpoints.every.clone());
    config.build()
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        sync::{Arc, Mutex},
        task::{Context, Poll},
    };

    use aws_smithy_async::rt::sleep::{AsyncSleep, SharedAsyncSleep, Sleep};
    use aws_smithy_runtime_api::client::{
        http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn},
        orchestrator::HttpRequest,
    };
    use model::limits::CLAIMS_PER_BATCH_MAX;
    use ports::{Fault, Fleet as _, Ledger as _, PortError};
    use testkit::build;

    use super::*;

    /// Takes requests and never answers. Time passes only while all wait for it: then it is when the first of
    /// [`Waits`] ends.
    #[derive(Clone, Debug, Default)]
    struct Hanging(Arc<Mutex<Waits>>);

    #[derive(Debug, Default)]
    struct Waits {
        now: Duration,
        /// When each ends, by its number.
        ends: BTreeMap<usize, Duration>,
        begun: usize,
    }

    impl HttpConnector for Hanging {
        fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
            HttpConnectorFuture::new(std::future::pending())
        }
    }

    impl AsyncSleep for Hanging {
        fn sleep(&self, duration: Duration) -> Sleep {
            let mut waits = self.0.lock().unwrap();
            waits.begun += 1;
            let (number, end) = (waits.begun, waits.now + duration);
            waits.ends.insert(number, end);
            Sleep::new(Wait { number, waits: Arc::clone(&self.0) })
        }
    }

    struct Wait {
        number: usize,
        waits: Arc<Mutex<Waits>>,
    }

    impl Future for Wait {
        type Output = ();

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let mut waits = self.waits.lock().unwrap();
            let end = waits.ends[&self.number];
            if waits.ends.values().any(|other| *other < end) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            waits.now = waits.now.max(end);
            Poll::Ready(())
        }
    }

    impl Drop for Wait {
        fn drop(&mut self) {
            self.waits.lock().unwrap().ends.remove(&self.number);
        }
    }

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
    fn the_table_is_asked_again_sooner_and_more_often_than_other_services() {
        let (account, _) = hanging(Function::Interrupt);
        let retries = |service| {
            let config = account.config(service);
            let retries = config.retry_config().unwrap();
            (retries.max_attempts(), retries.initial_backoff())
        };
        assert_eq!(retries(Service::DynamoDb), (TABLE_ATTEMPTS_MAX, TABLE_BACKOFF));
        assert_eq!(retries(Service::Ec2), (3, Duration::from_secs(1)));
    }

    /// An account of `function` whose services all hang, and what waits for them.
    fn hanging(function: Function) -> (Account, Hanging) {
        let credentials = Credentials::new("test", "test", None, None, "test");
        let credentials = SharedCredentialsProvider::new(credentials);
        let (region, endpoints) = (Some(Region::new("us-west-2")), Endpoints::default());
        let config = configured(region, credentials, RetryConfig::standard(), &endpoints);
        let hanging = Hanging::default();
        let connector = SharedHttpConnector::new(hanging.clone());
        let config = config
            .into_builder()
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .sleep_impl(SharedAsyncSleep::new(hanging.clone()));
        let account = Account::of(config.build(), BTreeMap::new()).unwrap();
        (account.within(Timeouts::of(function)), hanging)
    }

    /// Whole seconds after which `call` is abandoned.
    async fn seconds<T>(
        hanging: &Hanging,
        call: impl Future<Output = Result<T, PortError>>,
    ) -> u64 {
        let begun = hanging.0.lock().unwrap().now;
        assert_eq!(call.await.err().map(|error| error.fault), Some(Fault::Unknown));
        hanging.0.lock().unwrap().now.saturating_sub(begun).as_secs()
    }

    #[track_caller]
    fn check_patience(function: Function, of_table: u64, of_instances: u64, of_launch: u64) {
        let (account, hanging) = hanging(function);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let cluster = build::id("demo");
        let mut request = build::fleet_request(&cluster, "demo-1-0");
        request.count = u32::try_from(CLAIMS_PER_BATCH_MAX).unwrap();
        let (ledger, fleet) = (account.ledger("table"), account.fleet());
        let taken = runtime.block_on(async {
            let of_table = seconds(&hanging, ledger.head(&cluster)).await;
            let of_instances = seconds(&hanging, fleet.list(&cluster)).await;
            (of_table, of_instances, seconds(&hanging, fleet.launch(&request)).await)
        });
        assert_eq!(taken, (of_table, of_instances, of_launch), "{function}");
    }

    #[test]
    fn a_call_that_hangs_ends_in_the_time_of_the_function() {
        check_patience(Function::Interrupt, 6, 6, 50);
        check_patience(Function::Launch, 12, 25, 50);
    }

    #[test]
    fn every_service_has_its_variable() {
        let names: std::collections::BTreeSet<_> =
            Service::ALL.iter().map(|service| service.endpoint_variable()).collect();
        assert_eq!(names.len(), Service::ALL.len());
    }
}
