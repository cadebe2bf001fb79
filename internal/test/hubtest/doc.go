// Package hubtest is a server for tests that answers as the Hugging Face Hub does.
package hubtest
