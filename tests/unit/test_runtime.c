/* SPDX-License-Identifier: MIT */
/* How each runtime is told to leave the names of the code that it generates. */
#include "check.h"

#include <sys/stat.h>

#include "analyze/view/missing.h"

static char directory[64] = "/tmp/pinject-runtime-XXXXXX";

static void expect(const char *exec, const char *comm, const char *wanted)
{
    const struct profile_task task = {.exec = exec, .comm = comm};
    char *advice = runtime_advice(&task, directory);
    if (!advice != !wanted || (advice && !strstr(advice, wanted)))
        fail_msg("%s: '%s', not '%s'", exec, advice ? advice : "(none)", wanted ? wanted : "(none)");
    free(advice);
}

static void test_names(void **state)
{
    (void)state;
    expect("/usr/bin/node", "MainThread", "NODE_OPTIONS=--perf-basic-prof");
    expect("/opt/chrome/chrome", "chrome", "--js-flags=--perf-basic-prof");
    expect("/usr/bin/dotnet", "dotnet", "DOTNET_PerfMapEnabled=1");
    expect("/usr/bin/python3.12", "python3", "PYTHONPERFSUPPORT=1");
    expect("", "ruby", "--yjit-perf");
    expect("/usr/bin/make", "node", NULL);
    expect("/usr/bin/true", "true", NULL);
}

/* Writes the file that says which version of Java it is; NULL: there is none. */
static void write_release(const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/jvm/release", directory);
    unlink(path);
    FILE *file = text ? fopen(path, "w") : NULL;
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static void test_java(void **state)
{
    static const char exec[] = "/jvm/bin/java", with[] = "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
                      without[] = "java -XX:+DumpPerfMapAtExit";
    char path[128];
    (void)state;
    write_release(NULL);
    expect(exec, "java", with); /* it is right for all that have it */
    expect("java", "java", with);
    write_release("IMPLEMENTOR=\"Debian\"\nJAVA_VERSION=\"17.0.15\"\n");
    expect(exec, "java", with);
    write_release("JAVA_VERSION=\"18\"\n");
    expect(exec, "java", with);
    write_release("JAVA_VERSION=\"19.0.1\"\n");
    expect(exec, "java", without);
    write_release("JAVA_VERSION=\"1.8.0_392\"\n");
    expect(exec, "java", "Java 8 cannot write a perf map");
    write_release("JAVA_VERSION=\"16\"\n");
    expect(exec, "java", "Java 16 cannot write a perf map");
    write_release("JAVA_VERSION=\"");
    expect(exec, "java", with);
    write_release("");
    expect(exec, "java", with);
    /* What is no file is not waited for. */
    write_release(NULL);
    snprintf(path, sizeof(path), "%s/jvm/release", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect(exec, "java", with);
    unlink(path);
}

static int set_up(void **state)
{
    char path[128];
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/jvm", directory);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/jvm/bin", directory);
    return mkdir(path, 0700);
}

static int tear_down(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof(path), "%s/jvm/bin", directory);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/jvm", directory);
    rmdir(path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_java),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
