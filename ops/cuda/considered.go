package cuda

// Considered is a variant that was asked whether it takes a job: Why says why it was not launched by the heuristic; "" of the first that
// was, and of others that would have been without it.
type Considered struct {
	Variant string
	Why     string `json:",omitempty"`
}
