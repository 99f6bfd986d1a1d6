//! `journeyman deploy`: from the files of a release to a running stack, without AWS SAM.
//!
//! It does what `install` does, because newer functions may need new rights. Then the files go to a bucket, CloudFormation
//! compares the template with the stack, the user sees the changes, and the stack changes. Then it does what `doctor` does.
//! The template itself says which parameters there are.

pub mod changes;
pub mod files;
pub mod outcome;
pub mod parameters;

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    path::PathBuf,
};

use report::{
    command::RunCommand,
    error::{BadInput, CommandError},
    format::Format,
    progress::{self, ProgressLine},
    screen::Screen,
};

use crate::{
    doctor::{self, DoctorArgs, gather::InstallationClients},
    install::{self, InstallArgs},
    installation::{Installation, InstallationArgs, Look, answers, is_wanted, now, pause, waited},
    live::{
        self, AccountClient, BucketPlace, DeployedStack, Deployment, LiveAnswer, ParameterValues,
        RoleArgs, TemplateParameter,
    },
    wake::WakeArgs,
};

/// Parameters that options set, and these options.
const RESERVED: [(&str, &str); 3] =
    [(CLUSTER, "the argument CLUSTER"), (BUCKET, "--bucket"), (PREFIX, "--prefix")];
const CLUSTER: &str = "ClusterName";
const BUCKET: &str = "ArtifactBucket";
const PREFIX: &str = "ArtifactPrefix";
/// It chooses the zips.
const ARCHITECTURE: &str = "Architecture";

/// Options of `deploy`.
#[derive(Clone, Debug, clap::Args)]
pub struct DeployArgs {
    /// Directory of an unpacked release: `template.yaml` and the zips of the functions. They are
    /// uploaded to --bucket. Without it, the bucket has them.
    #[arg(long, value_name = "DIR", required_unless_present = "bucket")]
    pub release: Option<PathBuf>,
    /// S3 bucket for the files, in the region of the cluster. Default:
    /// journeyman-ACCOUNT-REGION, which `deploy` creates if it is missing.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    /// What the keys of the files in the bucket begin with.
    #[arg(long, value_name = "PREFIX", default_value = "journeyman/")]
    pub prefix: String,
    /// Name of the CloudFormation stack.
    #[arg(long, value_name = "NAME", default_value = "journeyman")]
    pub stack_name: String,
    /// Set a parameter of the stack, such as `Packing=cheapest` (docs/settings.md lists all).
    /// Default: the value in the stack, or else the template's default.
    #[arg(short, long = "parameter", value_name = "NAME=VALUE")]
    pub parameters: Vec<String>,
    /// Show the changes of the stack and exit. Uploads the files.
    #[arg(long, conflicts_with = "yes")]
    pub diff: bool,
    /// Deploy the stack only: no CRDs and RBAC rules, no checks. Needs no access to the cluster.
    #[arg(long)]
    pub stack_only: bool,
    /// Maximum minutes to wait for the stack.
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    pub wait: u32,
    /// Do not ask for confirmation.
    #[arg(short, long)]
    pub yes: bool,
    /// Which roles the functions have.
    #[command(flatten)]
    pub roles: RoleArgs,
    /// Where to.
    #[command(flatten)]
    pub place: InstallationArgs,
}

/// Deploys, shows what changes first, and waits. `true`: stack and cluster are up to date.
pub fn run(args: &DeployArgs, screen: Screen, out: &mut impl Write) -> Result<bool, CommandError> {
    run_with(args, answers().as_mut(), screen, out)
}

impl RunCommand for DeployArgs {
    fn run(&self, screen: Screen, out: &mut dyn Write) -> Result<bool, CommandError> {
        run(self, screen, &mut { out })
    }
}

/// Like [`run`], with the user's `answers`; `None` without a terminal.
fn run_with(
    args: &DeployArgs,
    mut answers: Option<&mut impl BufRead>,
    screen: Screen,
    out: &mut impl Write,
) -> Result<bool, CommandError> {
    live::needed("deploy")?;
    let new = parameters::read(&args.parameters, &RESERVED)?;
    files::check_prefix(&args.prefix)?;
    let template = args.release.as_deref().map(files::template).transpose()?;
    if answers.is_none() && !args.yes && !args.diff {
        return Err(BadInput::one("Nothing was done: without a terminal, add --yes.").into());
    }
    let place = args.place.found_to_change(args.yes)?;
    let ends = InstallationClients::open(&place);
    if !args.stack_only {
        // Newer functions may need new rights, and older ones ignore them.
        let install = InstallArgs {
            diff: args.diff,
            yes: args.yes,
            roles: args.roles,
            wake: WakeArgs::default(),
            place: args.place.clone(),
        };
        if !install::run_with(&install, answers.as_deref_mut(), screen, out)? && !args.diff {
            return Ok(false);
        }
        writeln!(out)?;
    }
    let account = ends.account().map_err(BadInput::one)?;
    let deploying = Deploying { args, account, template, place: &place };
    if !deploying.stack(new, answers, screen, out)? {
        return Ok(false);
    }
    if !args.stack_only {
        writeln!(out)?;
        // What `doctor` misses is often what comes next: a NodePool.
        let doctor = DoctorArgs { place: args.place.clone(), output: Format::default() };
        doctor::run(&doctor, screen, out)?;
    }
    Ok(true)
}

/// A deployment of the stack.
struct Deploying<'a> {
    args: &'a DeployArgs,
    account: &'a AccountClient,
    /// Of the release's directory; `None`: the bucket has the files.
    template: Option<String>,
    place: &'a Installation,
}

impl Deploying<'_> {
    /// Brings the stack up to date. `false`: the user did not want the changes.
    fn stack(
        &self,
        mut new: BTreeMap<String, String>,
        mut answers: Option<&mut impl BufRead>,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        let name = &self.args.stack_name;
        let stack = self.account.deployed(name).map_err(BadInput::one)?;
        let deployment =
            outcome::deployment(name, stack.as_ref()).map_err(CommandError::Refused)?;
        let former = stack.map(|stack| self.former(stack)).transpose()?.unwrap_or_default();
        let bucket = self.bucket()?;
        if !self.make_bucket(&bucket, answers.as_deref_mut(), out)? {
            screen.lines("Nothing was done.", out)?;
            return Ok(false);
        }
        let template = self.upload_template(&bucket)?;
        let declared = self.account.template_parameters(&template).map_err(BadInput::one)?;
        new.insert(CLUSTER.to_owned(), self.place.cluster.clone());
        new.insert(BUCKET.to_owned(), bucket.name.clone());
        new.insert(PREFIX.to_owned(), self.args.prefix.clone());
        let values = asked(&declared, &mut new, &former, answers.as_deref_mut(), out)?;
        let architecture = parameters::value_of(ARCHITECTURE, &declared, &new, &former);
        self.upload_zips(&bucket, architecture.unwrap_or_default(), screen, out)?;
        let set = format!("journeyman-{}", now().as_second());
        let made = self.account.create_change_set(name, (&set, deployment), &template, &values);
        made.map_err(BadInput::one)?;
        let has_changes = self.wait_for_change_set(&set, screen, out)?;
        if !has_changes {
            self.account.delete_change_set(name, &set).map_err(BadInput::one)?;
            screen.lines(&format!("The stack {name} is up to date."), out)?;
            return Ok(true);
        }
        let state = self.account.change_set(name, &set).map_err(BadInput::one)?;
        let what = match deployment {
            Deployment::Create => "creates",
            Deployment::Update => "updates",
        };
        screen.title(&format!("The change set {set} {what} the stack {name}:"), out)?;
        screen.table(&changes::HEADS, &changes::rows(&state.changes), out)?;
        let is_wanted = !self.args.diff && is_wanted(self.args.yes, "Execute it?", answers, out)?;
        if !is_wanted {
            self.undo(&set, deployment).map_err(BadInput::one)?;
            screen.lines("The stack was not changed.", out)?;
            return Ok(false);
        }
        let before = self.account.newest_event(name).map_err(BadInput::one)?.unwrap_or_default();
        self.account.execute_change_set(name, &set).map_err(BadInput::one)?;
        self.wait_for_stack(&before, screen, out)?;
        self.print_outputs(screen, out)?;
        Ok(true)
    }

    /// The parameters of the stack that is there.
    fn former(&self, stack: DeployedStack) -> Result<BTreeMap<String, String>, CommandError> {
        let name = &self.args.stack_name;
        match stack.parameters.get(CLUSTER) {
            Some(cluster) if *cluster != self.place.cluster => Err(CommandError::Refused(format!(
                "The stack {name} is of cluster {cluster}, not of {}. Choose another name: --stack-name",
                self.place.cluster
            ))),
            None if !stack.parameters.is_empty() => Err(CommandError::Refused(format!(
                "The stack {name} is not Journeyman's: it has no parameter {CLUSTER}. Choose another name: --stack-name"
            ))),
            _ => Ok(stack.parameters),
        }
    }

    /// Where the files are, or will be.
    fn bucket(&self) -> Result<BucketPlace, BadInput> {
        let owner = self.account.number().ok_or_else(|| {
            BadInput::one("the number of the account cannot be read (sts:GetCallerIdentity)")
        })?;
        let name = self.args.bucket.clone();
        let name = name.unwrap_or_else(|| format!("journeyman-{owner}-{}", self.account.region()));
        Ok(BucketPlace { name, owner })
    }

    /// Creates the bucket if it is missing and the user wants that. `false`: the user does not.
    fn make_bucket(
        &self,
        bucket: &BucketPlace,
        answers: Option<&mut impl BufRead>,
        out: &mut impl Write,
    ) -> Result<bool, CommandError> {
        if self.account.has_bucket(bucket).map_err(BadInput::one)? {
            return Ok(true);
        }
        if self.template.is_none() {
            return Err(BadInput::one(format!("there is no bucket {}", bucket.name)).into());
        }
        let question = format!("Create the S3 bucket {} for the release's files?", bucket.name);
        if !is_wanted(self.args.yes, &question, answers, out)? {
            return Ok(false);
        }
        self.account.create_bucket(bucket).map_err(BadInput::one)?;
        Ok(true)
    }

    /// The URL of the template in the bucket, where it is after this.
    fn upload_template(&self, bucket: &BucketPlace) -> Result<String, BadInput> {
        let prefix = &self.args.prefix;
        let Some(text) = &self.template else {
            return self
                .account
                .object_url(bucket, &format!("{prefix}{}", files::TEMPLATE))
                .map_err(BadInput::one);
        };
        let key = files::template_key(prefix, text);
        if !self.account.has_object(bucket, &key).map_err(BadInput::one)? {
            let content = text.clone().into_bytes();
            self.account.put_object(bucket, &key, content).map_err(BadInput::one)?;
        }
        self.account.object_url(bucket, &key).map_err(BadInput::one)
    }

    /// Uploads the zips for `architecture` that the bucket does not have: their names change with their content.
    fn upload_zips(
        &self,
        bucket: &BucketPlace,
        architecture: &str,
        screen: Screen,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        let (Some(text), Some(folder)) = (&self.template, &self.args.release) else {
            return Ok(());
        };
        let zips = files::zips(text);
        let names = files::of_architecture(&zips, architecture);
        if names.is_empty() {
            let why = format!("the release has no functions for {ARCHITECTURE}={architecture}");
            return Err(BadInput::one(why).into());
        }
        let uploading = ProgressLine::new("uploading");
        let mut count = 0_u32;
        for (done, name) in names.iter().enumerate() {
            uploading.says(format!("uploading {name}: {} of {}", done + 1, names.len()));
            let key = format!("{}{name}", self.args.prefix);
            if self.account.has_object(bucket, &key).map_err(BadInput::one)? {
                continue;
            }
            let content = files::zip(folder, name)?;
            self.account.put_object(bucket, &key, content).map_err(BadInput::one)?;
            count += 1;
        }
        drop(uploading);
        let there = names.len() - usize::try_from(count).unwrap_or_default();
        let line = format!(
            "Uploaded {count} of {} zips to s3://{}/{} ({there} were there).",
            names.len(),
            bucket.name,
            self.args.prefix
        );
        screen.lines(&line, out)?;
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
    fn undo(&self, set: &str, deployment: Deployment) -> LiveAnswer<()> {
        let name = &self.args.stack_name;
        match deployment {
            Deployment::Create => self.account.delete_stack(name),
            Deployment::Update => self.account.delete_change_set(name, set),
        }
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
