// Package main plays PushT: a disc pushes a T onto its goal, by a policy or by recorded actions. The scores of a policy are the same on
// every machine if its actions are, because the physics have equal bits everywhere.
//
//	go run ./examples/pusht simulate IN.npz -o OUT.npz
//	go run ./examples/pusht score POLICY [-seeds A-B] [-backend NAME] [-execute N] [-json] [-gif FILE] [-png FILE]
//
// simulate reads start [N,5] and actions [N,K,2] and writes states [N,K,5]. POLICY is the folder of a checkpoint, hold, or a dataset of
// demonstrations. README.md has the rules of the task.
package main
