/* SPDX-License-Identifier: MIT */
/*
 * The signal of the timers, and what the program sees of it: an unused signal. A program that uses this number itself
 * gets its own signals, by handler, mask and sigwait; ours are recognized by the value that the timer puts into them.
 * No libc below: errno stays.
 */
#ifndef PINJECT_PRELOAD_TIMER_SIGNAL_H
#define PINJECT_PRELOAD_TIMER_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handler, once in a process, by one thread at a time: 0 or -errno. */
int pinject_signal_take(void);
/* Unblocks the signal in the calling thread, and remembers what the thread's mask said of it. */
void pinject_signal_open(void);
/* In a child of fork, if a thread of the parent was about to take it: it has to be taken again. */
void pinject_signal_forget(void);
/* Gives the number back, in the state that the program believes it always had. */
void pinject_signal_release(void);

/* The number; 0: none is taken. */
int pinject_signal_number(void);
/* Does the program use the number itself? Then its masks hold for us too. */
bool pinject_signal_is_used(void);
/* Does the program believe that it is blocked in the calling task? */
bool pinject_signal_masked(void);
void pinject_signal_set_masked(bool masked);
/* hook_signal.c: our signal was added to the mask of NUMBER's handler, where the program does not see it. */
void pinject_signal_put_in(int number);
/* sigaction() of that number as the program sees it. */
void pinject_signal_action(const struct sigaction *action, struct sigaction *old);

/*
 * Around an exec or a spawn, so that the new exec generation inherits the mask and dispositions that the program
 * believes it has. Context: a vfork child too.
 */
bool pinject_signal_before_exec(void);
void pinject_signal_after_exec(bool changed);

#endif
