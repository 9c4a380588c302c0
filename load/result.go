package load

import "time"

// A Result is what an attack has found. Times are in seconds unless they say
// otherwise.
type Result struct {
	URL         string   `json:"url"` // of the first target
	Protocol    Protocol `json:"protocol"`
	Engine      Engine   `json:"engine"`
	Connections int      `json:"connections"`
	Streams     int      `json:"streams"`
	Threads     int      `json:"threads"`
	OpenLoop    bool     `json:"openLoop"`
	// ReceiveTime is whose instants answers have: KernelTime or LoopTime.
	ReceiveTime ReceiveTime `json:"receiveTime"`
	// Part is this attacker's of the Parts that share the schedule.
	Part  int `json:"part"`
	Parts int `json:"parts"`

	Started time.Time `json:"started"`
	// Seconds is how long the schedule, or the closed loop, lasted, without
	// the warm-up.
	Seconds float64 `json:"seconds"`

	// Requests counts all that were due, without the warm-up. Errors has those
	// that did not end well, by class; the rest ended well.
	Requests    int64           `json:"requests"`
	Errors      map[Class]int64 `json:"errors"`
	StatusCodes map[int]int64   `json:"statusCodes"`
	// BytesIn and BytesOut are of the whole attack, as the sockets saw them:
	// with TLS, and without TCP and IP.
	BytesIn  int64 `json:"bytesIn"`
	BytesOut int64 `json:"bytesOut"`

	// RequestedRate and AchievedRate are requests per second: due by the
	// schedule, and answered in full before its end. In a closed loop nothing
	// is requested.
	RequestedRate float64 `json:"requestedRate"`
	AchievedRate  float64 `json:"achievedRate"`
	// Late, Queued and Unsent count requests that the attacker sent more than
	// 1 ms after it could have, that found every connection busy, and that
	// were never sent.
	Late   int64 `json:"late"`
	Queued int64 `json:"queued"`
	Unsent int64 `json:"unsent"`

	// Latency counts from when a request was due, ServiceTime from when it was
	// sent; both to the end of its answer, for requests that ended well.
	Latency     *Summary `json:"latency"`
	ServiceTime *Summary `json:"serviceTime"`
	// LatencyByClass has those that did not end well.
	LatencyByClass map[Class]*Summary `json:"latencyByClass,omitempty"`
	// Connect and Handshake are the times that TCP and TLS took.
	Connect   *Summary `json:"connect"`
	Handshake *Summary `json:"handshake,omitempty"`
	// Opened counts connections, Resumed those whose TLS session was one of
	// before, IdleCloses those that ended with no request on them, Unasked
	// those on which bytes came that no request had asked for.
	Opened     int64 `json:"opened"`
	Resumed    int64 `json:"resumed,omitempty"`
	IdleCloses int64 `json:"idleCloses"`
	Unasked    int64 `json:"unasked,omitempty"`

	// CPUSeconds is the processor time of this process from the start to the
	// end of the attack; LoopCPU that of its event loops.
	CPUSeconds float64 `json:"cpuSeconds"`
	Self       Self    `json:"self"`
	Verdict    Verdict `json:"verdict"`
	// Reasons say why the verdict is not ok.
	Reasons []string `json:"reasons,omitempty"`

	Windows []Window `json:"windows,omitempty"`
	// Slices hold the whole, second by second, with mergeable histograms.
	Slices []*Slice `json:"slices,omitempty"`
	// ConnectTimes and HandshakeTimes are what Connect and Handshake are the
	// summaries of.
	ConnectTimes   *Histogram `json:"connectTimes,omitempty"`
	HandshakeTimes *Histogram `json:"handshakeTimes,omitempty"`
}

// A Window is what was due between two marks.
type Window struct {
	Name        string          `json:"name"`
	Start       float64         `json:"start"`
	End         float64         `json:"end"`
	Requests    int64           `json:"requests"`
	Errors      map[Class]int64 `json:"errors"`
	StatusCodes map[int]int64   `json:"statusCodes"`
	Latency     *Summary        `json:"latency"`
	ServiceTime *Summary        `json:"serviceTime"`
}

// result puts together what the threads and the collector have.
func (a *attack) result() *Result {
	o := &a.options
	r := &Result{
		URL: o.Targets[0].URL, Protocol: o.Protocol, Engine: a.engine, Connections: o.Connections, Streams: o.Streams, Threads: o.Threads,
		OpenLoop: o.Rate != nil, ReceiveTime: o.ReceiveTime, Part: o.Part, Parts: o.Parts, Started: a.epoch.Add(time.Duration(a.begin.Load())).Round(0), Slices: a.collector.slices,
	}
	total := r.count()
	r.Windows = a.windows(r.Slices)
	connect, handshake := NewHistogram(), NewHistogram()
	for _, l := range a.loops {
		r.BytesIn += l.bytesIn
		r.BytesOut += l.bytesOut
		r.Opened += l.opened
		r.Resumed += l.resumed
		r.IdleCloses += l.idleCloses
		r.Unasked += l.unasked
		connect.Merge(l.connect)
		handshake.Merge(l.handshake)
	}
	r.setSetup(connect, handshake)
	a.rates(r, total)
	r.CPUSeconds, r.Self = a.watch.end(a)
	r.judge(a)
	return r
}

// count fills in what follows from the slices, and returns their sum.
func (r *Result) count() *Counts {
	total := r.sum()
	r.Errors, r.StatusCodes = total.Errors(), total.Statuses
	r.Requests = total.Requests()
	r.Late, r.Queued, r.Unsent = total.Late, total.Queued, r.Errors[Unsent]
	r.Latency, r.ServiceTime, r.LatencyByClass = summaries(total)
	return total
}

// setSetup takes the times of connecting and of TLS handshakes.
func (r *Result) setSetup(connect, handshake *Histogram) {
	r.Connect, r.Handshake = connect.Summary(), handshake.Summary()
	r.ConnectTimes, r.HandshakeTimes = nonEmpty(connect), nonEmpty(handshake)
	r.ConnectTimes.pack()
	r.HandshakeTimes.pack()
}

// sum is all slices but those of the warm-up.
func (r *Result) sum() *Counts {
	var total Counts
	total.Merge(&Counts{})
	for _, s := range r.Slices {
		if s.Window != WarmUp {
			total.Merge(&s.Counts)
		}
	}
	return &total
}

func (a *attack) rates(r *Result, total *Counts) {
	o := &a.options
	length := o.Duration
	if o.Rate != nil {
		length = o.Rate.Duration()
	}
	ended := a.lastAnswer()
	if length == 0 || o.Requests > 0 && ended < length || a.stopped.Load() && ended < length {
		length = ended
	}
	r.Seconds = max((length - o.Warmup).Seconds(), 0)
	if r.Seconds == 0 {
		return
	}
	r.AchievedRate = float64(total.InTime) / r.Seconds
	if o.Rate != nil {
		r.RequestedRate = float64(r.Requests) / r.Seconds
	}
}

// lastAnswer is when the last thread ended, since the start.
func (a *attack) lastAnswer() time.Duration {
	last := int64(0)
	for _, l := range a.loops {
		last = max(last, l.ended-l.begin)
	}
	return time.Duration(last)
}

func summaries(c *Counts) (latency, service *Summary, others map[Class]*Summary) {
	others = map[Class]*Summary{}
	for class, count := range c.Classes {
		if class == OK {
			latency, service = count.Latency.Summary(), count.Service.Summary()
		} else if s := count.Latency.Summary(); s != nil {
			others[class] = s
		}
	}
	return latency, service, others
}

func (a *attack) windows(all []*Slice) (out []Window) {
	marks := *a.marks.Load()
	end := a.lastAnswer()
	for i, m := range marks {
		if m.Window == "" {
			continue
		}
		w := Window{Name: m.Window, Start: m.At.Seconds(), End: end.Seconds()}
		if i+1 < len(marks) {
			w.End = marks[i+1].At.Seconds()
		}
		w.count(all)
		out = append(out, w)
	}
	return out
}

// count fills in what follows from the slices.
func (w *Window) count(all []*Slice) {
	var c Counts
	c.Merge(&Counts{})
	for _, s := range all {
		if at := s.Start.Seconds(); at >= w.Start && at < w.End {
			c.Merge(&s.Counts)
		}
	}
	w.Requests, w.Errors, w.StatusCodes = c.Requests(), c.Errors(), c.Statuses
	w.Latency, w.ServiceTime, _ = summaries(&c)
}
