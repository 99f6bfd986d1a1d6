//! Zonal shifts of the cluster.

use jiff::Timestamp;
use model::{ClusterName, Zone, zonal_shift::ZonalShift};

use super::AwsError;
use crate::world::World;

impl World {
    /// Traffic is shifted away from `zone`; another shift of it is replaced.
    pub(crate) fn shift_zone(&mut self, zone: Zone, until: Timestamp) {
        self.account.shifted.insert(zone, until);
    }

    /// The shifts that are in effect.
    pub(crate) fn zonal_shifts(&self, cluster: &ClusterName) -> Result<Vec<ZonalShift>, AwsError> {
        if self.settings.cluster != *cluster {
            let text = format!("Resource {cluster} was not found.");
            return Err(AwsError::new("ResourceNotFoundException", text));
        }
        let shifted = self.account.shifted.iter().filter(|(_, until)| self.now < **until);
        let shift = |(zone, until): (&Zone, &Timestamp)| {
            let away_from = self.catalog.zones.get(zone)?.clone();
            Some(ZonalShift { away_from, ends_at: Some(*until) })
        };
        let mut shifts: Vec<ZonalShift> = shifted.filter_map(shift).collect();
        shifts.sort();
        Ok(shifts)
    }
}
