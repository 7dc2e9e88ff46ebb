#!/usr/bin/env bash
# On a machine with GPUs: what doctor says, what is measured of each and what that costs, that MIG
# and CUDA_VISIBLE_DEVICES are respected, that jobs go to all of them, and that a GPU that fails the
# judge is left alone. Needs nvcc. Prints everything; ends with the number of failures.
set -u
cd "$(dirname "$0")/../.."
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '\n== %s\n' "$*"; }
must() { # WHAT COMMAND...
    local what=$1
    shift
    if "$@"; then echo "ok  $what"; else echo "NO  $what"; failures=$((failures + 1)); fi
}

say build
make -s -j"$(nproc)" all build/tests/gpu/facts || exit 1
nvcc -cubin -O3 -arch=native -o "$work/peaks.cubin" src/device/gpu_peaks.cu || exit 1

say doctor
./warpgym doctor | sed -n '/^GPUs/,$p'
./warpgym doctor --json >"$work/doctor.json"
count=$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))["gpus"]))' "$work/doctor.json")
must "doctor --json: every GPU is usable" python3 -c '
import json, sys
gpus = json.load(open(sys.argv[1]))["gpus"]
sys.exit(not gpus or not all(gpu["usable"] for gpu in gpus))' "$work/doctor.json"

say facts
must facts build/tests/gpu/facts "$work/peaks.cubin"

say one candidate
candidate=problems/native/relu/reference.cu
./warpgym eval --json --quiet --problem relu "$candidate" >"$work/one.json"
python3 - "$work/one.json" <<'PYTHON'
import json, sys
verdict = json.load(open(sys.argv[1]))
timing = verdict["timing"] or {}
print(verdict["status"], verdict["device"], verdict["stages_ms"])
print("clocks:", timing.get("clocks"), "note:", timing.get("note"))
print("candidate ms:", timing.get("candidate"), "roofline:", timing.get("roofline_fraction"))
PYTHON
must "it passes, with clocks" python3 -c '
import json, sys
verdict = json.load(open(sys.argv[1]))
clocks = verdict["timing"]["clocks"]
sys.exit(verdict["status"] != "passed" or not clocks or not clocks["sm_mhz"][1] > 0)' "$work/one.json"
./warpgym doctor | grep measured

say every native CUDA reference against the floor
for source in problems/native/*/reference.cu; do
    problem=$(basename "$(dirname "$source")")
    ./warpgym eval --json --quiet --problem "$problem" "$source" >"$work/$problem.json" 2>/dev/null
    python3 - "$work/$problem.json" <<'PYTHON' || failures=$((failures + 1))
import json, sys
verdict = json.load(open(sys.argv[1]))
timing = verdict["timing"] or {}
print(f'{verdict["problem"]["id"]:20} {verdict["status"]:10} roofline',
      timing.get("roofline_fraction"), (verdict["error"] or {}).get("message", ""))
sys.exit(verdict["status"] != "passed")
PYTHON
done

say "CUDA_VISIBLE_DEVICES by UUID, and gpu.devices"
uuid=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["gpus"][-1]["uuid"])' "$work/doctor.json")
CUDA_VISIBLE_DEVICES=$uuid ./warpgym eval --json --quiet --problem relu "$candidate" >"$work/uuid.json"
must "by CUDA_VISIBLE_DEVICES=$uuid" grep -q '"status":"passed"' "$work/uuid.json"
./warpgym eval --json --quiet --problem relu -s "gpu.devices=$uuid" "$candidate" >"$work/uuid.json"
must "by gpu.devices=$uuid" grep -q '"status":"passed"' "$work/uuid.json"
must "none visible: unsupported" bash -c 'CUDA_VISIBLE_DEVICES="" ./warpgym eval --json --quiet \
    --problem relu problems/native/relu/reference.cu | grep -q "\"status\":\"unsupported\""'

say "verdicts per hour, one GPU and all $count"
for i in $(seq 40); do
    echo "{\"problem\":\"relu\",\"candidate\":\"$PWD/$candidate\",\"name\":\"$i.cu\"}"
done >"$work/batch.jsonl"
python3 - "$work/batch.jsonl" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
text = open(lines[0]["candidate"]).read()
with open(sys.argv[1], "w") as out:
    for i, line in enumerate(lines):  # each one is another text: it compiles
        print(json.dumps({"problem": "relu", "source": f"// {i}\n{text}", "name": f"{i}.cu"}), file=out)
PYTHON
for devices in 0 all; do
    for jobs in 4 8; do
        rm -rf "$work/cache"
        start=$(date +%s.%N)
        ./warpgym eval --json --quiet --jobs $jobs -s gpu.devices=$devices \
            -s "cache.directory=$work/cache" "$work/batch.jsonl" >"$work/batch.out"
        end=$(date +%s.%N)
        python3 - "$devices" "$jobs" "$start" "$end" "$work/batch.out" <<'PYTHON'
import collections, json, sys
devices, jobs, start, end, path = sys.argv[1:]
verdicts = [json.loads(line) for line in open(path)]
seconds = float(end) - float(start)
print(f"gpu.devices={devices} jobs={jobs}: {len(verdicts)} verdicts in {seconds:.1f} s,",
      f"{len(verdicts) / seconds * 3600:.0f} an hour;",
      dict(collections.Counter(verdict["device"] for verdict in verdicts)),
      dict(collections.Counter(verdict["status"] for verdict in verdicts)))
PYTHON
    done
done

say "$failures failures"
exit "$failures"
