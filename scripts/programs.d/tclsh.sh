# SPDX-License-Identifier: MIT
# kind: language runtime: pipelines, background programs and events
# packages: tcl
# users: root nobody
prepare() {
    cat >run.tcl <<'END'
set n 0
for {set i 0} {$i < 400000} {incr i} { set n [expr {($n * 31 + $i) % 65537}] }
puts $n
puts [exec sh -c {echo one; echo two} | sort -r | tr a-z A-Z]
set open 0
proc take {f} { global open lines; if {[gets $f line] < 0} { if {[eof $f]} { close $f; incr ::open -1 } } else { lappend lines $line } }
for {set i 0} {$i < 8} {incr i} {
    set f [open "|sh -c {echo from $i}" r]
    fconfigure $f -blocking 0
    fileevent $f readable [list take $f]
    incr open
}
while {$open > 0} { vwait open }
puts [lsort $lines]
puts [catch {exec sh -c {echo bad >&2; exit 3}} result options]
puts $result
puts [lindex [dict get $options -errorcode] 2]
END
}
program() {
    for i in 1 2 3; do tclsh run.tcl; done
}
