# SPDX-License-Identifier: MIT
# labels: analyze
# timeout: 180
# run-as: self
"""Names out of other files than the program: archives, debuginfod servers, the symbol table packed into a program."""
import http.server
import struct
import threading

from harness import *

LINES_OF = target("lines-of")

SAVED = r"symbols and lines of \d+ DSOs?(?: and the kernel)?"
LOOP_SOURCE = (SOURCE / "tests/targets/inlined-loop.c").read_text()


def build(command, source=LOOP_SOURCE, name="p.c"):
    pathlib.Path(name).write_text(source)
    run(command.split()).ok()


def record(program="./p", *arguments):
    need_perf_events()
    pinject_run("-q", "--", program, *arguments).ok()
    files = results()
    check(files, "no result files")
    return files


def names_of(*args):
    """What panalyze says of names and lines, without the head that tells of files."""
    document = panalyze_json(*args, "-a", "--by", "inline")
    lines = panalyze_json(*args, "-a", "--by", "line")["lines"]
    keep = lambda rows: [row for row in rows if "kernel" not in row["dso"]]
    return keep(document["functions"]), keep(document["inlined"]), keep(lines)


def check_archive(files, gone):
    """That an archive gives the same names as the files GONE, which are taken away."""
    before = names_of(*files)
    with measured():
        check(any(row["inlined"] and row["symbol"] == "step" for row in before[1]), before[1])
    said = panalyze("archive", *files).ok().out
    check_match(rf"^out\.symbols: {SAVED}, ", said)
    check_equal(names_of(*files), before, "with the archive beside")
    text = panalyze("archive", "-o", "packed.tar.gz", *files).ok().out
    size = float(check_match(rf"^packed\.tar\.gz: {SAVED}, ([\d.]+) MB$", text)[1])
    check_near(size, os.path.getsize("packed.tar.gz") / 1e6, points=0.06, what="the size of the file")
    check_match(r"^  tar xf packed\.tar\.gz\n  panalyze out\.[\d.*]+\n"
                r"  perf --buildid-dir packed\.symbols report -i perf\.data\n"
                r"  perf --buildid-dir packed\.symbols report -i perf\.data --no-children -s sym,srcline\n"
                r"To make perf\.data, type: panalyze export perf -o perf\.data ",
                text)
    panalyze("archive", "-o", "plain.tar", *files).ok()
    os.mkdir("away")
    for name in gone:
        os.rename(name, f"away/{name}")
    check_equal(names_of(*files), before, "with the archive alone")
    check_equal(names_of(*files, "out.symbols"), before, "as the shell's out.* has it")
    first = pathlib.Path("out.symbols/pinject-archive").read_text()
    check_match(r"^\.build-id/../[0-9a-f]+/elf \d+ /", first)
    os.rename("out.symbols", "away/out.symbols")
    check(names_of(*files)[2] != before[2], "there are names without an archive: the test says nothing")
    for tar, directory in (("packed.tar.gz", "packed.symbols"), ("plain.tar", "plain.symbols")):
        need("tar")
        run(["tar", "xf", tar]).ok()
        check_equal(names_of(*files), before, tar)
        shutil.rmtree(directory)
    check_equal(names_of(*files, "--debug-path", "away/out.symbols"), before)


def flatten(directory):
    """Gives the archive DIRECTORY the places that archives had before: .build-id/xx/REST and REST.debug."""
    for place in pathlib.Path(directory).glob(".build-id/??/*"):
        if place.is_dir():
            os.rename(place, "flat")
            for name, suffix in (("elf", ""), ("debug", ".debug")):
                if os.path.exists(f"flat/{name}"):
                    os.rename(f"flat/{name}", f"{place}{suffix}")
            os.rmdir("flat")


def files_in(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in pathlib.Path(directory).rglob("*")
            if path.is_file()}


def check_old_archive(files, archive):
    """That archives with the places of before are read, and can be written anew, even out of themselves."""
    shutil.copytree(archive, "out.symbols")
    before, names = files_in("out.symbols"), names_of(*files)
    check(any("p.c" in (row["file"] or "") for row in names[2]), names[2])
    flatten("out.symbols")
    check(set(files_in("out.symbols")) != set(before))
    check_equal(names_of(*files), names, "an archive with the places of before")
    panalyze("archive", *files).ok()
    after = files_in("out.symbols")
    check_equal(set(after), set(before))
    check_equal({name: len(after[name]) for name in after if name != "pinject-archive"},
                {name: len(before[name]) for name in before if name != "pinject-archive"})
    check_equal(names_of(*files), names, "an archive that was written anew")
    shutil.rmtree("out.symbols")


def test_archive():
    need("gcc")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o p p.c")
    files = record()
    check_archive(files, ["p"])
    check_old_archive(files, "away/out.symbols")
    kept = check_match(r"^(\S+) (\d+) .*/p$", pathlib.Path("away/out.symbols/pinject-archive").read_text())
    check_equal(os.path.getsize(f"away/out.symbols/{kept[1]}"), int(kept[2]))
    check(int(kept[2]) < os.path.getsize("away/p"), "what is kept is larger than the program")


def test_archive_of_split_and_separate_files():
    need("gcc", "objcopy")
    build("gcc -O2 -g -gsplit-dwarf -Wl,--build-id -c -o p.o p.c")
    run(["gcc", "-Wl,--build-id", "-o", "whole", "p.o"]).ok()
    run(["objcopy", "--only-keep-debug", "whole", "p.debug"]).ok()
    run(["objcopy", "--strip-all", "--add-gnu-debuglink=p.debug", "whole", "p"]).ok()
    os.unlink("whole")
    files = record()
    check_archive(files, ["p", "p.debug", "p.dwo"])
    check_old_archive(files, "away/out.symbols")


def perf_rows(*options):
    """What perf says of functions and source lines of p, its own cache empty."""
    command = ["perf", *options, "report", "-i", "all.data", "--stdio", "--no-children", "-g", "none", "-t", "\t",
               "--percent-limit", "0", "-d", "p", "-s"]
    rows = []
    for fields in ("sym", "srcline"):
        text = run([*command, fields], env={"HOME": os.getcwd()}).ok().out
        rows.append([line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"])
    return rows


def check_perf(files, gone):
    """That perf, which has the archive and not the files GONE, says what it says of the files themselves."""
    check_match(r"^panalyze: all\.data \([\d.]+ kB\) does not contain function names; "
                r"to save the names for other machines, type: panalyze archive -o out\.symbols\.tar\.gz out\.",
                panalyze("export", "perf", "-o", "all.data", *files).ok().err)
    panalyze("archive", *files).ok()
    os.rename("out.symbols", "sent")
    before = perf_rows()
    check_match(r"\bouter\b", "\n".join(before[0]))
    os.mkdir("away")
    for name in gone:
        os.rename(name, f"away/{name}")
    check("outer" not in run(["perf", "report", "-i", "all.data", "--stdio"], env={"HOME": os.getcwd()}).out,
          "perf finds the names without an archive: the test says nothing")
    check_equal(perf_rows("--buildid-dir", "sent"), before)
    return before


def test_perf_reads_archive():
    need("gcc", "perf", "addr2line")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o p p.c")
    check_match(r"\bp\.c:\d+$", "\n".join(check_perf(record(), ["p"])[1]))


def test_perf_reads_archive_of_separate_files():
    need("gcc", "objcopy", "perf", "addr2line")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o whole p.c")
    run(["objcopy", "--only-keep-debug", "whole", "p.debug"]).ok()
    run(["objcopy", "--strip-all", "--add-gnu-debuglink=p.debug", "whole", "p"]).ok()
    os.unlink("whole")
    check_match(r"\bp\.c:\d+$", "\n".join(check_perf(record(), ["p", "p.debug"])[1]))


EXPORTS = {"pprof": "x.pb.gz", "speedscope": "x.speedscope.json", "firefox": "x.json.gz", "folded": "x.folded",
           "csv": "x.csv"}


def said_of_names(*files):
    """What report, summary, flame and the exports with names say of missing ones: the same line, or nothing."""
    pattern = re.compile(r"^(?:panalyze: )?(No names for [\d.]+ % of the samples, in \S*/p: .*)$", re.M)
    commands = {"report": [], "summary": [], "flame": ["-o", "flame.svg"],
                **{f"export {name}": ["-o", file] for name, file in EXPORTS.items()}}
    lines = {}
    for command, options in commands.items():
        result = panalyze(*command.split(), *options, *files).ok()
        on_page, apart = pattern.findall(result.out), pattern.findall(result.err)
        check(not (apart if command in ("report", "summary") else on_page), f"{command}: {result}")
        lines[command] = on_page + apart
    first = lines["report"]
    check(len(first) <= 1, first)
    check_equal(lines, {command: first for command in lines})
    for command, file in (("chrome", "x.trace.json"), ("csv-tasks", "x.tasks.csv"), ("perf", "x.data")):
        check("No names" not in panalyze("export", command, "-o", file, *files).ok().err, command)
    return first[0] if first else None


def test_program_was_rebuilt():
    """What says so, and how to get the names back: by the command that is printed, with a word of a shell."""
    need("gcc", "tar")
    os.mkdir("my runs")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o p p.c")
    record()
    for file in results():
        os.rename(file, f"my runs/{file}")
    files = [f"my runs/{name}" for name in os.listdir("my runs")]
    check_equal(said_of_names(*files), None)
    panalyze("archive", "-o", "my runs/symbols.tar.gz", *files).ok()
    build("gcc -O1 -g -Wl,--build-id -fno-omit-frame-pointer -o p p.c", LOOP_SOURCE + "\nint more;\n")
    line = check_match(r": the file has another build-id than the recorded one \(rebuilt since the recording\?\); "
                       r"the archive my runs/symbols\.tar\.gz may contain the names; to unpack it, type: (tar xf .*)$",
                       said_of_names(*files))
    os.unlink("p")
    check_match(r": the file is gone; the archive my runs/symbols\.tar\.gz may contain the names; "
                r"to unpack it, type: tar xf ",
                said_of_names(*files))
    run(["sh", "-c", line[1]]).ok()
    check_equal(sorted(os.listdir("my runs"))[-2:], ["symbols", "symbols.tar.gz"])
    check_equal(said_of_names(*files), None)
    os.rename("my runs/symbols", "my runs/symbols.symbols")  # as versions before unpacked it
    check_equal(said_of_names(*files), None)
    for name in ("symbols.symbols", "symbols.tar.gz"):
        os.rename(f"my runs/{name}", name)
    check_match(r": the file is gone$", said_of_names(*files))


def elsewhere(words):
    """What WORDS print on a machine with another kernel."""
    pathlib.Path("notes").write_bytes(struct.pack("<III4s", 4, 20, 3, b"GNU") + bytes(range(20)))
    pathlib.Path("kallsyms").write_text("ffffffff81000000 T _stext\nffffffff81000010 T of_another_kernel\n")
    script = 'mount --bind notes /sys/kernel/notes && mount --bind kallsyms /proc/kallsyms && exec "$@"'
    return run(["unshare", "--mount", "sh", "-c", script, "sh", *words], env={"HOME": os.getcwd()}).ok().out


def test_an_archive_is_not_replaced_by_less():
    need("gcc", "tar")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o p p.c")
    files = record()
    panalyze("archive", "-o", "kept.tar.gz", *files).ok()
    panalyze("archive", "-o", "kept.tar.gz", *files).ok()  # all is there still
    before = pathlib.Path("kept.tar.gz").read_bytes()
    os.unlink("p")
    result = panalyze("archive", "-o", "kept.tar.gz", *files)
    check_equal((result.status, result.out, len(result.err.splitlines())), (1, "", 1), result)
    check_match(r"^panalyze: the archive 'kept\.tar\.gz' exists and is not replaced: "
                r"some DSOs \(with [\d.]+ % of the samples\) cannot be read now, .*; unpack the archive ", result.err)
    check_equal(pathlib.Path("kept.tar.gz").read_bytes(), before)
    check_equal([name for name in os.listdir(".") if "kept" in name], ["kept.tar.gz"])
    # Unpacked beside the results it has the names, and so has the next one.
    run(["tar", "xf", "kept.tar.gz"]).ok()
    panalyze("archive", "-o", "kept.tar.gz", *files).ok()


def test_archive_of_the_kernel():
    """Its functions, elsewhere: what panalyze says, and perf."""
    need("perf")
    if not IS_ROOT or run(["unshare", "--mount", "true"]).status:
        skip("only root can give itself another kernel")
    files = record("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=3000", "status=none")
    kernel = "[kernel.kallsyms]"
    if not any(row["dso"] == kernel and not row["symbol"].startswith("0x") for row in names_in(kernel, files)):
        skip("this machine does not show the names of its kernel")
    panalyze("export", "perf", "-o", "all.data", *files).ok()
    result = panalyze("archive", *files).ok()
    check_match(r"^out\.symbols: symbols and lines of \d+ DSOs? and the kernel, ", result.out)
    size = int(check_match(r"^\[kernel\.kallsyms\]/[0-9a-f]{40}/kallsyms (\d+) /proc/kallsyms$",
                           pathlib.Path("out.symbols/pinject-archive").read_text())[1])
    check(size < 200000, f"{size} bytes of names")
    os.rename("out.symbols", "sent")
    report = [PANALYZE, "report", "--callers", "--top", "all", *files]
    perf = ["report", "-i", "all.data", "--stdio", "--no-children", "-g", "none", "--percent-limit", "0", "-s",
            "dso,sym"]
    rows = lambda text: [line for line in text.splitlines() if line and line[0] != "#"]
    before, of_perf = run(report).ok().out, rows(run(["perf", *perf], env={"HOME": os.getcwd()}).ok().out)
    check_in("the samples are of another kernel", elsewhere(report))
    check_equal(elsewhere([*report, "--debug-path", "sent"]), before)
    check_equal(rows(elsewhere(["perf", "--buildid-dir", "sent", *perf])), of_perf)


def names_in(dso, files):
    return [row for row in panalyze_json(*files, "-a", "--top", "all")["functions"] if row["dso"] == dso]


def test_archive_refuses():
    need("gcc")
    build("gcc -O2 -g -Wl,--build-id=none -o p p.c")
    files = record()
    result = panalyze("archive", *files)
    check_equal(result.status, 1, "a script has to notice")
    check_match(r"^Not saved: \S+/p \(.* % of the samples\): the file has no build-id; link it with -Wl,--build-id$",
                result.out)
    check_match(r"^panalyze: the call stacks of [\d.]+ % of the samples pass through files that could not be "
                r"saved; .*rebuilt or deleted$",
                result.err)
    os.mkdir("full")
    pathlib.Path("full/other").write_text("mine")
    result = panalyze("archive", "-o", "full", *files)
    check_equal(result.status, 1)
    check_match(r"^panalyze: the directory 'full' contains files, but no archive of symbols; .*--output$", result.err)
    check_equal(os.listdir("full"), ["other"])
    result = panalyze("archive", "-o", "a.tar.zst", *files)
    check_equal(result.status, 1)
    check_in("give a directory, or a file name that ends in .tar, .tar.gz or .tgz", result.err)
    for to in ("missing/a.tar", "missing/a"):
        result = panalyze("archive", "-o", to, *files)
        check_equal(result.status, 1)
        check_match(rf"^panalyze: .*{to}'?:? (the file cannot|could not) be written: No such file or directory; "
                    "give another (file )?name with -o$", result.err)
    check_equal(panalyze("archive", "-o", "a.symbols", *files).status, 1)
    result = panalyze("a.symbols")
    check_equal(result.status, 1)
    check_match(r"^panalyze: 'a.symbols' is an archive of symbols, not a result file; "
                r"give the result files too$", result.err)
    if os.path.exists("/dev/full"):
        os.symlink("/dev/full", "full.tar")
        result = panalyze("archive", "-o", "full.tar", *files)
        check_equal(result.status, 1)
        check_in("full.tar could not be written: No space left on device", result.err)


def test_tar_is_whole_or_as_before():
    """A disk that is full one byte before the end."""
    need("gcc")
    build("gcc -O2 -g -Wl,--build-id -o p p.c")
    files = record()
    panalyze("archive", "-o", "whole.tar", *files).ok()
    limit = os.path.getsize("whole.tar") - 1
    for name in ("new.tar", "whole.tar"):
        before = {path: pathlib.Path(path).read_bytes() for path in os.listdir(".")}
        small = ["sh", "-c", f'trap "" XFSZ; exec prlimit --fsize={limit} "$@"', "sh"]
        result = run([*small, PANALYZE, "archive", "-o", name, *files])
        check_equal((result.status, result.out), (1, ""), result)
        check_match(rf"^panalyze: {name} could not be written: File too large; the incomplete output is discarded$",
                    result.err)
        check_equal({path: pathlib.Path(path).read_bytes() for path in os.listdir(".")}, before)


class Server(http.server.ThreadingHTTPServer):
    """A debuginfod server that has FILE for every build-id, or holds each request until release()."""
    daemon_threads = True

    def __init__(self, file=None, holds=False):
        super().__init__(("127.0.0.1", 0), Handler)
        self.file, self.asked, self.holds = file, [], holds
        self.let_go = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        """Who asked has given up."""

    def release(self):
        self.let_go.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.holds:
            self.server.let_go.wait(60)
        if not self.server.file:
            self.send_error(404)
            return
        data = pathlib.Path(self.server.file).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def stripped_program():
    """p without anything, and where its build-id and what a server should have are."""
    need("gcc", "objcopy", "strip")
    try:
        ctypes.CDLL("libdebuginfod.so.1")
    except OSError:
        skip("libdebuginfod.so.1 is not installed")
    build("gcc -O2 -g -Wl,--build-id -fno-omit-frame-pointer -o whole p.c")
    run(["objcopy", "--only-keep-debug", "whole", "kept"]).ok()
    run(["strip", "-o", "p", "whole"]).ok()
    os.unlink("whole")
    return check_match(r"Build ID: ([0-9a-f]+)", run(["readelf", "-n", "p"]).ok().out)[1]


def test_debuginfod():
    build_id = stripped_program()
    files = record()
    server = Server(os.path.abspath("kept"))
    try:
        env = {"DEBUGINFOD_URLS": server.url}
        text = panalyze("-a", "--by", "inline", *files, env=env).ok().out
        check("step (inlined)" not in text, text)  # libpinject.so may have been hit, and has lines
        check(not server.asked, f"servers are asked without --debuginfod: {server.asked}")
        result = panalyze("-a", "--by", "inline", "--debuginfod", *files).ok()
        check_match("^panalyze: .*DEBUGINFOD_URLS is empty", result.err)
        check("step (inlined)" not in result.out and not server.asked)
        text = panalyze("-a", "--by", "inline", "--debuginfod", *files, env=env).ok().out
        with measured():  # it waits for 20 s
            check_match(r"step \(inlined\)$", text)
        check_in(f"/buildid/{build_id}/debuginfo", server.asked)
    finally:
        server.release()


def test_debuginfod_that_does_not_help():
    stripped_program()
    address = check_match(r" \.text +PROGBITS +([0-9a-f]+) ", run(["readelf", "-SW", "p"]).ok().out)[1] + "\n"
    server = Server()
    try:
        result = run([LINES_OF, "-D", "60", "p"], input=address, env={"DEBUGINFOD_URLS": server.url}).ok()
        check_in("no debuginfod server has the debug information of this file", result.err)
        check(server.asked)
    finally:
        server.release()
    server = Server(holds=True)
    try:
        result = run([LINES_OF, "-D", "1", "p"], input=address,
                     env={"DEBUGINFOD_URLS": server.url, "DEBUGINFOD_CACHE_PATH": os.path.abspath("cache")}).ok()
        check_in("the debuginfod servers were too slow", result.err)
        with measured():  # in that second
            check(server.asked)
    finally:
        server.release()


def test_mini_debug_info():
    """.gnu_debugdata: a stripped program that has a packed symbol table of its own."""
    need("gcc", "objcopy", "xz", "strip")
    build("gcc -O2 -Wl,--build-id -o whole p.c")
    run(["objcopy", "--only-keep-debug", "whole", "mini"]).ok()
    run(["xz", "mini"]).ok()
    run(["strip", "-o", "bare", "whole"]).ok()
    run(["objcopy", "--add-section", ".gnu_debugdata=mini.xz", "bare", "p"]).ok()
    os.unlink("whole")
    files = record()
    check_match(r"^ *[\d.]+ % .* p +outer$", panalyze("-a", *files).ok().out)
    # Damaged: no names, no crash.
    data = pathlib.Path("mini.xz").read_bytes()
    pathlib.Path("half.xz").write_bytes(data[:len(data) // 2])
    run(["objcopy", "--add-section", ".gnu_debugdata=half.xz", "bare", "p"]).ok()
    check("outer" not in panalyze("-a", *files).ok().out)


if __name__ == "__main__":
    main()
