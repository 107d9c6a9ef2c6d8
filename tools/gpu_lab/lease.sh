#!/bin/bash
# One command on a host with large cards and no network, a few of them to a lease; README.md has the order on paper.
#
#   lease.sh keep PART              add a part of the packed site (vLLM and what the host lacks of its needs)
#   lease.sh begin SECONDS ARCHIVE  unpack (ARCHIVE holds own/, where fitserve is installed, and twin/), make the
#                                   two environments, start one_card.sh on its own for so many seconds
#   lease.sh wait SECONDS OUT       wait for it so long; all results so far stand in OUT/results.tgz, renewed every 20 s
set -u
lab=${LAB:-/root/lab}
mkdir -p "$lab/results"
keep() { tar -C "$lab" -czf "$1/.new" results && mv "$1/.new" "$1/results.tgz"; }
environment() { # FOLDER PLACE…: an environment of the host's Python that also finds packages elsewhere
    python3 - "$@" <<'END'
import pathlib, sys
folder, real = pathlib.Path(sys.argv[1]), pathlib.Path(sys._base_executable).resolve()
packages = folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
for place in (folder / "bin", packages):
    place.mkdir(parents=True)
(folder / "bin" / "python").symlink_to(real)
(folder / "pyvenv.cfg").write_text(f"home = {real.parent}\ninclude-system-site-packages = false\n")
(packages / "lab.pth").write_text("\n".join(sys.argv[2:]) + "\n")
END
}
plugin() { # FOLDER: weighed.py as a plugin of vLLM's
    mkdir -p "$1/weighed-1.dist-info" && cp "$lab/tools/gpu_lab/weighed.py" "$1"
    printf 'Metadata-Version: 2.1\nName: weighed\nVersion: 1\n' >"$1/weighed-1.dist-info/METADATA"
    printf '[vllm.general_plugins]\nweighed = weighed:register\n' >"$1/weighed-1.dist-info/entry_points.txt"
}
case $1 in
keep)
    cat "$2" >>"$lab/site.tar.xz"
    ;;
begin)
    mkdir -p "$lab/site" && xz -T0 -dc "$lab/site.tar.xz" | tar -C "$lab/site" -xf - || exit 1
    xz -T0 -dc "$3" | tar -C "$lab" -xf - || exit 1
    cp -r tools "$lab" # what is measured with stays the same for the whole lease
    hosts=$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])')
    plugin "$lab/plugin"
    environment "$lab/engine" "$lab/site" "$hosts" "$lab/plugin"
    environment "$lab/fit" "$lab/own"
    python3 -m compileall -q -j 0 "$lab/site" "$lab/own" >/dev/null 2>&1
    (nvidia-smi && nvidia-smi -q -d MEMORY && free -g && nproc && uname -a) >"$lab/results/host.txt" 2>&1
    "$lab/fit/bin/python" -m fitserve --version
    setsid bash "$lab/tools/gpu_lab/one_card.sh" "$2" </dev/null >"$lab/results/one_card.txt" 2>&1 &
    echo "began after $SECONDS s"
    ;;
wait)
    until=$((SECONDS + $2))
    while ((SECONDS < until)) && ! grep -q ended "$lab/results/order.txt" 2>/dev/null; do
        sleep 10
        keep "$3"
    done
    keep "$3"
    cat "$lab/results/order.txt"
    tail -n 3 "$lab"/results/lab-*.txt
    ;;
esac
