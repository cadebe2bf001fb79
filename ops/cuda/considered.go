package cuda

// Considered is a kernel variant that was considered for a job. Why is the reason why the heuristic did not launch it.
// It is "" for the first variant that accepts the job, and for later variants that would have been launched without it.
type Considered struct {
	Variant string
	Why     string `json:",omitempty"`
}
