package ring

// Numbers of the kernel's interface: include/uapi/linux/io_uring.h.

// Operations.
const (
	opPollAdd     = 6
	opRecvmsg     = 10
	opAsyncCancel = 14
	opConnect     = 16
	opClose       = 19
	opSend        = 26
	opRecv        = 27
)

// Flags of a submission.
const (
	fixedFile    = 1 << 0
	hardLink     = 1 << 3
	bufferSelect = 1 << 5
	skipSuccess  = 1 << 6
)

// Flags of a receive, in the field for the priority.
const (
	pollFirst = 1 << 0
	multishot = 1 << 1
)

// Flags of a completion. The buffer's number is above bufferShift.
const (
	flagBuffer  = 1 << 0
	flagMore    = 1 << 1
	bufferShift = 16
)

// Flags of io_uring_setup.
const (
	setupCompletionSize = 1 << 3
	setupSubmitAll      = 1 << 7
	setupSingleIssuer   = 1 << 12
	setupDeferTaskrun   = 1 << 13
	setupNoArray        = 1 << 16 // since Linux 6.6
)

// Flags of io_uring_enter.
const (
	enterGetEvents      = 1 << 0
	enterExtendedArg    = 1 << 3
	enterRegisteredRing = 1 << 4
)

// Offsets of the areas that are mapped.
const (
	offsetRings   = 0
	offsetEntries = 0x10000000
)

// featureSingleMap says that both rings are in one area, since Linux 5.4.
const featureSingleMap = 1 << 0

// Commands of io_uring_register.
const (
	registerFilesUpdate = 6
	registerFiles2      = 13
	registerRings       = 20
	registerBufferRing  = 22
)

const filesSparse = 1 << 0

// params is struct io_uring_params.
type params struct {
	sqEntries, cqEntries, flags, sqThreadCPU, sqThreadIdle, features, wqFd uint32
	_                                                                      [3]uint32
	sq                                                                     sqOffsets
	cq                                                                     cqOffsets
}

type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array, _ uint32
	_                                                           uint64
}

type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags, _ uint32
	_                                                           uint64
}

// entry is struct io_uring_sqe.
type entry struct {
	opcode   uint8
	flags    uint8
	priority uint16
	fd       int32
	offset   uint64
	address  uint64
	length   uint32
	opFlags  uint32
	userData uint64
	group    uint16
	_        uint16
	file     int32
	_        [2]uint64
}

// completion is struct io_uring_cqe.
type completion struct {
	userData uint64
	result   int32
	flags    uint32
}

// eventsArg is struct io_uring_getevents_arg.
type eventsArg struct {
	signals     uint64
	signalsSize uint32
	_           uint32
	timeout     uint64
}

// filesRegister is struct io_uring_rsrc_register.
type filesRegister struct {
	count, flags uint32
	_            uint64
	data, tags   uint64
}

// resourceUpdate is struct io_uring_rsrc_update.
type resourceUpdate struct {
	offset, _ uint32
	data      uint64
}

// bufferRegister is struct io_uring_buf_reg.
type bufferRegister struct {
	address uint64
	entries uint32
	group   uint16
	flags   uint16
	_       [3]uint64
}

// buffer is struct io_uring_buf. The first one's last field is the tail.
type buffer struct {
	address uint64
	length  uint32
	id      uint16
	tail    uint16
}

// message is struct msghdr.
type message struct {
	name        uint64
	nameSize    uint32
	_           uint32
	vectors     uint64
	vectorCount uint64
	control     uint64
	controlSize uint64
	flags       int32
	_           uint32
}

// messageHead is struct io_uring_recvmsg_out: what is in front of a received
// message's control messages and bytes.
type messageHead struct {
	nameSize, controlSize, payloadSize, flags uint32
}
