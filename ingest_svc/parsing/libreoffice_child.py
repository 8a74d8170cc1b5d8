"""Starts a program that must not outlive its parent, without network and within limits.

Run as a script: `python -I -S libreoffice_child.py PARENT_PID MEMORY_BYTES FILE_BYTES PROGRAM ARGUMENT...`
A script of its own, because what it sets has to be set between fork and exec, where Python code is not safe
in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000  # linux/sched.h
_CLONE_NEWNET = 0x40000000


def main(arguments: list[str]) -> None:
    """Limits this process and turns it into the program."""
    parent, memory, file_size = (int(value) for value in arguments[:3])
    program = arguments[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # The parent died before the line above.
        sys.exit(1)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # A second line of defence: the profile already forbids links. Containers may not allow it.
    if libc.unshare(_CLONE_NEWNET) != 0:
        libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    _lower(resource.RLIMIT_AS, memory)
    _lower(resource.RLIMIT_FSIZE, file_size)
    # No core dumps: they would hold document text.
    _lower(resource.RLIMIT_CORE, 0)
    os.execv(program[0], program)


def _lower(limit: int, value: int) -> None:
    _, hard = resource.getrlimit(limit)
    if hard == resource.RLIM_INFINITY or value < hard:
        resource.setrlimit(limit, (value, value))


if __name__ == "__main__":
    main(sys.argv[1:])
