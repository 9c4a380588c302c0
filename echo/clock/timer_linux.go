package clock

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

func newTimer() (int, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("make a timer: %w", err)
	}
	return fd, nil
}

// setTimer makes the timer readable after a time from now.
func setTimer(fd int, in time.Duration) {
	// 0 would disarm it.
	value := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(in, 1)))}
	if err := unix.TimerfdSettime(fd, 0, &value, nil); err != nil {
		panic(fmt.Sprintf("set timer %d: %v", fd, err)) // its arguments cannot be wrong
	}
}
