//! The functions of the stack.

use std::fmt;

use crate::message::Message;

/// A Lambda function of the stack: a folder of `functions/`, and a handler of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// Decides which NodeClaims pending pods need.
    Provision,
    /// Deletes the NodeClaims of instances that EC2 takes back or that end.
    Interrupt,
    /// Deletes NodeClaims that are not needed any more.
    Disrupt,
    /// Launches the instances of new NodeClaims.
    Launch,
    /// Follows launched NodeClaims until their nodes are initialized.
    Settle,
    /// Drains the nodes of deleted NodeClaims and terminates their instances.
    Drain,
    /// Writes into EC2NodeClasses and NodePools what they select and whether they are ready.
    Resolve,
    /// Corrects what differs from the desired state, and removes what is unused.
    Sweep,
    /// Asks what is sold in the region, and stores it.
    Catalog,
    /// Has functions look at once that requests of the API server concern. The only one that a stack may lack.
    Wake,
}

impl Function {
    /// Every function, deciders first.
    pub const ALL: [Self; 10] = [
        Self::Provision,
        Self::Interrupt,
        Self::Disrupt,
        Self::Launch,
        Self::Settle,
        Self::Drain,
        Self::Resolve,
        Self::Sweep,
        Self::Catalog,
        Self::Wake,
    ];

    /// How the groups of all functions in a cluster begin; see [`Function::group`].
    pub const GROUP_PREFIX: &str = "journeyman:";

    /// The functions whose work is continued by a pulse.
    pub const WITH_PULSE: [Self; 5] =
        [Self::Provision, Self::Disrupt, Self::Launch, Self::Settle, Self::Drain];

    /// The name of its folder, its handler and its queue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provision => "provision",
            Self::Interrupt => "interrupt",
            Self::Disrupt => "disrupt",
            Self::Launch => "launch",
            Self::Settle => "settle",
            Self::Drain => "drain",
            Self::Resolve => "resolve",
            Self::Sweep => "sweep",
            Self::Catalog => "catalog",
            Self::Wake => "wake",
        }
    }

    /// The group of Kubernetes that its requests to the API server come from. EKS access entries put the function's role
    /// into it.
    pub fn group(self) -> String {
        format!("{}{self}", Self::GROUP_PREFIX)
    }

    /// The function called `text`.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.as_str() == text)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Message {
    /// The function that the message is for: whose queue it travels through.
    pub const fn function(&self) -> Function {
        match self {
            Self::Pulse { function, .. } => *function,
            Self::DryRun { .. } => Function::Launch,
        }
    }
}
