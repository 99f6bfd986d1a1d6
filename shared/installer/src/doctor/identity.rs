//! Whether the kubeconfig, EKS and the stack are about one cluster. A command that changes a cluster or an account asks
//! this before anything else.

use std::{collections::BTreeSet, fmt};

use super::steps::StepFinding;
use crate::named::{Arn, region_of};

/// What the kubeconfig, EKS and the stack say of the cluster that a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its name in EKS, as the command was given it.
    pub cluster: String,
    /// The kubeconfig's context; `None` in a pod, whose service account is taken without a kubeconfig.
    pub context: Option<String>,
    /// URL of the kubeconfig's server.
    pub server: String,
    /// The server that `--expect-server` names.
    pub expected: Option<String>,
    /// Number of the account of the credentials; `None` if it could not be read.
    pub account: Option<String>,
    /// Region in which EKS was asked.
    pub region: String,
    /// `endpoint` of eks:DescribeCluster; `None`: EKS has no such cluster there.
    pub endpoint: Option<String>,
    /// Endpoints that the stack's functions were deployed for (parameter `ClusterEndpoint`); without one a function
    /// takes that of EKS.
    pub deployed: BTreeSet<String>,
}

/// What a command names before it asks.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster {} ({}), reached by {}.", self.cluster, self.place(), self.way())
    }
}

impl Identity {
    /// `Ok` if one cluster is meant; otherwise what differs, and the cure.
    pub fn verified(&self) -> Result<(), StepFinding> {
        let Self { cluster, server, expected, endpoint, deployed, .. } = self;
        let Some(endpoint) = endpoint else {
            let why = format!("EKS has no cluster {cluster} in {}.", self.place());
            return Err(StepFinding::of(why, self.cure()));
        };
        if let Some(expected) = expected {
            if !is_same(server, expected) {
                let why = format!("--expect-server names {expected}, and here is {}.", self.way());
                return Err(StepFinding::of(
                    why,
                    "Name the kubeconfig's server, or another context (--context).",
                ));
            }
        } else if !is_same(server, endpoint) {
            let why = format!(
                "The kubeconfig is of another cluster than {cluster}: it has {}, and EKS has {endpoint} for {cluster} in {}.",
                self.way(),
                self.place()
            );
            let tunnel = format!(
                " If that server is a proxy or a tunnel to {endpoint}, say --expect-server {server}."
            );
            return Err(StepFinding::of(why, self.cure() + &tunnel));
        }
        match deployed.iter().find(|deployed| !is_same(deployed, endpoint)) {
            None => Ok(()),
            Some(deployed) => Err(StepFinding::of(
                format!(
                    "The stack was deployed for {deployed}, and EKS has {endpoint} for {cluster}."
                ),
                format!(
                    "Deploy the stack with ClusterEndpoint={endpoint}, or without ClusterEndpoint; if {cluster} was \
                     created again under its name, delete the stack of the former cluster (sam delete)."
                ),
            )),
        }
    }

    fn place(&self) -> String {
        let account = self.account.as_deref().unwrap_or("of unknown number");
        format!("account {account}, region {}", self.region)
    }

    fn way(&self) -> String {
        let context = self.context.as_deref();
        let context = context.map_or_else(
            || "a pod's service account".to_owned(),
            |context| format!("context {context}"),
        );
        format!("{context}, server {}", self.server)
    }

    /// How kubeconfig, region and account come to be of one cluster.
    fn cure(&self) -> String {
        let Self { cluster, region, .. } = self;
        let named = self.context.as_deref().and_then(Arn::parsed);
        let theirs = named.map(|arn| arn.region).or_else(|| region_of(&self.server));
        let mut cures = Vec::new();
        if let Some(theirs) = theirs.filter(|theirs| theirs != region) {
            cures.push(format!(
                "The kubeconfig's cluster is in {theirs}: --region {theirs} asks EKS there."
            ));
        }
        if let (Some(arn), Some(account)) = (named, &self.account)
            && arn.account != account
        {
            let theirs = arn.account;
            cures.push(format!(
                "The kubeconfig's cluster is in account {theirs}: AWS_PROFILE names a profile of that account."
            ));
        }
        if let Some(arn) = named.filter(|arn| arn.cluster != cluster) {
            cures.push(format!("The kubeconfig's cluster is called {}.", arn.cluster));
        }
        if self.endpoint.is_some() {
            cures.push(format!(
                "aws eks update-kubeconfig --name {cluster} --region {region} writes a kubeconfig for {cluster}; \
                 --context takes another context."
            ));
        } else if cures.is_empty() {
            cures.push(
                "Name the cluster as EKS does, its region by --region, and a profile of its account by AWS_PROFILE."
                    .to_owned(),
            );
        }
        cures.join(" ")
    }
}

/// The number of the account in the ARN of an EKS cluster.
pub fn account_of(arn: &str) -> Option<String> {
    Arn::parsed(arn).map(|arn| arn.account.to_owned())
}

/// Whether two URLs are of one server: case, a slash at the end and HTTPS's own port make no difference.
fn is_same(server: &str, other: &str) -> bool {
    let plain = |url: &str| {
        let url = url.trim_end_matches('/').to_ascii_lowercase();
        match url.strip_prefix("https://") {
            Some(host) => format!("https://{}", host.trim_end_matches(":443")),
            None => url,
        }
    };
    plain(server) == plain(other)
}
