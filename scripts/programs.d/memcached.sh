# SPDX-License-Identifier: MIT
# kind: daemon with four threads; its clients are forked Perl processes
# packages: memcached perl
# users: root nobody
prepare() {
    cat >client.pl <<'END'
use IO::Socket::INET;
my @pids;
for my $n (1 .. 4) {
    push @pids, fork // die;
    next if $pids[-1];
    my $s = IO::Socket::INET->new('127.0.0.1:18414') or die;
    my $sum = 0;
    for my $i (1 .. 6000) {
        my $v = 'x' x ($i % 500);
        print $s "set k$n.$i 0 0 " . length($v) . "\r\n$v\r\n"; $s->flush; <$s>;
        print $s "get k$n.$i\r\n"; $s->flush;
        while (my $line = <$s>) { last if $line =~ /^END/; $sum += length $line; }
    }
    open my $f, '>', "client$n"; print $f "$sum\n"; exit 0;
}
my $bad = 0; for (@pids) { waitpid $_, 0; $bad += $? } print "bad $bad\n";
END
}
program() {
    memcached -u nobody -l 127.0.0.1 -p 18414 -t 4 -P $PWD/../tmp/pid &
    until (: </dev/tcp/127.0.0.1/18414) 2>/dev/null; do sleep 0.05; done
    perl client.pl
    kill $! && wait $!
    echo status $?
}
