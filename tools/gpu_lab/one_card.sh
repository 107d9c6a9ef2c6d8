#!/bin/bash
# What one lease with one card is for, from cold kernels to the last start; lease.sh starts it. $1: seconds that it has.
#
# First all that needs no memory of its own: engines whose cache has a fixed size, beside each other, because each builds
# its kernels for minutes. Loads wait for one another and for quiet (results/loads.lock). Then fitserve with the card
# almost to itself, then what needs the card's memory for itself.
set -u
until=$(($(date +%s) + $1))
lab=${LAB:-/root/lab} engine=${LAB:-/root/lab}/engine/bin/python fit=${LAB:-/root/lab}/fit/bin/python
cd "$lab" || exit 1
mkdir -p results
export HOME=$lab/home XDG_STATE_HOME=$lab/state XDG_RUNTIME_DIR=$lab/runtime PYTHONUNBUFFERED=1
export VLLM_USE_FLASHINFER_SAMPLER=0
mkdir -p "$HOME" "$XDG_STATE_HOME" && mkdir -p -m 700 "$XDG_RUNTIME_DIR"
left() { echo $((until - $(date +%s) - $1)); }
case_() { # PORT CASE
    WEIGHED=$lab/results/weighed-$2.json "$fit" tools/gpu_lab/run.py --out results --work "$lab/work" --twin "$lab/twin" --gpus 0 \
        --python "$engine" --port "$1" --seconds "$(left 5)" "$2" >>"results/lab-$2.txt" 2>&1
}
service() { # LANE SECONDS
    local end=$(($(date +%s) + $2))
    "$fit" tools/gpu_lab/service.py --out results --engine "$engine" --until $((end < until - 5 ? end : until - 5)) \
        --flag=--gdn-prefill-backend --flag=triton "$1" >>"results/lab-$1.txt" 2>&1
}
say() { echo "$(date +%T) $*" >>results/order.txt; }

exec 9>results/loads.lock
flock 9
say begins
service stopped 850 9>&- &
stopped=$!
scores=()
port=8310
for name in demo-graphs demo-eager twin-graphs twin-eager; do
    case_ $port $name 9>&- &
    scores+=($!) port=$((port + 10))
done
case_ 8350 half-articles-loads 9>&- &
half=$!
case_ 8360 whole-47-loads 9>&- &
whole=$!
while kill -0 "${scores[@]}" 2>/dev/null && ((SECONDS < 400)); do sleep 1; done
say "scores done"
exec 9>&-
wait "$half" "$whole"
say "loads done"
service living 470
say "living done"
wait "$stopped"
say "stopped done"
service shortage 450
say "shortage done"
case_ 8370 whole-31-defaults
say "whole-31-defaults done"
"$engine" tools/gpu_lab/attention.py >results/attention.json 2>results/lab-attention.txt
say "attention done"
case_ 8380 whole-31-eager
say ended
