package policy

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
)

// lossesText is the key for the losses at all steps in a checkpoint: float32, little-endian, in base64.
const lossesText = "robocache.losses"

// Losses returns the loss at each step from the first on. After Resume it includes the steps in the checkpoint. The caller must
// not modify the slice.
func (t *Trainer) Losses() []float32 { return t.losses }

// keptText is the key for the held-out losses in a checkpoint: a JSON object by step.
const keptText = "robocache.held-out"

// HeldOut returns the loss on the held-out episodes by step, for each step at which Evaluate was called. After Resume it includes
// those in the checkpoint. The caller must not modify the map.
func (t *Trainer) HeldOut() map[int]float64 { return t.kept }

// Best returns the step with the lowest loss on the held-out episodes, the first one if several have it, or -1 if there is none.
func (t *Trainer) Best() int {
	best := -1
	for step, loss := range t.kept {
		if low := t.kept[best]; best < 0 || loss < low || loss == low && step < best {
			best = step
		}
	}
	return best
}

func lossesTo(list []float32) string {
	raw, _ := binary.Append(nil, binary.LittleEndian, list) // numbers never fail
	return base64.StdEncoding.EncodeToString(raw)
}

// lossesFrom decodes the losses. If they are not one for each step, the error is a *CheckpointError.
func lossesFrom(dir, text string, steps int64) ([]float32, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || int64(len(raw)) != 4*steps {
		return nil, &CheckpointError{dir, trainingFile, fmt.Sprintf("%d bytes of losses", len(raw)), fmt.Sprintf("%d, those of %d steps", 4*steps, steps)}
	}
	list := make([]float32, steps)
	_, err = binary.Decode(raw, binary.LittleEndian, list)
	return list, err
}
