# SPDX-License-Identifier: MIT
# kind: graph drawing, with plug-ins loaded at run time
# packages: graphviz
# users: root nobody
prepare() {
    { echo 'digraph g {'; for i in $(seq 150); do echo "n$i -> n$((i * 7 % 41)); n$i -> n$((i * 3 % 29));"; done; echo '}'; } >a.dot
}
program() {
    dot -Tsvg a.dot -o a.svg & neato -Tsvg a.dot -o b.svg & sfdp -Tplain a.dot -o c.txt & wait
    gvpr 'E { print(head.name) }' a.dot | sort | uniq -c | md5sum
    ccomps -x a.dot | grep -c digraph
}
