#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the seeds of fuzz_unwind.c: sh seeds.sh, in this directory.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -c -o "$work/seed.o" seed_unwind.s
ld --build-id=none -o "$work/seed" "$work/seed.o"
mkdir -p seeds/unwind
{ printf '\0'; cat "$work/seed"; } > seeds/unwind/elf
# SECTION: its bytes alone.
section()
{
    readelf -SW "$work/seed" | sed 's/^ *\[ *[0-9]*\]//' | while read -r name _ _ offset size _; do
        [ "$name" != "$1" ] || tail -c +$((0x$offset + 1)) "$work/seed" | head -c $((0x$size))
    done
}
{ printf '\1'; section .eh_frame; } > seeds/unwind/eh_frame
{ printf '\2'; section .debug_frame; } > seeds/unwind/debug_frame
