//! What a command finds by itself if the user does not name it: the cluster of the kubeconfig's context, and the table
//! of the cluster's stack. What was found is said on standard error.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use report::{error::BadInput, progress, screen::Screen};
use serde_json::Value;

use crate::{
    installation::{Installation, InstallationArgs},
    live::{AccountClient, ApiConnection, LiveAnswer},
};

impl InstallationArgs {
    /// The installation that is meant. A cluster that the user names always wins.
    ///
    /// # Errors
    ///
    /// If the user names no cluster and the kubeconfig's context does not either.
    pub fn found(&self) -> Result<Installation, BadInput> {
        let installation = |cluster: String, region: Option<String>| Installation {
            cluster,
            region,
            expect_server: self.expect_server.clone(),
            kubeconfig: self.kubeconfig.clone(),
        };
        if let Some(cluster) = &self.cluster {
            return Ok(installation(cluster.clone(), self.region.clone()));
        }
        let missing = "name the cluster (CLUSTER, or --cluster-name)";
        let entry = ApiConnection::entry(&self.kubeconfig)
            .map_err(|why| BadInput::one(format!("{why}; or {missing}")))?;
        let Some(named) = entry.eks_cluster() else {
            return Err(BadInput::one(format!(
                "context {} of the kubeconfig does not say which EKS cluster it is of: {missing}",
                entry.name
            )));
        };
        let region = self.region.clone().or(named.region);
        let place = region.as_ref().map(|region| format!(" in {region}")).unwrap_or_default();
        say(&format!("cluster {}{place}, from context {}", named.name, entry.name));
        Ok(installation(named.name, region))
    }

    /// The installation that is meant by a command that removes or hands over something.
    ///
    /// # Errors
    ///
    /// As [`Self::found`]; and if `yes` and the user names no cluster: without a question, the current context could be of
    /// another cluster than the user thinks.
    pub fn found_to_change(&self, yes: bool) -> Result<Installation, BadInput> {
        if yes && self.cluster.is_none() {
            let why = "--yes needs the name of the cluster (CLUSTER): without a question, the current context is not enough";
            return Err(BadInput::one(why));
        }
        self.found()
    }
}

/// The table of the functions that are for the cluster of `place`.
///
/// # Errors
///
/// If the account cannot be asked, no function is for the cluster, or stacks have several tables.
pub fn table(place: &Installation) -> LiveAnswer<String> {
    let account = AccountClient::open(place.region.as_deref())?;
    let functions = account.functions().map_err(|why| format!("{why}; or --table NAME"))?;
    let table = the_table(&functions, &place.cluster)
        .map_err(|why| format!("region {}: {why}", account.region()))?;
    say(&format!("table {table}, from the stack of cluster {}", place.cluster));
    Ok(table)
}

/// The table that `functions` use for `cluster`.
///
/// # Errors
///
/// If none is for the cluster, or they use several tables; names the stacks.
pub fn the_table(functions: &[Value], cluster: &str) -> LiveAnswer<String> {
    let variable = |function: &Value, name: &str| {
        let value = function.pointer(&format!("/Environment/Variables/{name}"));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for function in functions {
        let table = variable(function, "JOURNEYMAN_TABLE_NAME");
        if variable(function, "JOURNEYMAN_CLUSTER_NAME") == cluster && !table.is_empty() {
            let name = function.pointer("/FunctionName").and_then(Value::as_str);
            // SAM calls functions `STACK-ProvisionFunction-…`.
            let stack =
                name.and_then(|name| name.split_once("Function-")).map(|(before, _)| before);
            let stack = stack.and_then(|before| before.rsplit_once('-')).map(|(stack, _)| stack);
            tables.entry(table).or_default().extend(stack.map(ToOwned::to_owned));
        }
    }
    match tables.pop_first() {
        None => Err(format!(
            "no stack is for cluster {cluster}: name the region by --region, or the table by --table"
        )),
        Some((table, _)) if tables.is_empty() => Ok(table),
        Some(first) => {
            let named = std::iter::once(first).chain(tables).map(|(table, stacks)| {
                let stacks: Vec<String> = stacks.into_iter().collect();
                format!("table {table} of stack {}", stacks.join(", "))
            });
            let named: Vec<String> = named.collect();
            Err(format!(
                "several stacks are for cluster {cluster}; choose by --table: {}",
                named.join("; ")
            ))
        }
    }
}

fn say(line: &str) {
    // If standard error is closed, there is no one to read the line.
    let _unread = progress::hidden(|| Screen::of_stderr().lines(line, &mut io::stderr()));
}
