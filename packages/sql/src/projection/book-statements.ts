import type {
  BuildPosition,
  BuildState,
  ClaimedPartition,
  ProjectionBuild,
  QuarantinedKey,
} from '@waybill/core/internal'
import type { SqlDialect } from '../database/sql-database.ts'
import type { Bindings } from '../dialect/bindings.ts'
import { grammarOf } from '../dialect/grammar-of.ts'
import type { ProjectionTables } from './projection-tables.ts'
import type { RowStatement } from './row-statements.ts'

type BuildId = Pick<ProjectionBuild, 'projection' | 'number'>
type Found = Readonly<Record<string, unknown>>

const nowMs = {
  postgres: "floor(date_part('epoch', statement_timestamp()) * 1000)::bigint",
  mysql: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000)",
  sqlite: "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
} as const

/** The statements on the bookkeeping tables. */
export class BookStatements {
  readonly #tables: ProjectionTables
  readonly #dialect: SqlDialect
  readonly #now: string

  constructor(tables: ProjectionTables, dialect: SqlDialect) {
    this.#tables = tables
    this.#dialect = dialect
    this.#now = nowMs[dialect]
  }

  /** Adds the row that is locked for changes, unless it exists. */
  addControl(projection: string): RowStatement {
    return this.#make((b) => this.#insertOnce(this.#tables.control, 'projection', [b.bind(projection)]))
  }

  lockControl(projection: string): RowStatement {
    return this.#make(
      (b) =>
        `SELECT projection FROM ${this.#tables.control} WHERE projection = ${b.bind(projection)}${this.#forUpdate}`,
    )
  }

  /**
   * Takes the lock of a projection on PostgreSQL until the end of the transaction. Row locks would not do: there a request
   * for an exclusive one waits as long as shared ones follow each other, which they do under load. Advisory locks are granted
   * in the order of the requests.
   */
  lockProjection(projection: string, mode: 'SHARED' | 'EXCLUSIVE'): RowStatement {
    const lock = mode === 'SHARED' ? 'pg_advisory_xact_lock_shared' : 'pg_advisory_xact_lock'
    return this.#make(
      (b) => `SELECT ${lock}('${this.#tables.control}'::regclass::oid::integer, hashtext(${b.bind(projection)}))`,
    )
  }

  builds(projection: string, lock: 'NONE' | 'SHARED' | 'EXCLUSIVE'): RowStatement {
    // LOCK IN SHARE MODE, because MariaDB does not know FOR SHARE.
    const share = { postgres: '', mysql: ' LOCK IN SHARE MODE', sqlite: '' }[this.#dialect]
    const locking = { NONE: '', SHARED: share, EXCLUSIVE: this.#forUpdate }[lock]
    return this.#make(
      (b) =>
        `SELECT projection, build, revision, fingerprint, state, reason, changed_at FROM ${this.#tables.build} ` +
        `WHERE projection = ${b.bind(projection)} ORDER BY build${locking}`,
    )
  }

  addBuild({
    projection,
    number,
    revision,
    fingerprint,
    state,
  }: Omit<ProjectionBuild, 'changedAt' | 'reason'>): RowStatement {
    return this.#make((b) => {
      const values = [projection, number, revision, fingerprint, state].map((value) => b.bind(value))
      const into = `${this.#tables.build} (projection, build, revision, fingerprint, state, changed_at)`
      return `INSERT INTO ${into} VALUES (${values.join(', ')}, ${this.#now})`
    })
  }

  setState(build: BuildId, state: BuildState, reason: string | null): RowStatement {
    return this.#make(
      (b) =>
        `UPDATE ${this.#tables.build} SET state = ${b.bind(state)}, reason = ${b.bind(reason)}, changed_at = ${this.#now} ` +
        `WHERE ${this.#ofBuild(build, b)}`,
    )
  }

  positions(build: BuildId): RowStatement {
    return this.#make(
      (b) =>
        `SELECT topic, part, ${this.#next} FROM ${this.#tables.position} WHERE ${this.#ofBuild(build, b)} ORDER BY topic, part`,
    )
  }

  addPosition(build: BuildId, { topic, partition }: Omit<BuildPosition, 'next'>): RowStatement {
    return this.#make((b) => {
      const values = [build.projection, build.number, topic, partition].map((value) => b.bind(value))
      return this.#insertOnce(this.#tables.position, 'projection, build, topic, part, next_offset', [...values, '0'])
    })
  }

  lockPosition(build: BuildId, { topic, partition }: Omit<BuildPosition, 'next'>): RowStatement {
    return this.#make(
      (b) =>
        `SELECT topic, part, ${this.#next} FROM ${this.#tables.position} ` +
        `WHERE ${this.#ofPartition(build, topic, partition, b)}${this.#forUpdate}`,
    )
  }

  advance(build: BuildId, { topic, partition, next }: BuildPosition): RowStatement {
    return this.#make((b) => {
      const set = `next_offset = ${b.bind(next)}`
      const where = this.#ofPartition(build, topic, partition, b)
      return `UPDATE ${this.#tables.position} SET ${set} WHERE ${where} AND next_offset < ${b.bind(next)}`
    })
  }

  advanceClaimed(
    build: BuildId,
    { topic, partition, next: from, epoch }: ClaimedPartition,
    next: bigint,
    leaseMs: number,
  ): RowStatement {
    return this.#make((b) => {
      const set = `next_offset = ${b.bind(next)}, leased_until = ${this.#now} + ${b.bind(leaseMs)}`
      const where = this.#ofPartition(build, topic, partition, b)
      const held = `epoch = ${b.bind(epoch)} AND next_offset = ${b.bind(from)}`
      return `UPDATE ${this.#tables.position} SET ${set} WHERE ${where} AND ${held}`
    })
  }

  unleased(build: BuildId, owner: string): RowStatement {
    return this.#make(
      (b) =>
        `SELECT topic, part, ${this.#next}, epoch FROM ${this.#tables.position} WHERE ${this.#ofBuild(build, b)} ` +
        `AND (leased_until <= ${this.#now} OR owner = ${b.bind(owner)}) ORDER BY leased_until, topic, part`,
    )
  }

  claim(
    build: BuildId,
    { topic, partition, next, epoch }: ClaimedPartition,
    owner: string,
    leaseMs: number,
  ): RowStatement {
    return this.#make((b) => {
      const set = `owner = ${b.bind(owner)}, epoch = epoch + 1, leased_until = ${this.#now} + ${b.bind(leaseMs)}`
      const where = this.#ofPartition(build, topic, partition, b)
      return (
        `UPDATE ${this.#tables.position} SET ${set} WHERE ${where} AND epoch = ${b.bind(epoch)} ` +
        `AND next_offset = ${b.bind(next)} AND (leased_until <= ${this.#now} OR owner = ${b.bind(owner)})`
      )
    })
  }

  addQuarantined(
    build: BuildId,
    { key, reason, expected, found }: Omit<QuarantinedKey, 'since' | 'last'>,
  ): RowStatement {
    return this.#make((b) => {
      const values = [build.projection, build.number, key, reason, expected, found, found].map((value) => b.bind(value))
      const names = 'projection, build, row_key, reason, expected, found, last_seen, since'
      return `INSERT INTO ${this.#tables.quarantine} (${names}) VALUES (${values.join(', ')}, ${this.#now})`
    })
  }

  extendQuarantined(build: BuildId, key: string, version: number): RowStatement {
    return this.#make((b) => {
      const [one, other] = [b.bind(version), b.bind(version)]
      const set = `last_seen = CASE WHEN last_seen < ${one} THEN ${other} ELSE last_seen END`
      return `UPDATE ${this.#tables.quarantine} SET ${set} WHERE ${this.#ofBuild(build, b)} AND row_key = ${b.bind(key)}`
    })
  }

  lockQuarantined(build: BuildId, key: string): RowStatement {
    return this.#make(
      (b) =>
        `${this.#selectQuarantined} WHERE ${this.#ofBuild(build, b)} AND row_key = ${b.bind(key)}${this.#forUpdate}`,
    )
  }

  deleteQuarantined(build: BuildId, key: string): RowStatement {
    return this.#make(
      (b) => `DELETE FROM ${this.#tables.quarantine} WHERE ${this.#ofBuild(build, b)} AND row_key = ${b.bind(key)}`,
    )
  }

  quarantined(build: BuildId, after: string | null, limit: number): RowStatement {
    return this.#make((b) => {
      const from = `${this.#selectQuarantined} WHERE ${this.#ofBuild(build, b)}`
      return `${from}${after === null ? '' : ` AND row_key > ${b.bind(after)}`} ORDER BY row_key LIMIT ${limit}`
    })
  }

  countQuarantined(build: BuildId): RowStatement {
    return this.#make(
      (b) => `SELECT COUNT(*) AS keys_found FROM ${this.#tables.quarantine} WHERE ${this.#ofBuild(build, b)}`,
    )
  }

  dropBuild(build: BuildId): readonly RowStatement[] {
    const ofBuild = (table: string) => this.#make((b) => `DELETE FROM ${table} WHERE ${this.#ofBuild(build, b)}`)
    return [
      this.#make(() => `DROP TABLE IF EXISTS ${this.#tables.rows(build.projection, build.number)}`),
      ofBuild(this.#tables.position),
      ofBuild(this.#tables.quarantine),
    ]
  }

  build(row: Found): ProjectionBuild {
    return {
      projection: String(row['projection']),
      number: Number(row['build']),
      revision: Number(row['revision']),
      fingerprint: String(row['fingerprint']),
      state: String(row['state']) as BuildState,
      reason: typeof row['reason'] === 'string' ? row['reason'] : null,
      changedAt: Number(row['changed_at']),
    }
  }

  position(row: Found): BuildPosition {
    return { topic: String(row['topic']), partition: Number(row['part']), next: BigInt(String(row['next_offset'])) }
  }

  claimed(row: Found): ClaimedPartition {
    return { ...this.position(row), epoch: Number(row['epoch']) }
  }

  key(row: Found): QuarantinedKey {
    return {
      key: String(row['row_key']),
      reason: String(row['reason']) as QuarantinedKey['reason'],
      expected: Number(row['expected']),
      found: Number(row['found']),
      last: Number(row['last_seen']),
      since: Number(row['since']),
    }
  }

  /** As text, because some drivers round integers of 64 bits. */
  get #next(): string {
    return `CAST(next_offset AS ${this.#dialect === 'mysql' ? 'CHAR' : 'text'}) AS next_offset`
  }

  get #forUpdate(): string {
    return this.#dialect === 'sqlite' ? '' : ' FOR UPDATE'
  }

  get #selectQuarantined(): string {
    return `SELECT row_key, reason, expected, found, last_seen, since FROM ${this.#tables.quarantine}`
  }

  #make(write: (bindings: Bindings) => string): RowStatement {
    const bindings = grammarOf(this.#dialect).bindings()
    const text = write(bindings)
    return { text, values: bindings.values }
  }

  #ofBuild({ projection, number }: BuildId, bindings: Bindings): string {
    return `projection = ${bindings.bind(projection)} AND build = ${bindings.bind(number)}`
  }

  #ofPartition(build: BuildId, topic: string, partition: number, bindings: Bindings): string {
    return `${this.#ofBuild(build, bindings)} AND topic = ${bindings.bind(topic)} AND part = ${bindings.bind(partition)}`
  }

  #insertOnce(table: string, columns: string, values: readonly string[]): string {
    const row = `INTO ${table} (${columns}) VALUES (${values.join(', ')})`
    return this.#dialect === 'mysql' ? `INSERT IGNORE ${row}` : `INSERT ${row} ON CONFLICT DO NOTHING`
  }
}
