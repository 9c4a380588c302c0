package load

import (
	"encoding/binary"
	"net/http"
)

// grpcPrefix is the size of what comes before a gRPC message: whether it is
// compressed, and its length.
const grpcPrefix = 5

// appendGRPCPrefix appends what comes before a message of that size.
func appendGRPCPrefix(out []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(out, 0), uint32(size))
}

// A grpcMessage is the message of a unary answer, as it comes.
type grpcMessage struct {
	prefix [grpcPrefix]byte
	have   int   // bytes of the prefix
	size   int64 // of the message
	left   int64 // bytes that have not come
}

// take takes a piece of the answer's body. It reports false for what cannot be
// a unary answer: a second message, or a compressed one, which nobody asked
// for.
func (m *grpcMessage) take(data []byte) bool {
	if m.have < grpcPrefix {
		n := copy(m.prefix[m.have:], data)
		data = data[n:]
		if m.have += n; m.have == grpcPrefix {
			m.size = int64(binary.BigEndian.Uint32(m.prefix[1:]))
			m.left = m.size
		}
	}
	if int64(len(data)) > m.left || m.have > 0 && m.prefix[0] != 0 {
		return false
	}
	m.left -= int64(len(data))
	return true
}

// complete reports whether an answer may end here, with that status: with one
// whole message where the call went well, and with a status in any case.
func (m *grpcMessage) complete(status int) bool {
	whole := m.have == grpcPrefix && m.left == 0
	return status == 0 && whole || status > 0 && (whole || m.have == 0)
}

// httpStatus is the status of an answer in HTTP's terms. grpc is at most 0
// where it was right, or no gRPC.
func httpStatus(status, grpc int) int {
	if status != http.StatusOK || grpc <= 0 {
		return status
	}
	if told, ok := grpcStatuses[grpc]; ok {
		return told
	}
	return http.StatusInternalServerError
}

// grpcStatuses are the statuses of HTTP that clients take for those of gRPC,
// the other way round.
var grpcStatuses = map[int]int{
	4:  http.StatusGatewayTimeout,
	7:  http.StatusForbidden,
	12: http.StatusNotFound,
	14: http.StatusServiceUnavailable,
	16: http.StatusUnauthorized,
}
