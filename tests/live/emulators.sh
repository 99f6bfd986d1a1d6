# Sourced by `run`: installs the emulators, starts them on loopback, and stops them however the test
# ends.
#
# Downloads are kept in ${JOURNEYMAN_CACHE:-$HOME/.cache/journeyman}, each under a key made of what
# went into it, so that a changed version is a new download and an old one is never half right. An
# empty cache only costs time.

LIVE_DIRECTORY="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
LIVE_CACHE="${JOURNEYMAN_CACHE:-$HOME/.cache/journeyman}"
LIVE_WORK="$(mktemp -d "${TMPDIR:-/tmp}/journeyman-live.XXXXXX")"
LIVE_PROCESS_GROUPS=()
export LIVE_WORK
# shellcheck source=tests/live/selection.sh
. "$LIVE_DIRECTORY/selection.sh"

# Nothing here may reach a real account, whatever the caller's environment says.
unset AWS_PROFILE AWS_SESSION_TOKEN AWS_ROLE_ARN AWS_WEB_IDENTITY_TOKEN_FILE "${!AWS_ENDPOINT_URL@}"
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
export AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 AWS_EC2_METADATA_DISABLED=true
export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null
export SAM_CLI_TELEMETRY=0 PYTHONDONTWRITEBYTECODE=1
export NO_PROXY=127.0.0.1,localhost no_proxy=127.0.0.1,localhost

# Ends what was started here, and only that. Each emulator leads a process group, because the
# functions that it runs are its children and would outlive it.
stop_emulators() {
  local group
  for group in "${LIVE_PROCESS_GROUPS[@]}"; do
    kill -TERM -- "-$group" 2>/dev/null || true
  done
  for group in "${LIVE_PROCESS_GROUPS[@]}"; do
    for _ in $(seq 50); do
      kill -0 -- "-$group" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL -- "-$group" 2>/dev/null || true
    wait "$group" 2>/dev/null || true
  done
  LIVE_PROCESS_GROUPS=()
}

clean_up_live() {
  local status=$?
  trap - EXIT INT TERM
  stop_emulators
  rm -rf "$LIVE_WORK"
  exit "$status"
}
trap clean_up_live EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Prints a port of loopback that is free at this moment.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start_process NAME COMMAND…: starts COMMAND as a process group of its own, with its output in a
# log.
start_process() {
  local name=$1
  shift
  # Emptied before it is started: who reads it at once finds nothing of a process of that name before it.
  : >"$LIVE_WORK/$name.log"
  setsid "$@" >>"$LIVE_WORK/$name.log" 2>&1 </dev/null &
  LIVE_PROCESS_GROUPS+=("$!")
  LIVE_LAST_PROCESS=$!
}

# run_to_end COMMAND…: runs COMMAND and returns its status. It is a group of its own too, so that a
# signal to this script ends it and whatever it started at once, and not only when it is through.
run_to_end() {
  local process status=0
  setsid "$@" </dev/null &
  process=$!
  LIVE_PROCESS_GROUPS+=("$process")
  wait "$process" || status=$?
  return "$status"
}

# wait_until_ready NAME COMMAND…: waits until COMMAND succeeds, at most a minute; shows the log of
# NAME if it never does.
wait_until_ready() {
  local name=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then
      return 0
    fi
    if ! kill -0 "$LIVE_LAST_PROCESS" 2>/dev/null; then
      echo "$name ended before it was ready:" >&2
      tail -n 30 "$LIVE_WORK/$name.log" >&2
      return 1
    fi
    sleep 0.2
  done
  echo "$name did not become ready within a minute:" >&2
  tail -n 30 "$LIVE_WORK/$name.log" >&2
  return 1
}

# install_once KEY FUNCTION: has FUNCTION fill a directory named KEY in the cache, unless that was
# done before. The mark is written last, so that an interrupted installation starts again. Prints
# the directory.
install_once() {
  local directory="$LIVE_CACHE/$1"
  if [ ! -e "$directory/.complete" ]; then
    mkdir -p "$LIVE_CACHE"
    (
      # Two runs at once must not fill the same directory.
      flock 9
      if [ ! -e "$directory/.complete" ]; then
        rm -rf "$directory"
        mkdir -p "$directory"
        "$2" "$directory" >&2 && touch "$directory/.complete"
      fi
    ) 9>"$directory.lock" || return 1
  fi
  echo "$directory"
}

key_of() { cat "$@" | sha256sum | cut -c1-16; }

fill_kubectl() {
  echo "building kubectl (a minute of one core, once) …"
  GOFLAGS="${GOFLAGS:-} -buildvcs=false -p=${JOURNEYMAN_GO_JOBS:-1}" \
    nice tools/control-plane/build.sh ./kubectl "$1/kubectl"
}

# Puts a kubectl into PATH where there is none.
use_kubectl() {
  local key directory
  if command -v kubectl >/dev/null; then
    return 0
  fi
  key="$(cd tools/control-plane && key_of build.sh go.mod go.sum)"
  directory="$(install_once "kubectl-$key" fill_kubectl)" || return 1
  export PATH="$directory:$PATH"
}

# install_python REQUIREMENTS DIRECTORY
install_python() {
  echo "installing the Python tools of ${1##*/} (a few minutes, once) …"
  python3 -m venv "$2" &&
    "$2/bin/pip" install --quiet --disable-pip-version-check --requirement "$1"
}

fill_python() { install_python "$LIVE_DIRECTORY/requirements.txt" "$1"; }

fill_checkov() { install_python "$LIVE_DIRECTORY/checkov.txt" "$1"; }

# Puts sam, cargo-lambda, ministack and a Python with boto3 first in PATH.
use_python() {
  local key directory
  key="$( (python3 --version; cat "$LIVE_DIRECTORY/requirements.txt") | key_of -)"
  directory="$(install_once "python-$key" fill_python)" || return 1
  export PATH="$directory/bin:$PATH"
}

# Sets CHECKOV. Its requirements are others than aws-sam-cli's, so it has an environment of its own.
use_checkov() {
  local key directory
  key="$( (python3 --version; cat "$LIVE_DIRECTORY/checkov.txt") | key_of -)"
  directory="$(install_once "checkov-$key" fill_checkov)" || return 1
  CHECKOV="$directory/bin/checkov"
}

fill_awscli() { install_python "$LIVE_DIRECTORY/awscli.txt" "$1"; }

# Puts an `aws` into PATH where there is none, behind everything else.
use_aws() {
  local key directory
  if aws --version >/dev/null 2>&1; then
    return 0
  fi
  key="$( (python3 --version; cat "$LIVE_DIRECTORY/awscli.txt") | key_of -)"
  directory="$(install_once "awscli-$key" fill_awscli)" || return 1
  export PATH="$PATH:$directory/bin"
}

fill_dynamodb_local() {
  echo "fetching DynamoDB Local (once) …"
  cp "$LIVE_DIRECTORY/dynamodb-local.xml" "$1/pom.xml" &&
    mvn --quiet --batch-mode --file "$1" dependency:copy-dependencies -DoutputDirectory="$1/lib"
}

# Starts AWS's own DynamoDB engine, empty and in memory, and sets DYNAMODB_LOCAL_URL.
start_dynamodb_local() {
  local key directory port
  key="$(key_of "$LIVE_DIRECTORY/dynamodb-local.xml")"
  directory="$(install_once "dynamodb-local-$key" fill_dynamodb_local)" || return 1
  port="$(free_port)"
  start_process dynamodb-local env DDB_LOCAL_TELEMETRY=0 \
    java -Xmx512m "-Djava.library.path=$directory/lib" \
    -cp "$directory/lib/*" "$LIVE_DIRECTORY/DynamoDbOnLoopback.java" \
    -inMemory -sharedDb -port "$port" -disableTelemetry
  # It answers a bare GET with an error, which is an answer.
  wait_until_ready dynamodb-local curl --silent --max-time 2 "http://127.0.0.1:$port/" || return 1
  export DYNAMODB_LOCAL_URL="http://127.0.0.1:$port"
}

# start_ministack [NAME=VALUE…]: starts the emulated account, empty, and points AWS_ENDPOINT_URL at it. What is
# given is in its environment, and so in that of every function.
start_ministack() {
  local port
  port="$(free_port)"
  mkdir -p "$LIVE_WORK/ministack-home"
  # `env -i`: the server's whole environment is handed on to every function that it runs. The
  # endpoint is for them as well: without it they would call the real AWS. BIND_HOST and
  # IOT_MTLS_ENABLED keep it on loopback and on one port.
  start_process ministack env -i \
    PATH="$PATH" HOME="$LIVE_WORK/ministack-home" TMPDIR="$LIVE_WORK" LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 MINISTACK_ACCOUNT_ID=123456789012 \
    BIND_HOST=127.0.0.1 MINISTACK_HOST=127.0.0.1 GATEWAY_PORT="$port" IOT_MTLS_ENABLED=0 \
    AWS_ENDPOINT_URL="http://127.0.0.1:$port" AWS_EC2_METADATA_DISABLED=true "$@" \
    python "$LIVE_DIRECTORY/launch_ministack.py"
  wait_until_ready ministack \
    curl --silent --fail --max-time 2 "http://127.0.0.1:$port/_ministack/health" || return 1
  export AWS_ENDPOINT_URL="http://127.0.0.1:$port"
}

# start_server OPTION…: starts the simulated account as a server, with no instance in it, and sets SERVER_URL and
# SERVER_ENVIRONMENT: with it, the services that it plays are asked there, and tables and queues still at
# AWS_ENDPOINT_URL.
start_server() {
  local service
  cargo build --quiet --package aws-server || return 1
  # Not by cargo, which waits while another build goes on.
  start_process aws-server "${CARGO_TARGET_DIR:-target}/debug/aws-server" "$@"
  wait_until_ready aws-server grep --quiet '^READY ' "$LIVE_WORK/aws-server.log" || return 1
  SERVER_URL="$(sed -n 's/^READY //p' "$LIVE_WORK/aws-server.log")"
  SERVER_ENVIRONMENT=(AWS_REGION=us-west-2 AWS_DEFAULT_REGION=us-west-2)
  for service in EC2 EKS IAM PRICING SSM; do
    SERVER_ENVIRONMENT+=("AWS_ENDPOINT_URL_$service=$SERVER_URL")
  done
}

# Puts terraform, or tofu under that name, into PATH, and the module with what it deploys into LIVE_CHECKOUT: what the
# tool writes beside a module stays out of this checkout. Without tool or provider its status is 75: no package registry
# has the tool. Providers come from the tool's registry, or from the mirror JOURNEYMAN_TERRAFORM_PLUGINS.
use_terraform() {
  local tool mirror="${JOURNEYMAN_TERRAFORM_PLUGINS:-/opt/tf-plugins}"
  tool="$(command -v terraform || command -v tofu)" || {
    echo "neither terraform nor tofu is installed" >&2
    return 75
  }
  mkdir "$LIVE_WORK/bin" "$LIVE_WORK/checkout"
  ln -s "$tool" "$LIVE_WORK/bin/terraform"
  cp -r deploy template.yaml "$LIVE_WORK/checkout"
  ln -s "$PWD/target" "$LIVE_WORK/checkout/target"
  unset TF_CLI_CONFIG_FILE
  export PATH="$LIVE_WORK/bin:$PATH" LIVE_CHECKOUT="$LIVE_WORK/checkout"
  export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_CLI_ARGS=-no-color TF_CLI_ARGS_init=-input=false
  [ ! -d "$mirror" ] || TF_CLI_ARGS_init+=" -plugin-dir=$mirror"
  if ! terraform -chdir="$LIVE_CHECKOUT/deploy/terraform" init >"$LIVE_WORK/terraform-init.log" 2>&1; then
    tail -n 20 "$LIVE_WORK/terraform-init.log" >&2
    return 75
  fi
}
