// Package main plays PushT: a disc pushes a T onto its goal, by a policy or by recorded actions. A policy has the same scores on every
// machine if it has the same actions, because the physics have equal bits everywhere.
//
//	go run ./examples/pusht simulate IN.npz -o OUT.npz
//	go run ./examples/pusht score POLICY [-seeds A-B] [-backend NAME] [-execute N] [-json] [-gif FILE] [-png FILE]
//
// simulate reads start [N,5] and actions [N,K,2] and writes states [N,K,5]. POLICY is a checkpoint's folder, hold, or a dataset
// with demonstrations. README.md has the rules.
package main
