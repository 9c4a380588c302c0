package sampler

import (
	"time"

	"github.com/gatemark/gatemark/measure/usage/reading"
)

// Searches for the network of a pod: it has none before its first process runs.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 30 * time.Second
)

// findNetworks opens the network of each pod that has a container and is due for
// a search. All are found in one pass over the processes.
func (s *Sampler) findNetworks() {
	now := s.clock()
	var lacking []*group
	s.eachPod(s.pods, func(pod *group) {
		if pod.network == nil && len(pod.children) > 0 && now >= pod.search {
			lacking = append(lacking, pod)
		}
	})
	if len(lacking) == 0 {
		return
	}
	wanted := map[string]bool{}
	for _, pod := range lacking {
		wanted[pod.Pod] = true
		pod.pause = min(max(firstPause, 2*pod.pause), longestPause)
		pod.search = now + int64(pod.pause)
	}
	found, err := processes(s.options.Proc, wanted)
	if err != nil {
		s.log.complain(err)
		return
	}
	for _, pod := range lacking {
		pid, ok := found[pod.Pod]
		if !ok {
			continue
		}
		// A process that has ended meanwhile, or one that may not be looked at:
		// the next search finds another.
		if network, err := openNetwork(s.options.Proc, pid); err == nil {
			pod.network = network
		}
	}
}

func (s *Sampler) eachPod(g *group, visit func(*group)) {
	for _, child := range g.children {
		switch child.Kind {
		case reading.Pod:
			visit(child)
		case reading.Pods:
			s.eachPod(child, visit)
		case reading.Node, reading.Container, reading.Other:
		}
	}
}
