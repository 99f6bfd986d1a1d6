//! What was seen of an installation: answers of AWS and of the API server as they came, each beside why there is
//! none. Nothing is judged here.

use std::time::Duration;

use jiff::Timestamp;
use model::join::JoinNetwork;
use serde_json::Value;

use super::identity::Identity;
use crate::live::{LiveAnswer, UrlAnswer, kubernetes::Protected};

/// Everything that a step looks at.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The present.
    pub now: Timestamp,
    /// The name of the EKS cluster.
    pub cluster: String,
    /// The former release that was deployed again; `None`: the functions are to be of this command's.
    pub rollback: Option<String>,
    /// What the API server says of itself: `/version`.
    pub version: LiveAnswer<Value>,
    /// `cluster` of eks:DescribeCluster; none: EKS knows no such cluster.
    pub eks: LiveAnswer<Option<Value>>,
    /// What kubeconfig, EKS and the stack say of the cluster.
    pub identity: LiveAnswer<Identity>,
    /// `Functions` of lambda:ListFunctions that are for this cluster.
    pub functions: LiveAnswer<Vec<Value>>,
    /// `AccountLimit` of lambda:GetAccountSettings, and `Reserved`: executions that these functions reserve.
    pub concurrency: LiveAnswer<Value>,
    /// `accessEntry` of each of eks:ListAccessEntries.
    pub entries: LiveAnswer<Vec<Value>>,
    /// ConfigMap `aws-auth` of `kube-system`.
    pub aws_auth: LiveAnswer<Option<Value>>,
    /// Of the roles that EC2NodeClasses name, and of spot's: what iam:GetRole says, if IAM knows it.
    pub iam_roles: LiveAnswer<Vec<(String, Option<Value>)>>,
    /// CustomResourceDefinitions.
    pub definitions: LiveAnswer<Vec<Value>>,
    /// ClusterRoles, ClusterRoleBindings, Roles, RoleBindings, FlowSchemas, and ValidatingAdmissionPolicies with their
    /// bindings.
    pub rbac: LiveAnswer<Vec<Value>>,
    /// Leases of all namespaces.
    pub leases: LiveAnswer<Vec<Value>>,
    /// Karpenter's pods, of all namespaces.
    pub karpenter_pods: LiveAnswer<Vec<Value>>,
    /// NodePools.
    pub pools: LiveAnswer<Vec<Value>>,
    /// EC2NodeClasses.
    pub classes: LiveAnswer<Vec<Value>>,
    /// NodeClaims.
    pub claims: LiveAnswer<Vec<Value>>,
    /// All pods, and the annotations of the first.
    pub pods: LiveAnswer<Protected>,
    /// All nodes, and the annotations of the first.
    pub nodes: LiveAnswer<Protected>,
    /// What EC2 has for each EC2NodeClass.
    pub selected: LiveAnswer<Vec<ClassSelection>>,
    /// What has the API server call `wake`, and whether it does.
    pub waking: LiveAnswer<Waking>,
    /// What lies between the functions and the API server, by the id of each subnet that they are in.
    pub networks: LiveAnswer<Vec<(String, JoinNetwork)>>,
}

impl Observed {
    /// Whether the account is the simulated one of `journeyman local`, which runs the functions itself. No cluster of
    /// EKS has an endpoint on loopback.
    pub fn is_local(&self) -> bool {
        let eks = self.eks.as_ref().ok().and_then(Option::as_ref);
        eks.is_some_and(|eks| text(eks, "/endpoint").starts_with("https://127.0.0.1:"))
    }
}

/// The way from the API server to `wake`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waking {
    /// The ValidatingWebhookConfiguration; without it nothing else is looked at.
    pub webhooks: Option<Value>,
    /// Whether kube-scheduler's events have a FlowSchema and a PriorityLevelConfiguration of their own.
    pub has_priority: bool,
    /// The URL of the stack's function `wake`. `None`: it has none, or is behind another URL than one of Lambda.
    pub function_url: Option<String>,
    /// How long the API server took for a probe that `wake` answered. `None`: no answer of `wake` came.
    pub probed: Option<Duration>,
    /// What the URL of the webhooks answers from here, if no answer to the probe came.
    pub called: Option<UrlAnswer>,
}

/// How many of each the terms of an EC2NodeClass select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSelection {
    /// Its name.
    pub class: String,
    /// `subnetSelectorTerms`
    pub subnets: usize,
    /// `securityGroupSelectorTerms`
    pub security_groups: usize,
}

/// Name of the role that spot instances need in an account.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html>
pub const SPOT_ROLE: &str = "AWSServiceRoleForEC2Spot";

/// The text at `pointer`, or none.
pub fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items at `pointer`, or none.
pub fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata.name`
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The last part of an ARN.
pub fn last_part(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}
