"""A PostgreSQL database beside another: made for a while, or put in its place by two renames that are one step."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import sql

from lib.backup.manifest import BackupError
from lib.backup.postgres import connected, refuse_used

Values = Mapping[str, Any]
VERIFY, RESTORING, REPLACED = "verify", "restoring", "replaced"
OURS = re.compile(f"_({VERIFY}|{RESTORING}|{REPLACED})_[0-9]+")
LOCK = 0x42_61_63_6B  # of this module alone; whoever makes one waits for whoever clears
THIRD = ("postgres", "template1")  # a database cannot be renamed from within

_ROW = """
    SELECT to_jsonb(d) || jsonb_build_object(
        'owner', pg_get_userbyid(datdba), 'may_own', pg_has_role(datdba, 'MEMBER'),
        'may_create', (SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user),
        'is_set', EXISTS (SELECT 1 FROM pg_db_role_setting WHERE setdatabase = d.oid))
    FROM pg_database d WHERE datname = current_database()
"""
# DROP DATABASE by itself would wait for those who are connected
_UNUSED = """
    SELECT datname FROM pg_database d WHERE starts_with(datname, %s)
    AND NOT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE a.datname = d.datname)
"""


def why_not_beside(values: Values) -> str:
    """Why a backup cannot be made ready beside the database and then take its place; empty where it can."""
    with connected(values) as admin:
        row = _row(admin)
    if not (row["may_create"] and row["may_own"]):
        return "its user does not own it, or lacks CREATEDB"
    # What a new database would not have
    if row["datacl"] or row["is_set"] or row.get("datlocprovider", "c") != "c":
        return "it has rights, settings or a kind of locale of its own"
    try:
        _third(values).close()
    except BackupError as error:
        return str(error)
    return ""


@contextmanager
def beside(values: Values, purpose: str) -> Iterator[dict[str, Any]]:
    """Settings of an empty database on the same server; it is dropped at the end, unless it was put in another's place.

    A connection holds it, which tells it from those of processes that were killed.
    """
    with connected(values) as admin:
        admin.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        clear(admin, values["NAME"])
        made = {**values, "NAME": _name(values, purpose)}
        _create(admin, made["NAME"])
        holder = connected(made)
    try:
        yield made
    finally:
        holder.close()
        with suppress(psycopg.errors.InvalidCatalogName), connected(values) as admin:
            admin.execute(_drop(made["NAME"], force=True))


def clear(admin: "psycopg.Connection[Any]", name: str) -> None:
    """Drop what processes that were killed have left; what somebody is connected to stays."""
    asked = admin.execute(_UNUSED, [name[:40]])
    for (found,) in asked.fetchall():
        if OURS.fullmatch(found.removeprefix(name[:40])):
            with suppress(psycopg.errors.ObjectInUse, psycopg.errors.InsufficientPrivilege):
                admin.execute(_drop(found, force=False))


def take_place(values: Values, made: Values) -> None:
    """The database that was made ready is the one that `values` name; the earlier one goes after that."""
    refuse_used(values)
    old = _name(values, REPLACED)
    rename = "ALTER DATABASE {} RENAME TO {}"
    with _third(values) as third:
        third.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [made["NAME"]])  # fmt: skip
        try:
            with third.transaction():
                for one, other in ((values["NAME"], old), (made["NAME"], values["NAME"])):
                    third.execute(sql.SQL(rename).format(*map(sql.Identifier, (one, other))))
        except psycopg.errors.ObjectInUse as error:
            raise BackupError(
                f"Somebody is connected to the database {values['NAME']}: stop the site and its workers first."
            ) from error
        with suppress(psycopg.Error):  # the next start clears it
            third.execute(_drop(old, force=True))


def _create(admin: "psycopg.Connection[Any]", name: str) -> None:
    row = _row(admin)
    create = "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'"
    parts = [sql.SQL(create).format(sql.Identifier(name))]
    if row.get("datlocprovider", "c") == "c":
        of_locale = " LC_COLLATE {} LC_CTYPE {}"
        parts.append(sql.SQL(of_locale).format(row["datcollate"], row["datctype"]))
    if row["may_own"]:
        parts.append(sql.SQL(" OWNER {}").format(sql.Identifier(row["owner"])))
    try:
        admin.execute(sql.Composed(parts))
    except psycopg.errors.InsufficientPrivilege as error:
        raise BackupError(
            "The database's user may not create the database that --verify restores to: "
            "grant it CREATEDB, or restore into an empty database with --into."
        ) from error


def _row(admin: "psycopg.Connection[Any]") -> dict[str, Any]:
    found = admin.execute(_ROW).fetchone()
    assert found is not None
    return dict(found[0])


def _third(values: Values) -> "psycopg.Connection[Any]":
    for name in THIRD:
        if name != values["NAME"]:
            with suppress(psycopg.OperationalError):
                return connected({**values, "NAME": name})
    raise BackupError(f"its user may connect to neither {THIRD[0]} nor {THIRD[1]}")


def _name(values: Values, purpose: str) -> str:
    """At most as long as PostgreSQL's names can be."""
    return f"{values['NAME'][:40]}_{purpose}_{os.getpid()}"


def _drop(name: str, *, force: bool) -> sql.Composed:
    drop = "DROP DATABASE {} WITH (FORCE)" if force else "DROP DATABASE {}"
    return sql.SQL(drop).format(sql.Identifier(name))
