/* SPDX-License-Identifier: MIT */
/* Stands for libdebuginfod.so.1 in test_analyze_parts, which says what the server answers. */
#include <stddef.h>

int fake_answer, fake_asked, fake_watched;
void *fake_client = &fake_answer;
char *fake_path;
/* Called while the server is asked. */
void (*fake_wait)(void);

static int (*watch)(void *client, long done, long all);

void *debuginfod_begin(void);
void debuginfod_end(void *client);
void debuginfod_set_progressfn(void *client, int (*progress)(void *, long, long));
int debuginfod_find_debuginfo(void *client, const unsigned char *id, int size, char **ret_path);

void *debuginfod_begin(void)
{
    return fake_client;
}

void debuginfod_end(void *client)
{
    fake_asked = client == fake_client ? -1 : -2;
}

void debuginfod_set_progressfn(void *client, int (*progress)(void *, long, long))
{
    watch = client == fake_client ? progress : NULL;
}

int debuginfod_find_debuginfo(void *client, const unsigned char *id, int size, char **ret_path)
{
    fake_asked = client == fake_client && size == 2 ? id[0] << 8 | id[1] : -3;
    fake_wait();
    fake_watched = watch(client, 0, 0);
    *ret_path = fake_path;
    return fake_answer;
}
