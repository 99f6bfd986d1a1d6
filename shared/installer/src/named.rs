//! The names by which a kubeconfig says which EKS cluster it is of.

/// The ARN by which `aws eks update-kubeconfig` names contexts, `arn:aws:eks:REGION:ACCOUNT:cluster/NAME`.
#[derive(Clone, Copy)]
pub(crate) struct Arn<'a> {
    pub(crate) region: &'a str,
    pub(crate) account: &'a str,
    pub(crate) cluster: &'a str,
}

impl<'a> Arn<'a> {
    pub(crate) fn parsed(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", _, "eks", region, account, resource] = parts.as_slice() else { return None };
        Some(Self { region, account, cluster: resource.strip_prefix("cluster/")? })
    }
}

/// The region in an endpoint of EKS, `https://ID.gr7.REGION.eks.amazonaws.com`.
pub(crate) fn region_of(server: &str) -> Option<&str> {
    let (before, _) = server.split_once(".eks.amazonaws.com")?;
    before.rsplit('.').next()
}

/// What a kubeconfig says about one context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextEntry {
    /// The context's name.
    pub name: String,
    /// The name of its entry in `clusters`.
    pub cluster: String,
    /// The URL of the API server.
    pub server: String,
    /// The arguments of the program that gets the user's token; empty without a program.
    pub arguments: Vec<String>,
}

/// An EKS cluster that a kubeconfig names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCluster {
    /// The name in EKS.
    pub name: String,
    /// `None`: the kubeconfig does not say in which region.
    pub region: Option<String>,
}

impl ContextEntry {
    /// The EKS cluster, by the first of these that has a name: the ARN of the cluster's entry, the ARN of the context,
    /// the arguments of `aws eks get-token` or `aws-iam-authenticator token`. `None` if none has one.
    pub fn eks_cluster(&self) -> Option<NamedCluster> {
        let arn = Arn::parsed(&self.cluster).or_else(|| Arn::parsed(&self.name));
        let name = match arn {
            Some(arn) => arn.cluster,
            None => self.argument(&["--cluster-name", "--cluster-id", "-i"])?,
        };
        let region = arn.map(|arn| arn.region).or_else(|| self.argument(&["--region"]));
        let region = region.or_else(|| region_of(&self.server));
        Some(NamedCluster { name: name.to_owned(), region: region.map(ToOwned::to_owned) })
    }

    /// The value of an option that has one of `names`: `--name VALUE` or `--name=VALUE`.
    fn argument(&self, names: &[&str]) -> Option<&str> {
        let mut arguments = self.arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            if names.contains(&argument) {
                return arguments.next();
            }
            if let Some((name, value)) = argument.split_once('=')
                && names.contains(&name)
            {
                return Some(value);
            }
        }
        None
    }
}
