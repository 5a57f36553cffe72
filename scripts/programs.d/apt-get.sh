# SPDX-License-Identifier: MIT
# kind: package manager: update, solver and download in a private root, with download methods that run as another user
# packages: apt apt-utils dpkg-dev
# users: root nobody
# leave: root/log/* root/cache/*.bin root/state/lists/lock root/cache/archives/lock root/state/lists/*Release repository/Release
prepare() {
    mkdir -p repository
    for i in $(seq 60); do
        mkdir -p p$i/DEBIAN
        printf 'Package: p%s\nVersion: 1.%s\nArchitecture: all\nMaintainer: nobody <n@example.org>\n%sDescription: %s\n' \
            $i $i "$([ $i = 1 ] || echo "Depends: p$((i / 2))")
" $i | sed '/^$/d' >p$i/DEBIAN/control
        dpkg-deb --root-owner-group -b p$i repository/p$i.deb >/dev/null && rm -r p$i || return
    done
}
program() {
    chmod 755 . repository
    (cd repository && apt-ftparchive packages . >Packages && apt-ftparchive -o APT::FTPArchive::Release::Suite=x \
        release . >Release)
    mkdir -p root/etc root/state/lists/partial root/cache/archives/partial root/log
    : >root/status
    echo "deb [trusted=yes] file:$PWD/repository ./" >root/sources.list
    echo "Dir \"$PWD/root\"; Dir::State \"state\"; Dir::State::status \"$PWD/root/status\"; Dir::Cache \"cache\";
        Dir::Etc::sourcelist \"$PWD/root/sources.list\"; Dir::Etc::sourceparts \"-\"; Dir::Log \"log\";
        Dir::Etc::parts \"-\"; Dir::Etc::main \"-\"; Dir::Etc::preferencesparts \"-\";" >root/apt.conf
    export APT_CONFIG=$PWD/root/apt.conf
    apt-get -q update || return
    for i in 60 47 33 21; do
        apt-get -q -s install p$i || return
    done
    apt-get -q -y install --download-only p60 p59 p58
    apt-cache dump | grep -c ^Package
    mkdir -p got && cd got && apt-get -q download p31 p32 p33
}
