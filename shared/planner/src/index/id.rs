//! Numbers that say what they count.

use std::{fmt, hash::Hash, marker::PhantomData};

/// The number of a thing of the kind `K`, counted from 0 where such things are kept: numbers are
/// handed out by a table and mean nothing beside another.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id<K> {
    number: u32,
    kind: PhantomData<K>,
}

/// What a number can be of.
pub(crate) trait Numbered: Copy + Default + fmt::Debug + Ord + Hash {}

impl<K> Id<K> {
    /// The number of the thing at `place`. The number of things always fits.
    #[inline]
    pub fn at(place: usize) -> Self {
        Self { number: u32::try_from(place).unwrap_or(u32::MAX), kind: PhantomData }
    }

    /// The number of the thing that is kept elsewhere as the `place`th of its kind.
    pub fn nth(place: usize) -> Self {
        Self::at(place)
    }

    /// Where the thing is among those of its kind.
    #[inline]
    pub fn place(self) -> usize {
        usize::try_from(self.number).unwrap_or(usize::MAX)
    }

    /// The number itself, for names that are made of it.
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// The number after it.
    #[inline]
    pub(crate) fn next(self) -> Self {
        Self { number: self.number.saturating_add(1), kind: PhantomData }
    }
}

impl<K> Clone for Id<K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Id<K> {}

impl<K> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident as $id:ident;)*) => {
        /// Kinds of things that have numbers.
        pub mod kind {
            $(
                $(#[$doc])*
                #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
                pub struct $name;
                impl super::Numbered for $name {}
            )*
        }
        $($(#[$doc])* pub type $id = Id<kind::$name>;)*
    };
}

kinds! {
    /// A pod that needs a place.
    Pod as PodId;
    /// Pods that are alike.
    Class as ClassId;
    /// What pods ask for beside resources and volumes.
    Profile as ProfileId;
    /// What a profile asks for at one step of relaxing preferences.
    Preferences as PreferencesId;
    /// What pods ask of a node alone, whatever other pods are there.
    Constraints as ConstraintsId;
    /// Distinct requests.
    Requests as RequestsId;
    /// A host port that pods ask for.
    Port as PortId;
    /// Devices that a pod would get on a node of the plan.
    Devices as DevicesId;
    /// A rule about other pods.
    Group as GroupId;
    /// A label by whose values pods are spread or kept together.
    Key as KeyId;
    /// A value of such a label. Each label counts its own.
    Domain as DomainId;
    /// A label of requirements.
    Label as LabelId;
    /// A distinct requirement.
    Requirement as RequirementId;
    /// A distinct set of requirements.
    Set as SetId;
    /// What a NodeClass, or a NodePool with overlays, can buy.
    Offer as OfferId;
    /// An instance type of an offer.
    Type as TypeId;
    /// An offering of an instance type. Each type counts its own.
    Offering as OfferingId;
    /// A value of the label of a `minValues` of a NodePool. Each counts its own.
    Value as ValueId;
    /// A capacity reservation.
    Reservation as ReservationNumber;
    /// A NodePool that may launch.
    Template as TemplateId;
    /// Capacity that is there or coming.
    Place as PlaceId;
    /// Nodes that take the same pods, room aside.
    Kind as KindId;
    /// Claims that are launched by one request.
    Batch as BatchNumber;
    /// A claim that a plan opens.
    Claim as ClaimId;
    /// A node, or a claim without one, as disruption sees it.
    Node as NodeId;
    /// A node that could be disrupted.
    Candidate as CandidateId;
}
