//! The contracts of `Fleet`, `Templates` and `Mailbox`.
//!
//! What a port cannot be asked, a suite cannot see: that a message arrives is the business of the
//! worlds' own tests.

use std::collections::BTreeMap;

use model::{
    BatchId, CapacityType, ClusterName, Function, InstanceId, LaunchTemplateName,
    labels::BATCH_TAG,
    launch::{
        FleetAnswer, FleetRequest, Instance, InstanceState, LaunchTemplate, RunRequest,
        TemplateVersion,
    },
    limits::MESSAGE_DELAY_SECONDS_MAX,
    message::{Delivery, Message},
    pulse::Signal,
    validation::DryRunAnswer,
};
use ports::{Fault, Fleet, Mailbox, Templates};

use super::{ATTEMPTS_MAX, Case, Failure, ensure, same};
use crate::build;

/// What a fleet is tested with.
#[derive(Clone, Debug)]
pub struct FleetWorld {
    /// The cluster that the request's tags name.
    pub cluster: ClusterName,
    /// A launch template that is good, and does not exist yet.
    pub template: LaunchTemplate,
    /// A request for at least one instance from that template, that the account has capacity for
    /// several times. Token and batch tag are replaced.
    pub request: FleetRequest,
    /// What tokens start with: new to the account.
    pub token_prefix: String,
}

impl FleetWorld {
    /// Two instances of the type and the place of [`build::fleet_request`].
    pub fn of(cluster: ClusterName, capacity_type: CapacityType) -> Self {
        let mut template = build::template(build::TEMPLATE);
        template.data.is_spot = capacity_type == CapacityType::Spot;
        let request = build::fleet_request(&cluster, "replaced");
        let request = FleetRequest { count: 2, capacity_type, ..request };
        Self { cluster, template, request, token_prefix: "suite".to_owned() }
    }
}

struct Subject<'a, F, T, W> {
    fleet: &'a F,
    templates: &'a T,
    world: &'a FleetWorld,
    wait: &'a W,
}

/// Runs every case. `wait` passes some time, real or virtual, in which listings catch up. Whatever
/// is launched is terminated.
pub async fn fleet<F: Fleet, T: Templates, W: AsyncFn()>(
    fleet: &F,
    templates: &T,
    world: &FleetWorld,
    wait: &W,
) -> Vec<Case> {
    let subject = &Subject { fleet, templates, world, wait };
    vec![
        Case::of("a template that is not there is not found", subject.no_template().await),
        Case::of("ensuring a template twice makes one", subject.ensured_twice().await),
        Case::of("launching twice with one token gives the same", subject.launched_twice().await),
        Case::of("what is only tried launches nothing", subject.dry_run().await),
        Case::of("another token gives other instances", subject.another_token().await),
        Case::of("a token with another request conflicts", subject.token_reused().await),
        Case::of("descriptions may lag, and then are right", subject.described().await),
        Case::of("terminating wins over a lagging description", subject.terminated().await),
        Case::of("terminating what never was is done", subject.terminated_unknown().await),
        Case::of("tagging twice is tagging once", subject.tagged_twice().await),
        Case::of("of instances that work nothing is reported", subject.reported().await),
        Case::of("a template that is removed is gone, however often", subject.removed().await),
    ]
}

impl<F: Fleet, T: Templates, W: AsyncFn()> Subject<'_, F, T, W> {
    fn request(&self, name: &str) -> FleetRequest {
        let token: BatchId = build::id(&format!("{}-{name}", self.world.token_prefix));
        let mut tags = self.world.request.tags.clone();
        tags.insert(BATCH_TAG.to_owned(), token.as_str().to_owned());
        FleetRequest { token, tags, ..self.world.request.clone() }
    }

    async fn launch(&self, request: &FleetRequest) -> Result<FleetAnswer, Failure> {
        self.templates.ensure(&self.world.template).await?;
        let answer = self.fleet.launch(request).await?;
        let ids = ids(&answer);
        let wanted = usize::try_from(request.count).unwrap_or_default();
        ensure(ids.len() == wanted, || format!("{wanted} were asked for: {answer:?}"))?;
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        same("the ids", &ids, &sorted)?;
        Ok(answer)
    }

    async fn end(&self, answer: &FleetAnswer) -> Result<(), Failure> {
        Ok(self.fleet.terminate(&ids(answer)).await?)
    }

    /// The listing, asked until `is_right`.
    async fn listed(
        &self,
        batch: &BatchId,
        is_right: impl Fn(&[Instance]) -> bool,
    ) -> Result<Vec<Instance>, Failure> {
        for _ in 0..ATTEMPTS_MAX {
            let listed = self.fleet.of_batch(&self.world.cluster, batch).await?;
            if is_right(&listed) {
                return Ok(listed);
            }
            (self.wait)().await;
        }
        Ok(self.fleet.of_batch(&self.world.cluster, batch).await?)
    }

    async fn no_template(&self) -> Result<(), Failure> {
        let mut request = self.request("no-template");
        let missing: LaunchTemplateName = build::id("karpenter.k8s.aws/0");
        for template in &mut request.templates {
            template.template = missing.clone();
        }
        match self.fleet.launch(&request).await {
            Ok(answer) => Err(Failure(format!("it was launched from: {answer:?}"))),
            Err(error) => {
                same("the fault", &error.fault, &Fault::NotFound)?;
                let text = Failure::from(error).0;
                ensure(text.contains(missing.as_str()), || format!("`{text}` does not name it"))
            }
        }
    }

    async fn ensured_twice(&self) -> Result<(), Failure> {
        for _ in 0..2 {
            self.templates.ensure(&self.world.template).await?;
        }
        self.end(&self.launch(&self.request("ensured")).await?).await
    }

    async fn launched_twice(&self) -> Result<(), Failure> {
        let request = self.request("twice");
        let first = self.launch(&request).await?;
        let second = self.launch(&request).await?;
        let listed = self
            .listed(&request.token, |instances| first.instances.len() <= instances.len())
            .await?;
        self.end(&first).await?;
        same("the second answer", &ids(&second), &ids(&first))?;
        let listed: Vec<InstanceId> = listed.into_iter().map(|instance| instance.id).collect();
        same("what the batch brought", &listed, &ids(&first))
    }

    async fn dry_run(&self) -> Result<(), Failure> {
        let Self { fleet, templates, world, .. } = *self;
        templates.ensure(&world.template).await?;
        let request = self.request("tried");
        let choice = request.templates.iter().flat_map(|template| &template.overrides).next();
        let choice = choice.ok_or_else(|| Failure("the request has no choice".to_owned()))?;
        let mut run_request = RunRequest {
            template: world.template.name.clone(),
            version: TemplateVersion::Latest,
            instance_type: choice.instance_type.clone(),
            subnet: choice.subnet.clone(),
            security_groups: world.template.data.security_groups.clone(),
            tags: request.tags.clone(),
        };
        for _ in 0..2 {
            let tried = templates.dry_run(&world.template).await?;
            same("the template", &tried, &DryRunAnswer::Works)?;
            same("the fleet", &fleet.dry_run(&request).await?, &DryRunAnswer::Works)?;
            same(
                "the instance",
                &fleet.dry_run_instance(&run_request).await?,
                &DryRunAnswer::Works,
            )?;
        }
        run_request.template = build::id("karpenter.k8s.aws/0");
        let missing = fleet.dry_run_instance(&run_request).await.map_err(|error| error.fault);
        same("without its template", &missing, &Err(Fault::NotFound))?;
        for _ in 0..2 {
            (self.wait)().await;
        }
        let listed = fleet.of_batch(&world.cluster, &request.token).await?;
        same("what was launched", &listed, &Vec::new())?;
        // The token is as good as new, whatever is asked for with it.
        let other = FleetRequest { count: request.count + 1, ..request };
        self.end(&self.launch(&other).await?).await
    }

    async fn reported(&self) -> Result<(), Failure> {
        let answer = self.launch(&self.request("reported")).await?;
        let reports = self.fleet.impaired().await?;
        self.end(&answer).await?;
        let launched = ids(&answer);
        let of_launched = reports.iter().filter(|report| launched.contains(&report.instance));
        same("the reports", &of_launched.count(), &0)?;
        ensure(reports.is_sorted(), || format!("they are not sorted: {reports:?}"))
    }

    async fn another_token(&self) -> Result<(), Failure> {
        let first = self.launch(&self.request("first")).await?;
        let second = self.launch(&self.request("second")).await?;
        self.end(&first).await?;
        self.end(&second).await?;
        let shared: Vec<_> =
            ids(&first).into_iter().filter(|id| ids(&second).contains(id)).collect();
        same("what both brought", &shared, &Vec::new())
    }

    async fn token_reused(&self) -> Result<(), Failure> {
        let request = self.request("reused");
        let first = self.launch(&request).await?;
        let other = FleetRequest { count: request.count + 1, ..request };
        let answer = self.fleet.launch(&other).await;
        self.end(&first).await?;
        match answer {
            Ok(answer) => Err(Failure(format!("it was launched: {answer:?}"))),
            Err(error) => same("the fault", &error.fault, &Fault::Conflict),
        }
    }

    async fn described(&self) -> Result<(), Failure> {
        let request = self.request("described");
        let answer = self.launch(&request).await?;
        let ids = ids(&answer);
        let mut described = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            described = self.fleet.describe(&ids).await?;
            if described.len() == ids.len() {
                break;
            }
            (self.wait)().await;
        }
        let listed = self.listed(&request.token, |instances| ids.len() <= instances.len()).await?;
        let running = self.fleet.list(&self.world.cluster).await?;
        self.end(&answer).await?;
        let seen: Vec<_> = described.iter().map(|i| (&i.id, &i.instance_type, &i.zone)).collect();
        let launched = answer.instances.iter();
        let wanted: Vec<_> = launched.map(|i| (&i.id, &i.instance_type, &i.zone)).collect();
        same("the description", &seen, &wanted)?;
        let of_request = described.iter().all(|i| i.capacity_type == request.capacity_type);
        ensure(of_request, || format!("not {} but {described:?}", request.capacity_type))?;
        same(
            "the batch",
            &listed.iter().map(|i| &i.id).collect(),
            &ids.iter().collect::<Vec<_>>(),
        )?;
        let missing: Vec<_> =
            ids.iter().filter(|id| running.iter().all(|i| i.id != **id)).collect();
        same("what the cluster's list lacks", &missing, &Vec::new())
    }

    async fn terminated(&self) -> Result<(), Failure> {
        let request = self.request("terminated");
        let answer = self.launch(&request).await?;
        let ids = ids(&answer);
        // At once, before any listing knows them, and once more.
        self.end(&answer).await?;
        self.end(&answer).await?;
        let is_ending = |instance: &Instance| {
            matches!(instance.state, InstanceState::ShuttingDown | InstanceState::Terminated)
        };
        let mut living = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            living = self.fleet.describe(&ids).await?;
            living.retain(|instance| !is_ending(instance));
            let listed = self.fleet.list(&self.world.cluster).await?;
            living.extend(listed.into_iter().filter(|i| ids.contains(&i.id) && !is_ending(i)));
            if living.is_empty() {
                break;
            }
            (self.wait)().await;
        }
        same("what lives on", &living, &Vec::new())?;
        // The token still stands for what it brought: nothing new is launched.
        match self.fleet.launch(&request).await {
            Ok(again) => same("a repeated launch", &self::ids(&again), &ids),
            Err(error) => Err(error.into()),
        }
    }

    async fn terminated_unknown(&self) -> Result<(), Failure> {
        let unknown: InstanceId = build::id("i-0123456789abcdef0");
        self.fleet.terminate(std::slice::from_ref(&unknown)).await?;
        self.fleet.terminate(&[]).await?;
        same("the description", &self.fleet.describe(&[unknown]).await?, &Vec::new())
    }

    async fn removed(&self) -> Result<(), Failure> {
        let name = &self.world.template.name;
        self.templates.remove(name).await?;
        self.templates.remove(name).await?;
        match self.fleet.launch(&self.request("removed")).await {
            Ok(answer) => Err(Failure(format!("it was launched from: {answer:?}"))),
            Err(error) => same("the fault", &error.fault, &Fault::NotFound),
        }
    }

    async fn tagged_twice(&self) -> Result<(), Failure> {
        let request = self.request("tagged");
        let answer = self.launch(&request).await?;
        let claim: model::NodeClaimName = build::id("tagged");
        let tags =
            BTreeMap::from([(model::labels::NODE_CLAIM_TAG.to_owned(), claim.as_str().to_owned())]);
        let tagged =
            |instances: &[Instance]| instances.iter().all(|i| i.node_claim == Some(claim.clone()));
        for id in ids(&answer) {
            for _ in 0..2 {
                self.fleet.tag(&id, &tags).await?;
            }
        }
        let count = answer.instances.len();
        let listed = self
            .listed(&request.token, |instances| instances.len() == count && tagged(instances))
            .await?;
        self.end(&answer).await?;
        ensure(tagged(&listed), || format!("the claim is not in the tags: {listed:?}"))
    }
}

fn ids(answer: &FleetAnswer) -> Vec<InstanceId> {
    answer.instances.iter().map(|instance| instance.id.clone()).collect()
}

/// That messages of every kind are taken, with every delay, in every number, and again.
pub async fn mailbox<M: Mailbox>(mailbox: &M, cluster: &ClusterName) -> Vec<Case> {
    let asked_at = build::at("2026-08-01T12:00:00Z");
    let served = model::ledger::Counters { arrivals: 3, departures: 4 };
    let pulse = |function, signal| Message::Pulse { function, signal };
    let mut messages =
        vec![Message::DryRun { class: build::id("default"), key: "1f".to_owned(), asked_at }];
    for function in Function::WITH_PULSE {
        messages.push(pulse(function, Signal::Beat(7)));
        messages.push(pulse(function, Signal::Wake(served)));
        messages.push(pulse(function, Signal::Called { anew: true }));
    }
    let delivery = |message: &Message, delay_seconds| Delivery {
        cluster: cluster.clone(),
        message: message.clone(),
        delay_seconds,
    };
    let every: Vec<Delivery> = messages.iter().map(|message| delivery(message, 900)).collect();
    let first = &pulse(Function::Provision, Signal::Beat(1));
    // More than the ten that SQS takes at once.
    let many: Vec<Delivery> = (0..25).map(|delay| delivery(first, delay)).collect();
    let longest = delivery(first, MESSAGE_DELAY_SECONDS_MAX);
    let send =
        async |deliveries: &[Delivery]| mailbox.send(deliveries).await.map_err(Failure::from);
    vec![
        Case::of("nothing to send is sent", send(&[]).await),
        Case::of("a message of every kind is sent", send(&every).await),
        Case::of("it may be sent again", send(&every).await),
        Case::of("more than one request takes are sent", send(&many).await),
        Case::of("the longest delay is taken", send(&[longest]).await),
    ]
}
