//! The stack: where its files are, what a change set changes in it, and the waiting for CloudFormation.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    path::Path,
};

use model::{ClusterName, ledger::UnreadableItem};
use report::{
    error::{BadInput, CommandError},
    progress::{self, ProgressLine},
    screen::Screen,
};

use super::{StackArgs, changes, files, history::TemplateHistory, outcome, parameters};
use crate::{
    installation::{Installation, Look, is_wanted, now, pause, waited},
    live::{
        AccountClient, BucketClient, BucketPlace, DeployedStack, Deployment, LiveAnswer,
        ParameterValues, TemplateParameter,
    },
};

/// Parameters that options set, and these options.
pub(super) const RESERVED: [(&str, &str); 3] =
    [(CLUSTER, "the argument CLUSTER"), (BUCKET, "--bucket"), (PREFIX, "--prefix")];
const CLUSTER: &str = "ClusterName";
const BUCKET: &str = "ArtifactBucket";
const PREFIX: &str = "ArtifactPrefix";
/// It chooses the zips.
const ARCHITECTURE: &str = "Architecture";
/// Output of the stack: the ledger's table.
const TABLE: &str = "TableName";
/// Where the files are if neither user nor stack say it.
const DEFAULT_PREFIX: &str = "journeyman/";

/// A stack that is there or will be, and the bucket of its files.
pub(super) struct StackPlace<'a> {
    args: &'a StackArgs,
    place: &'a Installation,
    account: &'a AccountClient,
    bucket: BucketClient,
    prefix: String,
    deployment: Deployment,
    /// The stack that is there.
    stack: Option<DeployedStack>,
    /// Its template.
    pub(super) installed: Option<String>,
}

impl<'a> StackPlace<'a> {
    /// What is there now.
    ///
    /// # Errors
    ///
    /// If the stack is of something else or cannot be changed now, or the account cannot be asked.
    pub(super) fn of(
        args: &'a StackArgs,
        place: &'a Installation,
        account: &'a AccountClient,
    ) -> Result<Self, CommandError> {
        let name = &args.stack_name;
        let stack = account.deployed(name).map_err(BadInput::one)?;
        let deployment =
            outcome::deployment(name, stack.as_ref()).map_err(CommandError::Refused)?;
        let stack = stack.filter(|_| deployment == Deployment::Update);
        let mut installed = None;
        if let Some(stack) = &stack {
            check_owner(name, stack, &place.cluster).map_err(CommandError::Refused)?;
            installed = account.template_of(name).map_err(BadInput::one)?;
        }
        let of_stack = |parameter: &str| stack.as_ref()?.parameters.get(parameter).cloned();
        let prefix = args.prefix.clone().or_else(|| of_stack(PREFIX));
        let prefix = prefix.unwrap_or_else(|| DEFAULT_PREFIX.to_owned());
        let owner = account.number().ok_or_else(|| {
            BadInput::one("the number of the account cannot be read (sts:GetCallerIdentity)")
        })?;
        let bucket = args.bucket.clone().or_else(|| of_stack(BUCKET));
        let bucket = bucket.unwrap_or_else(|| format!("journeyman-{owner}-{}", account.region()));
        let bucket = account.bucket(BucketPlace { name: bucket, owner }).map_err(BadInput::one)?;
        Ok(Self { args, place, account, bucket, prefix, deployment, stack, installed })
    }

    /// The template that the bucket has as `template.yaml`.
    pub(super) fn template(&self) -> Result<String, CommandError> {
        Ok(self.text_of(&format!("{}{}", self.prefix, files::TEMPLATE))?)
    }

    /// The template that the stack had before.
    pub(super) fn former_template(&self) -> Result<String, CommandError> {
        let installed = self.installed.as_deref().map(files::digest).unwrap_or_default();
        let history = self.history().map_err(BadInput::one)?;
        let Some(former) = history.before(&installed) else {
            return Err(CommandError::Refused(format!(
                "The bucket {} has no former template of the stack {}: there is nothing to roll back to.",
                self.bucket.name(),
                self.args.stack_name
            )));
        };
        Ok(self.text_of(&files::template_key(&self.prefix, former))?)
    }

    fn text_of(&self, key: &str) -> Result<String, BadInput> {
        let text = self.account.object_text(&self.bucket, key).map_err(BadInput::one)?;
        text.ok_or_else(|| BadInput::one(format!("s3://{}/{key} is missing", self.bucket.name())))
    }

    /// Number of items that the ledger has, and those that this command cannot read.
    pub(super) fn examined(&self) -> Result<(usize, Vec<UnreadableItem>), BadInput> {
        let _reading = ProgressLine::new("reading the ledger");
        let name = &self.args.stack_name;
        let table = self.stack.as_ref().and_then(|stack| stack.outputs.get(TABLE));
        let table = table
            .ok_or_else(|| BadInput::one(format!("the stack {name} has no output {TABLE}")))?;
        let cluster = ClusterName::new(&self.place.cluster)
            .map_err(|error| BadInput::one(format!("cluster {}: {error}", self.place.cluster)))?;
        self.account.examined(table, &cluster).map_err(BadInput::one)
    }

    /// Brings the stack up to date with `template`, whose zips are in the directory `zips` or in the bucket, and the
    /// parameters `new`. `false`: the user did not want the changes.
    pub(super) fn deploy(
        &self,
        (template, zips): (&str, Option<&Path>),
        mut new: BTreeMap<String, String>,
        mut answers: Option<&mut impl BufRead>,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let name = &self.args.stack_name;
        if !self.make_bucket(zips.is_some(), answers.as_deref_mut(), out)? {
            screen.lines("Nothing was done.", out)?;
            return Ok(false);
        }
        let url = self.keep_template(template).map_err(BadInput::one)?;
        let declared = self.account.template_parameters(&url).map_err(BadInput::one)?;
        new.insert(CLUSTER.to_owned(), self.place.cluster.clone());
        for (parameter, value) in [(BUCKET, self.bucket.name()), (PREFIX, &self.prefix)] {
            // The template of a checkout has neither: AWS SAM writes where its files are.
            if declared.iter().any(|known| known.name == parameter) {
                new.insert(parameter.to_owned(), value.to_owned());
            }
        }
        let former = self.stack.as_ref().map(|stack| stack.parameters.clone()).unwrap_or_default();
        let values = asked(&declared, &mut new, &former, answers.as_deref_mut(), out)?;
        let architecture = parameters::value_of(ARCHITECTURE, &declared, &new, &former);
        self.upload_zips(template, zips, architecture.unwrap_or_default(), screen, out)?;
        // Two attempts of one second are two change sets: CloudFormation keeps a failed one under its name.
        let set = format!("journeyman-{}", now().as_millisecond());
        let made = self.account.create_change_set(name, (&set, self.deployment), &url, &values);
        made.map_err(BadInput::one)?;
        if !self.wait_for_change_set(&set, screen, out)? {
            self.account.delete_change_set(name, &set).map_err(BadInput::one)?;
            screen.lines(&format!("The stack {name} is up to date."), out)?;
            return Ok(true);
        }
        self.show(&set, screen, out)?;
        let is_wanted = !self.args.diff && is_wanted(self.args.yes, "Execute it?", answers, out)?;
        if !is_wanted {
            self.undo(&set).map_err(BadInput::one)?;
            screen.lines("The stack was not changed.", out)?;
            return Ok(false);
        }
        self.remember(template).map_err(BadInput::one)?;
        let before = self.account.newest_event(name).map_err(BadInput::one)?.unwrap_or_default();
        self.account.execute_change_set(name, &set).map_err(BadInput::one)?;
        self.wait_for_stack(&before, screen, out)?;
        self.print_outputs(screen, out)?;
        Ok(true)
    }

    /// Shows what the change set called `set` changes.
    fn show(&self, set: &str, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
        let name = &self.args.stack_name;
        let state = self.account.change_set(name, set).map_err(BadInput::one)?;
        let what = match self.deployment {
            Deployment::Create => "creates",
            Deployment::Update => "updates",
        };
        screen.title(&format!("The change set {set} {what} the stack {name}:"), out)?;
        screen.table(&changes::HEADS, &changes::rows(&state.changes), out)?;
        Ok(())
    }

    /// Creates the bucket if it is missing and the user wants that. `false`: the user does not. `is_filled`: the files
    /// go there now.
    fn make_bucket(
        &self,
        is_filled: bool,
        answers: Option<&mut impl BufRead>,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        if self.account.has_bucket(&self.bucket).map_err(BadInput::one)? {
            return Ok(true);
        }
        let bucket = self.bucket.name();
        if !is_filled {
            return Err(BadInput::one(format!("there is no bucket {bucket}")).into());
        }
        let question = format!("Create the S3 bucket {bucket} for the release's files?");
        if !is_wanted(self.args.yes, &question, answers, out)? {
            return Ok(false);
        }
        self.account.create_bucket(&self.bucket).map_err(BadInput::one)?;
        Ok(true)
    }

    /// The URL of `template` in the bucket, where it is after this.
    fn keep_template(&self, template: &str) -> LiveAnswer<String> {
        let key = files::template_key(&self.prefix, &files::digest(template));
        if !self.account.has_object(&self.bucket, &key)? {
            self.account.put_object(&self.bucket, &key, template.as_bytes().to_vec())?;
        }
        Ok(self.bucket.url(&key))
    }

    fn history(&self) -> LiveAnswer<TemplateHistory> {
        let key = TemplateHistory::key(&self.prefix, &self.args.stack_name);
        let text = self.account.object_text(&self.bucket, &key)?;
        Ok(TemplateHistory::read(&text.unwrap_or_default()))
    }

    /// Notes that `template` takes the place of the installed one, which the bucket keeps for a rollback.
    fn remember(&self, template: &str) -> LiveAnswer<()> {
        let installed = self.installed.as_deref();
        installed.map(|installed| self.keep_template(installed)).transpose()?;
        let mut history = self.history()?;
        history.note(installed.map(files::digest).as_deref(), &files::digest(template));
        let key = TemplateHistory::key(&self.prefix, &self.args.stack_name);
        self.account.put_object(&self.bucket, &key, history.to_text().into_bytes())
    }

    /// Uploads the zips for `architecture` that the bucket does not have: their names change with their content. Without a
    /// directory it must have them.
    fn upload_zips(
        &self,
        template: &str,
        zips: Option<&Path>,
        architecture: &str,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let names = files::zips(template);
        let of_release = files::of_architecture(&names, architecture);
        if of_release.is_empty() && !names.is_empty() {
            let why = format!("the release has no functions for {ARCHITECTURE}={architecture}");
            return Err(BadInput::one(why).into());
        }
        let (bucket, prefix) = (self.bucket.name(), &self.prefix);
        let uploading = ProgressLine::new("uploading");
        let mut count = 0_usize;
        for (done, name) in of_release.iter().enumerate() {
            uploading.says(format!("uploading {name}: {} of {}", done + 1, of_release.len()));
            let key = format!("{prefix}{name}");
            if self.account.has_object(&self.bucket, &key).map_err(BadInput::one)? {
                continue;
            }
            let Some(folder) = zips else {
                return Err(BadInput::one(format!("s3://{bucket}/{key} is missing")).into());
            };
            let content = files::zip(folder, name)?;
            self.account.put_object(&self.bucket, &key, content).map_err(BadInput::one)?;
            count += 1;
        }
        drop(uploading);
        if zips.is_some() {
            let (total, there) = (of_release.len(), of_release.len() - count);
            let line = format!(
                "Uploaded {count} of {total} zips to s3://{bucket}/{prefix} ({there} were there)."
            );
            screen.lines(&line, out)?;
        }
        Ok(())
    }

    /// Whether the change set called `set` changes something, as soon as CloudFormation knows.
    fn wait_for_change_set(
        &self,
        set: &str,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let _comparing = ProgressLine::new("CloudFormation compares the template with the stack");
        let look = || match self.account.change_set(&self.args.stack_name, set) {
            Ok(state) => outcome::of_change_set(&state),
            Err(why) => Look::Failed(why),
        };
        let tell = |text: &str| progress::hidden(|| screen.lines(text, out));
        ended(waited(look, self.args.wait, pause, tell)?, self.args.wait)
    }

    /// Waits until the stack is as the change set says. `before`: id of the last event before that.
    fn wait_for_stack(
        &self,
        before: &str,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let name = &self.args.stack_name;
        let working = ProgressLine::new(format!("deploying the stack {name}"));
        let look = || {
            let seen = self.account.deployed(name).and_then(|stack| {
                let events = self.account.stack_events(name, before)?;
                Ok((stack, events))
            });
            match seen {
                Ok((stack, events)) => {
                    let finished = outcome::finished(&events);
                    working.says(format!("deploying the stack {name}: {finished} resources done"));
                    outcome::of_stack(name, stack.as_ref().map(|stack| &stack.state), &events)
                }
                Err(why) => Look::Failed(why),
            }
        };
        let tell = |text: &str| progress::hidden(|| screen.lines(text, out));
        ended(waited(look, self.args.wait, pause, tell)?, self.args.wait)
    }

    fn print_outputs(&self, screen: Screen, out: &mut impl Write) -> Result<(), CommandError> {
        let name = &self.args.stack_name;
        let stack = self.account.deployed(name).map_err(BadInput::one)?;
        let outputs = stack.map(|stack| stack.outputs).unwrap_or_default();
        screen.title(&format!("The stack {name} is deployed. Its outputs:"), out)?;
        let rows: Vec<Vec<String>> =
            outputs.into_iter().map(|(name, value)| vec![name, value]).collect();
        screen.table(&["OUTPUT", "VALUE"], &rows, out)?;
        Ok(())
    }

    /// Removes the change set called `set`, and the empty stack that it would have filled.
    fn undo(&self, set: &str) -> LiveAnswer<()> {
        let name = &self.args.stack_name;
        match self.deployment {
            Deployment::Create => self.account.delete_stack(name),
            Deployment::Update => self.account.delete_change_set(name, set),
        }
    }
}

/// Refuses a `stack` that is not of `cluster`.
fn check_owner(name: &str, stack: &DeployedStack, cluster: &str) -> Result<(), String> {
    match stack.parameters.get(CLUSTER) {
        Some(other) if other != cluster => Err(format!(
            "The stack {name} is of cluster {other}, not of {cluster}. Choose another name: --stack-name"
        )),
        None => Err(format!(
            "The stack {name} is not Journeyman's: it has no parameter {CLUSTER}. Choose another name: --stack-name"
        )),
        Some(_) => Ok(()),
    }
}

/// The values of all parameters; the user is asked for those that have none, which are then in `new`.
fn asked(
    declared: &[TemplateParameter],
    new: &mut BTreeMap<String, String>,
    former: &BTreeMap<String, String>,
    answers: Option<&mut impl BufRead>,
    out: &mut impl Write,
) -> Result<ParameterValues, CommandError> {
    let (values, missing) = parameters::decided(declared, new, former)?;
    if missing.is_empty() {
        return Ok(values);
    }
    let Some(answers) = answers else {
        let missing = missing.iter().map(|parameter| {
            let TemplateParameter { name, description, .. } = parameter;
            format!("parameter {name} has no default: add --parameter {name}=VALUE ({description})")
        });
        return Err(BadInput(missing.collect()).into());
    };
    for TemplateParameter { name, description, .. } in missing {
        write!(out, "{description}\n{name}: ")?;
        out.flush()?;
        let mut answer = String::new();
        answers.read_line(&mut answer)?;
        new.insert(name.clone(), answer.trim().to_owned());
    }
    Ok(parameters::decided(declared, new, former)?.0)
}

/// What waiting for `minutes` at most brought.
fn ended<T>(latest: Look<T>, minutes: u32) -> Result<T, CommandError> {
    match latest {
        Look::Done(value) => Ok(value),
        Look::Failed(why) => Err(BadInput::one(why).into()),
        Look::Waits(last) => Err(BadInput::one(format!(
            "{last} Not finished after {minutes} minutes; CloudFormation goes on. Run the command again later."
        ))
        .into()),
    }
}
