//go:build !notecodes

package notetext

import (
	"maps"

	"github.com/robocache/robocache/dataset"
)

// texts has the template of each code; see expand.
var texts = func() map[dataset.Code]string {
	all := map[dataset.Code]string{}
	for _, m := range []map[dataset.Code]string{damageTexts, problemTexts, leftOutTexts, remarkTexts, skippedTexts} {
		maps.Copy(all, m)
	}
	return all
}()

func templateOf(c dataset.Code) (string, bool) {
	t, ok := texts[c]
	return t, ok
}
