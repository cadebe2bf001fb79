package doctor

// plot is what the page draws of a finding.
type plot struct{}
