package notetext

import "github.com/robocache/robocache/dataset"

var remarkTexts = map[dataset.Code]string{}
