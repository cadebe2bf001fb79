// Package policy trains a policy on recorded data and runs it. Most programs need three calls:
//
//	trainer, err := policy.NewTrainer(ctx, devices, store, policy.Options{HoldOut: []int{2}}) // then trainer.Run and trainer.Save
//	p, err := policy.Open(ctx, device, dir)   // a checkpoint; p.Evaluate compares it with recordings
//	runner, err := p.NewRunner(ctx, streams)  // then runner.Push for each sample, and runner.Act for the actions
//
// The method is behaviour cloning: a transformer reads the states in the last ticks of a clock and the actions before them, and
// predicts a chunk, which is the actions in the ticks that follow. It reads numbers only. It has no cameras and no VAE, which ACT
// has. [NewTrainer] trains on the devices that hold the windows of a store's episodes. [Policy.Evaluate] compares predicted
// actions with recorded actions.
//
// If Options.Policy is Flow or Diffusion, the network removes noise, and a chunk is drawn from noise: see [nn.Denoise]. Equal inputs
// give equal chunks, because the noise depends on the seed and the inputs. [Runner.Action] returns one action for each tick.
//
// # The metric
//
// A policy's [Skill] at k ticks is 1 - MSE(k)/MSE_hold(k). 0 is no better than holding the last action, and 1 is perfect. The
// last action is the action in the tick before the anchor. The anchor is the tick at which the policy predicts; its own action is
// the first in the chunk.
//
// MSE(k) is the mean of ((predicted-recorded)/s)^2 over all action columns and all anchors. recorded is the k-th action from the
// anchor on. An anchor counts if the episode has an action before it and an action k-1 ticks after it. MSE_hold(k) is the same
// mean with the last action instead of the predicted one. Means and deviations are float64.
//
// s is the column's standard deviation over the training episodes. It has a floor, because otherwise a column that hardly moves
// would dominate. The floor is Options.Floor. If that is 0, it is 0.05 rad for a column named as a joint, such as "left_elbow",
// and a thousandth of the range for others.
//
// One tick ahead is no test, because holding explains nearly all of the next action. No open-loop number ranks policies on a
// robot either, because the policy only meets states that the demonstrator met. The skill shows that training works, and how well
// the states predict the motion.
//
// [Ridge] is the baseline: ridge regression on the same inputs, with a separate fit for each horizon. Cross-validation over the
// training episodes chooses its lambda. The held-out episodes have no influence.
package policy
