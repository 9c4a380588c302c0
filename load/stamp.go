package load

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// A ReceiveTime says which instant counts as that of an answer.
type ReceiveTime string

// The receive times.
const (
	// AutoTime is KernelTime in an open loop, where latency is what is asked
	// for, and LoopTime in a closed one, where it is throughput.
	AutoTime ReceiveTime = "auto"
	// KernelTime is when the answer's last bytes reached the socket, as the
	// kernel has noted it (SO_TIMESTAMPNS). That the attacker was slow to wake
	// up, or its CPU was taken, is not in it.
	KernelTime ReceiveTime = "kernel"
	// LoopTime is when the attacker saw that they were there. It costs less.
	LoopTime ReceiveTime = "loop"
)

// ReceiveTimes lists them all.
var ReceiveTimes = []ReceiveTime{AutoTime, KernelTime, LoopTime}

// controlSize is the room for the one control message that is asked for.
var controlSize = unix.CmsgSpace(16)

// stampIn finds the kernel's instant among a message's control messages, in
// nanoseconds of the real-time clock.
func stampIn(control []byte) (ns int64, ok bool) {
	const header = 16 // of a control message on 64-bit machines
	if len(control) < header+16 {
		return 0, false
	}
	level, kind := binary.NativeEndian.Uint32(control[8:]), binary.NativeEndian.Uint32(control[12:])
	if level != unix.SOL_SOCKET || kind != unix.SCM_TIMESTAMPNS {
		return 0, false
	}
	seconds, rest := binary.NativeEndian.Uint64(control[16:]), binary.NativeEndian.Uint64(control[24:])
	return int64(seconds)*1e9 + int64(rest), true
}

// wall relates the kernel's instants, which are of the real-time clock, to
// those of the attack, which never jump.
type wall struct {
	offset  int64 // of the attack's epoch
	checked int64 // when it was last looked at
	steps   int64 // how often it has jumped
}

// wallInterval is how often the clocks are compared: a real-time clock that is
// slewed runs wrong by at most 500 us a second.
const wallInterval = int64(100 * time.Millisecond)

// stepLimit is how far the clocks may move apart between two looks before it
// is not slewing.
const stepLimit = int64(time.Millisecond)

func (w *wall) check(epoch time.Time, now int64) {
	if w.checked != 0 && now-w.checked < wallInterval {
		return
	}
	t := time.Now()
	offset := t.UnixNano() - int64(t.Sub(epoch))
	if moved := offset - w.offset; w.checked != 0 && (moved > stepLimit || moved < -stepLimit) {
		w.steps++
	}
	w.offset, w.checked = offset, now
}

// arrived is when bytes came that the loop has seen by now, and that the kernel
// noted at an instant of its clock. A stamp from the future is a clock's that
// was set.
func (l *loop) arrived(real, seen int64) int64 { return min(real-l.wall.offset, seen) }
