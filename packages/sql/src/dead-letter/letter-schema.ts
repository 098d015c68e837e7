import type { SqlDialect } from '../database/sql-database.ts'
import { columnTypes } from '../operation/admin-schema.ts'
import { letterTables } from './letter-tables.ts'

/** Returns the statements that create the tables of the dead letter index. */
export function letterSchema(table: string, dialect: SqlDialect): readonly string[] {
  const { letter, count, position, group, index } = letterTables(table, dialect)
  const { text, longText, integer, bigint, end } = columnTypes[dialect]
  const indexes = (of: 'letter' | 'count', on: string, lines: readonly (readonly [string, string])[]) => ({
    // MySQL creates no index IF NOT EXISTS, so its indexes are part of their table.
    inside:
      dialect === 'mysql' ? lines.map(([name, columns]) => `,\n  INDEX ${index(of, name)} ${columns}`).join('') : '',
    beside:
      dialect === 'mysql'
        ? []
        : lines.map(([name, columns]) => `CREATE INDEX IF NOT EXISTS ${index(of, name)} ON ${on} ${columns}`),
  })
  const ofLetters = indexes('letter', letter, [
    ['_dead_at', '(dead_at)'],
    ['_state', '(state, dead_at)'],
    ['_binding', '(binding, dead_at)'],
    ['_group', '(group_id, state, dead_at)'],
    ['_original', '(original_topic, original_part, original_offset)'],
    ['_trace', '(trace_id)'],
    ['_event', '(event_id)'],
    ['_key', '(record_key)'],
  ])
  const ofCounts = indexes('count', count, [['_group', '(group_id)']])
  return [
    `CREATE TABLE IF NOT EXISTS ${letter} (
  cluster ${text(100)} NOT NULL,
  topic ${text(249)} NOT NULL,
  part ${integer} NOT NULL,
  record_offset ${bigint} NOT NULL,
  binding ${text(255)} NOT NULL,
  consumer_group ${text(255)},
  original_topic ${text(255)} NOT NULL,
  original_part ${integer} NOT NULL,
  original_offset ${bigint} NOT NULL,
  original_at ${bigint},
  dead_at ${bigint} NOT NULL,
  reason ${text(32)} NOT NULL,
  exception ${text(255)} NOT NULL,
  message ${longText} NOT NULL,
  frame ${text(255)},
  group_id ${text(64)} NOT NULL,
  event_type ${text(255)} NOT NULL,
  event_id ${text(255)},
  record_key ${text(256)},
  attempts ${integer} NOT NULL,
  replay_count ${integer} NOT NULL,
  trace_id ${text(32)},
  bytes ${integer} NOT NULL,
  state ${text(16)} NOT NULL,
  operation ${text(64)},
  searched ${longText} NOT NULL,
  PRIMARY KEY (cluster, topic, part, record_offset)${ofLetters.inside}
)${end}`,
    ...ofLetters.beside,
    ...(dialect === 'postgres' ? [trigramIndex(letter, index('letter', '_searched'))] : []),
    `CREATE TABLE IF NOT EXISTS ${count} (
  id ${text(32)} NOT NULL PRIMARY KEY,
  cluster ${text(100)} NOT NULL,
  topic ${text(249)} NOT NULL,
  binding ${text(255)} NOT NULL,
  group_id ${text(64)} NOT NULL,
  event_type ${text(255)} NOT NULL,
  exception ${text(255)} NOT NULL,
  reason ${text(32)} NOT NULL,
  state ${text(16)} NOT NULL,
  died_hour ${integer} NOT NULL,
  n ${bigint} NOT NULL,
  first_at ${bigint} NOT NULL,
  last_at ${bigint} NOT NULL${ofCounts.inside}
)${end}`,
    ...ofCounts.beside,
    `CREATE TABLE IF NOT EXISTS ${position} (
  cluster ${text(100)} NOT NULL,
  topic ${text(249)} NOT NULL,
  part ${integer} NOT NULL,
  next_offset ${bigint} NOT NULL,
  rule ${text(64)} NOT NULL,
  PRIMARY KEY (cluster, topic, part)
)${end}`,
    `CREATE TABLE IF NOT EXISTS ${group} (
  id ${text(64)} NOT NULL PRIMARY KEY,
  state ${text(16)} NOT NULL,
  note ${longText},
  by_whom ${text(255)} NOT NULL,
  at_ms ${bigint} NOT NULL
)${end}`,
  ]
}

/**
 * Searches read an index of three-letter parts where the extension pg_trgm exists or may be created; otherwise they read the
 * rows. An extension may be in any schema; created here, it goes into `public`: in the current schema, dropping that schema
 * would drop the index of every other schema with it.
 */
function trigramIndex(letter: string, name: string): string {
  return `DO $migration$
DECLARE place text;
BEGIN
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA public;
  EXCEPTION WHEN OTHERS THEN
    NULL;
  END;
  SELECT n.nspname INTO place FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
  IF place IS NOT NULL THEN
    EXECUTE format('CREATE INDEX IF NOT EXISTS ${name} ON ${letter} USING gin (searched %I.gin_trgm_ops)', place);
  END IF;
END
$migration$`
}
