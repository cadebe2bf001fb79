package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/openpi"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/policy"
)

// policyServer has the policy serve flags.
type policyServer struct {
	dir, listen, token, certificate, key, backend string
	port, connections                             int
	message                                       string
	timeout                                       time.Duration
}

// serving is the policy serve report.
type serving struct {
	URL      string     `json:"url"`
	Loopback bool       `json:"loopback"`
	Policy   string     `json:"policy"` // the folder
	Device   deviceInfo `json:"device"`
}

// tokenVariable has policy serve's token, because other users on a machine can read a program's arguments.
const tokenVariable = "ROBOCACHE_TOKEN"

const policyServeHelp = `Serve answers robots with the actions of a trained policy, over WebSocket and by the protocol of
openpi's client. It prints the address when it is ready, and ends with ctrl-C.

A request maps the name of each stream that the policy takes, the action's too, to an array [T,D] with the
oldest row first: the states of the last T ticks, and the actions of the ticks before them. Absent rows and
streams, and rows of NaN, count as not recorded. The reply has the array actions [C,A], and the times in
server_timing. The server keeps nothing between requests. A request that fails gets a text message with the
error, and the connection is closed.

It listens on this machine alone unless --listen is set, which needs a token. A client sends it as
"Authorization: Api-Key TOKEN". GET /healthz answers OK, and GET /metrics has Prometheus metrics. docs/train.md
has an example.`

func (a *app) policyServeCommand() *cobra.Command {
	var p policyServer
	cmd := &cobra.Command{
		Use:     "serve DIR",
		Short:   "Serve a trained policy to robots over WebSocket",
		Long:    policyServeHelp,
		Example: "  robocache policy serve trained/\n  robocache policy serve trained/ --tls-cert cert.pem --tls-key key.pem",
		Args:    takes(1, 1, "policy serve takes a folder that train has written"),
		RunE: func(_ *cobra.Command, args []string) error {
			p.dir = args[0]
			return a.servePolicy(&p)
		},
	}
	f := cmd.Flags()
	f.IntVar(&p.port, "port", 8000, "the port; 0 for any that is free")
	f.StringVar(&p.listen, "listen", "127.0.0.1", "the address or name to listen at, as `ADDR`: 0.0.0.0 for all of this machine's")
	f.StringVar(&p.token, "token", "", "the `TOKEN` that clients need; "+tokenVariable+" unless given")
	f.StringVar(&p.certificate, "tls-cert", "", "serve wss with the certificates in `FILE.pem`")
	f.StringVar(&p.key, "tls-key", "", "the private key of --tls-cert, in `FILE.pem`")
	f.StringVar(&p.message, "max-message", "1MiB", "the most `BYTES` in a request")
	f.IntVar(&p.connections, "max-connections", 1024, "how many clients may be connected")
	f.DurationVar(&p.timeout, "timeout", 10*time.Second, "how long a request may take to arrive, to get its turn, and to be answered")
	backendFlag(cmd, &p.backend, "auto", "where to compute: auto, cpu, cuda, cuda:N or sim")
	files(cmd, map[string]string{"tls-cert": "pem", "tls-key": "pem"})
	return cmd
}

func (a *app) servePolicy(p *policyServer) (err error) {
	switch {
	case p.connections < 1:
		return usagef("--max-connections: got %d, want 1 or more", p.connections)
	case p.timeout <= 0:
		return usagef("--timeout: got %v, want more than 0", p.timeout)
	}
	most, err := memory.Parse(p.message)
	if err != nil {
		return usagef("--max-message: %v", err)
	}
	ctx, ended, stop := a.UntilCut(0)
	defer stop()
	l, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer l.Close() // after Serve has closed it
	pol, err := openPolicy(ctx, p.backend, p.dir)
	if err != nil {
		return err
	}
	defer joinClose(&err, pol)
	predictor, err := pol.NewPredictor(ctx)
	if err != nil {
		return explainPolicy(p.dir, err)
	}
	defer joinClose(&err, predictor)
	if err := a.printServing(p, l.Addr().(*net.TCPAddr), deviceOf(pol.device.Info())); err != nil {
		return err
	}
	c := pol.Config()
	err = openpi.New(openpi.Options{Predict: predictor.Predict, Columns: len(c.Targets), About: aboutPolicy(c), Token: p.token, MaxMessage: most,
		MaxConnections: p.connections, Timeout: p.timeout, Metrics: servingMetrics}).Serve(ctx, l)
	if ended() {
		return nil // a signal is the normal end
	}
	return err
}

// open listens, with TLS if it has a certificate.
func (p *policyServer) open(ctx context.Context) (net.Listener, error) {
	p.token = cmp.Or(p.token, os.Getenv(tokenVariable))
	var config *tls.Config
	if p.certificate != "" || p.key != "" {
		pair, err := tls.LoadX509KeyPair(p.certificate, p.key)
		if err != nil {
			return nil, usagef("--tls-cert, --tls-key: %v", err)
		}
		config = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(p.listen, strconv.Itoa(p.port)))
	if err != nil {
		return nil, usagef("--listen, --port: %v", err)
	}
	if p.token == "" && !l.Addr().(*net.TCPAddr).IP.IsLoopback() {
		l.Close()
		return nil, usagef("--listen: got %s without a token, want --token or %s: whoever reaches it could use the policy", p.listen, tokenVariable)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, nil
}

// printServing prints the address.
func (a *app) printServing(p *policyServer, at *net.TCPAddr, device deviceInfo) error {
	scheme := "ws"
	if p.certificate != "" {
		scheme = "wss"
	}
	out := serving{URL: scheme + "://" + urlHost(at, p.listen), Loopback: at.IP.IsLoopback(), Policy: p.dir, Device: device}
	if !out.Loopback && p.certificate == "" {
		a.Remark("nothing is encrypted at %s, the token neither: want --tls-cert and --tls-key", at)
	}
	if a.JSON {
		return a.WriteJSON(schema.PolicyServe, out)
	}
	_, err := fmt.Fprintf(a.Out, "%s\n", out.URL)
	return err
}

// aboutPolicy is the first message to a client.
func aboutPolicy(c *policy.Config) map[string]any {
	stream := func(s policy.Stream) any { return map[string]any{"name": s.Name, "columns": s.Columns} }
	states := []any{}
	for _, s := range c.States {
		states = append(states, stream(s))
	}
	return map[string]any{"robocache": versionOf().Version, "policy": c.Policy, "hz": c.Hz, "history": c.Recipe.History, "chunk": c.Recipe.Chunk,
		"execute": cmp.Or(c.Recipe.Execute, c.Recipe.Chunk), "states": states, "action": stream(c.Action)}
}

// servingMetrics returns the text at /metrics.
func servingMetrics(c openpi.Counts) []byte {
	one := func(name, help, kind string, v float64) metric {
		return metric{"robocache_policy_" + name, help, kind, nil, v}
	}
	return metricsText([]metric{
		buildMetric(),
		one("requests_total", "Requests so far.", "counter", float64(c.Requests)),
		one("errors_total", "Requests with an error as the answer.", "counter", float64(c.Errors)),
		one("refused_total", "Connections that were refused.", "counter", float64(c.Refused)),
		one("connections", "Open connections.", "gauge", float64(c.Connections)),
		one("predict_seconds_total", "Time of predictions.", "counter", c.Predicting.Seconds()),
		one("wait_seconds_total", "Time that requests waited for others.", "counter", c.Waiting.Seconds()),
	})
}
