package ring

import "unsafe"

// A File is a descriptor, or the place of a registered one.
type File struct {
	FD         int32
	Registered bool
}

func (r *Ring) start(opcode uint8, f File, data uint64) *entry {
	e := r.next()
	e.opcode, e.fd, e.userData = opcode, f.FD, data
	if f.Registered {
		e.flags = fixedFile
	}
	return e
}

// Connect prepares a connect(2). The address must stay where it is until the
// completion has come.
func (r *Ring) Connect(f File, address unsafe.Pointer, size int, data uint64) {
	e := r.start(opConnect, f, data)
	e.address, e.offset = uint64(uintptr(address)), uint64(size)
}

// Send prepares a send(2) of all the bytes, which must not change until they
// are sent. A quiet one completes only if it fails.
func (r *Ring) Send(f File, bytes []byte, quiet bool, data uint64) {
	const noSignal, waitAll = 0x4000, 0x100
	e := r.start(opSend, f, data)
	e.address, e.length, e.opFlags = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))), uint32(len(bytes)), noSignal|waitAll
	if quiet {
		e.flags |= skipSuccess
	}
}

// Receive prepares receives into the ring's buffers that go on completing
// until one completes without More.
func (r *Ring) Receive(f File, data uint64) {
	e := r.start(opRecv, f, data)
	e.flags |= bufferSelect
	e.priority, e.group = multishot|pollFirst, bufferGroup
}

// ReceiveMessages is Receive with control messages: the completions' Message
// takes them apart. The Ring's option ControlSize is how much room they have.
func (r *Ring) ReceiveMessages(f File, data uint64) {
	e := r.start(opRecvmsg, f, data)
	e.address, e.length = uint64(uintptr(unsafe.Pointer(&r.message))), 1
	e.flags |= bufferSelect
	e.priority, e.group = multishot|pollFirst, bufferGroup
}

// Disconnect prepares the end of a connection: what is under way with the data
// given is cancelled, then the descriptor is closed, which completes with the
// data closed. What was cancelled completes, too; the cancelling itself only if
// it fails, with the data failed.
func (r *Ring) Disconnect(fd int32, data, failed, closed uint64) {
	e := r.next()
	e.opcode, e.fd, e.address, e.userData = opAsyncCancel, -1, data, failed
	e.flags = hardLink | skipSuccess
	e = r.next()
	e.opcode, e.fd, e.userData = opClose, fd, closed
}

// Watch prepares a poll(2) that completes once, when there is something to
// read.
func (r *Ring) Watch(fd int32, data uint64) {
	const in = 1
	e := r.start(opPollAdd, File{FD: fd}, data)
	e.opFlags = in
}
