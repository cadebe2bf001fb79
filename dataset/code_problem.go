package dataset

// Codes of ClassProblem: a dataset declares something that is missing or different. Subject is the file, episode or stream that is wrong.
const (
	// CodeFileMissing: a file that is declared is not there. Subject is the file.
	// Example: "is not there".
	CodeFileMissing Code = "file-missing"
	// CodeFilesMissing: files that a list has are not there. Count of Of are missing, Names has the first.
	// Example: "2 of 3 files are not there, the first is rgb/b.png".
	CodeFilesMissing Code = "files-missing"
	// CodeUnreadable: a file or object of a dataset cannot be read. Cause is the error.
	// Example: "cannot be read: ...".
	CodeUnreadable Code = "unreadable"
	// CodeFileUnlisted: a file of the dataset's folder that no list has is not read. Want is the list.
	// Example: "is not listed, and not read".
	CodeFileUnlisted Code = "file-unlisted"
	// CodeFileDoubtful: a file that is read shows signs of an incomplete write. Cause says which.
	// Example: "...".
	CodeFileDoubtful Code = "file-doubtful"
	// CodeFolderUnread: a folder of no known format has recordings, which are not read. Names has them.
	// Example: "a folder of no format that has folders, with recordings in it that are not read: rgb/b.png".
	CodeFolderUnread Code = "folder-unread"
	// CodeRecordCount: a file has Count records, and Of are declared.
	// Example: "got 2 records, want 3 as dataset_info.json says".
	CodeRecordCount Code = "record-count"
	// CodeLabelCount: a file has Count names of class labels, and Of are declared.
	// Example: "got 2 names, want 3 as features.json says".
	CodeLabelCount Code = "label-count"
	// CodeSplitMissing: none of the files of a split is there.
	// Example: "none of its files is there".
	CodeSplitMissing Code = "split-missing"
	// CodeSplitNameMissing: a split names an episode that is not there. Got is the name.
	// Example: "names demo_7, which is not there".
	CodeSplitNameMissing Code = "split-name-missing"
	// CodeStepTotal: the declared number of steps, Want, is not that of the episodes, Got.
	// Example: "total says 99 steps, and its demonstrations have demo_7".
	CodeStepTotal Code = "step-total"
	// CodeNoLineEnd: the last line of a text has no line's end.
	// Example: "the last line has no line's end: if the file was cut there, digits of its last number may be missing".
	CodeNoLineEnd Code = "no-line-end"
	// CodeRecorderDropouts: the recorder noted Count times that it lost data.
	// Example: "the recorder noted that it lost data 3 times".
	CodeRecorderDropouts Code = "recorder-dropouts"
)

var problemCodes = []Code{
	CodeFileMissing, CodeFilesMissing, CodeUnreadable, CodeFileUnlisted, CodeFileDoubtful, CodeFolderUnread, CodeRecordCount,
	CodeLabelCount, CodeSplitMissing, CodeSplitNameMissing, CodeStepTotal, CodeNoLineEnd, CodeRecorderDropouts,
}
