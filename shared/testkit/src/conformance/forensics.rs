//! The contract of `Forensics`.

use model::{InstanceId, join::NodeAccess};
use ports::{Fault, Fleet, Forensics, Templates};

use super::{Case, Failure, cloud::FleetWorld, same};
use crate::build;

/// Runs every case, on one instance of `world`, whose instance profile does not exist. `wait` passes some time in
/// which listings catch up.
pub async fn forensics<F: Forensics>(
    port: &F,
    (fleet, templates): (&impl Fleet, &impl Templates),
    world: &FleetWorld,
    wait: &impl AsyncFn(),
) -> Vec<Case> {
    let launched = launched(fleet, templates, world).await;
    wait().await;
    let cases = match &launched {
        Ok(id) => vec![
            Case::of("a console may be asked for as often as one likes", twice(port, id).await),
            Case::of("of an instance that works no check fails", well(port, id).await),
            Case::of("an instance without a role has none", no_role(port, world, id).await),
            Case::of("an instance reaches the API server", network(port, world, id).await),
            Case::of("an instance has the image that it was launched from", image(port, id).await),
        ],
        Err(Failure(text)) => {
            vec![Case::of("an instance is launched", Err(Failure(text.clone())))]
        }
    };
    let ended = match launched {
        Ok(id) => fleet.terminate(&[id]).await.map_err(Failure::from),
        Err(_) => Ok(()),
    };
    let last = [
        Case::of("an instance that never was is not found", unknown(port).await),
        Case::of("an instance is terminated", ended),
    ];
    cases.into_iter().chain(last).collect()
}

async fn launched(
    fleet: &impl Fleet,
    templates: &impl Templates,
    world: &FleetWorld,
) -> Result<InstanceId, Failure> {
    templates.ensure(&world.template).await?;
    let request = model::launch::FleetRequest { count: 1, ..world.request.clone() };
    let answer = fleet.launch(&request).await?;
    let first = answer.instances.into_iter().next();
    first.map(|instance| instance.id).ok_or_else(|| Failure("nothing was launched".to_owned()))
}

async fn twice(port: &impl Forensics, id: &InstanceId) -> Result<(), Failure> {
    let first = port.console(id).await?;
    same("the console", &port.console(id).await?, &first)
}

async fn well(port: &impl Forensics, id: &InstanceId) -> Result<(), Failure> {
    same("the checks", &port.checks(id).await?, &Vec::new())
}

async fn no_role(
    port: &impl Forensics,
    world: &FleetWorld,
    id: &InstanceId,
) -> Result<(), Failure> {
    let instance = port.instance(id).await?;
    same("the role", &port.access(&world.cluster, &instance).await?, &NodeAccess::NoRole)
}

async fn network(
    port: &impl Forensics,
    world: &FleetWorld,
    id: &InstanceId,
) -> Result<(), Failure> {
    let instance = port.instance(id).await?;
    let network = port.network(&world.cluster, &instance).await?;
    same("the VPC", &network.is_private, &true)?;
    same("the way out", &network.lets_out, &true)?;
    same("the way in", &network.lets_in, &Some(true))?;
    same("the black holes", &network.ways_out.iter().any(|way| way.is_black_hole), &false)
}

async fn image(port: &impl Forensics, id: &InstanceId) -> Result<(), Failure> {
    let instance = port.instance(id).await?;
    let image = instance.image.ok_or_else(|| Failure("it has no image".to_owned()))?;
    let known = port.image(&image).await?.ok_or_else(|| Failure("it is not there".to_owned()))?;
    same("its architecture", &known.architecture.as_str(), &"amd64")
}

async fn unknown(port: &impl Forensics) -> Result<(), Failure> {
    let answer = port.console(&build::id("i-0000000000000dead")).await;
    same("the fault", &answer.map_err(|error| error.fault), &Err(Fault::NotFound))?;
    let answer = port.instance(&build::id("i-0000000000000dead")).await;
    same("the fault", &answer.map_err(|error| error.fault), &Err(Fault::NotFound))
}
