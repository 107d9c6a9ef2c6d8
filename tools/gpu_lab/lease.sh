#!/bin/bash
# One command on a host with large cards and no network, a few of them to a lease; README.md has the order on paper.
#
#   lease.sh keep PART                      add a part of the packed site
#   lease.sh run SECONDS OUT LANE [LANE…]   lanes in parallel, each "GPUS CASE CASE…", for example "0,1 two-plan"
#
# All results so far stand in OUT/results.tgz, renewed every 20 s, so that a command that is cut off loses little.
set -u
lab=${LAB:-/root/lab}
mkdir -p "$lab/results"
if [ "$1" = keep ]; then
    cat "$2" >>"$lab/site.tar.xz"
    exit
fi
until=$((SECONDS + $2)) out=$3
shift 3
if [ ! -d "$lab/site" ]; then
    mkdir -p "$lab/site" && xz -T0 -dc "$lab/site.tar.xz" | tar -C "$lab/site" -xf - || exit 1
    cp -r src tools "$lab"/ # what is measured with stays the same for the whole lease
    python3 -m compileall -q -j 0 "$lab/site" "$lab/src" >/dev/null 2>&1
    nvidia-smi >"$lab/results/host.txt" && nvidia-smi topo -m >>"$lab/results/host.txt"
    echo "unpacked and compiled after $SECONDS s"
fi
cd "$lab" || exit 1
export HOME=$lab/home PYTHONPATH=$lab/src:$lab/site PYTHONUNBUFFERED=1
mkdir -p "$HOME"
keep() { tar -C "$lab" -czf "$out/.new" results && mv "$out/.new" "$out/results.tgz"; }
while sleep 20; do keep; done &
keeper=$! lanes=() port=8300
for lane in "$@"; do
    read -r gpus cases <<<"$lane"
    # shellcheck disable=SC2086 # the cases are words
    python3 tools/gpu_lab/run.py --out "$lab/results" --work "$lab/work" --twin "$lab/twin" --gpus "$gpus" \
        --port $port --seconds $((until - SECONDS - 6)) $cases &
    lanes+=($!) port=$((port + 100))
done
wait "${lanes[@]}"
kill $keeper
keep
echo "ended after $SECONDS s"
