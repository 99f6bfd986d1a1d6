//! What a ledger holds for people: claims, commands and decisions, from a stack's table or from a file that a
//! simulation left.

mod file;
mod json;
mod rollouts;
mod table;

use std::{collections::BTreeMap, path::PathBuf};

use installer::{
    found,
    installation::{ClusterArgs, InstallationArgs},
    live,
};
use jiff::Timestamp;
use model::{
    ClusterName, CommandId, NodeClaim, NodeClaimName,
    disruption::Command,
    ledger::{Decision, UnreadableItem},
    words,
};
use report::{error::BadInput, progress::ProgressLine};

pub use file::{PackedFacts, write};
pub(crate) use json::{claim, command, decision, known, progress};
pub(crate) use rollouts::{is_about_any, is_at, names_of};

/// Items of facts begin with it.
const FACTS_PREFIX: &str = "facts#";

/// Where records are read from.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RecordsArgs {
    /// Read records from a file that `simulate --ledger` or `local` wrote.
    #[arg(long, value_name = "FILE", env = "JOURNEYMAN_LEDGER", conflicts_with = "table")]
    pub ledger: Option<PathBuf>,
    /// Without --ledger: DynamoDB table of the stack. Default: the table that the functions of the
    /// cluster use. Changes nothing.
    #[arg(long, value_name = "NAME", env = "JOURNEYMAN_TABLE")]
    pub table: Option<String>,
    /// Without --ledger: name of the EKS cluster. Default: cluster and region of the kubeconfig
    /// context.
    #[arg(long, value_name = "NAME", env = "JOURNEYMAN_CLUSTER")]
    pub cluster_name: Option<ClusterName>,
    /// Without --ledger: AWS region. Default: AWS_REGION or the AWS profile.
    #[arg(long, value_name = "REGION", conflicts_with = "ledger")]
    pub region: Option<String>,
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap takes it for the help of the whole command")]
    pub kubeconfig: ClusterArgs,
    /// Without --ledger: maximum number of decisions to read, newest first.
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000)]
    pub records: usize,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// When it was so.
    pub(crate) at: Timestamp,
    /// Claims that are not gone.
    pub(crate) claims: BTreeMap<NodeClaimName, NodeClaim>,
    /// Commands that are not done.
    pub(crate) commands: BTreeMap<CommandId, Command>,
    /// Decisions, the newest first.
    pub(crate) decisions: Vec<Decision>,
    /// What cannot be read.
    pub(crate) unreadable: Vec<UnreadableItem>,
    /// Whether there are older decisions that were not read.
    pub(crate) is_cut: bool,
}

impl RecordsArgs {
    /// Where to read, with the cluster of the kubeconfig and the table of its stack if the user does not name them.
    ///
    /// # Errors
    ///
    /// If this build cannot ask a cluster or an account, or cluster or table cannot be found.
    pub(crate) fn found(&self) -> Result<Self, BadInput> {
        if self.ledger.is_some() || (self.table.is_some() && self.cluster_name.is_some()) {
            return Ok(self.clone());
        }
        live::needed("without --ledger FILE")?;
        let place = InstallationArgs {
            cluster: self.cluster_name.as_ref().map(ToString::to_string),
            region: self.region.clone(),
            expect_server: None,
            kubeconfig: self.kubeconfig.clone(),
        };
        let place = place.found()?;
        let table = match &self.table {
            Some(table) => table.clone(),
            None => found::table(&place).map_err(BadInput::one)?,
        };
        let cluster = ClusterName::new(&place.cluster)
            .map_err(|error| BadInput::one(format!("cluster {}: {error}", place.cluster)))?;
        let (table, cluster_name) = (Some(table), Some(cluster));
        Ok(Self { table, cluster_name, region: place.region, ..self.clone() })
    }

    /// Reads them.
    pub fn read(&self) -> Result<Records, BadInput> {
        let _reading = ProgressLine::new("reading records");
        let mut records = match (&self.ledger, &self.table, &self.cluster_name) {
            (Some(path), ..) => file::read(path)?,
            (None, Some(table), Some(cluster)) => table::read(self, table, cluster)?,
            _ => {
                let rule = "--ledger FILE, or --table NAME with --cluster-name NAME";
                return Err(BadInput::one(format!("nothing to read: {rule}")));
            }
        };
        records.decisions.sort_by_cached_key(|decision| std::cmp::Reverse(decision.id()));
        Ok(records)
    }

    /// The packed facts that are kept under `number`, if they are there.
    pub(crate) fn facts(&self, number: u64) -> Result<Option<Vec<u8>>, BadInput> {
        match (&self.ledger, &self.table, &self.cluster_name) {
            (Some(path), ..) => file::facts(path, number),
            (None, Some(table), Some(cluster)) => table::facts(self, (table, cluster), number),
            _ => Ok(None),
        }
    }
}

impl Records {
    /// Takes what the item called `item` says; items of other kinds are passed over.
    fn add(&mut self, item: &str, record: &str) {
        let problem = if item.starts_with("decision#") {
            let decision = wire::record::decode_decision(record);
            decision.map(|decision| self.decisions.push(decision)).err()
        } else if item.starts_with("claim#") {
            let claim = wire::record::decode_claim(record);
            claim.map(|claim| drop(self.claims.insert(claim.name.clone(), claim))).err()
        } else if item.starts_with("batch#") {
            let claims = wire::record::decode_claims(record);
            let named = |claim: NodeClaim| (claim.name.clone(), claim);
            claims.map(|claims| self.claims.extend(claims.into_iter().map(named))).err()
        } else if let Some(id) = item.strip_prefix("command#") {
            let command = wire::record::decode_command(record);
            match (command, CommandId::new(id)) {
                (Ok(command), Ok(id)) => {
                    self.commands.insert(id, command);
                    None
                }
                (Err(error), _) => Some(error),
                (_, Err(_)) => None,
            }
        } else {
            None
        };
        if let Some(error) = problem {
            self.cannot_read(item, error.to_string());
        }
    }

    /// What is said about items that cannot be read, if there are any.
    pub(crate) fn unreadable_in_words(&self) -> Option<String> {
        let first = self.unreadable.first()?;
        let many = words::counted(self.unreadable.len(), "record");
        Some(format!("{many} cannot be read, the first is {}: {}", first.item, first.problem))
    }

    fn cannot_read(&mut self, item: &str, problem: String) {
        let item = item.to_owned();
        self.unreadable.push(UnreadableItem { item, claim: None, instance: None, problem });
    }
}
