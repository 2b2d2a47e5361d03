"""Folders for traces: what killed programs leave in memory, behind the links to their live tables, goes with the folder."""
import os
import tempfile


class Folder(tempfile.TemporaryDirectory):
    def cleanup(self):
        for where, _, files in os.walk(self.name):
            for name in files:
                path = os.path.join(where, name)
                if name.endswith(".live") and os.path.islink(path) and os.path.exists(path):
                    os.unlink(os.path.realpath(path))
        super().cleanup()

    def __exit__(self, *error):
        self.cleanup()
