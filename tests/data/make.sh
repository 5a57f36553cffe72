#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the golden files anew: perf's own, and beside each what `perf script` reads out of it. Wants perf with zstd.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/work.c" <<'C'
#include <pthread.h>
#include <stdlib.h>
static volatile unsigned long x;
static void *burn(void *a) { for (long i = 0; i < 12000000; i++) x += (unsigned long)i; return a; }
int main(void) { pthread_t t; pthread_create(&t, 0, burn, 0); burn(0); pthread_join(t, 0); return system("true"); }
C
cc -O1 -fno-omit-frame-pointer -o "$work/work" "$work/work.c" -pthread
cd "$work"
perf record -q -F 999 -e task-clock,page-faults -g -o fp.data ./work
perf record -q -F 999 -e task-clock --call-graph dwarf,256 -o dwarf.data ./work
perf record -q -F 999 -e task-clock -g -z -o zstd.data ./work
perf record -q -F 999 -e task-clock,context-switches -s -o - ./work > pipe.data
perf record -q -F 999 -e task-clock -d --user-regs=ip,sp --intr-regs=ip --phys-data -o fields.data ./work
for name in fp dwarf zstd pipe fields; do
    perf script -i $name.data -F comm,pid,tid,time,period,event -G --ns > $name.script
    cp $name.data $name.script "$here"
done
cd "$here"
python3 swap.py fp.data swapped.data
cp fp.script swapped.script
ls -l ./*.data
