"""Folders for traces: what killed programs leave in memory, behind the links to their live tables, goes with the folder."""
import os
import shutil
import tempfile

MEMORY = "/dev/shm"


def remove_tables(folder):
    for where, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(where, name)
            if name.endswith(".live") and os.path.islink(path) and os.path.exists(path):
                os.unlink(os.path.realpath(path))


def remove(folder):
    remove_tables(folder)
    shutil.rmtree(folder)


def use_memory(mebibytes):
    """Makes folders in memory from now on, where no disk keeps the writer waiting. False: there is none that has so much room, and they
    are where they were."""
    if not os.access(MEMORY, os.W_OK):
        return False
    there = os.statvfs(MEMORY)
    if there.f_bavail * there.f_frsize < mebibytes << 20:
        return False
    tempfile.tempdir = MEMORY
    return True


class Folder(tempfile.TemporaryDirectory):
    def cleanup(self):
        remove_tables(self.name)
        super().cleanup()

    def __exit__(self, *error):
        self.cleanup()
