//! What was seen of an installation: answers of AWS and of the API server as they came, each beside why there is
//! none. Nothing is judged here.

use jiff::Timestamp;
use model::join::JoinNetwork;
use serde_json::Value;

use crate::live::Answer;

/// Everything that a step looks at.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// The present.
    pub(crate) now: Timestamp,
    /// The name of the EKS cluster.
    pub(crate) cluster: String,
    /// What the API server says of itself: `/version`.
    pub(crate) version: Answer<Value>,
    /// `cluster` of eks:DescribeCluster; none: EKS knows no such cluster.
    pub(crate) eks: Answer<Option<Value>>,
    /// `Functions` of lambda:ListFunctions that are for this cluster.
    pub(crate) functions: Answer<Vec<Value>>,
    /// `accessEntry` of each of eks:ListAccessEntries.
    pub(crate) entries: Answer<Vec<Value>>,
    /// ConfigMap `aws-auth` of `kube-system`.
    pub(crate) aws_auth: Answer<Option<Value>>,
    /// Of the roles that EC2NodeClasses name, and of spot's: what iam:GetRole says, if IAM knows it.
    pub(crate) iam_roles: Answer<Vec<(String, Option<Value>)>>,
    /// CustomResourceDefinitions.
    pub(crate) definitions: Answer<Vec<Value>>,
    /// ClusterRoles, ClusterRoleBindings, Roles and RoleBindings.
    pub(crate) rbac: Answer<Vec<Value>>,
    /// Leases of all namespaces.
    pub(crate) leases: Answer<Vec<Value>>,
    /// NodePools.
    pub(crate) pools: Answer<Vec<Value>>,
    /// EC2NodeClasses.
    pub(crate) classes: Answer<Vec<Value>>,
    /// NodeClaims.
    pub(crate) claims: Answer<Vec<Value>>,
    /// What EC2 has for each EC2NodeClass.
    pub(crate) selected: Answer<Vec<ClassSelection>>,
    /// What lies between the functions and the API server, by the id of each subnet that they are in.
    pub(crate) networks: Answer<Vec<(String, JoinNetwork)>>,
}

/// How many of each the terms of an EC2NodeClass select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassSelection {
    /// Its name.
    pub(crate) class: String,
    /// `subnetSelectorTerms`
    pub(crate) subnets: usize,
    /// `securityGroupSelectorTerms`
    pub(crate) security_groups: usize,
}

/// Name of the role that spot instances need in an account.
///
/// <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html>
pub(crate) const SPOT_ROLE: &str = "AWSServiceRoleForEC2Spot";

/// The text at `pointer`, or none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items at `pointer`, or none.
pub(crate) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `metadata.name`
pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// The last part of an ARN.
pub(crate) fn last_part(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}
