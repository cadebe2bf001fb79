// Package main trains a policy on recorded episodes of a Unitree G1, two of the three that are in this repository, and compares what it predicts of the third
// with what was recorded: a transformer of states alone, in ten seconds or so on a laptop's CPU. A picture shows the joints that move most, over what was
// predicted a second before.
//
// Two episodes are few. Held out one by one, they foretell a part of the third's motion, or nothing of it; with seven of eight episodes of this
// robot the skill at one second is 0.45.
//
//	go run ./examples/train [-in PATH] [-hold-out EPISODE] [-backend NAME]
package main
