package echo

import (
	"github.com/gatemark/gatemark/echo/events"
)

// receive takes the request as a CloudEvent, where it is one. It is called for
// those that are answered properly: no other is received.
func (c *session) receive() {
	r := &c.request
	switch {
	case r.structured:
		if c.decoder == nil {
			c.decoder = new(events.Decoder)
		}
		err := c.decoder.Decode(c.body, &c.event)
		c.received(&c.event, true, err)
	case r.binary():
		// Attributes stay percent-encoded: the SDKs do not agree on who
		// encodes what, and to tell sources apart it does not matter.
		c.received(&r.event, false, r.event.Check())
	}
}

func (c *session) received(e *events.Event, structured bool, err error) {
	if err != nil {
		c.server.events.Malformed()
		c.reply.bad(err)
		return
	}
	c.server.events.Receive(e, structured, &c.wire.recent)
	c.reply.status = c.server.options.EventStatus
}
