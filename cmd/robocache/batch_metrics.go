package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// metric is a --metrics number.
type metric struct {
	name   string // samples of one name are consecutive
	help   string
	kind   string // "counter" (its name ends in _total) or "gauge"
	labels []string
	value  float64
}

// meter serves metrics over HTTP, in Prometheus' text format 0.0.4.
type meter struct {
	mu     sync.Mutex
	list   []metric
	server *http.Server
	done   chan struct{}
	at     string // the address: "127.0.0.1:9100"
}

// metricsAddress returns the address to listen on. The default host is this machine alone.
func metricsAddress(flag string) (string, error) {
	host, port, err := net.SplitHostPort(flag)
	n, failed := strconv.ParseUint(port, 10, 16)
	if err != nil || failed != nil {
		return "", usagef("--metrics: got %q, want :PORT or ADDRESS:PORT, such as :9100 or 0.0.0.0:9100", flag)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
}

// newMeter starts to listen. Close stops it.
func newMeter(flag string) (*meter, error) {
	address, err := metricsAddress(flag)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		var cause *net.OpError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("--metrics: cannot listen on %s: %w", address, err)
	}
	m := &meter{done: make(chan struct{}), at: l.Addr().String()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(m.text()) // an error means that the client is gone
	})
	m.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	m.set([]metric{buildMetric()})
	go func() {
		defer close(m.done)
		_ = m.server.Serve(l) // it returns after Close
	}()
	return m, nil
}

// buildMetric has the program's version.
func buildMetric() metric {
	v := versionOf()
	return metric{"robocache_build_info", "The program that reports this.", "gauge", []string{"version", v.Version, "revision", v.Revision, "go", v.Go, "platform", v.Platform}, 1}
}

// set replaces all metrics except the first one.
func (m *meter) set(list []metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list[:min(len(m.list), 1)], list...)
}

func (m *meter) text() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return metricsText(m.list)
}

// metricsText returns metrics in Prometheus' text format 0.0.4.
func metricsText(list []metric) []byte {
	var b bytes.Buffer
	for i, x := range list {
		if i == 0 || list[i-1].name != x.name {
			fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", x.name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(x.help), x.name, x.kind)
		}
		b.WriteString(x.name)
		for k := 0; k < len(x.labels); k += 2 {
			fmt.Fprintf(&b, `%c%s="%s"`, "{,"[min(k, 1)], x.labels[k], strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(x.labels[k+1]))
		}
		if len(x.labels) > 0 {
			b.WriteByte('}')
		}
		fmt.Fprintf(&b, " %s\n", strconv.FormatFloat(x.value, 'g', -1, 64))
	}
	return b.Bytes()
}

// close stops the server without waiting for clients. It does nothing if m is nil.
func (m *meter) close() {
	if m != nil {
		_ = m.server.Close()
		<-m.done
	}
}
