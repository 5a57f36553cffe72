# SPDX-License-Identifier: MIT
# kind: mail server: setuid program, a queue runner, forks that deliver mail as other users
# packages: exim4-daemon-light perl
# users: root
# same: /^\d{4}-.*\n//
# leave: spool/* mail/* *.log
prepare() {
    cat >exim.conf <<END
exim_user = Debian-exim
exim_group = Debian-exim
primary_hostname = localhost
domainlist local_domains = localhost
spool_directory = WORK/spool
log_file_path = WORK/spool/%slog
pid_file_path = WORK/spool/exim.pid
daemon_smtp_ports = 18428
local_interfaces = 127.0.0.1
acl_smtp_rcpt = accept
acl_smtp_data = accept
queue_run_max = 3
never_users =
keep_environment =
begin acl
accept:
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  file = WORK/mail/all
  user = Debian-exim
  create_directory = true
END
    sed -i 's/^acl_smtp_\(.*\) = accept/acl_smtp_\1 = accept/; /^accept:$/,/^  accept$/d' exim.conf
    sed -i 's/^begin acl/begin acl\naccept:\n  accept/' exim.conf
}
program() {
    sed -i "s,WORK,$PWD,g" exim.conf
    mkdir -p spool mail
    chown -R Debian-exim spool mail
    chmod 755 .
    cp exim.conf /etc/exim4/pinject-programs.conf
    for i in $(seq 25); do
        printf 'Subject: %s\n\nhello %s\n' $i $i | /usr/sbin/exim4 -C $PWD/exim.conf -odi user$i@localhost || echo bad $i
    done
    cat mail/* | grep -c hello
    rm -f /etc/exim4/pinject-programs.conf
}
