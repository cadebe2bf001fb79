package dataset

// Info is what a dataset says of itself as a whole.
type Info struct {
	Version string // of the format that the data is in; empty where formats have none
	// Rate is how many steps a second there are, Hz, where a format has no timestamps; 0 where it has, or where nobody says. RateFrom is who says so:
	// "file", "known datasets" or "caller".
	Rate       float64
	RateFrom   string
	Splits     []Split           // its parts, such as "train" and "valid"
	Attributes map[string]string // what else it says, by its own names
	Problems   []Problem         // what it declares and is not there, or not so
}

// Split is a part of a dataset. Parts may share episodes.
type Split struct {
	Name     string
	Episodes []int // as Dataset.Episode takes them
}

// Problem is something that a dataset declares and that is not there, or not as declared. What is there can be read all the same.
type Problem struct {
	Where string // a file, an episode, a stream
	What  string
}
