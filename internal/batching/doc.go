// Package batching opens what training batches are drawn from, and makes their loaders: what the command line and the Python package ask for in one
// way. Errors speak of options as the command line writes them; [Plain] writes them as names of arguments.
package batching
