/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "analyze/model/loader.h"
#include "common/report.h"

#define ID_TEXT           33
#define SHORT_BYTES       4 /* of an id, in messages */
#define LONGEST_DIRECTORY 60
#define DESCRIPTION       (LONGEST_DIRECTORY + 80)
#define LISTED            4
#define LIST              (LISTED * (DESCRIPTION + 2) + 8)

void choose_text(const uint8_t *id, size_t bytes, char *ret)
{
    for (size_t i = 0; i < bytes; i++)
        snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

/* The length of PATH's directory part. */
static size_t directory_size(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? (size_t)(slash - path) + (slash == path) : 0;
}

static bool same_directory(const char *one, const char *other)
{
    const size_t size = directory_size(one);
    return directory_size(other) == size && (!size || memcmp(one, other, size) == 0);
}

/* " in DIRECTORY" if the sessions come from several directories, else "". */
static void describe_directory(const struct loader *loader, const struct session_seen *session, char *ret, size_t size)
{
    const size_t length = directory_size(session->path),
                 cut = length > LONGEST_DIRECTORY ? length - LONGEST_DIRECTORY : 0;
    bool apart = false;
    for (uint32_t i = 0; i < loader->session_count; i++)
        apart |= loader->sessions[i].files && !same_directory(loader->sessions[i].path, session->path);
    *ret = '\0';
    if (apart)
        snprintf(ret, size, " in %s%.*s", cut ? "..." : "", length ? (int)(length - cut) : 1,
                 length ? session->path + cut : ".");
}

/* "1a2b3c4d of 2026-11-21 10:51:07" */
static void describe_session(const struct loader *loader, const struct session_seen *session, char *ret, size_t size)
{
    char directory[LONGEST_DIRECTORY + 16];
    char id[ID_TEXT], when[32] = "an unknown time";
    time_t seconds = (time_t)(session->start_realtime_ns / 1000000000u);
    struct tm tm;
    if (session->start_realtime_ns && localtime_r(&seconds, &tm))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    choose_text(session->id, SHORT_BYTES, id);
    describe_directory(loader, session, directory, sizeof(directory));
    if (session->lost)
        snprintf(ret, size, "%s%s",
                 session->files == 1 ? "a truncated file without a session id" : "truncated files without session ids",
                 directory);
    else
        snprintf(ret, size, "%s of %s%s", id, when, directory);
}

/* IDS: only those that an id chooses. */
static void list_sessions(const struct loader *loader, uint32_t without, bool ids, char *ret, size_t size)
{
    size_t used = 0;
    uint32_t listed = 0;
    ret[0] = '\0';
    for (uint32_t i = 0; i < loader->session_count && used < size; i++) {
        char text[DESCRIPTION];
        if (i == without || loader->sessions[i].files == 0 || (ids && loader->sessions[i].lost))
            continue;
        if (listed++ == LISTED) {
            snprintf(ret + used, size - used, ", ...");
            return;
        }
        describe_session(loader, &loader->sessions[i], text, sizeof(text));
        used += (size_t)snprintf(ret + used, size - used, "%s%s", listed > 1 ? ", " : "", text);
    }
}

static int choose_named(const struct loader *loader, const char *wanted, uint32_t *ret)
{
    size_t length = strlen(wanted);
    uint32_t found = LOOKUP_NONE, matches = 0;
    char list[LIST];
    list_sessions(loader, LOOKUP_NONE, true, list, sizeof(list));
    if (length == 0 || length >= ID_TEXT || wanted[strspn(wanted, "0123456789abcdefABCDEF")]) {
        report_error("'%s' is not the beginning of a session id; give the id of one of these runs: %s", wanted, list);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < loader->session_count; i++) {
        char id[ID_TEXT];
        if (loader->sessions[i].files == 0 || loader->sessions[i].lost)
            continue;
        choose_text(loader->sessions[i].id, sizeof(loader->sessions[i].id), id);
        if (strncasecmp(id, wanted, length) == 0) {
            found = i;
            matches++;
        }
    }
    if (matches != 1) {
        report_error("%s session id in these files begins with '%s'; give the id of one of these runs: %s",
                     matches ? "more than one" : "no", wanted, list);
        return -EINVAL;
    }
    *ret = found;
    return 0;
}

/*
 * The newest session of pinject. Those of perf's files come after it: the time of a copy must not hide the profile that
 * the user wants.
 */
static uint32_t newest_session(const struct loader *loader)
{
    uint32_t found = LOOKUP_NONE;
    for (uint32_t i = 0; i < loader->session_count; i++) {
        const struct session_seen *best = found == LOOKUP_NONE ? NULL : &loader->sessions[found],
                                  *one = &loader->sessions[i];
        if (one->files == 0)
            continue;
        const int rank = one->ours ? 2 : one->lost, best_rank = !best ? -1 : best->ours ? 2 : best->lost;
        if (rank != best_rank ? rank > best_rank : one->start_realtime_ns > best->start_realtime_ns)
            found = i;
    }
    return found;
}

size_t choose_base(const struct input *input)
{
    char suffix[32];
    const char *slash = strrchr(input->path, '/'), *found = NULL;
    snprintf(suffix, sizeof(suffix), ".%" PRId32 ".%" PRId32, input->pid, input->tid);
    for (const char *at = slash ? slash : input->path; (at = strstr(at, suffix)) != NULL; at++)
        found = at; /* the name before it may look the same */
    return found ? (size_t)(found - input->path) : 0;
}

/* Do the files of SESSION have the name of INPUT up to .PID.TID, its first BASE bytes? */
static bool has_base(const struct session_seen *session, const struct input *input, size_t base)
{
    return base && session->base == base && memcmp(session->path, input->path, base) == 0;
}

/*
 * Can INPUT be a file of SESSION? Its task has begun in the time of the session, and its name is not that of files of
 * another one. What is known of the end of a session may be too early, if the files do not say that it is complete.
 */
static bool may_be_of(const struct session_seen *session, const struct input *input)
{
    const size_t base = choose_base(input);
    const bool same = has_base(session, input, base);
    if (!session->ours || !session->files || session->start_ns > input->start_ns || (base && session->base && !same))
        return false;
    return input->start_ns <= session->end_ns || (!session->complete && same);
}

/* The only session of pinject that INPUT can be of. LOOKUP_NONE: there is none, or it is not certain. */
static uint32_t session_of_lost(const struct loader *loader, const struct input *input)
{
    uint32_t found = LOOKUP_NONE, count = 0;
    for (uint32_t i = 0; i < loader->session_count; i++) {
        if (!may_be_of(&loader->sessions[i], input))
            continue;
        found = i;
        count++;
    }
    return count == 1 ? found : LOOKUP_NONE;
}

/* A file that lost its items belongs to the session in whose time its task began. */
static void place_lost_files(struct loader *loader)
{
    for (uint32_t i = 0; i < loader->input_count; i++) {
        struct input *input = &loader->inputs[i];
        const uint32_t session = input->session != LOOKUP_NONE && input->lost && input->start_ns
                                     ? session_of_lost(loader, input)
                                     : LOOKUP_NONE;
        if (session == LOOKUP_NONE)
            continue;
        loader->sessions[input->session].files--;
        loader->sessions[session].files++;
        input->session = session;
    }
}

int choose_session(struct loader *loader, const char *wanted, uint32_t *ret_session)
{
    place_lost_files(loader);
    uint32_t chosen = newest_session(loader), others = 0, files = 0;
    int status = wanted ? choose_named(loader, wanted, &chosen) : 0;
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < loader->session_count; i++) {
        if (i == chosen || loader->sessions[i].files == 0)
            continue;
        others++;
        files += loader->sessions[i].files;
    }
    loader->profile.files_other_session = files;
    *ret_session = chosen;
    if (others > 0 && !wanted) {
        char list[LIST], shown[DESCRIPTION];
        list_sessions(loader, chosen, false, list, sizeof(list));
        describe_session(loader, &loader->sessions[chosen], shown, sizeof(shown));
        report_note("%u file%s of %u other run%s %s left out: %s; the newest run is shown: %s. To show another "
                    "run, give its id with --session; to compare runs, use 'panalyze diff'",
                    files, files == 1 ? "" : "s", others, others == 1 ? "" : "s", files == 1 ? "is" : "are", list,
                    shown);
    }
    return 0;
}
