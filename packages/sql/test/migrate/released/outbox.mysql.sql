-- outbox 1: events
CREATE TABLE IF NOT EXISTS `outbox_event` (
  seq bigint NOT NULL AUTO_INCREMENT PRIMARY KEY,
  event_id varchar(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
  event_type varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  aggregate_type varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '__GLOBAL__',
  aggregate_id varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  tenant_id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  payload longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  headers longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  status tinyint NOT NULL DEFAULT 0,
  attempts int NOT NULL DEFAULT 0,
  available_at datetime(6) NOT NULL,
  created_at datetime(6) NOT NULL,
  done_at datetime(6) NOT NULL DEFAULT '1970-01-02',
  last_error text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  locked_by char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  locked_at datetime(6) NOT NULL DEFAULT '1970-01-02',
  occurred_at bigint NOT NULL,
  shard smallint NOT NULL,
  lease_version bigint NOT NULL DEFAULT 0,
  locked_until datetime(6) NOT NULL DEFAULT '1970-01-02',
  retry_at datetime(6) AS (CASE WHEN status = 2 THEN available_at END) STORED,
  pending_shard smallint AS (CASE WHEN status IN (0, 2) THEN shard END) STORED,
  KEY `outbox_event_status` (status, seq),
  KEY `outbox_event_due` (retry_at, seq),
  KEY `outbox_event_pending` (pending_shard, seq)
) ENGINE = InnoDB;

-- outbox 2: leases of shards
CREATE TABLE IF NOT EXISTS `outbox_event_shard` (
  shard smallint NOT NULL PRIMARY KEY,
  owner char(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  version bigint NOT NULL DEFAULT 0,
  expires_at datetime(6) NOT NULL DEFAULT '1970-01-02'
) ENGINE = InnoDB;

-- outbox 3: history
CREATE TABLE IF NOT EXISTS `outbox_event_history` (
  seq bigint NOT NULL,
  event_id varchar(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  event_type varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  aggregate_type varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  aggregate_id varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  tenant_id varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  payload longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  headers longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  status tinyint NOT NULL,
  attempts int NOT NULL,
  created_at datetime(6) NOT NULL,
  done_at datetime(6) NOT NULL,
  last_error text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  occurred_at bigint NOT NULL,
  shard smallint NOT NULL,
  archived_at datetime(6) NOT NULL,
  PRIMARY KEY (event_id, seq),
  KEY `outbox_event_history_archived_at` (archived_at)
) ENGINE = InnoDB;
