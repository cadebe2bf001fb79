// Package batching opens datasets and makes the loaders of training batches. One [Request] holds the arguments: the Python package
// sends it as JSON, and the command line binds its flags to the fields. Errors name arguments as that JSON does; each front end writes
// the names its own way.
package batching
