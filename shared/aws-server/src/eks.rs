//! EKS: clusters and their access entries, by paths.
//!
//! <https://docs.aws.amazon.com/eks/latest/APIReference/API_Operations.html>

use std::collections::BTreeSet;

use model::ClusterName;
use ports::PortError;
use serde_json::{Value, json};
use simulator::{AccessEntryRecord, AwsError, NewEntry, Sim};

use crate::{
    AwsServer, Request,
    json::{refusal_of, refused},
    page::Page,
    parameters::{Parameters, refusal},
    reply::Reply,
};

/// Answers a request for `path`, below `/clusters/`.
pub(crate) async fn answer(server: &AwsServer, path: &str, request: &Request) -> Reply {
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let operation = match (request.method.as_str(), parts.as_slice()) {
        ("GET", [_]) => "DescribeCluster",
        ("GET", [_, "access-entries"]) => "ListAccessEntries",
        ("POST", [_, "access-entries"]) => "CreateAccessEntry",
        ("GET", [_, "access-entries", _]) => "DescribeAccessEntry",
        ("DELETE", [_, "access-entries", _]) => "DeleteAccessEntry",
        (method, _) => {
            let words = format!("not supported yet: {method} /clusters/{path}");
            return refusal_of(&refused(refusal("InvalidRequestException", words)));
        }
    };
    server.count(operation);
    let named = (parts.first().copied().unwrap_or_default(), parts.get(2).copied());
    match result(server, operation, named, request).await {
        Ok(answer) => Reply::json(200, "application/json", &answer),
        Err(problem) => refusal_of(&problem),
    }
}

async fn result(
    server: &AwsServer,
    operation: &str,
    (cluster, principal): (&str, Option<&str>),
    request: &Request,
) -> Result<Value, PortError> {
    let sim = &server.sim;
    let cluster: ClusterName =
        cluster.parse().map_err(|error: model::id::InvalidId| invalid(error.to_string()))?;
    let principal = principal.unwrap_or_default();
    Ok(match operation {
        "DescribeAccessEntry" => {
            described(&cluster, &sim.describe_access_entry(&cluster, principal).await?)
        }
        "DeleteAccessEntry" => {
            sim.delete_access_entry(&cluster, principal).await?;
            json!({})
        }
        "CreateAccessEntry" => created(sim, &cluster, &request.body).await?,
        "ListAccessEntries" => {
            let mut parameters = Parameters::parse(request.query.as_bytes());
            let page = Page::of_eks(&mut parameters, server.page_max)
                .map_err(|problem| invalid(problem.message))?;
            parameters.finish().map_err(|problem| invalid(problem.message))?;
            let (principals, next) = page.part(sim.list_access_entries(&cluster).await?);
            json!({ "accessEntries": principals, "nextToken": next })
        }
        _ => cluster_of(server, &cluster).await?,
    })
}

async fn cluster_of(server: &AwsServer, name: &ClusterName) -> Result<Value, PortError> {
    let sim = &server.sim;
    let settings = sim.describe_cluster(name).await?;
    Ok(json!({ "cluster": {
        "name": settings.name.as_str(),
        "arn": format!("arn:aws:eks:{}:123456789012:cluster/{}", settings.region, settings.name),
        "status": "ACTIVE",
        "version": settings.kubernetes_version,
        "endpoint": server.endpoint.as_ref().unwrap_or(&settings.endpoint),
        "certificateAuthority": { "data": settings.ca_bundle },
        "kubernetesNetworkConfig": {
            "ipFamily": "ipv4",
            "serviceIpv4Cidr": settings.service_cidr,
        },
        "accessConfig": { "authenticationMode": "API" },
        "resourcesVpcConfig": {
            "vpcId": simulator::VPC,
            "clusterSecurityGroupId": simulator::CLUSTER_GROUP,
            "endpointPrivateAccess": sim.has_private_endpoint(),
            "endpointPublicAccess": true,
        },
    }}))
}

/// CreateAccessEntry. Fields that are not simulated are refused by name.
///
/// <https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateAccessEntry.html>
async fn created(sim: &Sim, cluster: &ClusterName, body: &[u8]) -> Result<Value, PortError> {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return Err(invalid("the body is no JSON object"));
    };
    let (mut principal, mut kind, mut groups) = (None, None, BTreeSet::new());
    for (name, value) in &body {
        match (name.as_str(), value) {
            ("principalArn", Value::String(text)) => principal = Some(text.as_str()),
            ("type", Value::String(text)) => kind = Some(text.as_str()),
            ("kubernetesGroups", Value::Array(list)) => {
                let group = |group: &Value| group.as_str().map(ToOwned::to_owned);
                let texts: Option<BTreeSet<String>> = list.iter().map(group).collect();
                groups = texts.ok_or_else(|| invalid("kubernetesGroups are no texts"))?;
            }
            // A request that is sent again is refused, as it is without a token.
            (_, Value::Null) | ("clientRequestToken", Value::String(_)) => {}
            _ => return Err(invalid(format!("not supported yet: {name} is {value}"))),
        }
    }
    let principal = principal.ok_or_else(|| invalid("principalArn is missing"))?;
    let made = sim.create_access_entry(cluster, NewEntry { principal, kind, groups }).await?;
    Ok(described(cluster, &made))
}

fn described(cluster: &ClusterName, entry: &AccessEntryRecord) -> Value {
    json!({ "accessEntry": {
        "clusterName": cluster.as_str(),
        "principalArn": entry.principal,
        "type": entry.kind,
        "kubernetesGroups": entry.groups,
        "createdAt": entry.created_at.as_second(),
    }})
}

fn invalid(words: impl Into<String>) -> PortError {
    let refusal: AwsError = refusal("InvalidParameterException", words);
    refused(refusal)
}

/// A part of a path, in which `%3A` is a colon and a plus is a plus.
fn decoded(part: &str) -> String {
    let part = part.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let mut pairs = form_urlencoded::parse(part.as_bytes());
    pairs.next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn parts_of_paths_are_decoded() {
        assert_eq!(decoded("arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fa"), "arn:aws:iam::1:role/a");
        assert_eq!(decoded("a+b%2Bc=d&e%"), "a+b+c=d&e%");
        assert_eq!(decoded(""), "");
    }
}
