#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes the programs and libraries of this directory anew (gcc 12, clang and lld 14, binutils 2.40, dwz, xz; x86-64).
# They are looked at, never run. With other compilers tests/data/commands differs: PINJECT_GOLDEN=write, look at git
# diff.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf opt usr src/*.dwo
mkdir -p opt/app usr/lib/debug
common="-fPIC -fno-asynchronous-unwind-tables -fno-stack-protector -fcf-protection=none -ffile-prefix-map=$here/src=/src"
common="$common -ffile-prefix-map=$work=/build"
link="-shared -nostdlib -Wl,-z,norelro -Wl,-z,noseparate-code -Wl,--hash-style=gnu"
id() { printf -- '-Wl,--build-id=0x%s00112233445566778899aabbccddeeff001122' "$1"; }
both="$here/src/lib.c $here/src/more.c"
cd "$work"
# Everything in the file itself.
gcc -O2 -gdwarf-5 $common $link -fasynchronous-unwind-tables $(id aa) -Wl,-z,lazy -o "$here/opt/app/app" "$here/src/app.c"
strip --strip-debug -o "$here/opt/app/plain" "$here/opt/app/app"
# Its debug information packed, of an older version.
gcc -O1 -gdwarf-4 -gz=zlib $common $link $(id bb) -o "$here/usr/lib/libx.so" "$here/src/lib.c"
# Apart, by a debuglink, and by the build id.
gcc -O1 -gdwarf-3 -gstrict-dwarf $common $link -Wl,--build-id=none -o link.so "$here/src/lib.c"
objcopy --only-keep-debug link.so "$here/usr/lib/liblink.debug"
(cd "$here/usr/lib" && strip -o liblink.so "$work/link.so" && objcopy --add-gnu-debuglink=liblink.debug liblink.so)
gcc -O2 -gdwarf-5 $common $link $(id cc) -o byid.so "$here/src/lib.c"
mkdir -p "$here/usr/lib/debug/.build-id/cc"
objcopy --only-keep-debug byid.so "$here/usr/lib/debug/.build-id/cc/00112233445566778899aabbccddeeff001122.debug"
strip -o "$here/usr/lib/libbyid.so" byid.so
# Nothing but a packed table of names; nothing at all, but unwind tables.
gcc -O1 $common $link $(id dd) -o mini.so "$here/src/lib.c"
objcopy --only-keep-debug mini.so mini && strip --strip-debug mini && xz mini
strip mini.so && objcopy --add-section .gnu_debugdata=mini.xz mini.so "$here/usr/lib/libmini.so"
gcc -O1 $common $link -fasynchronous-unwind-tables -fvisibility=hidden $(id ee) -o "$here/usr/lib/libbare.so" "$here/src/lib.c"
strip "$here/usr/lib/libbare.so"
# Split, in files beside the sources.
clang -O1 -gdwarf-5 -gsplit-dwarf $common -fdebug-compilation-dir=/src -c -o libsplit.o "$here/src/lib.c"
gcc $link $(id ff) -o "$here/usr/lib/libsplit.so" libsplit.o
cp libsplit.dwo "$here/src/libsplit.dwo"
# Split, in packages.
gcc -O2 -gdwarf-4 -gsplit-dwarf $common $link $(id a1) -o libpkg4.so $both && dwp -e libpkg4.so
for name in lib more; do
    clang -O2 -gdwarf-5 -gsplit-dwarf $common -fdebug-compilation-dir=. -c -o $name.o "$here/src/$name.c"
done
gcc $link $(id a2) -o libpkg5.so lib.o more.o && llvm-dwp -e libpkg5.so -o libpkg5.so.dwp
cp libpkg4.so libpkg4.so.dwp libpkg5.so libpkg5.so.dwp "$here/usr/lib"
# Other forms: DWARF 2, DWARF 5 of clang, 64-bit DWARF packed by zstd, the old way to pack, types in units of their own.
gcc -O2 -gdwarf-2 -gstrict-dwarf $common $link $(id a3) -o "$here/usr/lib/libv2.so" $both
clang -O2 -gdwarf-5 $common -c "$here/src/lib.c" && clang -O2 -gdwarf-5 $common -c "$here/src/more.c"
gcc $link $(id a4) -o "$here/usr/lib/libclang.so" lib.o more.o
gcc -O2 -gdwarf-5 -gdwarf64 $common $link $(id a5) -o v64.so $both
objcopy --compress-debug-sections=zstd v64.so "$here/usr/lib/lib64.so"
gcc -O2 -gdwarf-4 -fdebug-types-section $common $link $(id a6) -o old.so $both
objcopy --compress-debug-sections=zlib-gnu old.so "$here/usr/lib/libgnu.so"
# What two share in a third.
gcc -O2 -gdwarf-4 $common $link $(id b1) -o "$here/usr/lib/libdwz1.so" $both
gcc -O2 -gdwarf-4 $common $link $(id b2) -o "$here/usr/lib/libdwz2.so" $both
(cd "$here/usr/lib" && dwz -m shared.debug -r libdwz1.so libdwz2.so)
# Other machines.
gcc -m32 -O1 -gdwarf-4 $common $link $(id b3) -Wl,-z,lazy -o "$here/usr/lib/lib386.so" "$here/src/more.c"
clang --target=aarch64-linux-gnu -fuse-ld=lld -O1 -gdwarf-4 $common $link $(id b4) -Wl,-z,lazy \
    -o "$here/usr/lib/libarm.so" "$here/src/more.c"
# What objdump says of them, for those who have another one.
cd "$here"
for file in opt/app/app usr/lib/libx.so; do
    objdump -dwz --no-show-raw-insn -C "$file" > "$file.objdump"
done
ls -lR "$here"
