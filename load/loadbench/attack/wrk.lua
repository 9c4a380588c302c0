-- Prints wrk's own numbers as one line of JSON, in microseconds.
function done(summary, latency)
   local e = summary.errors
   io.write(string.format(
      'gatemark-bench {"Duration":%d,"Requests":%d,"Connect":%d,"Read":%d,"Write":%d,"Status":%d,"Timeout":%d,' ..
      '"Mean":%.1f,"P50":%d,"P99":%d,"P999":%d,"Max":%d}\n',
      summary.duration, summary.requests, e.connect, e.read, e.write, e.status, e.timeout,
      latency.mean, latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
