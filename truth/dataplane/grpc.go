package dataplane

import (
	"net/http"
	"strconv"
	"strings"
)

// The codes of gRPC that stand for statuses which a data plane answers with by
// itself: those that clients take them for, but for 500, where the Gateway API
// wants the service to be unavailable.
var grpcCodes = map[int]int{
	http.StatusNotFound:            12, // UNIMPLEMENTED
	http.StatusInternalServerError: 14, // UNAVAILABLE
	http.StatusBadGateway:          14,
	http.StatusServiceUnavailable:  14,
	http.StatusGatewayTimeout:      4, // DEADLINE_EXCEEDED
}

const grpcUnknown = 2

// say answers in place of a backend: a gRPC call in the terms of gRPC.
func say(w http.ResponseWriter, request *http.Request, status int) {
	text := http.StatusText(status)
	if !strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc") {
		http.Error(w, text, status)
		return
	}
	code, ok := grpcCodes[status]
	if !ok {
		code = grpcUnknown
	}
	header := w.Header()
	header.Set("Content-Type", "application/grpc")
	header.Set("Grpc-Status", strconv.Itoa(code))
	header.Set("Grpc-Message", text)
	w.WriteHeader(http.StatusOK)
}
