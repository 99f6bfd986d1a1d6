//! The outside as a function gets it: settings, and the adapters that it asks for.

use std::sync::Arc;

use anyhow::Context as _;
use aws::{
    Account, Connection, DynamoLedger, Ec2Discovery, Ec2Fleet, Ec2Templates, IamProfiles,
    SqsMailbox,
};
use cluster::KubeCluster;
use model::Catalog;
use ports::PortError;

use crate::{logs, settings::Settings};

/// What a function is made of. Each method makes one adapter; a function asks only for what its
/// handler takes.
#[derive(Clone, Debug)]
pub struct Platform {
    settings: Settings,
    account: Account,
}

/// Reads the environment, sets up logs and finds the account. Opens no connection.
pub async fn start() -> anyhow::Result<Platform> {
    let settings = Settings::from_environment()?;
    logs::install(settings.log_level)?;
    let account = Account::from_environment(&settings.endpoints).await?;
    Ok(Platform { settings, account })
}

impl Platform {
    /// What the environment says.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The ledger.
    pub fn ledger(&self) -> DynamoLedger {
        self.account.ledger(&self.settings.table)
    }

    /// The queues.
    pub fn mailbox(&self) -> SqsMailbox {
        self.account.mailbox(self.settings.queues.clone())
    }

    /// Instances.
    pub fn fleet(&self) -> Ec2Fleet {
        self.account.fleet()
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
        self.account.discovery(self.account.clusters(self.settings.connection.clone()))
    }

    /// What can be bought.
    pub fn catalog(&self) -> anyhow::Result<BuiltinCatalog> {
        let catalog = api::catalog::builtin().context("the built-in catalog cannot be read")?;
        if catalog.region != self.account.region() {
            tracing::warn!(
                region = self.account.region(),
                catalog = catalog.region,
                "the built-in catalog is of another region: its zones and prices are not yours"
            );
        }
        Ok(BuiltinCatalog(Arc::new(catalog)))
    }

    /// The cluster's API server, for the ports `Cluster` and `Nodes`.
    pub async fn cluster(&self) -> anyhow::Result<KubeCluster> {
        let cluster = &self.settings.cluster;
        let (endpoint, ca_bundle) = match self.settings.connection.clone() {
            Connection { endpoint: Some(endpoint), ca_bundle: Some(ca_bundle) } => {
                (endpoint, ca_bundle)
            }
            // Without TLS nobody's certificate matters: a stand-in on this machine.
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

/// The catalog that comes with the program, until the function `catalog` keeps one of the account's
/// own region.
#[derive(Clone, Debug)]
pub struct BuiltinCatalog(Arc<Catalog>);

impl ports::Catalog for BuiltinCatalog {
    async fn catalog(&self) -> Result<Arc<Catalog>, PortError> {
        Ok(Arc::clone(&self.0))
    }
}
