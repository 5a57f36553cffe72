# SPDX-License-Identifier: MIT
# kind: language runtime: compiler, threads stopped by signals, processes
# packages: mono-mcs mono-runtime
# users: root nobody
# leave: .config/* .mono/*
prepare() {
    cat >run.cs <<'END'
using System; using System.Diagnostics; using System.Linq; using System.Threading; using System.Threading.Tasks; using System.Collections.Generic;
class Run {
    static long Work(long n) { var l = new List<object>(); long s = n; for (int i = 0; i < 3000000; i++) { s = (s * 33 + i) % 65521; if (i % 10 == 0) l.Add(new byte[16]); } return s + l.Count; }
    static void Main() {
        var r = new long[6]; var t = Enumerable.Range(0, 6).Select(n => new Thread(() => r[n] = Work(n))).ToList();
        t.ForEach(x => x.Start()); t.ForEach(x => x.Join()); Console.WriteLine(string.Join(" ", r));
        Console.WriteLine(Enumerable.Range(0, 8).AsParallel().Select(n => Work(n)).Sum());
        GC.Collect();
        var p = Process.Start(new ProcessStartInfo("sh", "-c \"echo out; exit 3\"") { RedirectStandardOutput = true, UseShellExecute = false });
        Console.Write(p.StandardOutput.ReadToEnd()); p.WaitForExit(); Console.WriteLine(p.ExitCode);
    }
}
END
}
program() {
    mcs run.cs -out:run.exe && mono run.exe; echo $?
}
# leave: run.exe
