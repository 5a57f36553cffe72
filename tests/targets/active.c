/* SPDX-License-Identifier: MIT */
/* active: prints whether <pinject/pinject.h> says that this process is being profiled. */
#include <pinject/pinject.h>
#include <stdio.h>

int main(void)
{
    printf("active %d\n", pinject_is_active());
    return 0;
}
