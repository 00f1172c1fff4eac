-- head --
-- The largest position ever used. Read at the start of each write and with each answer of rows.
select max(
  coalesce((select max(position) from event), 0),
  coalesce((select cast(value as integer) from meta where key = 'position_floor'), 0)
);

-- name_id --
-- The number of a name. Used by every read of a stream and by the writer.
select id from name where name = :name;

-- name_of --
-- The name behind a number. Used where recorded events are put together.
select name from name where id = :id;

-- add_name --
-- Gives a name its number. Used by the writer.
insert into name (name) values (:name);

-- stream_state --
-- A stream's version and whether it is fenced. Used by the writer before it appends.
select
  coalesce((select max(version) from event where stream = :stream), 0),
  exists (select 1 from purged_stream where stream = :stream);

-- add_event --
-- Records an event. Used by the writer; numbered parameters bind faster than named ones.
insert into event
  (position, stream, version, kind, session, item, body, created_at, recorded_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- stream_version --
-- A stream's version. Used by version.
select coalesce((select max(version) from event where stream = :stream), 0);

-- stream_events --
-- Events of a stream. Used by read_stream.
select position, stream, version, kind, body, created_at, recorded_at, session, item
  from event where stream = :stream and version > :after
  order by version limit :limit;

-- session_events --
-- Events of a stream about one session. Used by read_stream. The index is named because SQLite, which
-- knows nothing of how long a stream is, may prefer to walk through all of it.
select position, stream, version, kind, body, created_at, recorded_at, session, item
  from event indexed by event_session
  where session = :session and stream = :stream and version > :after
  order by version limit :limit;

-- item_events --
-- Events about one item of a session. Used by read_stream, once per item; the index is named for the
-- same reason.
select position, stream, version, kind, body, created_at, recorded_at, session, item
  from event indexed by event_item
  where session = :session and item = :item and version > :after and stream = :stream
  order by version limit :limit;

-- log_events --
-- Events of the whole log. Used by read_all.
select position, stream, version, kind, body, created_at, recorded_at, session, item
  from event where position > :after
  order by position limit :limit;

-- log_events_of_kinds --
-- Events of some kinds. Used by read_all; the kinds are a JSON array of numbers.
select position, stream, version, kind, body, created_at, recorded_at, session, item
  from event
  where position > :after and kind in (select value from json_each(:kinds))
  order by position limit :limit;

-- streams --
-- Streams that hold events, by name. Used by list_streams; names of sessions and kinds fall out.
select name.name, (select max(version) from event where stream = name.id)
  from name
  where name.name > :after and exists (select 1 from event where stream = name.id)
  order by name.name limit :limit;

-- forget_events --
-- Used by purge.
delete from event where stream = :stream;

-- fence_stream --
-- Used by purge.
insert into purged_stream (stream) values (:stream) on conflict do nothing;

-- remember --
-- Used wherever a fact about the whole log is kept.
insert into meta (key, value) values (:key, :value)
  on conflict (key) do update set value = excluded.value;

-- recall --
-- Used wherever a fact about the whole log is needed.
select value from meta where key = :key;

-- forget --
-- Used when a fact no longer holds.
delete from meta where key = :key;

-- declarations --
-- Used when the storage opens and for its report.
select name, declaration, unfilled from declared_table;

-- declare_table --
-- Used when the storage opens.
insert into declared_table (name, declaration, unfilled) values (:name, :declaration, :unfilled)
  on conflict (name) do update
  set declaration = excluded.declaration, unfilled = excluded.unfilled;

-- mark_filled --
-- Used when the core says that a rebuild is done.
update declared_table set unfilled = 0 where name = :name;

-- unfilled_tables --
-- Used by the report.
select name from declared_table where unfilled order by name;

-- foreign_parts --
-- Triggers and views, which spaced never makes. Used when the storage opens.
select type, name from sqlite_schema where type in ('trigger', 'view') order by name limit 1;
