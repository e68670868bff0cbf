// Package statefs keeps files in the state of a thread: they are part of every checkpoint, are forked and rewound with it, and
// vanish with the thread. It suits small text files; nothing touches a disk.
//
// [FS] is a driver whose methods work inside a run only, on the state that the call sees, its own writes included. The schema of
// the agent must hold the key [Files]; [FS.Fields] hands it over. A path is a key and nothing else: directories are what longer
// paths imply, listing one that no path implies yields nothing, and a path can be a file and a directory at once.
package statefs
