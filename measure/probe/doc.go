// Package probe measures when a new state is in force on each replica of a
// data plane.
//
// A [Prober] asks the same question of every target again and again, on a
// connection that it keeps and on connections that it opens anew for each
// probe. It first waits until every target answers the old state; then the
// caller says that the change is about to be written, at t0, and the prober
// watches until every target has answered the new state, and nothing else, for
// a while:
//
//	prober, err := probe.New(targets, probe.Options{})
//	inquiry, err := prober.Ask(probe.Question{...})
//	err = inquiry.Old(ctx)     // every target answers the old state
//	t0 := time.Now()
//	inquiry.Mark(t0)           // then write the change
//	outcome, err := inquiry.Wait(ctx)
//
// # What is promised
//
// Every probe is kept, with the instants at which it was due, begun, sent and
// answered, and the outcome is a pure function of them ([Judge]). What is
// stated as an instant is a receipt: the state was in force then. The
// beginning of its [Interval] is the sending of the last probe that showed
// otherwise: the state was not in force yet at some moment after that. The
// truth lies between.
//
// Probes follow an absolute schedule. One that finds its connection busy with
// an earlier probe is not sent and counted as [Counts.Busy]; one that the
// prober itself missed is counted as [Counts.Missed]; nothing is sent later to
// make up for either.
//
// One operating system thread serves all targets: probes are far cheaper than
// what they ask for, and a thread that sleeps in epoll until the next one is
// due wakes up closer to it than a goroutine that sleeps. It needs Linux.
package probe
