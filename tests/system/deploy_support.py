"""What the tests of deploy/ share: YAML without a package for it, and the rules of a container."""

import ctypes
import json
import os
import resource
import sys
from pathlib import Path

from support import ROOT, captured

DEPLOY = ROOT / "deploy"

# YAML, by the library that warpgym reads it with

FYPCF_QUIET = 1
FYECF_MODE_JSON_ONELINE = 4 << 20


def yaml_documents(path):
    """The documents of a file, as Python has JSON. Whatever libfyaml refuses is an error."""
    fy = ctypes.CDLL("libfyaml.so.0")
    fy.fy_document_build_from_string.restype = ctypes.c_void_p
    fy.fy_emit_document_to_string.restype = ctypes.c_void_p
    fy.fy_emit_document_to_string.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    found = []
    for text in path.read_text(encoding="utf-8").split("\n---\n"):
        bytes_ = text.encode()
        document = fy.fy_document_build_from_string(None, bytes_, ctypes.c_size_t(len(bytes_)))
        assert document, f"{path}: no YAML"
        emitted = fy.fy_emit_document_to_string(document, FYECF_MODE_JSON_ONELINE)
        found.append(json.loads(ctypes.string_at(emitted)))
    return found


def strings(value):
    """Every text in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


# containers, as far as they are system calls

SCMP_ACT_ALLOW, SCMP_ACT_ERRNO = 0x7FFF0000, 0x00050000
SCMP_CMP_NE, SCMP_CMP_EQ, SCMP_CMP_MASKED_EQ = 1, 4, 7
EPERM, ENOSYS, PR_SET_NO_NEW_PRIVS = 1, 38, 38
RLIMIT_MSGQUEUE = 12
CLONE_NEW = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
REFUSED = "unshare setns mount umount2 pivot_root mount_setattr move_mount open_tree fsopen fsmount"


class Compare(ctypes.Structure):
    _fields_ = [
        *(("arg", ctypes.c_uint), ("op", ctypes.c_int)),
        *(("a", ctypes.c_uint64), ("b", ctypes.c_uint64)),
    ]


def refuse_namespaces(refuse):
    """What Docker's and Podman's standard filters say to a process without capabilities."""
    for name in REFUSED.split():
        refuse(name, EPERM)
    for flag in CLONE_NEW:
        refuse("clone", EPERM, Compare(0, SCMP_CMP_MASKED_EQ, flag, flag))
    refuse("clone3", ENOSYS)


def refuse_limits(refuse):
    """Message queues and locked memory keep the limits that they have."""
    for limit in (resource.RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE):
        compared = Compare(1, SCMP_CMP_EQ, limit), Compare(2, SCMP_CMP_NE, 0)
        refuse("prlimit64", EPERM, *compared)


def load_filter(rules):
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(SCMP_ACT_ALLOW))

    def refuse(name, code, *compared):
        number = lib.seccomp_syscall_resolve_name(name.encode())
        array = (Compare * len(compared))(*compared)
        assert not lib.seccomp_rule_add_array(
            context, SCMP_ACT_ERRNO | code, number, len(compared), array
        )

    rules(refuse)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    assert not lib.seccomp_load(context)


def refuses(*command):
    """Why this machine does not let us set the scene, or ''."""
    run = captured(command)
    return "" if run.returncode == 0 else f"{' '.join(command)}: {run.stderr.strip()}"


def as_user():
    """A prefix for a command of an ordinary user without a way up, as containers have it."""
    if os.geteuid() != 0:
        return ["setpriv", "--no-new-privs"]
    return [
        *("setpriv", "--reuid", "10001", "--regid", "10001", "--clear-groups"),
        *("--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"),
    ]


if __name__ == "__main__":
    load_filter({"namespaces": refuse_namespaces, "limits": refuse_limits}[sys.argv[1]])
    sys.path[:] = []
    os.execvp(sys.argv[2], sys.argv[2:])

FILTERED = [sys.executable, str(Path(__file__).resolve()), "namespaces"]
LIMITED = [*FILTERED[:2], "limits"]
