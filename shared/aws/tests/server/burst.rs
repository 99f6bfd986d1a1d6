//! The first node burst of a big deployment, in figures.

use model::limits::CLAIMS_PER_BATCH_MAX;
use simulator::WorldSettings;
use tokio::task::LocalSet;

use super::{
    figures::{present, report},
    world::World,
};

const CLAIMS: u32 = 1_000;
/// Number of NodeClaims that Karpenter creates in a second (`KUBE_CLIENT_QPS`). It puts into one CreateFleet what
/// comes within a second at most, so it sends this number of fleets a second at most.
const KARPENTERS_FLEETS: u32 = CLAIMS / 200;
/// How many ours are: a request for fewer instances is answered sooner.
const FLEETS: usize = 1_000 / CLAIMS_PER_BATCH_MAX;

#[tokio::test]
async fn a_thousand_claims_at_once_cost_few_requests_besides_their_fleets() {
    let play = async {
        let world = World::open(WorldSettings::default(), 1_000).await;
        world.deploy(CLAIMS);
        let began = present();
        world.look().await;
        let planned = began.elapsed();
        let batches: std::collections::BTreeSet<_> =
            world.sim.claims().into_iter().map(|claim| claim.batch).collect();
        let before: u64 = world.ec2_requests().values().sum();
        let began = present();
        world.play(20).await;
        let launched = began.elapsed();
        let requests = world.ec2_requests();
        let number: u64 = requests.values().sum();
        report(&format!(
            "{CLAIMS} claims: {} batches, planned in {} ms; {} requests to EC2 and {} ms to launch \
             them: {requests:?}; Karpenter sends {KARPENTERS_FLEETS} or more CreateFleet",
            batches.len(),
            planned.as_millis(),
            number - before,
            launched.as_millis(),
        ));
        world.check_launched_once(usize::try_from(CLAIMS).unwrap()).await;
        let fleets = requests.get("CreateFleet").copied().unwrap_or_default();
        assert_eq!(usize::try_from(fleets).unwrap(), batches.len(), "one for each batch");
        assert_eq!(batches.len(), FLEETS, "{requests:?}");
        // Everything else is asked for once by each call of a function, however many batches it has:
        // what classes select, one look, and one launch.
        for (operation, count) in requests.iter().filter(|(name, _)| *name != "CreateFleet") {
            assert!(*count <= 3, "{operation}: {requests:?}");
        }
    };
    LocalSet::new().run_until(Box::pin(play)).await;
}
