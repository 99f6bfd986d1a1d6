//! The way to an account of AWS: whatever the AWS command line takes for a person's credentials and region
//! (variables, profiles, single sign-on, roles to assume, programs), and what is asked of the account.
//!
//! Calls that are throttled or fail on the way are repeated by the SDKs.

mod acts;
mod bucket;
mod market;
mod network;
mod stacks;
mod table;

pub use bucket::BucketClient;

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_sdk_eks::types::{
    AccessEntry, AuthenticationMode, Cluster, ClusterStatus, ControlPlaneEgressModeType,
    VpcConfigResponse,
};
use aws_sdk_lambda::types::{
    AccountLimit, FunctionConfiguration, VpcConfigResponse as FunctionNetwork,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{
    LiveAnswer,
    connection::runtime,
    failure::{chain, present},
};

const TRIES: u32 = 5;
/// One attempt of a call.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// One account in one region.
#[derive(Debug)]
pub struct AccountClient {
    runtime: Runtime,
    config: SdkConfig,
    region: String,
}

impl AccountClient {
    /// The account of the credentials that are found, in `region` or that of the variables or the profile. Credentials
    /// are looked for at once.
    pub fn open(region: Option<&str>) -> LiveAnswer<Self> {
        let runtime = runtime()?;
        let config = runtime.block_on(configured(region.map(str::to_owned)));
        let Some(region) = config.region().map(ToString::to_string) else {
            return Err(
                "no region: name it by --region or AWS_REGION, or give the profile one".to_owned()
            );
        };
        let provider = config.credentials_provider();
        let credentials = provider.map(|provider| {
            use aws_credential_types::provider::ProvideCredentials as _;
            runtime.block_on(provider.provide_credentials())
        });
        match credentials {
            Some(Ok(_)) => Ok(Self { runtime, config, region }),
            Some(Err(error)) => Err(format!(
                "no credentials for AWS: {}: name a profile by AWS_PROFILE, sign in with `aws sso login`, or set \
                 AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                chain(&error)
            )),
            None => Err("no credentials for AWS".to_owned()),
        }
    }

    /// The account as the functions' own adapters ask it.
    fn adapters(&self) -> LiveAnswer<aws::Account> {
        aws::Account::new(self.config.clone()).map_err(|error| error.to_string())
    }

    /// Such as `us-west-2`.
    pub(crate) fn region(&self) -> &str {
        &self.region
    }

    /// Number of the account, as STS says it to everybody who has credentials; `None` if STS cannot be asked.
    pub(crate) fn number(&self) -> Option<String> {
        let request = aws_sdk_sts::Client::new(&self.config).get_caller_identity();
        self.runtime.block_on(request.send()).ok()?.account
    }

    /// `cluster` of eks:DescribeCluster as JSON, as far as it is used; `None`: there is no such cluster.
    pub(crate) fn eks_cluster(&self, name: &str) -> LiveAnswer<Option<Value>> {
        let request = aws_sdk_eks::Client::new(&self.config).describe_cluster().name(name);
        let answer = self.runtime.block_on(request.send());
        let answer = present("eks:DescribeCluster", name, answer)?;
        Ok(answer.and_then(|answer| answer.cluster).map(|cluster| cluster_json(&cluster)))
    }

    /// `Functions` of lambda:ListFunctions as JSON, as far as they are used.
    pub(crate) fn functions(&self) -> LiveAnswer<Vec<Value>> {
        let request = aws_sdk_lambda::Client::new(&self.config).list_functions();
        let pages = request.into_paginator().items().send();
        let answer = self.runtime.block_on(pages.collect::<Result<Vec<_>, _>>());
        let functions = present("lambda:ListFunctions", "", answer)?.unwrap_or_default();
        Ok(functions.iter().map(function_json).collect())
    }

    /// `AccountLimit` of lambda:GetAccountSettings as JSON, and `Reserved`: executions that `functions` reserve.
    pub(crate) fn concurrency(&self, functions: &[Value]) -> LiveAnswer<Value> {
        let client = aws_sdk_lambda::Client::new(&self.config);
        let answer = self.runtime.block_on(client.get_account_settings().send());
        let settings = present("lambda:GetAccountSettings", "", answer)?;
        let limit = settings.and_then(|settings| settings.account_limit);
        let mut reserved = 0;
        for name in functions.iter().filter_map(|function| function["FunctionName"].as_str()) {
            let request = client.get_function_concurrency().function_name(name);
            let answer = self.runtime.block_on(request.send());
            let answer = present("lambda:GetFunctionConcurrency", name, answer)?;
            reserved +=
                answer.and_then(|answer| answer.reserved_concurrent_executions).unwrap_or_default();
        }
        Ok(json!({
            "ConcurrentExecutions": limit.as_ref().map(AccountLimit::concurrent_executions),
            "UnreservedConcurrentExecutions":
                limit.as_ref().and_then(AccountLimit::unreserved_concurrent_executions),
            "Reserved": reserved,
        }))
    }

    /// `FunctionUrl` of lambda:GetFunctionUrlConfig; `None`: the function has no URL.
    pub(crate) fn function_url(&self, name: &str) -> LiveAnswer<Option<String>> {
        let client = aws_sdk_lambda::Client::new(&self.config);
        let request = client.get_function_url_config().function_name(name);
        let answer = self.runtime.block_on(request.send());
        let answer = present("lambda:GetFunctionUrlConfig", name, answer)?;
        Ok(answer.map(|answer| answer.function_url))
    }

    /// `accessEntry` of each of eks:ListAccessEntries as JSON. One that goes meanwhile is none.
    pub(crate) fn access_entries(&self, cluster: &str) -> LiveAnswer<Vec<Value>> {
        let client = aws_sdk_eks::Client::new(&self.config);
        let pages = client.list_access_entries().cluster_name(cluster).into_paginator();
        let answer = self.runtime.block_on(pages.items().send().collect::<Result<Vec<_>, _>>());
        let principals = present("eks:ListAccessEntries", cluster, answer)?.unwrap_or_default();
        let mut entries = Vec::new();
        for principal in principals {
            let request = client.describe_access_entry().cluster_name(cluster);
            let answer = self.runtime.block_on(request.principal_arn(&principal).send());
            let answer = present("eks:DescribeAccessEntry", &principal, answer)?;
            entries.extend(answer.and_then(|answer| answer.access_entry).as_ref().map(entry_json));
        }
        Ok(entries)
    }

    /// What iam:GetRole says, as JSON; none: there is no such role.
    pub(crate) fn role(&self, name: &str) -> LiveAnswer<Option<Value>> {
        let request = aws_sdk_iam::Client::new(&self.config).get_role().role_name(name);
        let answer = self.runtime.block_on(request.send());
        let Some(role) = present("iam:GetRole", name, answer)?.and_then(|answer| answer.role)
        else {
            return Ok(None);
        };
        let text = decoded(role.assume_role_policy_document().unwrap_or("null"));
        let trust: Value = serde_json::from_str(&text)
            .map_err(|error| format!("iam:GetRole {name}: its trust policy: {error}"))?;
        Ok(Some(json!({"Role": {"Arn": role.arn(), "AssumeRolePolicyDocument": trust}})))
    }

    /// `AttachedPolicies` of iam:ListAttachedRolePolicies as JSON.
    pub(crate) fn attached_policies(&self, role: &str) -> LiveAnswer<Vec<Value>> {
        let client = aws_sdk_iam::Client::new(&self.config);
        let pages = client.list_attached_role_policies().role_name(role).into_paginator();
        let answer = self.runtime.block_on(pages.items().send().collect::<Result<Vec<_>, _>>());
        let policies = present("iam:ListAttachedRolePolicies", role, answer)?.unwrap_or_default();
        let policies = policies.iter().map(|policy| json!({"PolicyName": policy.policy_name()}));
        Ok(policies.collect())
    }

    /// Ids of the launch templates that are tagged as made for `cluster` and a NodePool.
    pub(crate) fn launch_templates(&self, cluster: &str) -> LiveAnswer<Vec<String>> {
        let filter = |name: &str, value: &str| {
            aws_sdk_ec2::types::Filter::builder().name(name).values(value).build()
        };
        let request = aws_sdk_ec2::Client::new(&self.config).describe_launch_templates();
        let pages = request
            .filters(filter("tag:eks:eks-cluster-name", cluster))
            .filters(filter("tag-key", "karpenter.sh/nodepool"))
            .into_paginator();
        let answer = self.runtime.block_on(pages.items().send().collect::<Result<Vec<_>, _>>());
        let templates =
            present("ec2:DescribeLaunchTemplates", cluster, answer)?.unwrap_or_default();
        Ok(templates.into_iter().filter_map(|template| template.launch_template_id).collect())
    }

    /// `InstanceProfiles` of iam:ListInstanceProfiles below `path` as JSON.
    pub(crate) fn instance_profiles(&self, path: &str) -> LiveAnswer<Vec<Value>> {
        let client = aws_sdk_iam::Client::new(&self.config);
        let pages = client.list_instance_profiles().path_prefix(path).into_paginator();
        let answer = self.runtime.block_on(pages.items().send().collect::<Result<Vec<_>, _>>());
        let profiles = present("iam:ListInstanceProfiles", path, answer)?.unwrap_or_default();
        let profile_json = |profile: &aws_sdk_iam::types::InstanceProfile| {
            let roles = profile.roles().iter().map(|role| json!({"RoleName": role.role_name()}));
            json!({
                "InstanceProfileName": profile.instance_profile_name(),
                "Path": profile.path(),
                "Roles": roles.collect::<Vec<_>>(),
            })
        };
        Ok(profiles.iter().map(profile_json).collect())
    }
}

async fn configured(region: Option<String>) -> SdkConfig {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT_TIMEOUT).build();
    let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .retry_config(RetryConfig::standard().with_max_attempts(TRIES))
        .timeout_config(timeouts);
    if let Some(region) = region {
        loader = loader.region(Region::new(region));
    }
    loader.load().await
}

fn cluster_json(cluster: &Cluster) -> Value {
    let network = cluster.resources_vpc_config();
    let egress = network.and_then(VpcConfigResponse::control_plane_egress_mode);
    let mode = cluster.access_config().and_then(|access| access.authentication_mode());
    json!({
        "status": cluster.status().map(ClusterStatus::as_str),
        "arn": cluster.arn(),
        "endpoint": cluster.endpoint(),
        "version": cluster.version(),
        "resourcesVpcConfig": {
            "endpointPublicAccess": network.map(VpcConfigResponse::endpoint_public_access),
            "controlPlaneEgressMode": egress.map(ControlPlaneEgressModeType::as_str),
        },
        "accessConfig": {"authenticationMode": mode.map(AuthenticationMode::as_str)},
    })
}

fn function_json(function: &FunctionConfiguration) -> Value {
    let environment = function.environment();
    let variables: BTreeMap<_, _> =
        environment.and_then(|environment| environment.variables()).into_iter().flatten().collect();
    let error = environment.and_then(|environment| environment.error());
    let network = function.vpc_config();
    let subnets = network.map(FunctionNetwork::subnet_ids).unwrap_or_default();
    json!({
        "FunctionName": function.function_name(),
        "Role": function.role(),
        "Environment": {
            "Variables": variables,
            "Error": error.map(|error| json!({"Message": error.message()})),
        },
        "VpcConfig": {
            "SubnetIds": subnets,
            "SecurityGroupIds": network.map(FunctionNetwork::security_group_ids),
            "VpcId": network.and_then(FunctionNetwork::vpc_id),
        },
    })
}

fn entry_json(entry: &AccessEntry) -> Value {
    json!({
        "principalArn": entry.principal_arn(),
        "kubernetesGroups": entry.kubernetes_groups(),
        "type": entry.r#type(),
    })
}

/// A document of IAM, which encodes them as URLs are; what is not encoded stays.
pub fn decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}
