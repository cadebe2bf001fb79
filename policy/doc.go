// Package policy trains a policy on recorded data and runs it: behaviour cloning of action chunks from states, by a transformer.
//
// A policy sees the states of the last ticks of a clock and the actions before them, and predicts the actions of the ticks that follow, a chunk. It is
// made of states alone: no cameras, no VAE, as ACT has them. [NewTrainer] trains one on the device that a store's episodes are on, [Open] opens a checkpoint,
// and [Policy.Evaluate] compares what it predicts with what was recorded.
//
// # The metric
//
// A policy's [Skill] at k ticks is 1 - MSE(k)/MSE_hold(k). MSE(k) is the mean, over all anchors of the episodes that have a recorded action before them and one
// k-1 ticks after them, and over all columns of the action, of ((predicted-recorded)/s)^2: the recorded action is that of the k-th tick to come, the anchor's
// own being the first. s is the column's standard deviation over the training episodes, but no less than a floor, so that a column that hardly moves does not
// count: 0.05 rad for what its name says is a joint, and a thousandth of the range of other columns, or what Options.Floor says. MSE_hold is the same of holding the last action, the one of the tick before the anchor. So 0 is no better than holding, and 1
// is perfect. Means and deviations are float64.
//
// The next action is no test: holding explains nearly all of it. And no such number ranks policies on a robot: the error is open loop, on the states that
// the demonstrator saw. It says that training works, and how much of the motion the states foretell.
//
// [Ridge] is the baseline beside it: ridge regression on the same inputs, each horizon by itself, with the lambda that cross-validation over the training
// episodes chooses. The held-out episodes choose nothing.
package policy
