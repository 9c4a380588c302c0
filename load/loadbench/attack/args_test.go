package attack

import (
	"strings"
	"testing"
	"time"
)

// TestArgs: one job, said in each tool's own words.
func TestArgs(t *testing.T) {
	folder := t.TempDir()
	most := Job{URL: "http://127.0.0.1:8080/", Protocol: HTTP1, Connections: 64, Streams: 1, Duration: 3 * time.Second, Folder: folder}
	paced := most
	paced.Rate = 1000
	h2 := Job{URL: "https://127.0.0.1:8444/", Protocol: HTTP2, Connections: 16, Streams: 8, Duration: 3 * time.Second, Folder: folder}
	grpc := Job{URL: "http://127.0.0.1:8084/grpc.health.v1.Health/Check", Protocol: GRPC, Connections: 16, Streams: 8, Duration: 3 * time.Second, Folder: folder}
	for _, c := range []struct {
		tool Tool
		job  Job
		want string
	}{
		{wrk, most, "-t 1 -c 64 -d 3s --timeout 30s -s FOLDER/wrk.lua http://127.0.0.1:8080/"},
		{h2load, most, "-t 1 -c 64 -m 1 -D 3 --h1 http://127.0.0.1:8080/"},
		{h2load, paced, "-t 1 -c 64 -m 1 -D 3 --rps 15.625 --h1 http://127.0.0.1:8080/"},
		{h2load, h2, "-t 1 -c 16 -m 8 -D 3 https://127.0.0.1:8444/"},
		{h2load, grpc, "-t 1 -c 16 -m 8 -D 3 -H content-type: application/grpc -H te: trailers -d FOLDER/grpc.bin http://127.0.0.1:8084/grpc.health.v1.Health/Check"},
		{fortio, most, "-qps 0 -t 3s -c 64 http://127.0.0.1:8080/"},
		{fortio, paced, "-qps 1000 -t 3s -c 64 http://127.0.0.1:8080/"},
		{fortio, h2, "-qps 0 -t 3s -h2 -k -c 128 https://127.0.0.1:8444/"},
		{fortio, grpc, "-qps 0 -t 3s -grpc -s 8 -c 16 127.0.0.1:8084"},
		{hey, most, "-z 3s -t 30 -c 64 http://127.0.0.1:8080/"},
		{hey, paced, "-z 3s -t 30 -q 15.625 -c 64 http://127.0.0.1:8080/"},
		{oha, paced, "--no-tui --output-format json --worker-threads 1 -c 64 -z 3s -q 1000 --latency-correction -w http://127.0.0.1:8080/"},
		{oha, h2, "--no-tui --output-format json --worker-threads 1 -c 16 -z 3s --http2 -p 8 --insecure https://127.0.0.1:8444/"},
		{gatemark("epoll"), most, "load --output json --engine epoll --threads 1 --connections 64 --duration 3s --rate max http://127.0.0.1:8080/"},
		{gatemark("io_uring"), h2, "load --output json --engine io_uring --threads 1 --connections 16 --duration 3s --rate max --protocol h2 --streams 8 --insecure https://127.0.0.1:8444/"},
		{floor("epoll"), most, "floor --engine epoll --connections 64 --duration 3s 127.0.0.1:8080"},
	} {
		if err := c.tool.Speaks(c.job); err != nil {
			t.Errorf("%s: %v", c.tool.Name, err)
		}
		args, err := c.tool.Args(c.job)
		if err != nil {
			t.Errorf("%s: %v", c.tool.Name, err)
		}
		if got := strings.ReplaceAll(strings.Join(args, " "), folder, "FOLDER"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.tool.Name, got, c.want)
		}
	}
}

func TestWhatToolsCannotDo(t *testing.T) {
	h2c := Job{URL: "http://127.0.0.1/", Protocol: HTTP2}
	paced := Job{URL: "http://127.0.0.1/", Protocol: HTTP1, Rate: 1}
	for _, c := range []struct {
		tool Tool
		job  Job
	}{{wrk, h2c}, {hey, h2c}, {floor("epoll"), h2c}, {floor("epoll"), paced}, {oha, Job{URL: "http://127.0.0.1/", Protocol: GRPC}}} {
		if c.tool.Speaks(c.job) == nil {
			t.Errorf("%s claims to do %+v", c.tool.Name, c.job)
		}
	}
}

func TestByName(t *testing.T) {
	found, err := ByName([]string{"gatemark", "wrk"})
	if err != nil || len(found) != 3 || found[2].Name != "wrk" {
		t.Errorf("found %d tools, %v", len(found), err)
	}
	if _, err := ByName([]string{"ab"}); err == nil || !strings.Contains(err.Error(), `"ab": there are gatemark io_uring`) {
		t.Errorf("an unknown tool: %v", err)
	}
}
