import type { Page, PageQuery } from '../page.ts'
import type { AuditEntry } from './audit-log.ts'

/** Which operations to list. Absent members select all; instants are epoch ms, `untilMs` is excluded. */
export interface AuditQuery {
  readonly by?: string | undefined
  readonly operation?: string | undefined
  readonly target?: string | undefined
  readonly outcomes?: readonly AuditEntry['outcome'][] | undefined
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
}

/** Both entries of an operation as one. An outcome ASKED means that the process ended before it could write the outcome. */
export interface AuditedChange extends AuditEntry {
  /** The time of the outcome; undefined while there is none. */
  readonly endedAtMs: number | undefined
}

/** Reads an audit log. */
export interface AuditReader {
  /** Lists operations, newest first. */
  query(query: AuditQuery, page: PageQuery): Promise<Page<AuditedChange>>
}
