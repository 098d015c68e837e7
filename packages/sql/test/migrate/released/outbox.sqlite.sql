-- outbox 1: events
CREATE TABLE IF NOT EXISTS "outbox_event" (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id TEXT NOT NULL UNIQUE,
  event_type TEXT NOT NULL,
  aggregate_type TEXT NOT NULL DEFAULT '__GLOBAL__',
  aggregate_id TEXT,
  tenant_id TEXT,
  payload TEXT NOT NULL,
  headers TEXT,
  status INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  available_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  last_error TEXT,
  locked_by TEXT,
  locked_at INTEGER,
  occurred_at INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  lease_version INTEGER NOT NULL DEFAULT 0,
  locked_until INTEGER
);
CREATE INDEX IF NOT EXISTS "outbox_event_new" ON "outbox_event" (seq) WHERE status = 0;
CREATE INDEX IF NOT EXISTS "outbox_event_due" ON "outbox_event" (available_at, seq) WHERE status = 2;
CREATE INDEX IF NOT EXISTS "outbox_event_pending" ON "outbox_event" (shard, seq) WHERE status IN (0, 2);
CREATE INDEX IF NOT EXISTS "outbox_event_done" ON "outbox_event" (done_at) WHERE status = 1;
CREATE INDEX IF NOT EXISTS "outbox_event_dead" ON "outbox_event" (seq) WHERE status = 3;

-- outbox 2: leases of shards
CREATE TABLE IF NOT EXISTS "outbox_event_shard" (
  shard INTEGER PRIMARY KEY,
  owner TEXT,
  version INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0
);

-- outbox 3: history
CREATE TABLE IF NOT EXISTS "outbox_event_history" (
  seq INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  event_type TEXT NOT NULL,
  aggregate_type TEXT NOT NULL,
  aggregate_id TEXT,
  tenant_id TEXT,
  payload TEXT NOT NULL,
  headers TEXT,
  status INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  done_at INTEGER,
  last_error TEXT,
  occurred_at INTEGER NOT NULL,
  shard INTEGER NOT NULL,
  archived_at INTEGER NOT NULL,
  PRIMARY KEY (event_id, seq)
);
CREATE INDEX IF NOT EXISTS "outbox_event_history_archived_at" ON "outbox_event_history" (archived_at);
