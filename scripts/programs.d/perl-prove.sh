# SPDX-License-Identifier: MIT
# kind: test harness of a language (Perl's prove, 4 jobs)
# packages: perl
# sorted: out
# users: root nobody
# same: /Files=.*//
prepare() {
    for i in $(seq 24); do
        cat >t$i.t <<'END'
use Test::More;
my %words; $words{$_ % 997} .= $_ for 1 .. 60000;
is(scalar keys %words, 997, 'keys');
my $pid = fork // die; exit 3 unless $pid; waitpid $pid, 0;
is($? >> 8, 3, 'status of a child');
is(`echo out; echo err >&2`, "out\n", 'output of a shell');
done_testing;
END
    done
}
program() {
    prove -j4 t*.t
}
