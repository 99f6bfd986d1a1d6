//! Adapters over the wire, against servers of others.
//!
//! The ledger's suite runs when `JOURNEYMAN_LIVE_DYNAMODB_URL` names a DynamoDB engine, such as AWS's own
//! DynamoDB Local; those of ledger, mailbox and instance profiles when `JOURNEYMAN_LIVE_ACCOUNT_URL`
//! names an emulated account. Each says so when it was skipped. Never point them at an account that
//! matters: they create things and leave them. Fleets are not tried here: no emulator knows a client
//! token or a dry run, so it would launch again.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod live {
    mod prices;

    use std::{collections::BTreeSet, time::Duration};

    use aws::{Account, DynamoLedger, FunctionNames, QueueUrls};
    use aws_config::{BehaviorVersion, Region, SdkConfig};
    use aws_credential_types::{Credentials, provider::SharedCredentialsProvider};
    use aws_sdk_dynamodb::{
        Client,
        types::{
            AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
            Projection, ProjectionType, ScalarAttributeType,
        },
    };
    use futures_util::future::join_all;
    use model::{ClusterName, instance_type_info::StoredRegionCatalog, ledger::CommitOutcome};
    use ports::Ledger as _;
    use testkit::{Case, Clusters, build};

    const DYNAMODB: &str = "JOURNEYMAN_LIVE_DYNAMODB_URL";
    const ACCOUNT: &str = "JOURNEYMAN_LIVE_ACCOUNT_URL";
    const TABLE: &str = "ledger";
    const REGION: &str = "us-west-2";

    #[expect(
        clippy::disallowed_methods,
        reason = "a live test is started by an environment variable"
    )]
    fn named_by(variable: &str) -> Option<String> {
        let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
        if url.is_none() {
            report(&format!("skipped: {variable} names nothing"));
        }
        url
    }

    #[expect(clippy::disallowed_methods, reason = "an index over the wire lags in real time")]
    async fn a_moment() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    /// What clients of everything at `url` are made of.
    fn config(url: &str) -> SdkConfig {
        let credentials = Credentials::new("test", "test", None, None, "live test");
        SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(SharedCredentialsProvider::new(credentials))
            .endpoint_url(url)
            .build()
    }

    fn client(url: &str) -> Client {
        Client::new(&config(url))
    }

    /// The table of `template.yaml`, as far as the ledger can tell.
    async fn create_table(client: &Client) {
        let key = |name: &str, kind: KeyType| {
            KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap()
        };
        let attributes = ["cluster", "item", "instance_id"].map(|name| {
            AttributeDefinition::builder()
                .attribute_name(name)
                .attribute_type(ScalarAttributeType::S)
                .build()
                .unwrap()
        });
        let index = GlobalSecondaryIndex::builder()
            .index_name("claims_of_instances")
            .key_schema(key("instance_id", KeyType::Hash))
            .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
            .build()
            .unwrap();
        client
            .create_table()
            .table_name(TABLE)
            .billing_mode(BillingMode::PayPerRequest)
            .set_attribute_definitions(Some(attributes.into()))
            .key_schema(key("cluster", KeyType::Hash))
            .key_schema(key("item", KeyType::Range))
            .global_secondary_indexes(index)
            .send()
            .await
            .unwrap();
    }

    /// `workers` clients each commit `commits` times to one cluster, as fast as they can. Nothing is
    /// lost: the arrivals count every commit, and every claim that was created is there.
    async fn racing_workers_lose_nothing(url: &str, workers: usize, commits: usize) {
        let cluster = &ClusterName::new("race").unwrap();
        let work = async |worker: usize| {
            let ledger = DynamoLedger::new(client(url), TABLE, REGION);
            let mut conflicts = 0;
            for number in 0..commits {
                let name = format!("worker-{worker}-{number}");
                loop {
                    let head = ledger.head(cluster).await.unwrap();
                    let commit = build::commit(&name, &head, vec![build::claim(&name)]);
                    match ledger.commit(cluster, &commit).await.unwrap() {
                        CommitOutcome::Committed(made) => {
                            assert_eq!(made.arrivals, head.counters.arrivals + 1);
                            break;
                        }
                        CommitOutcome::Conflict => conflicts += 1,
                        outcome @ CommitOutcome::TooLarge { .. } => panic!("{outcome:?}"),
                    }
                }
            }
            conflicts
        };
        let conflicts: usize = join_all((0..workers).map(work)).await.into_iter().sum();
        let snapshot =
            DynamoLedger::new(client(url), TABLE, REGION).snapshot(cluster).await.unwrap();
        let total = u64::try_from(workers * commits).unwrap();
        assert_eq!(snapshot.head.counters.arrivals, total);
        let texts: BTreeSet<String> = snapshot.claims.keys().map(ToString::to_string).collect();
        let numbers = (0..workers).flat_map(|worker| (0..commits).map(move |n| (worker, n)));
        let wanted = numbers.map(|(worker, number)| format!("worker-{worker}-{number}")).collect();
        assert_eq!(texts, wanted);
        report(&format!("ok   {total} racing commits all count, after {conflicts} conflicts"));
    }

    #[expect(clippy::print_stdout, reason = "a live test says what it did")]
    fn report(line: &str) {
        println!("{line}");
    }

    /// Shows every case.
    #[track_caller]
    fn check(cases: &[Case]) {
        for case in cases {
            report(&case.to_string());
        }
        testkit::assert_kept(cases);
    }

    async fn the_ledger_keeps_its_contract(url: &str) {
        create_table(&client(url)).await;
        let ledger = DynamoLedger::new(client(url), TABLE, REGION);
        let clusters = Clusters {
            one: ClusterName::new("one").unwrap(),
            other: ClusterName::new("other").unwrap(),
            instance_prefix: "0a1b".to_owned(),
        };
        let cases = testkit::ledger(&ledger, &clusters, &async || a_moment().await).await;
        let of = |name: &str| ClusterName::new(name).unwrap();
        let (told_of, told_too) = (of("told"), of("told-too"));
        let told = Clusters { one: told_of, other: told_too, ..clusters.clone() };
        check(&testkit::decisions(&ledger, &told).await);
        racing_workers_lose_nothing(url, 8, 5).await;
        prices::the_ledger_sends_what_the_price_list_says(&config(url), TABLE).await;
        check(&cases);
        the_catalog_store_and_the_catalog_keep_theirs(url).await;
    }

    /// What is sold, kept in the same table, and the catalog that deciders make of it.
    async fn the_catalog_store_and_the_catalog_keep_theirs(url: &str) {
        let account = Account::emulated(url, "us-east-1").unwrap();
        let catalog_store = || account.catalog_store(TABLE, &ClusterName::new("one").unwrap());
        let catalog = instance_catalog::builtin().unwrap();
        let mut fewer = catalog.clone();
        fewer.instance_types.truncate(3);
        let stored =
            |catalog, found_at| StoredRegionCatalog { catalog, found_at: build::at(found_at) };
        let first = stored(fewer, "2026-08-01T12:00:00Z");
        let second = stored(catalog, "2026-08-01T13:00:00Z");
        check(&testkit::catalog_store(&catalog_store(), &first, &second).await);
        check(&testkit::catalog(&bootstrap::StoredCatalog::new(catalog_store())).await);
    }

    #[tokio::test]
    async fn the_ledger_keeps_its_contract_on_a_real_engine() {
        let Some(url) = named_by(DYNAMODB) else { return };
        the_ledger_keeps_its_contract(&url).await;
    }

    async fn queues(url: &str) -> QueueUrls {
        let client = aws_sdk_sqs::Client::new(&config(url));
        let create = async |name: &str| {
            let answer = client.create_queue().queue_name(name).send().await.unwrap();
            answer.queue_url.unwrap()
        };
        QueueUrls {
            provision: create("provision").await,
            disrupt: create("disrupt").await,
            launch: create("launch").await,
            settle: create("settle").await,
            drain: create("drain").await,
        }
    }

    /// The roles that the suite of instance profiles is about.
    async fn create_roles(url: &str) {
        let client = aws_sdk_iam::Client::new(&config(url));
        for name in ["NodeRole", "OtherRole"] {
            let role = client.create_role().role_name(name).assume_role_policy_document("{}");
            role.send().await.unwrap();
        }
    }

    #[tokio::test]
    async fn an_emulated_account_behaves_as_the_ports_say() {
        let Some(url) = named_by(ACCOUNT) else { return };
        let account = Account::emulated(&url, "us-east-1").unwrap();
        the_ledger_keeps_its_contract(&url).await;
        let mailbox = account.mailbox(queues(&url).await, FunctionNames::default());
        check(&testkit::mailbox(&mailbox, &ClusterName::new("one").unwrap()).await);
        create_roles(&url).await;
        check(&testkit::profiles(&account.profiles(), "profile-1").await);
    }
}
