// Burner is a program for tests: it uses as much as it is told, and knows how
// much that was.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// An answer is what was used: CPU in nanoseconds since the process began, by the
// kernel's own account of it, and datagrams that were sent just now.
type answer struct {
	CPU       int64 `json:"cpu"`
	Datagrams int   `json:"datagrams"`
}

func main() {
	go discard(":9000")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /use", use)
	log.Fatal(http.ListenAndServe(":8080", mux))
}

// use does what the query says: touch=BYTES of memory, burn=DURATION of CPU
// time, at most half of a CPU, send=DATAGRAMS to=ADDRESS, and end=true.
func use(w http.ResponseWriter, r *http.Request) {
	err := touch(r.FormValue("touch"))
	if err == nil {
		err = burn(r.FormValue("burn"))
	}
	var sent int
	if err == nil {
		sent, err = send(r.FormValue("send"), r.FormValue("to"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := json.Marshal(answer{cpu(), sent})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Whole as soon as it is flushed, though nothing comes after it.
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text)
	if r.FormValue("end") == "true" {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		os.Exit(0)
	}
}

func cpu() int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // cannot fail with these arguments
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// touched keeps what was touched.
var touched [][]byte

func touch(text string) error {
	if text == "" {
		return nil
	}
	size, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < size; i += os.Getpagesize() {
		memory[i] = 1
	}
	touched = append(touched, memory)
	return nil
}

func burn(text string) error {
	if text == "" {
		return nil
	}
	amount, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	for end := cpu() + int64(amount); cpu() < end; time.Sleep(20 * time.Millisecond) {
		for slice := cpu() + int64(20*time.Millisecond); cpu() < slice && cpu() < end; {
		}
	}
	return nil
}

// size is of a datagram, without its headers.
const size = 1400

func send(text, to string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, err
	}
	conn, err := net.Dial("udp", to)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	payload := make([]byte, size)
	for i := range n {
		if _, err := conn.Write(payload); err != nil {
			return i, fmt.Errorf("after %d datagrams: %w", i, err)
		}
	}
	return n, nil
}

// discard receives what others send.
func discard(address string) {
	conn, err := net.ListenPacket("udp", address)
	if err != nil {
		log.Fatal(err)
	}
	for buffer := make([]byte, 2*size); ; {
		if _, _, err := conn.ReadFrom(buffer); err != nil {
			log.Fatal(err)
		}
	}
}
