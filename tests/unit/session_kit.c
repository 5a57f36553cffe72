/* SPDX-License-Identifier: MIT */
#include "session_kit.h"

#include "preload/peer.h"
#include "preload/timer.h"

struct pinject_preload pinject_preload;
struct session_peer peer;
char directory[64], session_path[128], requests_path[192];
struct pinject_segment header;
unsigned timers_ended, rings_given_up;
void (*when_timers_end)(void);
unsigned asked_for_channels;
uint32_t asked_for;

int pinject_peer_ask(const char *its_path, const struct pinject_segment *segment, uint32_t user, int ret_fds[2])
{
    peer.asked++;
    snprintf(peer.path, sizeof(peer.path), "%s", its_path);
    peer.with_segment = segment && segment == pinject_preload.channel.segment;
    peer.user = user;
    if (peer.when_asked)
        peer.when_asked();
    if (peer.error)
        return peer.error;
    for (int i = 0; i < 2; i++) {
        ret_fds[i] = open(peer.files[i], (i ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
        assert_true(ret_fds[i] >= 0);
    }
    return 0;
}

void pinject_timer_end_all(bool filter)
{
    assert_false(filter);
    timers_ended++;
    if (when_timers_end)
        when_timers_end();
}

void pinject_timer_give_up_rings(void)
{
    rings_given_up++;
}

void pinject_preload_become(uint32_t user)
{
    asked_for_channels++;
    asked_for = user;
}

/* ---- Files ---- */

void write_file(const char *name, const void *bytes, size_t size, size_t whole)
{
    unlink(name);
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    assert_int_equal(ftruncate(fd, (off_t)whole), 0);
    close(fd);
}

void write_segment(void)
{
    write_file(session_path, &header, offsetof(struct pinject_segment, covered), sizeof(struct pinject_segment));
}

void write_requests(const char *name, uint32_t stalled)
{
    write_file(name, &stalled, sizeof(stalled), sizeof(struct pinject_requests));
}

void write_channel(uint32_t user, uint32_t stalled, char ret_path[192])
{
    snprintf(ret_path, 192, "%s.%u.%d", session_path, user, CHANNEL_NAME);
    write_requests(ret_path, stalled);
    header.users[header.users_count++] = (struct pinject_user){.user = user, .name = CHANNEL_NAME};
    /* What is mapped is the file. */
    int fd = open(session_path, O_WRONLY | O_CLOEXEC);
    const size_t at = offsetof(struct pinject_segment, users_count);
    const size_t size = offsetof(struct pinject_segment, covered) - at;
    assert_int_equal(pwrite(fd, (char *)&header + at, size, (off_t)at), (ssize_t)size);
    close(fd);
}

uint32_t pinject_peer_own_user(void)
{
    return peer.own_user;
}

uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

unsigned held(void)
{
    char line[512];
    unsigned count = 0;
    for (int fd = 3; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps))
        count += strstr(line, directory) != NULL;
    fclose(maps);
    return count;
}

void reset(void)
{
    pinject_preload_close();
    memset(&pinject_preload, 0, sizeof(pinject_preload));
    memset(&peer, 0, sizeof(peer));
    memset(&header, 0, sizeof(header));
    peer.error = -ECONNREFUSED;
    peer.own_user = UINT32_MAX;
    timers_ended = rings_given_up = asked_for_channels = 0;
    pinject_preload.user = geteuid();
    header.magic = PINJECT_WIRE_MAGIC;
    header.version = PINJECT_WIRE_VERSION;
    header.size = sizeof(header);
    header.doorbells_used = 3;
    header.wait_us = 1234;
    header.flags = PINJECT_SESSION_ALL;
    header.user = 7000; /* the collector's name for its user */
    header.collector = getpid();
    header.pid_namespace = pid_namespace();
    snprintf(header.path, sizeof(header.path), "%s", session_path);
    snprintf(header.preload, sizeof(header.preload), "/p/libpinject.so");
    struct stat users;
    header.user_namespace = stat("/proc/self/ns/user", &users) == 0 ? users.st_ino : 0;
    write_segment();
    write_channel(7000, 0, requests_path);
}

int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-session-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(session_path, sizeof(session_path), "%s/s", directory);
    return 0;
}

int tear_down(void **state)
{
    char command[256];
    (void)state;
    pinject_preload_close();
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}
