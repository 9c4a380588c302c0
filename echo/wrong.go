package echo

import (
	"errors"
	"net/http"
	"time"

	"github.com/gatemark/gatemark/echo/fault"
)

// garbage is what a fault of that kind answers.
const garbage = "gatemark: this is not HTTP\r\n\r\n"

// half is what a response that is reset in its middle promises where it would
// have had no body; of any body half is sent.
const half = 16

// wrong answers in a way that no response should go.
func (c *session) wrong(v *fault.Verdict) error {
	if v.Kind != fault.TrickleKind && !v.Middle {
		c.server.waited(v, c.reply.read) // there is no head to tell it in
	}
	switch v.Kind {
	case fault.TrickleKind:
		return c.trickle(v)
	case fault.ResetKind:
		var err error
		if v.Middle {
			err = c.firstHalf()
		}
		return errors.Join(err, c.wire.reset(), errClosing)
	case fault.HangKind:
		return c.hang()
	case fault.GarbageKind:
		c.out = append(c.out, garbage...)
		return errors.Join(c.flush(), errClosing)
	}
	return errClosing
}

func (c *session) firstHalf() error {
	c.reply.status = http.StatusOK
	if c.reply.size == 0 {
		c.reply.size = half
	}
	c.appendHead()
	if err := c.appendBody(c.reply.size / 2); err != nil {
		return err
	}
	return c.flush()
}

// hang reads until the client gives up.
func (c *session) hang() error {
	for {
		c.start = c.end
		if err := c.fill(); err != nil {
			return err
		}
	}
}

func (c *session) trickle(v *fault.Verdict) error {
	c.appendHead()
	if c.request.head {
		return c.flush()
	}
	for sent, due := 0, time.Now(); sent < c.reply.size; {
		if err := c.flush(); err != nil {
			return err
		}
		due = due.Add(v.Interval)
		if !c.server.clock.Wait(due, c.server.stopped) {
			return errGone
		}
		n := min(c.reply.size-sent, v.Bytes, len(page)-phrase)
		c.out = append(c.out, page[sent%phrase:][:n]...)
		sent += n
	}
	if err := c.flush(); err != nil || !c.reply.last {
		return err
	}
	return errClosing
}
