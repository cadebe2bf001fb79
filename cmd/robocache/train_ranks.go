package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/robocache/robocache/nn/ranks"
	"github.com/robocache/robocache/ops"
)

// joining is the time limit for all ranks to join.
const joining = 2 * time.Minute

// longestSocket bounds a socket's path on all systems, in bytes.
const longestSocket = 100

// launch are variables that are equal in all programs in one launch.
var launch = []string{"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT", "SLURM_JOB_ID", "SLURM_STEP_ID",
	"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}

// join joins the programs that train together. It returns nil if this program trains alone. Only rank 0 prints from then on.
func (a *app) join(ctx context.Context, t *training) (*ranks.Group, error) {
	if t.world == 1 {
		return nil, nil
	}
	if t.world < 1 || t.world > ranks.MaxCount || t.rank < 0 || t.rank >= t.world {
		return nil, usagef("--rank and --world: got %d of %d, want a rank of 1 to %d", t.rank, t.world, ranks.MaxCount)
	}
	for _, name := range []string{"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"} {
		if here := os.Getenv(name); here != "" && here != fmt.Sprint(t.world) {
			return nil, usagef("--world: got %d programs, but by %s %s are on this machine, want all there", t.world, name, here)
		}
	}
	path, err := t.meetingPoint()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, joining)
	defer cancel()
	done := a.Step("waiting for the other ranks")
	defer done()
	all, err := ranks.Join(ctx, path, t.rank, t.world)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w; --rank 0 --world 1 trains alone", err)
	}
	if err == nil && t.rank > 0 {
		a.Out, a.Announce, a.Quiet = io.Discard, nil, true
	}
	return all, err
}

// turn is the next action of all programs that train together: whether to end, whether to save first, and how many steps to train.
type turn struct {
	Steps     int
	Save, End bool
}

// agree exchanges turns with all programs, and returns the common turn: rank 0's, but the end if any program ends.
func (w *trainer) agree(ctx context.Context, t turn) (turn, error) {
	if w.ranks == nil {
		return t, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return t, err
	}
	all, err := w.ranks.Exchange(ctx, "what to do next", text)
	if err != nil {
		return t, err
	}
	var agreed turn
	for rank, text := range all {
		var theirs turn
		if err := json.Unmarshal(text, &theirs); err != nil {
			return t, err
		}
		if rank == 0 {
			agreed = theirs
		}
		agreed.End = agreed.End || theirs.End
	}
	return agreed, nil
}

// devicesOfAll collects all programs' devices.
func (w *trainer) devicesOfAll(ctx context.Context) error {
	if w.ranks == nil {
		return nil
	}
	text, err := json.Marshal(w.out.Devices)
	if err != nil {
		return err
	}
	all, err := w.ranks.Exchange(ctx, "the devices", text)
	if err != nil {
		return err
	}
	w.out.Devices = nil
	for _, text := range all {
		var theirs []deviceInfo
		if err := json.Unmarshal(text, &theirs); err != nil {
			return err
		}
		w.out.Devices = append(w.out.Devices, theirs...)
	}
	return nil
}

// meetingPoint returns the path of the socket at which the programs join. It lies in the user's own temporary folder. Its name is a hash of
// the launch, the dataset and the output, so that only programs in one training meet.
func (t *training) meetingPoint() (string, error) {
	out, err := filepath.Abs(t.out)
	if err != nil {
		return "", err
	}
	key, launched := []string{t.path, out, fmt.Sprint(t.world)}, false
	for _, name := range launch {
		key = append(key, os.Getenv(name))
		launched = launched || os.Getenv(name) != ""
	}
	if !launched {
		key = append(key, fmt.Sprint(os.Getppid())) // the parent of all programs
	}
	hash := sha256.Sum256([]byte(strings.Join(key, "\x00")))
	name := filepath.Join(fmt.Sprintf("robocache-%d", os.Getuid()), fmt.Sprintf("%x", hash[:8]))
	path := filepath.Join(os.TempDir(), name)
	if len(path) > longestSocket {
		path = filepath.Join("/tmp", name)
	}
	return path, nil
}

// ownDevice returns this program's device from the --backend list. If the list has one device per program, or --backend has no numbers,
// it is the device with the rank's index. If the launcher shows each program only one device, it is that device.
func (t *training) ownDevice() (string, error) {
	if t.world == 1 {
		return t.backend, nil
	}
	asked := t.backend
	switch asked {
	case "auto":
		if list, err := ops.Names("cuda:all"); err != nil || len(list) == 0 {
			return asked, nil
		}
		asked = "cuda:all"
	case "cuda", "sim":
		asked += ":all"
	}
	list, err := ops.Names(asked)
	switch {
	case err != nil:
		return "", err
	case len(list) == 1:
		return list[0], nil
	case t.rank < len(list) && (len(list) == t.world || asked != t.backend || strings.HasSuffix(asked, ":all")):
		return list[t.rank], nil
	}
	return "", usagef("--backend: got %q, %d devices for %d ranks, want one for each", t.backend, len(list), t.world)
}
