# SPDX-License-Identifier: MIT
# kind: program whose agents are daemons that hide from other processes of their user
# packages: gnupg gpg-agent
# users: root nobody
# leave: gpg/* *.gpg *.sig
# same: /[0-9A-F]{16,40}/KEY/
# same: /^gpg: (keybox|.*trustdb|.*revocation|directory|next trustdb|.*using.*key|marginals|depth|Signature made|encrypted with).*\n//
program() {
    export GNUPGHOME=$PWD/gpg
    mkdir -m 700 gpg
    head -c 4000000 /usr/bin/gdb >data
    for i in 1 2; do
        gpg --batch --passphrase '' --quick-generate-key user$i@example.org rsa2048 sign,encrypt never || return
    done
    gpg --batch --trust-model always -r user1@example.org -r user2@example.org -o data.gpg -e data
    gpg --batch -u user1@example.org -o data.sig -b data
    gpg --batch --verify data.sig data; echo verify $?
    gpg --batch -d data.gpg 2>/dev/null | md5sum
    gpgconf --kill all
}
