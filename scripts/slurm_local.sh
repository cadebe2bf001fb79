#!/usr/bin/env bash
# Tests examples/cluster with a real Slurm, of four nodes that are all this machine: packs a dataset by an array of 8 tasks, ends one of them with kill -9
# while it writes its shard, and compares what becomes of it with what one process packs, byte for byte; then draws batches by four ranks and
# compares their digests with those of one. Without a GPU: the nodes' are /dev/null.
#
# It must be root, as Slurm's daemons are, and installs Debian's slurm-wlm and munge if they are missing; where it cannot, it says why and ends with 77.
# All that it makes is in a temporary folder, and gone at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repo=$PWD

skip() {
	echo "SKIP slurm: $*"
	exit 77
}

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

[ "$(uname -s)" = Linux ] || skip "no Linux"
[ "$(id -u)" = 0 ] || skip "not root, as Slurm's daemons must be"
if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
	command -v apt-get >/dev/null || skip "no slurm, and no apt-get to install it"
	if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge; } >/dev/null 2>&1; then
		skip "slurm-wlm and munge cannot be installed here"
	fi
fi

dir=$(mktemp -d)
chmod 755 "$dir"
daemons=()
cleanup() {
	local status=$?
	trap - EXIT
	if [ $status != 0 ]; then
		tail -n 6 "$dir"/*.log "$dir"/jobs/*.log | cut -c 1-200 || true
	fi
	scancel --quiet --user=root 2>/dev/null || true
	for _ in $(seq 50); do
		[ -z "$(squeue -h 2>/dev/null)" ] && break
		sleep 0.1
	done
	kill "${daemons[@]}" 2>/dev/null || true
	wait "${daemons[@]}" 2>/dev/null || true
	rm -rf "$dir"
	exit $status
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# start runs a daemon until the end.
start() {
	local log=$1
	shift
	"$@" >"$dir/$log.log" 2>&1 &
	daemons+=($!)
}

# await CONDITION... waits until a command succeeds, for some seconds.
await() {
	local seconds=$1
	shift
	local end=$((SECONDS + seconds))
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

echo "slurm: $(slurmctld -V), four nodes on this machine"
export SLURM_CONF=$dir/slurm.conf
port=$((20000 + RANDOM % 10000))
mkdir "$dir"/{munge,state,spool,jobs,episodes}
mkdir "$dir"/spool/node{1..4}
head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 400 "$dir/munge/key"
chown -R munge: "$dir/munge"
cat >"$SLURM_CONF" <<END
ClusterName=local
SlurmctldHost=localhost
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,sched_min_interval=100000,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
KillWait=1
GresTypes=gpu
NodeName=node[1-4] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=4 RealMemory=4000 Gres=gpu:1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo 'NodeName=node[1-4] Name=gpu File=/dev/null' >"$dir/gres.conf"
start munge setpriv --reuid=munge --regid=munge --init-groups munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
	--pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed"
await 10 test -S "$dir/munge/socket" || fail "munge does not start"
start slurmctld slurmctld -D
for n in 1 2 3 4; do
	start "node$n" slurmd -D -N "node$n"
done

# While the nodes come up: a dataset of 25 episodes, a flight at so many rates, so that no two have the same length.
go build -trimpath -o "$dir/robocache" ./cmd/robocache
robocache=$dir/robocache
seq 300 324 | xargs -P 8 -I{} "$robocache" resample examples/data/flight.ulg -o "$dir/episodes/{}.safetensors" --hz {} --backend cpu \
	--stream estimator_status --stream sensor_combined --stream vehicle_attitude >"$dir/resample.log" 2>&1
"$robocache" pack "$dir/episodes" -o "$dir/one" --shards 8 --dtype f64 2>"$dir/pack.log"
idle() { [ "$(sinfo -h -o '%D %T' 2>/dev/null)" = "4 idle" ]; }
await 60 idle || fail "the nodes do not come up: $(sinfo -N -l)"

# The array. Task 3 waits, then runs less than a millisecond at a time until it has begun to write its shard, and is killed. On a busy machine it may
# run for longer than that and end first: then the array is packed again.
cat >"$dir/held" <<'END'
#!/bin/bash
here=$(dirname "$0")
if [ "$SLURM_ARRAY_TASK_ID" = 3 ] && [ "${SLURM_RESTART_COUNT:-0}" = 0 ]; then
	echo $$ >"$here/pid"
	kill -STOP $$
fi
exec "$here/robocache" "$@"
END
chmod +x "$dir/held"
cd "$dir/jobs"
writing() {
	local f
	for f in "$dir"/many/.shard-00003-of-00008.safetensors.*.tmp; do
		[ -s "$f" ] && return
	done
	return 1
}
exec {never}<> <(:) # from which nothing comes, so that to read it is to wait
# stopped starts the array, and is true if task 3 stands stopped while it writes.
stopped() {
	rm -rf "$dir/many" "$dir/pid"
	job=$(DATASET=$dir/episodes STORE=$dir/many ROBOCACHE=$dir/held PACK_FLAGS='--dtype f64' sbatch --parsable --array=0-7 "$repo/examples/cluster/pack.sbatch")
	echo "slurm: array $job of 8 tasks"
	await 60 test -s "$dir/pid" || fail "task 3 does not start"
	pid=$(cat "$dir/pid")
	until writing; do
		kill -CONT "$pid" 2>/dev/null || return 1
		read -rt 0.0003 -u $never || true
		kill -STOP "$pid" 2>/dev/null || return 1
	done
	[ ! -e "$dir/many/shard-00003-of-00008.safetensors" ]
}
empty() { [ -z "$(squeue -h)" ]; }
for try in 1 2 3 4 5; do
	stopped && break
	kill -CONT "$pid" 2>/dev/null || true
	await 60 empty || fail "the array does not end: $(squeue)"
	[ "$try" != 5 ] || fail "task 3 ended before it was seen to write, five times"
done
kill -KILL "$pid"
echo "slurm: task 3 was killed while it wrote $(cd "$dir/many" && wc -c .shard-00003*.tmp)"
# Slurm gives a task that was requeued two minutes. What it must have is that the task's new credential is younger than the end of the old one.
requeued() { [ "$(squeue -h -j "${job}_3" -o '%T %r' 2>/dev/null)" = "PENDING BeginTime" ]; }
await 60 requeued || fail "task 3 is not requeued: $(squeue)"
scontrol update JobId="${job}_3" StartTime=now+3seconds
finished() { [ "$(scontrol show job "$job" | grep -c 'JobState=COMPLETED')" = 8 ]; }
await 200 finished || fail "the array does not end: $(squeue)"
grep -q 'ended by signal 9' robocache-pack-"$job"-3.log || fail "task 3 was not killed"
[ "$(scontrol show job "${job}_3" | grep -o 'Restarts=[0-9]*')" = Restarts=1 ] || fail "task 3 was not requeued"
diff -r "$dir/one" "$dir/many" || fail "an array's store is not what one process packs"
echo "slurm: 8 shards, $(du -sh "$dir/many" | cut -f 1), are those of one process byte for byte; task 3 was requeued"

# Four ranks, one a node. Each step, row i of rank r is window r + 4 i of the step.
flags=(--hz 50 --stream vehicle_attitude --backend cpu --digest --seed 5 --steps 60)
STORE=$dir/many ROBOCACHE=$robocache sbatch --quiet --wait --nodes=4 --job-name=draw "$repo/examples/cluster/batches.sbatch" "${flags[@]}" --batch 8 ||
	fail "the ranks do not draw"
"$robocache" batches "$dir/one" "${flags[@]}" --batch 32 >"$dir/digests"
paste -d ' ' <(grep -h '^[0-9]' draw-*-0.log) <(sed -n 's/^[0-9]* //p' draw-*-1.log) <(sed -n 's/^[0-9]* //p' draw-*-2.log) <(sed -n 's/^[0-9]* //p' draw-*-3.log) |
	awk '{ line = $1; for (i = 2; i <= 9; i++) line = line " " $i " " $(i + 8) " " $(i + 16) " " $(i + 24); print line }' >"$dir/ranks"
cmp "$dir/ranks" "$dir/digests" || fail "four ranks draw other windows than one process"
grep -q 'rank 3 of 4, by SLURM_PROCID and SLURM_NTASKS' draw-*-3.log || fail "rank 3 was not told that it is"
echo "slurm: $(wc -l <"$dir/digests") steps of four ranks are those of one process"
