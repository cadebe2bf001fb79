package notetext

import "github.com/robocache/robocache/dataset"

var damageTexts = map[dataset.Code]string{}
