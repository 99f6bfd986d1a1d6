//! A build without the clients: nobody is at the other end, and nothing can be asked.

use jiff::Timestamp;
use model::{
    join::{JoinNetwork, JoiningInstance},
    node_class::NodeClass,
};
use serde_json::Value;

use super::{Answer, Asked, Call, CallError, Item, Sold, StackState, TableState};
use crate::installation::ClusterArgs;

/// Why there is none.
const WHY: &str = "This build has no client of Kubernetes and AWS.";

/// A connection that there never is.
#[derive(Debug)]
pub(crate) enum Connection {}

impl Connection {
    pub(crate) fn open(_: &ClusterArgs) -> Answer<Self> {
        Err(WHY.to_owned())
    }

    pub(crate) fn server(&self) -> &str {
        match *self {}
    }

    pub(crate) fn call(&self, _: &Call) -> Result<String, CallError> {
        match *self {}
    }
}

/// An account that there never is.
#[derive(Debug)]
pub(crate) enum Account {}

impl Account {
    pub(crate) fn open(_: Option<&str>) -> Answer<Self> {
        Err(WHY.to_owned())
    }

    pub(crate) fn region(&self) -> &str {
        match *self {}
    }

    pub(crate) fn eks_cluster(&self, _: &str) -> Answer<Option<Value>> {
        match *self {}
    }

    pub(crate) fn functions(&self) -> Answer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn access_entries(&self, _: &str) -> Answer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn role(&self, _: &str) -> Answer<Option<Value>> {
        match *self {}
    }

    pub(crate) fn attached_policies(&self, _: &str) -> Answer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn launch_templates(&self, _: &str) -> Answer<Vec<String>> {
        match *self {}
    }

    pub(crate) fn instance_profiles(&self, _: &str) -> Answer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn delete_stack(&self, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn stack(&self, _: &str) -> Answer<Option<StackState>> {
        match *self {}
    }

    pub(crate) fn made_by_stack(&self, _: &str, _: &str) -> Answer<Vec<String>> {
        match *self {}
    }

    pub(crate) fn table(&self, _: &str) -> Answer<Option<TableState>> {
        match *self {}
    }

    pub(crate) fn unprotect_table(&self, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn delete_table(&self, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn delete_launch_template(&self, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn remove_role(&self, _: &str, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn delete_instance_profile(&self, _: &str) -> Answer<()> {
        match *self {}
    }

    pub(crate) fn items(&self, _: Asked<'_>) -> Answer<(Vec<Item>, bool)> {
        match *self {}
    }

    pub(crate) fn selected(&self, _: &NodeClass) -> Answer<(usize, usize)> {
        match *self {}
    }

    pub(crate) fn network(&self, _: &str, _: &JoiningInstance) -> Answer<JoinNetwork> {
        match *self {}
    }

    pub(crate) fn sold(&self, _: Timestamp) -> Answer<Sold> {
        match *self {}
    }
}
