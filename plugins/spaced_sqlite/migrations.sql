-- m0001_event_log --
-- The append-only log. Position orders the whole log, (stream, version) refuses stale writers.
-- Names of streams, sessions and kinds repeat in every event, so an event holds their numbers.
create table name (
  id integer primary key,
  name text not null unique
) strict;

create table event (
  position integer primary key,
  stream integer not null,
  version integer not null,
  kind integer not null,
  session integer,
  item text,
  body blob not null,
  created_at integer not null,
  recorded_at integer not null
) strict;

create unique index event_version on event (stream, version);
create index event_session on event (session, stream, version) where session is not null;
create index event_item on event (session, item, version) where item is not null;

-- A purged stream takes nothing more.
create table purged_stream (
  stream integer primary key
) strict;

-- log_id names this log; position_floor is the largest position that a purge may have removed;
-- scrub_due is there while purged text may still lie in freed pages.
create table meta (
  key text primary key,
  value text not null
) strict;

-- How each of the core's tables was declared when it was made; unfilled: it waits for a rebuild.
create table declared_table (
  name text primary key,
  declaration text not null,
  unfilled integer not null
) strict;
