package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/result"
)

// A Client reads from one runner.
type Client struct {
	// Get fetches a path below the runner's root, with the run's token, and
	// returns the body and the value of ChecksumHeader.
	Get func(ctx context.Context, path string, query url.Values) (body []byte, checksum string, err error)
	// Retries is how often a range is asked for again; 0 means 5.
	Retries int
	// Pause is the wait before the first repeat, doubled after each; 0 means
	// 100 ms.
	Pause time.Duration
}

// Status asks where the runner stands.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	body, _, err := c.Get(ctx, "/v1/status", nil)
	if err == nil {
		err = json.Unmarshal(body, &status)
	}
	if err != nil {
		return status, fmt.Errorf("ask the runner for its status: %w", err)
	}
	return status, nil
}

// Pull copies those of the trials that dir does not have yet, and returns
// their names.
func (c *Client) Pull(ctx context.Context, dir result.Directory, ids []string) ([]string, error) {
	have, err := dir.TrialIDs()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, id := range have {
		known[id] = true
	}
	var pulled []string
	for _, id := range ids {
		if known[id] {
			continue
		}
		if err := c.pullTrial(ctx, dir, id); err != nil {
			return pulled, fmt.Errorf("pull trial %s: %w", id, err)
		}
		pulled = append(pulled, id)
	}
	return pulled, nil
}

func (c *Client) pullTrial(ctx context.Context, dir result.Directory, id string) error {
	var list []File
	err := c.repeat(ctx, func() error {
		body, _, err := c.Get(ctx, "/v1/trials/"+url.PathEscape(id), nil)
		if err != nil {
			return err
		}
		return json.Unmarshal(body, &list)
	})
	if err != nil {
		return fmt.Errorf("list its files: %w", err)
	}
	files := map[string][]byte{}
	for _, f := range list {
		data, err := c.pullFile(ctx, id, f)
		if err != nil {
			return err
		}
		files[f.Name] = data
	}
	if err := dir.PutTrial(id, files); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (c *Client) pullFile(ctx context.Context, id string, f File) ([]byte, error) {
	data := make([]byte, 0, f.Size)
	for int64(len(data)) < f.Size {
		offset := int64(len(data))
		length := min(f.Size-offset, rangeSize)
		err := c.repeat(ctx, func() error {
			part, err := c.pullRange(ctx, id, f.Name, offset, length)
			if err == nil {
				data = append(data, part...)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s at %d of %d bytes: %w", f.Name, offset, f.Size, err)
		}
	}
	if got := checksum(data); got != f.SHA256 {
		return nil, fmt.Errorf("%s: its %d bytes have checksum %s, the runner says %s", f.Name, f.Size, got, f.SHA256)
	}
	return data, nil
}

func (c *Client) pullRange(ctx context.Context, id, name string, offset, length int64) ([]byte, error) {
	query := url.Values{
		"offset": {strconv.FormatInt(offset, 10)},
		"length": {strconv.FormatInt(length, 10)},
	}
	body, want, err := c.Get(ctx, "/v1/trials/"+url.PathEscape(id)+"/"+name, query)
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != length {
		return nil, fmt.Errorf("got %d bytes of %d", len(body), length)
	}
	if got := checksum(body); got != want {
		return nil, fmt.Errorf("checksum %s, the runner says %q", got, want)
	}
	return body, nil
}

// repeat tries until it works, the retries are used up, or ctx ends.
func (c *Client) repeat(ctx context.Context, try func() error) error {
	retries, pause := c.Retries, c.Pause
	if retries == 0 {
		retries = 5
	}
	if pause == 0 {
		pause = 100 * time.Millisecond
	}
	var err error
	for n := 0; n <= retries; n++ {
		if err = try(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause << n):
		}
	}
	return err
}
