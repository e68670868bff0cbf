// Package proc starts a program with everything it will ever start as one tree, reads its output through pipes of its own, and
// ends the whole tree at once.
//
// A tree is found on Linux by four signs together: the session of its first process, the ancestry, processes seen before (by id
// and start time), and a mark that the kernel hands down to every child: the soft limit RLIMIT_LOCKS, which no kernel since 2.4
// enforces and no program sets. The mark survives setsid, a double fork, nohup, a cleared environment and an exec, and needs
// neither a variable in the environment of the command nor PR_SET_CHILD_SUBREAPER, which would make the embedding program
// the parent of strangers. What a tree asks a daemon to start for it (systemd-run, at, docker) is not part of it. Elsewhere than
// on Linux a tree is its process group: a child that calls setsid is missed.
package proc
