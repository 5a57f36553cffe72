# SPDX-License-Identifier: MIT
# kind: directory server with threads; its data is loaded offline
# packages: slapd ldap-utils
# users: root nobody
# leave: db/* slapd.log
prepare() {
    mkdir -p db
    cat >slapd.conf <<END
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "dc=x"
rootdn "cn=a,dc=x"
rootpw secret
directory db
index ou eq
END
    {
        printf 'dn: dc=x\nobjectClass: dcObject\nobjectClass: organization\no: x\ndc: x\n\n'
        for i in $(seq 3000); do printf 'dn: ou=u%s,dc=x\nobjectClass: organizationalUnit\nou: u%s\n\n' $i $i; done
    } >all.ldif
}
program() {
    slapadd -q -f slapd.conf -l all.ldif
    /usr/sbin/slapd -d 0 -f slapd.conf -h ldap://127.0.0.1:18421 >slapd.log 2>&1 &
    until (: </dev/tcp/127.0.0.1/18421) 2>/dev/null; do sleep 0.05; done
    for i in 1 2 3 4; do
        ldapsearch -x -LLL -H ldap://127.0.0.1:18421 -b dc=x -s sub '(objectClass=*)' ou >found$i & jobs="$jobs $!"
    done
    wait $jobs
    md5sum found?
    ldapwhoami -x -H ldap://127.0.0.1:18421 -D cn=a,dc=x -w secret
    kill -INT %1; wait %1
    echo slapd $?
}
