// SPDX-License-Identifier: MIT

// family: goroutines that compute on several threads, and a child. Prints the CPU time in ns that it used itself.
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
	out, err := exec.Command("/bin/sh", "-c", ":; echo child").Output()
	wait.Wait()
	if err != nil {
		os.Exit(99)
	}
	fmt.Print(string(out))
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		os.Exit(99)
	}
	fmt.Println(used.Utime.Nano() + used.Stime.Nano())
}
