package hf

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/storage"
)

const (
	mostWait      = 5 * time.Minute // maximum time that the Hub may ask to wait: its limits are for 5 minutes
	mostRedirects = 10
	mostJSON      = 64 << 20 // maximum bytes in a page
)

// client sends requests. It follows no redirect: see send.
var client = &http.Client{Transport: transport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout, t.MaxIdleConnsPerHost = ranged.Stalled, 16
	return t
}

// token returns the user's token; empty if there is none.
func token() (string, error) {
	if t := strings.TrimSpace(os.Getenv("HF_TOKEN")); t != "" {
		return t, nil
	}
	text, err := os.ReadFile(cmp.Or(os.Getenv("HF_TOKEN_PATH"), filepath.Join(storage.HubHome(), "token")))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.TrimSpace(string(text)), err
}

// address returns the URL for a path in the commit, below a folder at the endpoint.
func (c *commit) address(top, below string) string {
	u := url.URL{Path: top + "/" + c.sha}
	if below != "." {
		u.Path += "/" + below
	}
	return c.endpoint + "/" + u.EscapedPath()
}

// send sends one request and follows redirects, for example to the host with the content of a large file. Only the endpoint gets the token.
func (c *commit) send(ctx context.Context, address, span string) (*http.Response, error) {
	top, err := url.Parse(c.endpoint)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(address)
	for range mostRedirects {
		var request *http.Request
		if err == nil {
			request, err = http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		}
		if err != nil {
			return nil, err
		}
		request.Header.Set("User-Agent", "robocache")
		request.Header.Set("Accept-Encoding", "identity")
		if span != "" {
			request.Header.Set("Range", span)
		}
		if at.Scheme == top.Scheme && at.Host == top.Host {
			t, err := token()
			if err != nil {
				return nil, err
			}
			if t != "" {
				request.Header.Set("Authorization", "Bearer "+t)
			}
		}
		answer, err := client.Do(request)
		if err != nil || answer.StatusCode/100 != 3 {
			return answer, err
		}
		answer.Body.Close()
		if at, err = answer.Location(); err != nil {
			return nil, err
		}
	}
	return nil, errors.New(strconv.Itoa(mostRedirects) + " redirects")
}

// get returns the answer to a request. It repeats the request if there is no answer, or if the Hub is busy.
func (p *place) get(ctx context.Context, address, span string) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := p.send(ctx, address, span)
		if err == nil && answer.StatusCode/100 == 2 {
			p.reached.Store(true)
			return answer, nil
		}
		if err == nil {
			answer.Body.Close()
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		wait := p.wait << (2 * (try - 1))
		if err == nil {
			wait = max(wait, retryAfter(answer.Header))
		}
		if try == ranged.Tries || wait > mostWait || err == nil && answer.StatusCode/100 != 5 && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout {
			return nil, p.err(p.explain(answer, err))
		}
		ranged.Sleep(ctx, wait)
	}
}

// resets matches the header RateLimit, for example "api";r=0;t=55: no request is left, for 55 seconds.
var resets = regexp.MustCompile(`\br=0\s*;\s*t=(\d+)`)

// retryAfter returns the time that an answer asks to wait; 0 if it has none.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if m := resets.FindStringSubmatch(h.Get("RateLimit")); m != nil {
		text = m[1]
	}
	seconds, _ := strconv.Atoi(text)
	return time.Duration(seconds) * time.Second
}

// watched reads an answer, and puts off a time-out with each read.
type watched struct {
	io.Reader
	watch *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.watch.Reset(ranged.Stalled)
	return n, err
}

// json reads a JSON answer, and returns its header Link.
func (p *place) json(ctx context.Context, address string, to any) (link string, err error) {
	for try := 1; ; try++ {
		answer, err := p.get(ctx, address, "")
		if err != nil {
			return "", err
		}
		watch := time.AfterFunc(ranged.Stalled, func() { answer.Body.Close() })
		text, err := io.ReadAll(io.LimitReader(watched{answer.Body, watch}, mostJSON))
		watch.Stop()
		answer.Body.Close()
		if len(text) == mostJSON {
			return "", p.err(&storage.RequestError{Got: "64 MiB or more", Want: "a shorter answer to " + address})
		}
		if err == nil {
			if err = json.Unmarshal(text, to); err != nil {
				err = p.err(&storage.RequestError{Got: fmt.Sprintf("%.40q", text), Want: "JSON from a Hub: HF_ENDPOINT is its address", Err: err})
			}
			return answer.Header.Get("Link"), err
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if try == ranged.Tries {
			return "", p.err(&storage.RequestError{Want: "an answer that does not break off", Err: err})
		}
		ranged.Sleep(ctx, p.wait<<(2*(try-1)))
	}
}

// explain describes a failed request and its cure. If the Hub has answered before, only its answer about a path is fs.ErrNotExist, because a
// reader takes that for a file that the dataset lacks.
func (c *commit) explain(answer *http.Response, err error) error {
	e := &storage.RequestError{Err: err}
	if err != nil {
		var sent *url.Error // has the address, which may be signed
		if errors.As(err, &sent) {
			e.Err = sent.Err
			if at, err := url.Parse(sent.URL); err == nil {
				e.Err = fmt.Errorf("%s: %w", at.Host, sent.Err)
			}
		}
		e.Got, e.Want = "no answer", "a Hub: HF_ENDPOINT is its address; HF_HUB_OFFLINE=1 reads only its cache"
		return e
	}
	e.Err = fmt.Errorf("%s (HTTP %d)", cmp.Or(answer.Header.Get("X-Error-Message"), http.StatusText(answer.StatusCode)), answer.StatusCode)
	code := answer.Header.Get("X-Error-Code")
	switch {
	case code == "GatedRepo":
		e.Kind, e.Got = fs.ErrPermission, "a gated dataset"
		e.Want = fmt.Sprintf("a token of an account that has accepted the terms at %s/datasets/%s: HF_TOKEN, or hf auth login", c.endpoint, c.id)
	case code == "RevisionNotFound":
		e.Kind, e.Got, e.Want = fs.ErrNotExist, "no revision "+c.revision, "a branch, tag or commit of "+c.id
	case code == "EntryNotFound":
		e.Kind, e.Got = fs.ErrNotExist, "no such file or folder"
	case code == "RepoNotFound", answer.StatusCode == http.StatusNotFound:
		e.Kind, e.Got, e.Want = fs.ErrNotExist, "no dataset "+c.id, "the id of a dataset on "+c.endpoint+"; a private one needs a token: HF_TOKEN, or hf auth login"
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		e.Kind, e.Got, e.Want = fs.ErrPermission, "no access to dataset "+c.id, "a token that may read it: HF_TOKEN, or hf auth login"
	case answer.StatusCode == http.StatusTooManyRequests:
		e.Got, e.Want = "too many requests", "fewer at the same time, or a token, which has higher limits: HF_TOKEN, or hf auth login"
	}
	if e.Kind == fs.ErrNotExist && code != "EntryNotFound" && c.reached.Load() {
		e.Kind = nil
	}
	return e
}
