# SPDX-License-Identifier: MIT
# kind: name server with threads: its check tools, a signed zone, many clients
# packages: bind9 bind9-utils bind9-dnsutils
# users: root nobody
# leave: named.log K* zone.signed dsset* *.jnl keys managed-keys.bind* session.key named.pid
# same: /; \(.*//
prepare() {
    {
        printf '$TTL 300\n@ SOA ns.example. h.example. 1 1 1 1 1\n@ NS ns\nns A 127.0.0.1\n'
        for i in $(seq 3000); do echo "h$i A 10.0.$((i / 250)).$((i % 250))"; done
    } >zone
    cat >named.conf <<END
options { directory "."; listen-on port 18416 { 127.0.0.1; }; listen-on-v6 { none; }; pid-file "named.pid";
    recursion no; dnssec-validation no; session-keyfile "session.key"; managed-keys-directory "."; };
controls { };
zone "example." { type primary; file "zone"; };
zone "signed." { type primary; file "zone.signed"; };
END
}
program() {
    sed 's/example/signed/g' zone >plain
    dnssec-keygen -q -a ECDSAP256SHA256 -n ZONE signed. | sed 's/+.*//'
    dnssec-keygen -q -a ECDSAP256SHA256 -f KSK -n ZONE signed. | sed 's/+.*//'
    dnssec-signzone -n 2 -S -o signed. -f zone.signed -x plain 2>&1 | grep -c . 
    named-checkconf named.conf && named-checkzone example. zone | tail -n 1
    named -g -n 2 -c named.conf >named.log 2>&1 &
    until dig +time=1 +tries=1 -p 18416 @127.0.0.1 ns.example. +short 2>&1 | grep -q '^127'; do sleep 0.05; done
    for i in $(seq 600); do echo "h$i.example. A"; done >queries
    for i in 1 2 3; do dig -p 18416 @127.0.0.1 +short +tries=9 -f queries | grep -v '^;' >answers$i & jobs="$jobs $!"; done
    wait $jobs
    md5sum answers?
    dig -p 18416 @127.0.0.1 +noall +answer AXFR example. | wc -l
    kill %1; wait %1
    echo named $?
}
