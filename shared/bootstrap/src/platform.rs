//! The outside as a function gets it: settings, and the adapters that it asks for.

use aws::{
    Account, AwsForensics, Connection, DynamoCatalogStore, DynamoLedger, Ec2Discovery, Ec2Fleet,
    Ec2Market, Ec2Templates, IamProfiles, OtlpCollector, SqsMailbox,
};
use cluster::KubeCluster;
use handlers::{Metered, Metrics, ProcessMemory};
use model::Function;
use ports::Adapters;

use crate::{WallClock, environment::Environment, logs, stored_catalog::StoredCatalog};

/// What a function is made of. Each method makes one adapter; a function asks only for what its
/// handler takes.
#[derive(Clone, Debug)]
pub struct Platform {
    function: Function,
    environment: Environment,
    account: Account,
    metrics: Metrics,
}

impl Adapters for Platform {
    type AlphaStatuses = KubeCluster;
    type Catalog = StoredCatalog;
    type Clock = WallClock;
    type Cluster = KubeCluster;
    type Discovery = Ec2Discovery;
    type Events = KubeCluster;
    type Fleet = Ec2Fleet;
    type Forensics = AwsForensics;
    type Leases = KubeCluster;
    type Ledger = Metered<DynamoLedger, WallClock>;
    type Mailbox = SqsMailbox;
    type Market = Ec2Market;
    type NodeClaims = KubeCluster;
    type NodeClasses = KubeCluster;
    type NodePools = KubeCluster;
    type Nodes = KubeCluster;
    type Profiles = IamProfiles;
    type CatalogStore = DynamoCatalogStore;
    type Templates = Ec2Templates;
    type Webhooks = KubeCluster;
}

/// Reads the environment of `function`, sets up logs and finds the account. Opens no connection.
pub async fn start(function: Function) -> anyhow::Result<Platform> {
    let environment = Environment::from_environment()?;
    logs::install(environment.log_level)?;
    if environment.settings != handlers::Settings::default() {
        tracing::info!(settings = ?environment.settings, "settings differ from the defaults");
    }
    let account = Account::from_environment(function, &environment.endpoints).await?;
    Ok(Platform { function, environment, account, metrics: Metrics::default() })
}

impl Platform {
    /// The function that it is the outside of.
    pub(crate) fn function(&self) -> Function {
        self.function
    }

    /// What the environment says.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// What the environment says of how to decide.
    pub fn settings(&self) -> &handlers::Settings {
        &self.environment.settings
    }

    /// The memory of a new process.
    pub fn memory(&self) -> ProcessMemory {
        ProcessMemory::with(self.environment.settings.nodes)
    }

    /// What calls of this process counted and what was not taken yet.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The receiver of metrics and calls besides CloudWatch.
    pub(crate) fn collector(&self) -> Option<OtlpCollector> {
        Some(self.account.collector(self.environment.otlp_endpoint.as_deref()?))
    }

    /// The ledger.
    pub fn ledger(&self) -> Metered<DynamoLedger, WallClock> {
        let ledger =
            self.account.ledger(&self.environment.table).writing(self.environment.record_form);
        Metered::new(ledger, WallClock, self.metrics.clone())
    }

    /// The queues, and the functions without one.
    pub fn mailbox(&self) -> SqsMailbox {
        let Environment { queues, functions, .. } = &self.environment;
        self.account.mailbox(queues.clone(), functions.clone())
    }

    /// Instances.
    pub fn fleet(&self) -> Ec2Fleet {
        self.account.fleet()
    }

    /// Instances whose nodes do not join.
    pub fn forensics(&self) -> AwsForensics {
        self.account.forensics()
    }

    /// Launch templates.
    pub fn templates(&self) -> Ec2Templates {
        self.account.templates()
    }

    /// Instance profiles.
    pub fn profiles(&self) -> IamProfiles {
        self.account.profiles()
    }

    /// What selectors of EC2NodeClasses name.
    pub fn discovery(&self) -> Ec2Discovery {
        self.account.discovery(self.account.clusters(self.environment.connection.clone()))
    }

    /// What can be bought: what the function `catalog` keeps.
    pub fn catalog(&self) -> StoredCatalog {
        StoredCatalog::new(self.catalog_store())
    }

    /// What is sold in the region.
    pub fn market(&self) -> Ec2Market {
        self.account.market()
    }

    /// What is sold, as it is kept.
    pub fn catalog_store(&self) -> DynamoCatalogStore {
        self.account.catalog_store(&self.environment.table, &self.environment.cluster)
    }

    /// Such as `us-west-2`.
    pub fn region(&self) -> &str {
        self.account.region()
    }

    /// The cluster's API server, for the ports `Cluster` and `Nodes`.
    pub async fn cluster(&self) -> anyhow::Result<KubeCluster> {
        let cluster = &self.environment.cluster;
        let (endpoint, ca_bundle) = match self.environment.connection.clone() {
            Connection { endpoint: Some(endpoint), ca_bundle: Some(ca_bundle) } => {
                (endpoint, ca_bundle)
            }
            // Without TLS no certificate matters: a stand-in on this machine.
            Connection { endpoint: Some(endpoint), .. } if endpoint.starts_with("http://") => {
                (endpoint, String::new())
            }
            connection => {
                let settings = self.account.clusters(connection).settings(cluster).await?;
                (settings.endpoint, settings.ca_bundle)
            }
        };
        let (credentials, region) = (self.account.credentials(), self.account.region());
        Ok(KubeCluster::for_eks(cluster, &endpoint, &ca_bundle, credentials, region)?)
    }
}
