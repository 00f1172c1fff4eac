"""SQLite storage for spaced: one file for the log and its rows, one folder for blobs.

Only the hook lives here, so that finding the plugin costs nothing until it is chosen.
"""

from spaced.plugin_api import RegisterStorage, hookimpl


@hookimpl
def spaced_register_storages(register: RegisterStorage) -> None:
    """Offer the storage under the name `sqlite`."""
    from spaced_sqlite.factory import SqliteStorageFactory

    register("sqlite", SqliteStorageFactory(), summary="One SQLite file on this machine.")
