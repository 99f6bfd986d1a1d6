//! The ledger on a real DynamoDB engine, over the wire.
//!
//! Runs when `JOURNEYMAN_LIVE_DYNAMODB_URL` names one, such as AWS's own DynamoDB Local, and says so
//! when it was skipped. Never point it at an account that matters: it creates a table and leaves it.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod live {
    use std::{collections::BTreeSet, time::Duration};

    use aws::DynamoLedger;
    use aws_sdk_dynamodb::{
        Client,
        config::{BehaviorVersion, Credentials, Region},
        types::{
            AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
            Projection, ProjectionType, ScalarAttributeType,
        },
    };
    use futures_util::future::join_all;
    use model::{
        ClusterName,
        ledger::{CommitOutcome, Generation},
    };
    use ports::Ledger as _;
    use testkit::{Clusters, build};

    const URL: &str = "JOURNEYMAN_LIVE_DYNAMODB_URL";
    const TABLE: &str = "ledger";
    const REGION: &str = "us-west-2";

    #[expect(
        clippy::disallowed_methods,
        reason = "a live test is started by an environment variable"
    )]
    fn engine() -> Option<String> {
        std::env::var(URL).ok().filter(|url| !url.is_empty())
    }

    #[expect(clippy::disallowed_methods, reason = "an index over the wire lags in real time")]
    async fn a_moment() {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    fn client(url: &str) -> Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "live test"))
            .endpoint_url(url);
        Client::from_conf(config.build())
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
            .index_name("instance")
            .key_schema(key("instance_id", KeyType::Hash))
            .projection(Projection::builder().projection_type(ProjectionType::All).build())
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
    /// lost: the generation counts every commit, and every claim that was promised is there.
    async fn racing_workers_lose_nothing(url: &str, workers: usize, commits: usize) {
        let cluster = &ClusterName::new("race").unwrap();
        let work = async |worker: usize| {
            let ledger = DynamoLedger::new(client(url), TABLE, REGION);
            let mut conflicts = 0;
            for number in 0..commits {
                let name = format!("worker-{worker}-{number}");
                loop {
                    let parent = ledger.snapshot(cluster).await.unwrap().generation;
                    let commit = build::commit(&name, parent, vec![build::claim(&name)]);
                    match ledger.commit(cluster, &commit).await.unwrap() {
                        CommitOutcome::Committed(made) => {
                            assert_eq!(made, parent.next());
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
        assert_eq!(snapshot.generation, Generation(total));
        let found: BTreeSet<String> = snapshot.claims.keys().map(ToString::to_string).collect();
        let numbers = (0..workers).flat_map(|worker| (0..commits).map(move |n| (worker, n)));
        let wanted = numbers.map(|(worker, number)| format!("worker-{worker}-{number}")).collect();
        assert_eq!(found, wanted);
        report(&format!("ok   {total} racing commits all count, after {conflicts} conflicts"));
    }

    #[expect(clippy::print_stdout, reason = "a live test says what it did")]
    fn report(line: &str) {
        println!("{line}");
    }

    #[tokio::test]
    async fn the_ledger_keeps_its_contract_on_a_real_engine() {
        let Some(url) = engine() else {
            report(&format!("skipped: {URL} names no DynamoDB engine"));
            return;
        };
        create_table(&client(&url)).await;
        let ledger = DynamoLedger::new(client(&url), TABLE, REGION);
        let clusters = Clusters {
            one: ClusterName::new("one").unwrap(),
            other: ClusterName::new("other").unwrap(),
            instance_prefix: "0a1b".to_owned(),
        };
        let cases = testkit::ledger(&ledger, &clusters, &async || a_moment().await).await;
        assert!(!cases.is_empty());
        for case in &cases {
            report(&case.to_string());
        }
        racing_workers_lose_nothing(&url, 8, 5).await;
        let failed: Vec<String> =
            cases.iter().filter(|case| case.outcome.is_err()).map(ToString::to_string).collect();
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}
