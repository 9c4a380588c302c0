// Package poll is what an event loop's thread needs of Linux: epoll with
// wake-ups and sleeps to the nanosecond, and a scheduler that lets the thread
// wake up on time.
package poll
