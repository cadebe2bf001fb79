// Package batching opens datasets and makes the loaders of training batches. One [Request] holds the arguments: the Python package
// sends it as JSON, and the command line binds its flags to the fields. An error names an argument by its JSON name. Each front end, the
// Python package or the command line, replaces it with its own name for the argument: see [Spelling].
package batching
