# SPDX-License-Identifier: MIT
# kind: build tool: Python threads that spawn compilers, ccache and ar
# packages: scons ccache gcc g++ binutils
# users: root nobody
# leave: .sconsign.dblite cache/*
prepare() {
    for i in $(seq 12); do echo "#include <vector>
int f$i(int x) { std::vector<int> v(x, $i); int s = 0; for (int i : v) s += i; return s; }" >f$i.cc; done
    echo 'int f3(int); int main() { return f3(14) != 42; }' >main.cc
    echo 'env = Environment(CXX="ccache g++"); import os; env["ENV"].update(os.environ)
lib = env.StaticLibrary("all", Glob("f*.cc")); env.Program("run", ["main.cc", lib])' >SConstruct
}
# sorted: out
program() {
    export CCACHE_DIR=$PWD/cache
    scons -j 4 && ./run; echo $?
    scons -c -s && scons -j 4 -Q && ./run; echo $?
    ccache -s | grep -E 'Hits|Misses' | head -n 2
}
