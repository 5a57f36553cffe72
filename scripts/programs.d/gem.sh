# SPDX-License-Identifier: MIT
# kind: package manager: builds and installs a gem with a C extension
# packages: ruby ruby-dev gcc make
# users: root nobody
# leave: *gem_make.out *mkmf.log *Makefile
# same: /^Fetching.*\n//
# same: /[\d.]+ seconds/N seconds/
prepare() {
    mkdir -p ext lib
    echo 'require "mkmf"; create_makefile "quick"' >ext/extconf.rb
    echo '#include <ruby.h>
static VALUE f(VALUE s) { return INT2NUM(42); }
void Init_quick(void) { rb_define_global_function("quick", f, 0); }' >ext/quick.c
    echo 'Gem::Specification.new { |s| s.name = "quick"; s.version = "1.0"; s.summary = "s"; s.authors = ["a"]
    s.files = ["ext/quick.c", "ext/extconf.rb"]; s.extensions = ["ext/extconf.rb"]; s.license = "MIT"
    s.homepage = "https://example.org"; s.date = "2024-01-01" }' >quick.gemspec
}
program() {
    export SOURCE_DATE_EPOCH=1700000000 GEM_HOME=$PWD/gems
    gem build quick.gemspec && gem install --local --no-document quick-1.0.gem && ruby -e 'require "quick"; p quick'
    gem list --local | grep quick
}
