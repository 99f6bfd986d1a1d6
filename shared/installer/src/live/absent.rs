//! A build without the clients of Kubernetes and AWS: every call fails.

use std::time::Duration;

use jiff::Timestamp;
use model::{
    ClusterName,
    join::{JoinNetwork, JoiningInstance},
    ledger::UnreadableItem,
    node_class::NodeClass,
};
use serde_json::Value;

use super::{
    ApiCall, ApiCallError, BucketPlace, ChangeSetState, DeployedStack, Deployment, ItemQuery,
    LiveAnswer, ParameterValues, Sold, StackEvent, StackState, TableItem, TableState,
    TemplateParameter, UrlAnswer,
};
use crate::{installation::ClusterArgs, named::ContextEntry};

/// Why there is none.
const WHY: &str = "This build has no client of Kubernetes and AWS.";

/// A connection that there never is.
#[derive(Debug)]
pub enum ApiConnection {}

impl ApiConnection {
    /// Never opens.
    pub fn open(_: &ClusterArgs) -> LiveAnswer<Self> {
        Err(WHY.to_owned())
    }

    /// Never reads a kubeconfig.
    pub(crate) fn entry(_: &ClusterArgs) -> LiveAnswer<ContextEntry> {
        Err(WHY.to_owned())
    }

    pub(crate) fn server(&self) -> &str {
        match *self {}
    }

    pub(crate) fn context(&self) -> Option<&str> {
        match *self {}
    }

    pub(crate) fn call(&self, _: &ApiCall) -> Result<String, ApiCallError> {
        match *self {}
    }

    pub(crate) fn warnings(&self, _: &ApiCall) -> Result<(Vec<String>, Duration), ApiCallError> {
        match *self {}
    }
}

/// Calls no URL.
pub(crate) fn called(_: &str, _: &str, _: &Value) -> UrlAnswer {
    UrlAnswer::Failed(WHY.to_owned())
}

/// A bucket that there never is.
#[derive(Debug)]
pub enum BucketClient {}

impl BucketClient {
    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn url(&self, _: &str) -> String {
        match *self {}
    }
}

/// An account that there never is.
#[derive(Debug)]
pub enum AccountClient {}

impl AccountClient {
    /// Never opens.
    pub fn open(_: Option<&str>) -> LiveAnswer<Self> {
        Err(WHY.to_owned())
    }

    pub(crate) fn region(&self) -> &str {
        match *self {}
    }

    pub(crate) fn number(&self) -> Option<String> {
        match *self {}
    }

    pub(crate) fn concurrency(&self, _: &[Value]) -> LiveAnswer<Value> {
        match *self {}
    }

    pub(crate) fn eks_cluster(&self, _: &str) -> LiveAnswer<Option<Value>> {
        match *self {}
    }

    pub(crate) fn functions(&self) -> LiveAnswer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn function_url(&self, _: &str) -> LiveAnswer<Option<String>> {
        match *self {}
    }

    pub(crate) fn access_entries(&self, _: &str) -> LiveAnswer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn role(&self, _: &str) -> LiveAnswer<Option<Value>> {
        match *self {}
    }

    pub(crate) fn attached_policies(&self, _: &str) -> LiveAnswer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn launch_templates(&self, _: &str) -> LiveAnswer<Vec<String>> {
        match *self {}
    }

    pub(crate) fn instance_profiles(&self, _: &str) -> LiveAnswer<Vec<Value>> {
        match *self {}
    }

    pub(crate) fn delete_stack(&self, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn stack(&self, _: &str) -> LiveAnswer<Option<StackState>> {
        match *self {}
    }

    pub(crate) fn deployed(&self, _: &str) -> LiveAnswer<Option<DeployedStack>> {
        match *self {}
    }

    pub(crate) fn newest_event(&self, _: &str) -> LiveAnswer<Option<String>> {
        match *self {}
    }

    pub(crate) fn stack_events(&self, _: &str, _: &str) -> LiveAnswer<Vec<StackEvent>> {
        match *self {}
    }

    pub(crate) fn template_parameters(&self, _: &str) -> LiveAnswer<Vec<TemplateParameter>> {
        match *self {}
    }

    pub(crate) fn create_change_set(
        &self,
        _: &str,
        _: (&str, Deployment),
        _: &str,
        _: &ParameterValues,
    ) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn change_set(&self, _: &str, _: &str) -> LiveAnswer<ChangeSetState> {
        match *self {}
    }

    pub(crate) fn execute_change_set(&self, _: &str, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn delete_change_set(&self, _: &str, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn template_of(&self, _: &str) -> LiveAnswer<Option<String>> {
        match *self {}
    }

    pub(crate) fn bucket(&self, _: BucketPlace) -> LiveAnswer<BucketClient> {
        match *self {}
    }

    pub(crate) fn has_bucket(&self, _: &BucketClient) -> LiveAnswer<bool> {
        match *self {}
    }

    pub(crate) fn create_bucket(&self, _: &BucketClient) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn has_object(&self, _: &BucketClient, _: &str) -> LiveAnswer<bool> {
        match *self {}
    }

    pub(crate) fn object_text(&self, _: &BucketClient, _: &str) -> LiveAnswer<Option<String>> {
        match *self {}
    }

    pub(crate) fn put_object(&self, _: &BucketClient, _: &str, _: Vec<u8>) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn examined(
        &self,
        _: &str,
        _: &ClusterName,
    ) -> LiveAnswer<(usize, Vec<UnreadableItem>)> {
        match *self {}
    }

    pub(crate) fn made_by_stack(&self, _: &str, _: &str) -> LiveAnswer<Vec<String>> {
        match *self {}
    }

    pub(crate) fn table(&self, _: &str) -> LiveAnswer<Option<TableState>> {
        match *self {}
    }

    pub(crate) fn unprotect_table(&self, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn delete_table(&self, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn delete_launch_template(&self, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn remove_role(&self, _: &str, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    pub(crate) fn delete_instance_profile(&self, _: &str) -> LiveAnswer<()> {
        match *self {}
    }

    /// Items of a table.
    pub fn items(&self, _: ItemQuery<'_>) -> LiveAnswer<(Vec<TableItem>, bool)> {
        match *self {}
    }

    pub(crate) fn selected(&self, _: &NodeClass) -> LiveAnswer<(usize, usize)> {
        match *self {}
    }

    pub(crate) fn network(&self, _: &str, _: &JoiningInstance) -> LiveAnswer<JoinNetwork> {
        match *self {}
    }

    /// What a region sells.
    pub fn sold(&self, _: Timestamp) -> LiveAnswer<Sold> {
        match *self {}
    }
}
