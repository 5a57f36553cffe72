# SPDX-License-Identifier: MIT
# kind: language runtime: parallel rake tasks run minitest with threads, forks and spawned programs
# packages: ruby rake ruby-minitest
# users: root nobody
# same: /--seed \d+/--seed N/
# same: /[\d.]+s,.*assertions\/s\.//
prepare() {
    for i in 1 2 3 4; do
        cat >test_$i.rb <<'END'
require 'minitest/autorun'
require 'open3'
class TestAll < Minitest::Test
  def test_threads
    sums = 4.times.map { |n| Thread.new { (1..300_000).sum { |i| i ^ n } } }.map(&:value)
    assert_equal 4, sums.size
  end
  def test_fork
    pids = 4.times.map { |n| fork { (1..200_000).inject(:+); exit! n } }
    assert_equal [0, 1, 2, 3], pids.map { |pid| Process.wait2(pid)[1].exitstatus }
  end
  def test_spawn
    out, status = Open3.capture2e('sh', '-c', 'echo hello; exit 3')
    assert_equal ["hello\n", 3], [out, status.exitstatus]
    assert_equal "x\n", `echo x`
    assert_equal false, system('exit 1')
    r, w = IO.pipe
    Process.wait spawn('echo to pipe; pwd', out: w, chdir: '/')
    w.close
    assert_equal "to pipe\n/\n", r.read
  end
  def test_signal
    got = 0
    old = trap('USR1') { got += 1 }
    Process.kill 'USR1', $$
    sleep 0.01 until got > 0
    assert_equal 1, got
    trap 'USR1', old
  end
end
END
    done
    cat >Rakefile <<'END'
multitask default: %w[1 2 3 4].map { |n| "run#{n}" }
(1..4).each { |n| task("run#{n}") { sh "ruby test_#{n}.rb --seed 1 >out#{n} 2>&1", verbose: false } }
END
}
# leave: out*
program() {
    rake -j 4 && cat out? | grep runs
}
