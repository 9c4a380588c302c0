package echo

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics serves the counters that a dashboard wants, for Prometheus. Routes
// are not among them: there can be 200,000.
func (s *Server) metrics() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{s})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

type collector struct{ server *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gatemark_echo_"+name, help, labels, nil)
}

var (
	descRequests    = describe("requests_total", "Requests by status; 0 is no proper answer.", "status")
	descConnections = describe("connections_total", "Connections by protocol.", "protocol")
	descBytesIn     = describe("received_bytes_total", "Bytes received on the wire by protocol.", "protocol")
	descBytesOut    = describe("sent_bytes_total", "Bytes sent on the wire by protocol.", "protocol")
	descOpen        = describe("open_connections", "Connections that are open.")
	descInFlight    = describe("requests_in_flight", "Requests that are being answered.")
	descFaults      = describe("faults_total", "Faults that were applied by kind.", "kind")
	descHealth      = describe("health_checks_total", "Health checks on the port for requests by status.", "status")
	descEvents      = describe("events_total", "CloudEvents received by type.", "type")
)

// Describe sends what Collect can send.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descRequests, descConnections, descBytesIn, descBytesOut, descOpen, descInFlight, descFaults, descHealth, descEvents,
	} {
		out <- d
	}
}

// Collect sends the counters' values.
func (c collector) Collect(out chan<- prometheus.Metric) {
	counters := c.server.Counters()
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	statuses := map[int]int64{}
	for _, r := range counters.Routes {
		statuses[r.Status] += r.Requests
	}
	for status, n := range statuses {
		count(descRequests, n, strconv.Itoa(status))
	}
	for _, p := range counters.Protocols {
		count(descConnections, p.Connections, p.Protocol)
		count(descBytesIn, p.BytesIn, p.Protocol)
		count(descBytesOut, p.BytesOut, p.Protocol)
	}
	for kind, n := range counters.Applied {
		count(descFaults, n, kind)
	}
	checks := map[int]int64{}
	for _, h := range counters.Health.Sources {
		checks[h.Status] += h.Requests
	}
	for status, n := range checks {
		count(descHealth, n, fmt.Sprint(status))
	}
	for _, t := range counters.Events.Types {
		count(descEvents, t.Events, t.Type)
	}
	out <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(counters.Open))
	out <- prometheus.MustNewConstMetric(descInFlight, prometheus.GaugeValue, float64(counters.InFlight))
}
