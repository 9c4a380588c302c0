package history

import (
	"bufio"
	"errors"
	"io"
	"time"
)

var now = time.Now

// A frame is one line of a watch stream, with its arrival.
type frame struct {
	line []byte
	at   time.Time
	// relisted is set instead of a line where the stream was lost: it records
	// the state that was listed anew.
	relisted func()
}

// stamped notes when each read returned.
type stamped struct {
	r  io.Reader
	at time.Time
}

func (s *stamped) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.at = now()
	return n, err
}

// frames splits a stream into lines until it ends. A last line without its end
// is dropped: the version it begins is sent again after resuming.
func frames(stream io.Reader, put func(frame) error) error {
	source := &stamped{r: stream}
	in := bufio.NewReaderSize(source, 256<<10)
	for {
		line, err := in.ReadSlice('\n')
		// The line's end was in the last read: nothing is read while there is
		// a whole line in the buffer.
		at := source.at
		whole := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			at = source.at
			whole = append(whole, line...)
		}
		if err != nil {
			return err
		}
		if err := put(frame{line: whole, at: at}); err != nil {
			return err
		}
	}
}
