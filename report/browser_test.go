package report

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/gatemark/gatemark/result"
)

// e2e makes what is missing a failure, where it is otherwise skipped.
const e2e = "GATEMARK_E2E"

// screenshots names a directory to leave pictures of every page in.
const screenshots = "GATEMARK_SCREENSHOTS"

func TestInBrowser(t *testing.T) {
	browser := newBrowser(t)
	single, singleTrials := newSynthetic(3000, 1, "envoy-gateway")
	repeated, repeatedTrials := newSynthetic(1000, 6, "envoy-gateway", "istio", "contour")
	empty, _ := newSynthetic(10, 1, "envoy-gateway")
	hostileRun, hostileTrials := hostile(t)
	type window struct {
		name   string
		width  int64
		scheme string
	}
	wideLight, wideDark := window{"wide-light", 1440, "light"}, window{"wide-dark", 1440, "dark"}
	narrowLight, narrowDark := window{"narrow-light", 390, "light"}, window{"narrow-dark", 390, "dark"}
	pages := []struct {
		name   string
		run    *result.Run
		trials []*result.Trial
		plots  int
		in     []window
	}{
		{"single", single, singleTrials, 3, []window{wideLight, wideDark, narrowLight, narrowDark}},
		{"repeated", repeated, repeatedTrials, 5, []window{wideDark, narrowLight}},
		{"empty", empty, nil, 0, []window{wideLight}},
		{"hostile", hostileRun, hostileTrials, 3, []window{narrowDark}},
	}
	for _, p := range pages {
		path := filepath.Join(t.TempDir(), "report.html")
		var b bytes.Buffer
		if err := Render(&b, "html", p.run, p.trials); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, w := range p.in {
			t.Run(p.name+"/"+w.name, func(t *testing.T) {
				checkPage(t, browser, path, p.name+"-"+w.name, w.width, w.scheme, p.plots)
			})
		}
	}
}

// hostile puts markup and scripts into every text of a run. What a run
// recorded comes from logs, objects and users, and is only ever shown.
func hostile(t *testing.T) (*result.Run, []*result.Trial) {
	run, trials := newSynthetic(50, 1, "envoy-gateway")
	tree := toTree(t, result.Document{Run: run, Trials: trials})
	const attack = `"'></title></script></style></textarea><img data-hostile src=x onerror=alert(1)><script data-hostile>alert(2)</script>`
	walk(tree, nil, func(path []any, leaf any) {
		text, ok := leaf.(string)
		last, _ := path[len(path)-1].(string)
		switch {
		case !ok, last == "started", last == "ended", last == "outcome", last == "kind", last == "xUnit":
		case last == "implementation" || last == "scenario" || last == "series" || last == "x" || last == "y" || last == "name":
		default:
			set(tree, path, text+attack)
		}
	})
	doc := fromTree(t, tree)
	return doc.Run, doc.Trials
}

func newBrowser(t *testing.T) context.Context {
	t.Helper()
	binary := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			binary = path
			break
		}
	}
	if binary == "" {
		if os.Getenv(e2e) == "1" {
			t.Fatal("no chromium to open the report in (apt-get install chromium)")
		}
		t.Skip("no chromium to open the report in (apt-get install chromium)")
	}
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(binary), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", binary, err)
	}
	return ctx
}

// observed is what a page did besides showing itself.
type observed struct {
	sync.Mutex
	problems []string
	requests []string
	ended    bool
}

// endOfPage is the last thing that a page is made to say: what it did before
// has been reported once this is.
const endOfPage = "gatemark: end of page"

// observe begins to collect what the tab of ctx does, until ctx ends.
func observe(ctx context.Context) *observed {
	o := &observed{}
	tab := chromedp.FromContext(ctx).Target
	collect(ctx, tab, runtime.ConsoleAPICalled, func(e runtime.EventConsoleAPICalled) {
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value))
		}
		text := strings.Join(words, " ")
		if strings.Contains(text, endOfPage) {
			o.ended = true
			return
		}
		o.problems = append(o.problems, fmt.Sprintf("console.%s %s", e.Type, text))
	}, o)
	collect(ctx, tab, runtime.ExceptionThrown, func(e runtime.EventExceptionThrown) {
		o.problems = append(o.problems, fmt.Sprintf("%+v", e.ExceptionDetails))
	}, o)
	collect(ctx, tab, log.EntryAdded, func(e log.EventEntryAdded) {
		o.problems = append(o.problems, e.Entry.Text)
	}, o)
	collect(ctx, tab, network.RequestWillBeSent, func(e network.EventRequestWillBeSent) {
		if !strings.HasPrefix(e.Request.URL, "data:") {
			o.requests = append(o.requests, e.Request.URL)
		}
	}, o)
	return o
}

func collect[E any](ctx context.Context, s cdp.Session, event cdp.Event[E], keep func(E), lock sync.Locker) {
	events := cdp.Events(ctx, s, event)
	go func() {
		for e, err := range events {
			if err != nil {
				return // the tab was closed
			}
			lock.Lock()
			keep(e)
			lock.Unlock()
		}
	}()
}

// wait returns once the page has said its last word.
func (o *observed) wait(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`console.debug("`+endOfPage+`")`)); err != nil {
		t.Fatal(err)
	}
	for {
		o.Lock()
		done := o.ended && len(o.requests) > 0
		o.Unlock()
		if done {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the page's events never came")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// call is an action that sends one command of the protocol.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, command, params)
		return err
	})
}

// layout is what the page says of itself once it is shown.
type layout struct {
	Scheme string
	Scroll int64
	Window int64
	Beyond []string
	Plots  []struct {
		ID            string
		Width, Height float64
		Paths         int
	}
	Small   []string
	Foreign int
}

const measureLayout = `(() => {
  const plots = [...document.querySelectorAll('.plot svg.chart')].filter(s => s.getClientRects().length);
  const inBox = e => e.closest('.scroll, pre, nav, .skip');
  return {
    Foreign: document.querySelectorAll('[data-hostile], img, iframe, object, link:not([rel=icon])').length + document.scripts.length - 1,
    Scheme: getComputedStyle(document.body).backgroundColor,
    Scroll: document.documentElement.scrollWidth,
    Window: innerWidth,
    Beyond: [...document.querySelectorAll('main *')].filter(e => !inBox(e) && e.getClientRects().length && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + '.' + e.getAttribute('class')),
    Plots: plots.map(s => ({ ID: s.closest('figure').id, Width: s.getBoundingClientRect().width, Height: s.getBoundingClientRect().height,
      Paths: [...s.querySelectorAll('path.curve')].filter(p => p.getAttribute('d').length > 8 && p.getBBox().width > 0 && getComputedStyle(p).stroke !== 'none').length })),
    Small: plots.flatMap(s => [...s.querySelectorAll('text')].filter(x => x.getBoundingClientRect().height < 9).map(x => x.textContent)),
  };
})()`

func checkPage(t *testing.T, browser context.Context, path, name string, width int64, scheme string, plots int) {
	ctx, cancel := chromedp.NewContext(browser)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil { // opens the tab
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	seen := observe(ctx)
	address := (&url.URL{Scheme: "file", Path: path}).String()
	err := chromedp.Do(ctx,
		call(network.Enable, network.EnableParams{}), call(log.Enable, cdp.Empty{}), call(runtime.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(width, 900),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}),
		chromedp.Navigate(address),
	)
	if err != nil {
		t.Fatal(err)
	}
	l, err := chromedp.Run(ctx, chromedp.Evaluate[layout](measureLayout))
	if err != nil {
		t.Fatal(err)
	}
	shoot(t, ctx, name)
	checkReadout(t, ctx, plots)
	seen.wait(ctx, t)
	if l.Scroll > l.Window || len(l.Beyond) > 0 {
		t.Errorf("the page is %d wide in a window of %d; beyond it: %v", l.Scroll, l.Window, l.Beyond)
	}
	if len(l.Plots) != plots {
		t.Errorf("%d pictures are shown, want %d", len(l.Plots), plots)
	}
	for _, p := range l.Plots {
		if p.Width < 250 || p.Height < 200 || p.Paths == 0 {
			t.Errorf("figure %s is %vx%v with %d drawn curves", p.ID, p.Width, p.Height, p.Paths)
		}
	}
	if len(l.Small) > 0 {
		t.Errorf("too small to read: %q", l.Small)
	}
	if l.Foreign > 0 {
		t.Errorf("%d elements came out of the run's texts", l.Foreign)
	}
	if dark := l.Scheme == "rgb(15, 19, 24)"; dark != (scheme == "dark") {
		t.Errorf("background %s with a preference for %s", l.Scheme, scheme)
	}
	seen.Lock()
	defer seen.Unlock()
	if len(seen.problems) > 0 {
		t.Errorf("the console has: %s", strings.Join(seen.problems, "\n"))
	}
	if len(seen.requests) != 1 || seen.requests[0] != address {
		t.Errorf("requests went to %v, want only the file", seen.requests)
	}
}

// checkReadout points at a picture, switches a curve and turns the theme, so
// that the script's errors show.
func checkReadout(t *testing.T, ctx context.Context, plots int) {
	if plots == 0 {
		return
	}
	got, err := chromedp.Run(ctx, chromedp.Evaluate[struct {
		Read         string
		Hidden       int
		Before, Then string
	}](`(() => {
	  const svg = [...document.querySelectorAll('.plot svg.chart')].find(s => s.getClientRects().length);
	  const r = svg.getBoundingClientRect();
	  svg.dispatchEvent(new PointerEvent('pointermove', { clientX: r.left + r.width / 2, clientY: r.top + r.height / 2, bubbles: true }));
	  const read = svg.parentElement.querySelector('.read').innerText;
	  svg.dispatchEvent(new PointerEvent('pointerleave', {}));
	  const item = document.querySelector('.legend li');
	  item.click();
	  const hidden = [...item.closest('figure').querySelectorAll('.curve')].filter(c => c.style.display === 'none').length;
	  const before = getComputedStyle(document.body).backgroundColor;
	  document.getElementById('theme').click();
	  const then = getComputedStyle(document.body).backgroundColor;
	  return { Read: read, Hidden: hidden, Before: before, Then: then };
	})()`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Read, "≈") {
		t.Errorf("the read-out says %q", got.Read)
	}
	if got.Hidden == 0 {
		t.Error("the legend hides no curve")
	}
	if got.Before == got.Then {
		t.Errorf("the theme stays %s", got.Before)
	}
	// The theme is remembered; the next page must begin afresh.
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](`localStorage.clear()`)); err != nil {
		t.Fatal(err)
	}
}

func shoot(t *testing.T, ctx context.Context, name string) {
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
