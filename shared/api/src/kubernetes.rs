//! Lists as the API server sends them.
//!
//! Items are kept as raw text and read one by one, so that one malformed object is reported and
//! does not poison its list. Fields that only the server knows are no problem here.

use model::{Pod, facts::DaemonSet, node::Node, node_class::NodeClass, node_pool::NodePool};

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What could be read, in the server's order.
    pub items: Vec<T>,
    /// The rest: object (such as `Pod default/web-0`) and problem.
    pub malformed: Vec<(String, String)>,
    /// Where the next page starts; `None` after the last.
    pub continue_token: Option<String>,
    /// The state that the list is of.
    pub resource_version: Option<String>,
}

/// Why a body is not a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer is not a Kubernetes list: {0}")]
pub struct Error(pub String);

/// Reads a PodList.
pub fn pod_list(_body: &[u8]) -> Result<Page<Pod>, Error> {
    Err(Error(String::new()))
}
/// Reads one Pod.
pub fn pod(_body: &[u8]) -> Result<Pod, Error> {
    Err(Error(String::new()))
}
/// Reads a NodeList.
pub fn node_list(_body: &[u8]) -> Result<Page<Node>, Error> {
    Err(Error(String::new()))
}
/// Reads one Node.
pub fn node(_body: &[u8]) -> Result<Node, Error> {
    Err(Error(String::new()))
}
/// Reads a DaemonSetList.
pub fn daemon_set_list(_body: &[u8]) -> Result<Page<DaemonSet>, Error> {
    Err(Error(String::new()))
}
/// Reads a NodePoolList.
pub fn node_pool_list(_body: &[u8]) -> Result<Page<NodePool>, Error> {
    Err(Error(String::new()))
}
/// Reads an EC2NodeClassList.
pub fn node_class_list(_body: &[u8]) -> Result<Page<NodeClass>, Error> {
    Err(Error(String::new()))
}
