package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/view"
)

// viewer has the view flags.
type viewer struct {
	path, listen, plan, prediction string
	opt                            dataset.Options
	port, episode                  int
	noOpen                         bool
}

func (a *app) viewCommand() *cobra.Command {
	var v viewer
	cmd := &cobra.Command{
		Use:   "view PATH",
		Short: "Look at a recording or dataset in the browser",
		Long: `View serves a page on which one looks at the episodes of a recording or dataset: a list of them with
the findings of robocache doctor, the streams on one time axis, their values by a plan or a rate over the
samples, the cameras' frames and depth images at the cursor, and paths, point clouds, surfaces and voxels. A
folder of point clouds (.pcd, .ply, KITTI's .bin) plays as a sequence; an .npz file of voxelize is a cloud. Where a state and the action have columns of the same name,
each such joint has a plot with both, and with the actions that a policy predicted, if --prediction is set.
docs/view.md has its keys.

The page needs no network, and the server writes nothing. It listens on this machine alone unless
--listen is set. Only a browser with the printed address, which has a token, sees the recording.
It ends with ctrl-C.`,
		Example: "  robocache view flight.ulg\n  robocache view demos/ --plan plan.yaml\n  robocache view demos/ --prediction predictions.npz\n  robocache view demos/ --port 8080 --no-open",
		Args:    takes(1, 1, "view takes one file or folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			v.path = args[0]
			return a.view(&v)
		},
	}
	f := cmd.Flags()
	f.IntVar(&v.port, "port", 7380, "the port; 0 for any that is free")
	f.IntVar(&v.episode, "episode", -1, "the `NUMBER` of the episode that is shown first; -1 is the first one")
	f.StringVar(&v.listen, "listen", "127.0.0.1", "the address or name to listen at, as `ADDR`: 0.0.0.0 for all of this machine's, which lets others with the token see the recording")
	f.StringVar(&v.plan, "plan", "", "draw values aligned by the plan `PLAN.yaml` over the samples")
	f.StringVar(&v.prediction, "prediction", "", "show the predicted actions over the recorded ones, from a `FILE.npz` of robocache policy -o")
	f.BoolVar(&v.noOpen, "no-open", false, "do not open a browser")
	f.BoolVar(&v.opt.Strict, "strict", false, "refuse broken or missing data anywhere")
	readingFlags(f, &v.opt)
	takesRecordings(cmd, 0)
	files(cmd, map[string]string{"plan": "yaml", "prediction": "npz"})
	return cmd
}

func (a *app) view(v *viewer) error {
	if v.port < 0 || v.port > 65535 {
		return usagef("--port: got %d, want 0 to 65535", v.port)
	}
	var plan *align.Plan
	if v.plan != "" {
		p, err := readPlan(v.plan)
		if err != nil {
			return err
		}
		plan = &p
	}
	var predictions map[int][]dataset.Stream
	if v.prediction != "" {
		p, err := readPredictions(v.prediction)
		if err != nil {
			return err
		}
		predictions = p
	}
	ctx, ended, stop := a.UntilCut(0)
	defer stop()
	if err := a.begin(&v.path, nil); err != nil {
		return err
	}
	d, err := openViewed(ctx, v.path, v.opt)
	if err != nil {
		return err
	}
	defer d.Close()
	info := d.Info()
	if v.prediction != "" && !slices.ContainsFunc(slices.Collect(maps.Keys(predictions)), func(n int) bool { return info.Place(n, d.Len()) >= 0 }) {
		return usagef("--prediction: %s has no episode of %s", v.prediction, v.path)
	}
	l, err := listenNear(ctx, v.listen, v.port)
	if err != nil {
		return usagef("--listen, --port: %v", err)
	}
	s, err := view.New(d, view.Options{Plan: plan, Path: v.path, Host: v.listen, Predictions: predictions})
	if err != nil {
		l.Close()
		return err
	}
	defer s.Close()
	return a.serveView(ctx, ended, s, l, v)
}

// windowsInUse is EADDRINUSE as Windows has it.
const windowsInUse = syscall.Errno(10048)

// listenNear listens at a port, or at the next free one of a hundred if it is in use.
func listenNear(ctx context.Context, host string, port int) (l net.Listener, err error) {
	for p := port; p <= min(port+100, 65535); p++ {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(p)))
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, windowsInUse) {
			break
		}
	}
	return l, err
}

// urlHost returns a listener's host and port for a URL. listen is the address that the user gave.
func urlHost(at *net.TCPAddr, listen string) string {
	if at.IP.IsUnspecified() {
		listen = "localhost"
	}
	return net.JoinHostPort(listen, strconv.Itoa(at.Port))
}

// serveView prints the page's address and serves the page until a signal comes.
func (a *app) serveView(ctx context.Context, ended func() bool, s *view.Server, l net.Listener, v *viewer) error {
	at := l.Addr().(*net.TCPAddr)
	url := s.URL(urlHost(at, v.listen))
	if v.episode >= 0 {
		url += fmt.Sprintf("#e=%d", v.episode)
	}
	if a.JSON {
		if err := a.WriteJSON(schema.View, map[string]any{"url": url, "loopback": at.IP.IsLoopback()}); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(a.Out, "%s\n", url); err != nil {
		return err
	}
	if !at.IP.IsLoopback() {
		a.Remark("whoever has the token can see the recording at %s, and nothing is encrypted: --listen 127.0.0.1 is this machine alone", at)
	}
	if v.port != 0 && at.Port != v.port {
		a.Remark("port %d is in use: the page is at port %d", v.port, at.Port)
	}
	if !v.noOpen {
		openBrowser(url)
	}
	err := s.Serve(ctx, l)
	if ended() {
		return nil // a signal is the normal end
	}
	return err
}

// openBrowser opens a page in the browser. A failure is ignored, because the address was printed.
func openBrowser(url string) {
	name, args := "xdg-open", []string{url}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", url}
	}
	cmd := exec.Command(name, args...)
	if cmd.Start() == nil {
		go cmd.Wait() // reaps the process
	}
}

// openViewed opens the view input: a recording, a dataset, a file with one point cloud, or a folder of such files.
func openViewed(ctx context.Context, path string, opt dataset.Options) (_ dataset.Dataset, err error) {
	defer dataset.Watched(path, &err)()
	var files []string
	form, none := cloudFormat(path, false)
	if none == nil && cloudReaders[form] != nil && (form != "npz" || hasCells(path)) {
		files = []string{path}
	}
	var d dataset.Dataset
	if files == nil {
		if d, err = inspection.Open(ctx, path, opt); errors.Is(err, dataset.ErrUnsupported) {
			form, files = cloudFiles(ctx, path)
		}
	}
	if files != nil {
		d, err = openClouds(ctx, path, form, files, opt)
	}
	if err != nil {
		return nil, readError(path, err)
	}
	return d, nil
}
