// Package ring is Linux's io_uring as far as an event loop over sockets needs
// it: one ring for one thread, with receives that stay armed and pick their
// buffers from a ring of buffers. It speaks to the kernel directly, without
// liburing and without cgo.
//
// Names follow liburing's and the kernel's include/uapi/linux/io_uring.h. A
// Ring needs Linux 6.1 or later (deferred task run); New fails where the
// kernel, its settings or a seccomp profile forbid io_uring.
package ring
