// Package policy trains a policy on recorded data and runs it: behaviour cloning of action chunks from states.
package policy
