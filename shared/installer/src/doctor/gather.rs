//! Looks at an installation: at the cluster through its API server, at the account through AWS. It only reads.

use std::collections::{BTreeMap, BTreeSet};

use api::{lists::node_class_list, probe};
use jiff::Timestamp;
use model::{
    Function, SecurityGroupId, SubnetId,
    join::{JoinNetwork, JoiningInstance},
    node_class::ListedNodeClass,
    wake::{EVENTS_PRIORITY, WEBHOOKS},
};
use report::error::{BadInput, CommandError};
use serde_json::{Value, json};

use super::{
    identity::{self, Identity},
    observed::{ClassSelection, Observed, SPOT_ROLE, Waking, items, text},
    steps::{self, StepFinding},
};
use crate::{
    installation::Installation,
    live::{self, AccountClient, ClusterClient, LiveAnswer, ObjectFilter, ObjectKind, kinds},
};

/// Both ends of an installation, each or why it cannot be reached.
#[derive(Debug)]
pub struct InstallationClients {
    /// The API server; the error says why there is no client of it.
    pub cluster: LiveAnswer<ClusterClient>,
    /// The account and its region; the error says why there is no client of it.
    pub account: LiveAnswer<AccountClient>,
}

impl InstallationClients {
    /// Those of `place`.
    pub fn open(place: &Installation) -> Self {
        Self {
            cluster: ClusterClient::open(&place.kubeconfig),
            account: AccountClient::open(place.region.as_deref()),
        }
    }

    /// The cluster, or why it cannot be reached.
    pub fn cluster(&self) -> LiveAnswer<&ClusterClient> {
        self.cluster.as_ref().map_err(Clone::clone)
    }

    /// The account, or why it cannot be reached.
    pub fn account(&self) -> LiveAnswer<&AccountClient> {
        self.account.as_ref().map_err(Clone::clone)
    }

    /// All objects of a kind. A cluster that does not know a custom kind has none of it.
    pub fn objects(&self, kind: &ObjectKind) -> LiveAnswer<Vec<Value>> {
        self.cluster()?.objects(kind)
    }

    /// The functions that say that they are for the cluster called `cluster`.
    pub fn functions(&self, cluster: &str) -> LiveAnswer<Vec<Value>> {
        of_cluster(self.account()?.functions()?, cluster)
    }

    /// What kubeconfig, EKS and the stack say of the cluster of `place`.
    fn identity(
        &self,
        place: &Installation,
        eks: &LiveAnswer<Option<Value>>,
        functions: &LiveAnswer<Vec<Value>>,
    ) -> LiveAnswer<Identity> {
        let (cluster, account) = (self.cluster()?, self.account()?);
        let eks = eks.as_ref().map_err(Clone::clone)?.as_ref();
        let functions = functions.as_ref().map_err(Clone::clone)?;
        let endpoints = functions
            .iter()
            .map(|function| text(function, "/Environment/Variables/JOURNEYMAN_CLUSTER_ENDPOINT"));
        let number = eks.and_then(|eks| identity::account_of(text(eks, "/arn")));
        Ok(Identity {
            cluster: place.cluster.clone(),
            context: cluster.context().map(ToOwned::to_owned),
            server: cluster.server().to_owned(),
            expected: place.expect_server.clone(),
            account: number.or_else(|| account.number()),
            region: account.region().to_owned(),
            endpoint: eks.map(|eks| text(eks, "/endpoint").to_owned()),
            deployed: endpoints.filter(|url| !url.is_empty()).map(ToOwned::to_owned).collect(),
        })
    }

    /// The one cluster that kubeconfig, account and stack are about; a command that changes something asks for it
    /// first.
    pub fn verified(&self, place: &Installation) -> Result<Identity, CommandError> {
        let eks = self.account().and_then(|account| account.eks_cluster(&place.cluster));
        let functions = self.functions(&place.cluster);
        let identity = self.identity(place, &eks, &functions).map_err(BadInput::one)?;
        match identity.verified() {
            Ok(()) => Ok(identity),
            Err(StepFinding { found, cure }) => {
                Err(CommandError::Refused(format!("{}\n{cure}", found.join("\n"))))
            }
        }
    }

    fn iam_roles(
        &self,
        classes: &LiveAnswer<Vec<Value>>,
    ) -> LiveAnswer<Vec<(String, Option<Value>)>> {
        let mut names: BTreeSet<&str> = [SPOT_ROLE].into();
        names.extend(classes.as_ref().map(|classes| steps::roles_of(classes)).unwrap_or_default());
        let account = self.account()?;
        let mut roles = Vec::new();
        for name in names {
            let mut role = account.role(name)?;
            if name != SPOT_ROLE
                && let Some(Value::Object(role)) = &mut role
            {
                let attached = account.attached_policies(name)?;
                role.insert("AttachedPolicies".to_owned(), attached.into());
            }
            roles.push((name.to_owned(), role));
        }
        Ok(roles)
    }

    /// How much the terms of each of `classes` select.
    fn selected(&self, classes: &LiveAnswer<Vec<Value>>) -> LiveAnswer<Vec<ClassSelection>> {
        let body = json!({"metadata": {}, "items": classes.as_ref().map_err(Clone::clone)?});
        let page =
            node_class_list(body.to_string().as_bytes()).map_err(|error| error.to_string())?;
        if let Some(malformed) = page.malformed.first() {
            return Err(format!("{}: {}", malformed.object, malformed.problem));
        }
        let account = self.account()?;
        let selection = |ListedNodeClass { class, .. }: ListedNodeClass| {
            let (subnets, security_groups) = account.selected(&class)?;
            Ok(ClassSelection { class: class.name.to_string(), subnets, security_groups })
        };
        page.items.into_iter().map(selection).collect()
    }

    /// What lies between each subnet of `functions` and the API server of `cluster`.
    fn networks(
        &self,
        functions: &LiveAnswer<Vec<Value>>,
        cluster: &str,
    ) -> LiveAnswer<Vec<(String, JoinNetwork)>> {
        let functions = functions.as_ref().map_err(Clone::clone)?;
        let account = self.account()?;
        let network = |(subnet, place)| Ok((subnet, account.network(cluster, &place)?));
        places(functions).into_iter().map(network).collect()
    }

    /// How the API server calls `wake`, the function among `functions`.
    fn waking(&self, functions: &LiveAnswer<Vec<Value>>) -> LiveAnswer<Waking> {
        let cluster = self.cluster()?;
        let Some(webhooks) = cluster.object(&kinds::WEBHOOKS, None, WEBHOOKS)? else {
            return Ok(Waking::default());
        };
        let mut has_priority = true;
        for kind in [kinds::FLOW_SCHEMAS, kinds::PRIORITY_LEVELS] {
            has_priority &= cluster.object(&kind, None, EVENTS_PRIORITY)?.is_some();
        }
        let functions = functions.as_ref().map_err(Clone::clone)?;
        let function_url = match steps::function(functions, Function::Wake) {
            Some(function) => self.account()?.function_url(text(function, "/FunctionName"))?,
            None => None,
        };
        let probed = cluster.probed()?;
        let client = |field: &str| text(&webhooks, &format!("/webhooks/0/clientConfig/{field}"));
        let called = probed
            .is_none()
            .then(|| live::called(client("url"), client("caBundle"), &probe::review()));
        Ok(Waking { webhooks: Some(webhooks), has_priority, function_url, probed, called })
    }

    fn rbac(&self) -> LiveAnswer<Vec<Value>> {
        let mut objects = Vec::new();
        for kind in [
            kinds::CLUSTER_ROLES,
            kinds::CLUSTER_ROLE_BINDINGS,
            kinds::ROLES,
            kinds::ROLE_BINDINGS,
            kinds::FLOW_SCHEMAS,
            kinds::POLICIES,
            kinds::POLICY_BINDINGS,
        ] {
            objects.extend(self.objects(&kind)?);
        }
        Ok(objects)
    }

    /// Leases of all namespaces.
    pub fn leases(&self) -> LiveAnswer<Vec<Value>> {
        self.objects(&kinds::LEASES)
    }

    /// Karpenter's pods, of all namespaces.
    fn karpenter_pods(&self) -> LiveAnswer<Vec<Value>> {
        let pods = self.cluster()?.selected(&kinds::PODS, ObjectFilter::OF_KARPENTER)?;
        Ok(pods.unwrap_or_default())
    }

    /// NodeClaims.
    pub fn claims(&self) -> LiveAnswer<Vec<Value>> {
        self.objects(&kinds::NODE_CLAIMS)
    }

    /// Looks at everything of the installation at `place`.
    pub fn observed(&self, place: &Installation, now: Timestamp) -> Observed {
        let cluster = place.cluster.as_str();
        let classes = self.objects(&kinds::NODE_CLASSES);
        let account = self.account();
        let functions = self.functions(cluster);
        let eks = account.clone().and_then(|account| account.eks_cluster(cluster));
        let aws_auth = |there: &ClusterClient| {
            there.object(&kinds::CONFIG_MAPS, Some("kube-system"), "aws-auth")
        };
        Observed {
            now,
            cluster: cluster.to_owned(),
            rollback: None,
            version: self.cluster().and_then(ClusterClient::version),
            identity: self.identity(place, &eks, &functions),
            eks,
            selected: self.selected(&classes),
            networks: self.networks(&functions, cluster),
            waking: self.waking(&functions),
            concurrency: account
                .clone()
                .and_then(|account| account.concurrency(functions.as_deref().unwrap_or_default())),
            functions,
            entries: account.and_then(|account| account.access_entries(cluster)),
            aws_auth: self.cluster().and_then(aws_auth),
            iam_roles: self.iam_roles(&classes),
            definitions: self.objects(&kinds::DEFINITIONS),
            rbac: self.rbac(),
            leases: self.leases(),
            karpenter_pods: self.karpenter_pods(),
            pools: self.objects(&kinds::NODE_POOLS),
            claims: self.claims(),
            pods: self.cluster().and_then(ClusterClient::protected_pods),
            nodes: self.cluster().and_then(ClusterClient::protected_nodes),
            classes,
        }
    }
}

/// Where functions are, by the id of the subnet. They all have the same parameters of one stack.
fn places(functions: &[Value]) -> BTreeMap<String, JoiningInstance> {
    let place = |function: &Value, subnet: &str| JoiningInstance {
        profile: None,
        image: None,
        vpc: Some(text(function, "/VpcConfig/VpcId").to_owned()),
        subnet: SubnetId::new(subnet).ok(),
        security_groups: texts(function, "/VpcConfig/SecurityGroupIds")
            .filter_map(|id| SecurityGroupId::new(id).ok())
            .collect(),
        has_public_address: false,
    };
    let of = |function| {
        let subnets = texts(function, "/VpcConfig/SubnetIds");
        subnets.map(move |subnet| (subnet.to_owned(), place(function, subnet)))
    };
    functions.iter().flat_map(of).collect()
}

fn texts<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a str> {
    items(value, pointer).iter().filter_map(Value::as_str)
}

/// The functions of `all` that say that they are for the cluster called `cluster`. One that is called like ours and
/// does not say so, because its variables cannot be read, may be of any.
pub fn of_cluster(all: Vec<Value>, cluster: &str) -> LiveAnswer<Vec<Value>> {
    let mut functions = Vec::new();
    for function in all {
        let name = text(&function, "/FunctionName");
        let is_ours = || {
            let name = name.to_ascii_lowercase();
            Function::ALL.iter().any(|kind| name.contains(&format!("-{kind}function")))
        };
        let unreadable = text(&function, "/Environment/Error/Message");
        if !unreadable.is_empty() && is_ours() {
            return Err(format!(
                "lambda:ListFunctions: the variables of {name} cannot be read: {unreadable} (needed: the right \
                 kms:Decrypt with its key)"
            ));
        }
        if text(&function, "/Environment/Variables/JOURNEYMAN_CLUSTER_NAME") == cluster {
            functions.push(function);
        }
    }
    Ok(functions)
}
