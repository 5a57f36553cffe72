/* SPDX-License-Identifier: MIT */
/*
 * The signal of the timers, and what the program is shown of it: that nobody has it. A program that uses this number
 * itself gets its own signals, by handler, mask and sigwait; ours are told apart by what the timer put into them.
 * No libc below: errno stays.
 */
#ifndef PINJECT_PRELOAD_TIMER_SIGNAL_H
#define PINJECT_PRELOAD_TIMER_SIGNAL_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handler, once in a process, by one thread at a time: 0 or -errno. */
int pinject_signal_take(void);
/* Opens the signal in the calling thread; what the thread's mask said of it is remembered. */
void pinject_signal_open(void);
/* In a child of fork, when a thread of the parent was about to take it: it is taken anew. */
void pinject_signal_forget(void);
/* Gives the number back as the program believes that it has it all the time. */
void pinject_signal_release(void);

/* The number, 0: none is taken. */
int pinject_signal_number(void);
/* The program's own use of the number began: then its masks hold for us too. */
bool pinject_signal_is_used(void);
/* Of the calling task: does the program believe that it is blocked? */
bool pinject_signal_masked(void);
void pinject_signal_set_masked(bool masked);
/* hook_signal.c: our signal was put into the mask of NUMBER's handler, and is not shown there. */
void pinject_signal_put_in(int number);
/* sigaction() of that number as the program is shown it. */
void pinject_signal_action(const struct sigaction *action, struct sigaction *old);

/*
 * Around an exec or a spawn, that the new exec generation inherits what the program believes that its mask and
 * dispositions are. Context: a vfork child too.
 */
bool pinject_signal_before_exec(void);
void pinject_signal_after_exec(bool changed);

#endif
