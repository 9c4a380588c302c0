package ring

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Ring belongs to the thread that made it: only that thread may use it, and
// its goroutine must stay locked to it.
type Ring struct {
	fd      int
	enterFd uintptr // the descriptor, or its place among the thread's registered rings
	flags   uintptr // of every enter

	rings, entriesArea []byte // mapped
	sqHead, sqTail     *uint32
	sqMask             uint32
	entries            []entry
	tail               uint32 // of what was prepared; the kernel knows of it from Submit on
	told               uint32

	cqHead, cqTail *uint32
	cqMask         uint32
	completions    []completion

	buffers *buffers
	files   bool

	// Arguments of enter: on the stack they would be allocated each time.
	limit unix.Timespec
	arg   eventsArg
	// message says how much of each buffer control messages take.
	message message
}

// Options size a ring.
type Options struct {
	// Entries is how many submissions can be prepared at a time. A power of two.
	Entries int
	// Completions is how many can wait to be looked at. A power of two.
	Completions int
	// Buffers is the number of receive buffers, a power of two, and BufferSize
	// the size of each in bytes.
	Buffers, BufferSize int
	// Files is the number of places for registered descriptors; 0 for none.
	Files int
	// ControlSize is the room for control messages in each received message.
	ControlSize int
}

// New makes a ring for the calling goroutine's thread, which must be locked.
func New(o Options) (*Ring, error) {
	p := params{
		flags:     setupCompletionSize | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun | setupNoArray,
		cqEntries: uint32(o.Completions),
	}
	fd, err := setup(o.Entries, &p)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.6
		p = params{flags: p.flags &^ setupNoArray, cqEntries: uint32(o.Completions)}
		fd, err = setup(o.Entries, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("io_uring_setup: %w", err)
	}
	r := &Ring{fd: fd, enterFd: uintptr(fd), message: message{controlSize: uint64(o.ControlSize)}}
	if err := r.prepare(&p, o); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func setup(entries int, p *params) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(entries), uintptr(unsafe.Pointer(p)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (r *Ring) prepare(p *params, o Options) error {
	if p.features&featureSingleMap == 0 {
		return errors.New("io_uring: this kernel maps two rings")
	}
	if err := r.mapRings(p); err != nil {
		return err
	}
	r.registerSelf()
	if o.Files > 0 {
		reg := filesRegister{count: uint32(o.Files), flags: filesSparse}
		if err := r.register(registerFiles2, unsafe.Pointer(&reg), int(unsafe.Sizeof(reg))); err != nil {
			return fmt.Errorf("register %d descriptors: %w", o.Files, err)
		}
		r.files = true
	}
	var err error
	r.buffers, err = newBuffers(r, o.Buffers, o.BufferSize)
	return err
}

func (r *Ring) mapRings(p *params) error {
	size := max(int(p.sq.array+4*p.sqEntries), int(p.cq.cqes)+int(p.cqEntries)*int(unsafe.Sizeof(completion{})))
	var err error
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if r.rings, err = unix.Mmap(r.fd, offsetRings, size, protection, flags); err != nil {
		return fmt.Errorf("map io_uring's rings: %w", err)
	}
	if r.entriesArea, err = unix.Mmap(r.fd, offsetEntries, int(p.sqEntries)*int(unsafe.Sizeof(entry{})), protection, flags); err != nil {
		return fmt.Errorf("map io_uring's submissions: %w", err)
	}
	word := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[offset])) }
	r.sqHead, r.sqTail, r.sqMask = word(p.sq.head), word(p.sq.tail), *word(p.sq.ringMask)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.ringMask)
	r.entries = unsafe.Slice((*entry)(unsafe.Pointer(&r.entriesArea[0])), p.sqEntries)
	r.completions = unsafe.Slice((*completion)(unsafe.Pointer(&r.rings[p.cq.cqes])), p.cqEntries)
	if p.flags&setupNoArray == 0 {
		for i, place := range unsafe.Slice(word(p.sq.array), p.sqEntries) {
			_ = place
			*word(p.sq.array + 4*uint32(i)) = uint32(i)
		}
	}
	return nil
}

// registerSelf saves the kernel the search for the ring's descriptor with each
// enter. Without it (before Linux 5.18) all works as well.
func (r *Ring) registerSelf() {
	r.flags = enterExtendedArg
	update := resourceUpdate{offset: ^uint32(0), data: uint64(r.fd)}
	if r.register(registerRings, unsafe.Pointer(&update), 1) == nil {
		r.enterFd, r.flags = uintptr(update.offset), r.flags|enterRegisteredRing
	}
}

func (r *Ring) register(command int, argument unsafe.Pointer, count int) error {
	for {
		n, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), uintptr(command), uintptr(argument), uintptr(count), 0, 0)
		switch {
		case errno == unix.EINTR:
			continue
		case errno != 0:
			return errno
		case command == registerRings && n != 1:
			return unix.EINVAL
		}
		return nil
	}
}

// SetFile puts a descriptor at a place among the registered ones; -1 empties it.
func (r *Ring) SetFile(place int, fd int32) error {
	update := resourceUpdate{offset: uint32(place), data: uint64(uintptr(unsafe.Pointer(&fd)))}
	err := r.register(registerFilesUpdate, unsafe.Pointer(&update), 1)
	runtime.KeepAlive(&fd)
	return err
}

// Close gives everything back. Operations under way are cancelled.
func (r *Ring) Close() error {
	var problems []error
	if r.fd >= 0 {
		problems = append(problems, unix.Close(r.fd))
		r.fd = -1
	}
	for _, area := range []*[]byte{&r.rings, &r.entriesArea} {
		if *area != nil {
			problems = append(problems, unix.Munmap(*area))
			*area = nil
		}
	}
	if r.buffers != nil {
		problems = append(problems, r.buffers.free())
	}
	return errors.Join(problems...)
}

// Prepared is the number of submissions that Submit or Wait would hand over.
func (r *Ring) Prepared() int { return int(r.tail - atomic.LoadUint32(r.sqHead)) }

// next returns an empty submission, handing over those prepared before if
// there is no room.
func (r *Ring) next() *entry {
	for r.tail-atomic.LoadUint32(r.sqHead) == uint32(len(r.entries)) {
		// An error shows again, and is returned, at the next Wait.
		_ = r.Submit()
	}
	e := &r.entries[r.tail&r.sqMask]
	r.tail++
	*e = entry{}
	return e
}

// Submit hands over what was prepared, and does not wait.
func (r *Ring) Submit() error {
	return r.enter(0, 0)
}

// Wait hands over what was prepared and waits until something has completed,
// or for the time given; below 0 is for ever. It may return early with
// nothing: signals interrupt it.
func (r *Ring) Wait(timeout time.Duration) error {
	r.arg.timeout = 0
	if timeout >= 0 {
		r.limit = unix.NsecToTimespec(int64(timeout))
		r.arg.timeout = uint64(uintptr(unsafe.Pointer(&r.limit)))
	}
	return r.enter(1, enterGetEvents)
}

func (r *Ring) enter(wanted, flags uintptr) error {
	if r.told != r.tail {
		atomic.StoreUint32(r.sqTail, r.tail)
		r.told = r.tail
	}
	// A raw call: the thread keeps its processor (in the sense of Go's
	// scheduler) while it sleeps, so that waking up needs no other thread's
	// help. The runtime's signals end the sleep when it must stop the world.
	_, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.enterFd, uintptr(r.Prepared()), wanted,
		flags|r.flags, uintptr(unsafe.Pointer(&r.arg)), unsafe.Sizeof(r.arg))
	switch errno {
	case 0, unix.ETIME, unix.EINTR, unix.EAGAIN, unix.EBUSY:
		// The last two ask to look at completions before going on.
		return nil
	}
	return fmt.Errorf("io_uring_enter: %w", errno)
}

// Works reports whether this process may use rings here.
func Works() bool {
	works := make(chan bool)
	go func() {
		// The thread ends with the goroutine: a ring has only ever one.
		runtime.LockOSThread()
		r, err := New(Options{Entries: 8, Completions: 16, Buffers: 8, BufferSize: 64})
		if err == nil {
			err = r.Close()
		}
		works <- err == nil
	}()
	return <-works
}
