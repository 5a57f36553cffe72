// SPDX-License-Identifier: MIT

// process-tree [/COMMAND...]: goroutines that compute on several threads, and a child (COMMAND). Prints what that
// wrote, and the CPU time in ns that it used itself.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

func burn(end time.Time) int {
	sum := 0
	for time.Now().Before(end) {
		for i := 0; i < 20000; i++ {
			sum += i
		}
	}
	return sum
}

func main() {
	var wait sync.WaitGroup
	end := time.Now().Add(200 * time.Millisecond)
	for i := 0; i < 2; i++ {
		wait.Add(1)
		go func() { burn(end); wait.Done() }()
	}
	command := []string{"/bin/sh", "-c", ":; echo child"}
	if len(os.Args) > 1 && os.Args[1][0] == '/' {
		command = os.Args[1:]
	}
	child := exec.Command(command[0], command[1:]...)
	child.Stderr = os.Stderr
	out, err := child.Output()
	wait.Wait()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	fmt.Print(string(out))
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		os.Exit(99)
	}
	fmt.Println(used.Utime.Nano() + used.Stime.Nano())
}
