package loader

import "sort"

// Windows returns how many windows an epoch has of an episode, which is numbered as in Batch.Episodes: one for each of its anchors. 0 of no episode.
func (l *Loader) Windows(episode int64) int {
	if l.EpisodeOf(episode) < 0 {
		return 0
	}
	return int(l.windows[episode+1] - l.windows[episode])
}

// Known returns the name of an episode, which is numbered as in Batch.Episodes, and its number in the dataset; -1 of no episode.
func (l *Loader) Known(episode int64) (name string, number int) {
	if l.EpisodeOf(episode) < 0 {
		return "", -1
	}
	e := &l.known[episode]
	return e.name, e.number
}

// At returns the window at a position of an epoch, 0 to Report.Windows-1: its episode and the number of its anchor, as a batch has them in Episodes
// and Ticks. Row i of a batch of rank r of w that begins behind t positions has position t + r + w*i.
func (l *Loader) At(epoch, position int64) (episode, tick int64) {
	w := l.order.Window(epoch, position)
	e := sort.Search(len(l.numbers), func(i int) bool { return l.windows[i+1] > w })
	return int64(e), w - l.windows[e]
}

// Begin returns the state that the batch after a state begins at: the same, or the next epoch's beginning where the epoch has no more batches.
func (l *Loader) Begin(s State) State {
	if l.EpochEnds(s) {
		s.Epoch, s.Taken = s.Epoch+1, 0
	}
	return s
}
